/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_work.h"

#include "proto/rdmap/rdmap_raw.h"
#include "proto/rdmap/rdmap_term.h"
#include "util/be.h"
#include "util/checked.h"

enum {
	ONE_SEGMENT = WIRE_MULPDU_MIN - WIRE_UNTAGGED_LEN, /* bytes that are never cut */
	FLAGS = RDMAP_SIGNALED | RDMAP_FENCE | RDMAP_SOLICITED | RDMAP_INLINE | RDMAP_PLACED |
		RDMAP_PACED | RDMAP_WITH_IMM,
};

/* ---- checks ---- */

_Static_assert((int)SGL_MAX == OPCODE_MAX_SGE, "the table of operations knows the limit");

static bool is_atomic(const struct rdmap_wr *wr)
{
	return opcode_table[wr->op].form == OPCODE_FORM_ATOMIC;
}

/* RDMAP_PLACED, RDMAP_PACED: an operation without a response of its own, and a Read that may follow
 * it. */
static bool can_probe(const struct rdmap *ep, unsigned op)
{
	return !rdmap_op_has_response(op) && !opcode_has(op, OPCODE_LOCAL) && ep->sq.ord > 0 &&
	       !ep->raw;
}

static enum rdmap_status check_op(const struct rdmap *ep, const struct rdmap_wr *wr)
{
	unsigned traits;

	if (!opcode_is_send(wr->op) || (wr->flags & ~FLAGS))
		return RDMAP_LOC_OP_ERR;
	traits = opcode_table[wr->op].traits;
	if (wr->flags & RDMAP_INLINE && !(traits & OPCODE_PAYLOAD))
		return RDMAP_LOC_OP_ERR;
	if (wr->flags & (RDMAP_PLACED | RDMAP_PACED) && !can_probe(ep, wr->op))
		return RDMAP_LOC_OP_ERR;
	if (wr->flags & RDMAP_WITH_IMM && (!(traits & OPCODE_MAY_IMM) || ep->raw))
		return RDMAP_LOC_OP_ERR;
	if ((traits & OPCODE_RFC7306 || wr->flags & RDMAP_WITH_IMM) && ep->plain)
		return RDMAP_LOC_OP_ERR;
	if (traits & OPCODE_RESPONSE && ep->sq.ord == 0)
		return RDMAP_LOC_OP_ERR;
	return ep->raw ? rdmap_raw_check(wr) : RDMAP_SUCCESS;
}

/* The checks of a request that need no memory. *ret_len: bytes of its payload. */
static enum rdmap_status check_form(const struct rdmap *ep, const struct rdmap_wr *wr,
				    uint32_t *ret_len)
{
	enum rdmap_status status = wr->status != RDMAP_SUCCESS ? wr->status : check_op(ep, wr);
	const struct opcode *op = opcode_get(wr->op);
	uint64_t len;

	if (status != RDMAP_SUCCESS)
		return status;
	*ret_len = wr->len;
	if (wr->flags & RDMAP_INLINE)
		return wr->len <= RDMAP_INLINE_MAX ? RDMAP_SUCCESS : RDMAP_LOC_LEN_ERR;
	if (wr->nsge < op->min_sge || wr->nsge > op->max_sge)
		return RDMAP_LOC_SGE_ERR;
	if (is_atomic(wr) && wr->nsge == 1 && wr->sge[0].len != sizeof(uint64_t))
		return RDMAP_LOC_LEN_ERR;
	len = sgl_total(wr->sge, wr->nsge);
	if (len > UINT32_MAX)
		return RDMAP_LOC_LEN_ERR;
	*ret_len = (uint32_t)len;
	/* The peer sees parts, of which each may be right. */
	if (wr->op == RDMAP_READ && wr->nsge > 1 && checked_add_wraps(wr->rto, len))
		return RDMAP_LOC_LEN_ERR;
	return RDMAP_SUCCESS;
}

/* The operation of the next message, or of that which is being sent. */
static uint8_t op_now(const struct rdmap *ep)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	const bool first = ep->tx.part == 0;

	return wr->flags & RDMAP_WITH_IMM && first == (wr->op == RDMAP_SEND) ? RDMAP_IMM : wr->op;
}

bool rdmap_work_is_last(const struct rdmap *ep)
{
	return !(ep->tx.wr->flags & RDMAP_WITH_IMM) || ep->tx.part > 0;
}

static void locate(struct perr_at *at, const struct sgl_elem *bad)
{
	*at = (struct perr_at){.stag = bad->stag, .to = bad->to, .len = bad->len};
}

/* Whether a check of its memory, when the first segment is made, follows at once, or was made. */
static bool checks_itself(const struct rdmap *ep, uint32_t len)
{
	const struct rdmap_wr *wr = ep->tx.wr;

	if (rdmap_op_has_response(wr->op))
		return false;
	return ep->tx.part > 0 || (len <= ONE_SEGMENT && op_now(ep) == wr->op);
}

/* All memory of a request is checked before its first byte is sent, or its Immediate Data. The
 * memory of later parts of a Read is checked again before each. */
static enum rdmap_status check_memory(struct rdmap *ep, const struct rdmap_wr *wr, uint32_t len)
{
	const bool response = rdmap_op_has_response(wr->op);
	struct sgl_access access = rdmap_access(ep, response ? STAG_LOCAL_WRITE : 0);
	struct sgl rest = {wr->sge + ep->tx.part, wr->nsge - (unsigned)ep->tx.part};
	const struct sgl_elem *bad;
	int reason;

	if (wr->flags & RDMAP_INLINE || checks_itself(ep, len))
		return RDMAP_SUCCESS;
	reason = sgl_check(rest, &access, &bad);
	if (reason != STAG_E_OK)
		locate(&rdmap_sq_youngest(&ep->sq)->at, bad);
	return rdmap_status_of_stag(reason);
}

/* ---- the next request ---- */

void rdmap_work_end(struct rdmap *ep, enum rdmap_status status)
{
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);

	r->status = (uint8_t)status;
	r->ended = true;
	rdmap_drop_wr(ep);
	rdmap_sq_report(ep);
}

/* RDMAP_RNR with an end: an acknowledgment does not prove that there was a receive. */
static bool may_lack_receive(const struct rdmap *ep, const struct rdmap_wr *wr)
{
	return ep->rnr.agreed && ep->rnr.retry < RDMAP_RNR_NO_END && opcode_is_send(wr->op) &&
	       rdmap_takes_receive(wr->op, wr->flags);
}

/* RDMAP_ACKED on a transport that does not report acknowledgments: a response proves the delivery
 * as well. */
static bool wants_probe(const struct rdmap *ep, const struct rdmap_wr *wr)
{
	bool unproven = (ep->options & RDMAP_ACKED && !ep->acks) || may_lack_receive(ep, wr);

	return unproven && wr->flags & RDMAP_SIGNALED && wr->status == RDMAP_SUCCESS &&
	       can_probe(ep, wr->op);
}

/* Takes the next request into tx.wr. False if there is none or no room for it. */
static bool take_work(struct rdmap *ep)
{
	if (block_ring_full(&ep->sq.rec) || (ep->tx.last_ones && ep->tx.left == 0) || ep->tx.failed)
		return false;
	rdmap_take_wr(ep);
	if (!ep->ops->take_send(ep->user, ep->tx.wr)) {
		rdmap_drop_wr(ep);
		return false;
	}
	if (wants_probe(ep, ep->tx.wr))
		ep->tx.wr->flags |= RDMAP_PACED;
	ep->tx.held = true;
	ep->tx.left -= ep->tx.last_ones;
	rdmap_sq_add(ep);
	return true;
}

/* A fence, or ORD, holds back the request and all that follow. The parts of a Read are one request
 * for a fence, and each counts for ORD. */
static bool has_to_wait(const struct rdmap *ep)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	bool response = rdmap_op_has_response(wr->op);

	if (ep->tx.no_answers)
		return response || (wr->flags & RDMAP_FENCE && ep->tx.part == 0);
	if (wr->flags & RDMAP_FENCE && ep->tx.part == 0 && rdmap_orq_len(&ep->sq) > 0)
		return true;
	return response && rdmap_orq_len(&ep->sq) == ep->sq.ord;
}

static enum rdmap_status bind_window(struct rdmap *ep, const struct rdmap_wr *wr)
{
	struct stag_bind b = {
		.window = wr->rstag,
		.region = wr->bind.region,
		.rights = wr->bind.rights,
		.to = wr->rto,
		.len = wr->bind.len,
	};

	if (stag_bind(ep->stags, &b, &ep->accessor) == STAG_BIND_OK)
		return RDMAP_SUCCESS;
	rdmap_sq_youngest(&ep->sq)->at = (struct perr_at){.stag = b.window, .to = b.to};
	return RDMAP_MW_BIND_ERR;
}

/* Executes a request without a message, in order. */
static enum rdmap_status do_local(struct rdmap *ep, const struct rdmap_wr *wr)
{
	int reason;

	if (wr->op == RDMAP_BIND)
		return bind_window(ep, wr);
	reason = stag_invalidate(ep->stags, wr->inv_stag, &ep->accessor);
	if (reason != STAG_E_OK)
		rdmap_sq_youngest(&ep->sq)->at = (struct perr_at){.stag = wr->inv_stag};
	return rdmap_status_of_stag(reason);
}

/* Ends the request, whose next message is not sent. A Read of which parts are outstanding ends with
 * the response to the last one of these; with RDMAP_STRICT_SENDS one that failed ends with the
 * session. */
static void end_unsent(struct rdmap *ep, enum rdmap_status status)
{
	const bool parts = ep->tx.part > 0 && rdmap_op_has_response(ep->tx.wr->op);
	const uint32_t n = parts ? rdmap_orq_len(&ep->sq) : 0;

	if (status != RDMAP_SUCCESS && ep->options & RDMAP_STRICT_SENDS) {
		ep->tx.failed = true;
	} else if (n == 0) {
		rdmap_work_end(ep, status);
		return;
	} else {
		rdmap_orq_at(&ep->sq, n - 1)->last = true;
	}
	rdmap_sq_youngest(&ep->sq)->status = (uint8_t)status;
	rdmap_drop_wr(ep);
}

/* Finds a request that can begin now, with so many bytes; ends requests with errors and those
 * without a message. */
static bool find_work(struct rdmap *ep, uint32_t *ret_len)
{
	for (; ep->tx.idle < RDMAP_IDLE_BURST; ep->tx.idle++) {
		const struct rdmap_wr *wr;
		enum rdmap_status status;

		if (!ep->tx.held && !take_work(ep))
			return false;
		wr = ep->tx.wr;
		status = check_form(ep, wr, ret_len);
		if (status == RDMAP_SUCCESS) {
			if (has_to_wait(ep))
				return false;
			status = check_memory(ep, wr, *ret_len);
		}
		if (status == RDMAP_SUCCESS && !opcode_has(wr->op, OPCODE_LOCAL))
			return true;
		end_unsent(ep, status == RDMAP_SUCCESS ? do_local(ep, wr) : status);
	}
	return false;
}

/* ---- its message ---- */

/* The sink of the response to this message: an element, or an empty one. */
static struct sgl_elem sink_of(const struct rdmap_wr *wr, unsigned part)
{
	return part < wr->nsge ? wr->sge[part] : (struct sgl_elem){0};
}

static void put_read_req(const struct rdmap *ep, const struct rdmap_wr *wr, uint8_t *p)
{
	struct sgl_elem sink = sink_of(wr, ep->tx.part);
	struct wire_read_req req = {sink.stag, sink.to, sink.len, wr->rstag,
				    wr->rto + sgl_total(wr->sge, ep->tx.part)};

	wire_read_req_put(p, &req);
}

static void put_imm(const struct rdmap *ep, const struct rdmap_wr *wr, uint8_t *p)
{
	(void)ep;
	be_put64(p, wr->imm);
}

/* The request's number serves as its identifier: unique among those outstanding. */
static void put_atomic_req(const struct rdmap *ep, const struct rdmap_wr *wr, uint8_t *p)
{
	struct wire_atomic_req req = {
		.aop = wr->op == RDMAP_CMP_SWAP ? WIRE_CMP_SWAP : WIRE_FETCH_ADD,
		.id = ep->sq.rec.tail - 1,
		.stag = wr->rstag,
		.to = wr->rto,
		.data = wr->atomic.data,
		.mask = wr->atomic.mask,
		.compare = wr->atomic.compare,
		.compare_mask = wr->atomic.compare_mask,
	};

	wire_atomic_req_put(p, &req);
}

/* The message of each operation that sends one, RFC 5040 figure 4 and RFC 7306 4.1. */
static const struct message {
	uint8_t opcode, opcode_se; /* WIRE_OP_*: without and with Solicited Event */
	bool tagged;
	uint8_t qn;     /* untagged */
	uint8_t header; /* bytes of the RDMAP header after the DDP header, or 0: */
	void (*put_header)(const struct rdmap *ep, const struct rdmap_wr *wr, uint8_t *p);
} messages[RDMAP_OP_COUNT] = {
	[RDMAP_SEND] = {WIRE_OP_SEND, WIRE_OP_SEND_SE, .qn = WIRE_QN_SEND},
	[RDMAP_SEND_INV] = {WIRE_OP_SEND_INV, WIRE_OP_SEND_SE_INV, .qn = WIRE_QN_SEND},
	[RDMAP_WRITE] = {WIRE_OP_WRITE, WIRE_OP_WRITE, .tagged = true},
	[RDMAP_READ] = {WIRE_OP_READ_REQ, WIRE_OP_READ_REQ, false, WIRE_QN_READ_REQ,
			WIRE_READ_REQ_LEN, put_read_req},
	[RDMAP_IMM] = {WIRE_OP_IMM, WIRE_OP_IMM_SE, false, WIRE_QN_SEND, WIRE_IMM_LEN, put_imm},
	[RDMAP_FETCH_ADD] = {WIRE_OP_ATOMIC_REQ, WIRE_OP_ATOMIC_REQ, false, WIRE_QN_READ_REQ,
			     WIRE_ATOMIC_REQ_LEN, put_atomic_req},
	[RDMAP_CMP_SWAP] = {WIRE_OP_ATOMIC_REQ, WIRE_OP_ATOMIC_REQ, false, WIRE_QN_READ_REQ,
			    WIRE_ATOMIC_REQ_LEN, put_atomic_req},
};

/* Opcode, queue or buffer of a request's message. */
static void address(const struct rdmap *ep, struct wire_ddp *h)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	const struct message *m = &messages[op_now(ep)];
	const bool solicited = wr->flags & RDMAP_SOLICITED && rdmap_work_is_last(ep);

	h->opcode = solicited ? m->opcode_se : m->opcode;
	h->tagged = m->tagged;
	if (m->tagged) {
		h->stag = wr->rstag;
		h->to = wr->rto;
		return;
	}
	h->qn = m->qn;
	h->inv_stag = wr->op == RDMAP_SEND_INV ? wr->inv_stag : 0;
}

uint32_t rdmap_work_header(const struct rdmap *ep)
{
	return messages[op_now(ep)].header;
}

static void begin_work(struct rdmap *ep, uint32_t len)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);
	uint32_t header = rdmap_work_header(ep);
	struct wire_ddp *h = ddp_tx_begin(&ep->tx.msg, header ? header : len);

	r->len = len;
	if (ep->raw)
		rdmap_raw_address(wr, h);
	else
		address(ep, h);
	if (!h->tagged)
		h->msn = ep->tx.msn[h->qn];
	if (!h->tagged && r->parts++ == 0)
		r->msn = h->msn;
	ep->tx.kind = RDMAP_WORK;
	ep->tx.burst = 0;
	ep->tx.within = wr->fetch && ep->ops->reach ? 0 : UINT64_MAX;
}

/*
 * RFC 6581 9.2: an empty message after which the responder may send. No client posted it, so no
 * completion is reported.
 */
static void begin_rtr(struct rdmap *ep)
{
	uint8_t rtr = ep->tx.rtr;

	ep->tx.rtr = 0;
	rdmap_take_wr(ep);
	*ep->tx.wr = (struct rdmap_wr){
		.op = rtr == WIRE_RTR_SEND    ? RDMAP_SEND
		      : rtr == WIRE_RTR_WRITE ? RDMAP_WRITE
					      : RDMAP_READ,
	};
	ep->tx.held = true;
	rdmap_sq_add(ep);
	rdmap_sq_youngest(&ep->sq)->hidden = true;
	begin_work(ep, 0);
}

void rdmap_work_asked(struct rdmap *ep)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	struct sgl_elem sink = sink_of(wr, ep->tx.part);
	bool last = ep->tx.part + 1U >= wr->nsge;

	rdmap_orq_push(ep, &sink, last);
	if (last)
		rdmap_drop_wr(ep);
	else
		ep->tx.part++;
}

void rdmap_work_probe(struct rdmap *ep)
{
	rdmap_sq_youngest(&ep->sq)->probed = true;
	*ep->tx.wr = (struct rdmap_wr){.op = RDMAP_READ};
	ep->tx.part = 0;
	ep->tx.rtr = RDMAP_PROBE;
}

/* The request stays the youngest; its Read counts against ORD like any other. */
static bool begin_probe(struct rdmap *ep)
{
	struct wire_ddp *h;

	if (ep->tx.no_answers || rdmap_orq_len(&ep->sq) == ep->sq.ord)
		return false;
	ep->tx.rtr = 0;
	h = ddp_tx_begin(&ep->tx.msg, WIRE_READ_REQ_LEN);
	address(ep, h);
	h->msn = ep->tx.msn[h->qn];
	ep->tx.kind = RDMAP_WORK;
	ep->tx.burst = 0;
	return true;
}

bool rdmap_work_begin(struct rdmap *ep)
{
	uint32_t len;

	if (ep->tx.rtr == RDMAP_PROBE)
		return begin_probe(ep);
	if (ep->tx.rtr) {
		begin_rtr(ep);
		return true;
	}
	if (!find_work(ep, &len))
		return false;
	begin_work(ep, len);
	return true;
}

/* ---- its segments ---- */

static void header_body(const struct rdmap *ep, struct rdmap_seg *seg)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	uint8_t *p = seg->head + seg->head_len;

	messages[op_now(ep)].put_header(ep, wr, p);
	seg->head_len += rdmap_work_header(ep);
}

/* The rest of the element that holds byte `at` of the payload; it is not empty. */
static struct sgl_elem rest_at(const struct rdmap_wr *wr, uint64_t at)
{
	const struct sgl_elem *e = wr->sge;

	for (; at >= e->len; e++)
		at -= e->len;
	return (struct sgl_elem){e->to + at, e->len - (uint32_t)at, e->stag};
}

/* The session ends, because this element of the request cannot be read. */
static void end_unread(struct rdmap *ep, const struct sgl_elem *e, enum perr perr)
{
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);

	locate(&r->at, e);
	r->status = RDMAP_LOC_BOUNDS_ERR;
	rdmap_term_fail(ep, perr, NULL, NULL);
}

/* Whether the payload of the segment, which was resolved, may be read. Asked as late as this,
 * because earlier Reads may change it until a fence ends. */
static int fetch(struct rdmap *ep)
{
	const struct ddp_tx *m = &ep->tx.msg;

	while (ep->tx.within < m->off + m->now) {
		struct sgl_elem rest = rest_at(ep->tx.wr, ep->tx.within);
		struct rdmap_reach r = {
			.stag = rest.stag, .to = rest.to, .len = rest.len, .own = true};
		int e = ep->ops->reach(ep->user, &r);

		if (e == RDMAP_NOT_YET)
			return RDMAP_TX_WAIT;
		if (e == RDMAP_UNREACHABLE) {
			end_unread(ep, &rest, PERR_AGENT);
			return RDMAP_TX_FAILED;
		}
		ep->tx.within += e == RDMAP_REACHED ? r.ret_len : r.len;
	}
	return RDMAP_TX_SEGMENT;
}

/* The same for its elements, and whether they may be touched. */
static int fetch_payload(struct rdmap *ep, const struct rdmap_seg *seg)
{
	struct sgl_elem rest;
	int r = fetch(ep);

	if (r != RDMAP_TX_SEGMENT || rdmap_may_touch(ep, seg->body, seg->nbody))
		return r;
	rest = rest_at(ep->tx.wr, ep->tx.msg.off);
	end_unread(ep, &rest, PERR_MEMORY);
	return RDMAP_TX_FAILED;
}

/* Payload of a segment of our own request. Its memory may have become inaccessible since the
 * previous segment. */
int rdmap_work_body(struct rdmap *ep, struct rdmap_seg *seg)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	const struct ddp_tx *m = &ep->tx.msg;
	struct sgl_access access = rdmap_access(ep, 0);
	struct sgl_fault fault;
	enum rdmap_status status;
	int n;

	if (rdmap_work_header(ep)) {
		header_body(ep, seg);
		return RDMAP_TX_SEGMENT;
	}
	if (wr->flags & RDMAP_INLINE) {
		seg->body[0] = (struct span){(uint8_t *)wr->inl + m->off, m->now};
		seg->nbody = m->now > 0;
		return RDMAP_TX_SEGMENT;
	}
	n = sgl_resolve((struct sgl){wr->sge, wr->nsge}, m->off, m->now, &access, seg->body,
			&fault);
	if (n >= 0) {
		seg->nbody = (unsigned)n;
		return fetch_payload(ep, seg);
	}
	locate(&rdmap_sq_youngest(&ep->sq)->at, fault.elem);
	status = rdmap_status_of_stag(fault.reason);
	if (m->off == 0) {
		ep->tx.kind = RDMAP_NOTHING;
		ep->tx.idle++;
		end_unsent(ep, status);
		return RDMAP_TX_NONE;
	}
	rdmap_sq_youngest(&ep->sq)->status = (uint8_t)status;
	rdmap_term_fail(ep, PERR_CATASTROPHIC, NULL, NULL);
	return RDMAP_TX_FAILED;
}
