/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap_tx.h"

#include <string.h>

#include "proto/rdmap_atomic.h"
#include "proto/rdmap_raw.h"
#include "proto/rdmap_term.h"
#include "util/be.h"

enum {
	RESPONSE_BURST = 4, /* responses in a row while requests of our own wait */
	IDLE_BURST = 32,    /* requests in a row that send nothing before others have their turn */
	FLAGS = RDMAP_SIGNALED | RDMAP_FENCE | RDMAP_SOLICITED | RDMAP_INLINE,
};

static const struct wire_ddp HEADER = {.dv = 1, .rv = 1};

/* ---- our own requests ---- */

/* The request in tx.wr is over as far as sending goes; it completes when it is the oldest. */
static void end_work(struct rdmap *ep, enum rdmap_status status)
{
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);

	r->status = (uint8_t)status;
	r->ended = true;
	ep->tx.held = false;
	rdmap_sq_report(ep);
}

static uint64_t payload_of(const struct rdmap_wr *wr)
{
	return wr->flags & RDMAP_INLINE ? wr->len : sgl_total(wr->sge, wr->nsge);
}

/* What each kind of request may look like. */
static const struct form {
	uint8_t min_sge, max_sge;
	bool payload; /* its elements are what is sent, so they may come inline */
	bool ext;     /* RFC 7306 */
	bool local;   /* nothing of it is sent */
} forms[] = {
	[RDMAP_SEND] = {0, SGL_MAX, .payload = true},
	[RDMAP_SEND_INV] = {0, SGL_MAX, .payload = true},
	[RDMAP_WRITE] = {0, SGL_MAX, .payload = true},
	[RDMAP_READ] = {1, 1},
	[RDMAP_IMM] = {0, 0, .ext = true},
	[RDMAP_FETCH_ADD] = {0, 1, .ext = true},
	[RDMAP_CMP_SWAP] = {0, 1, .ext = true},
	[RDMAP_BIND] = {0, 0, .local = true},
	[RDMAP_LOCAL_INV] = {0, 0, .local = true},
};

static bool is_atomic(const struct rdmap_wr *wr)
{
	return wr->op == RDMAP_FETCH_ADD || wr->op == RDMAP_CMP_SWAP;
}

static enum rdmap_status judge_op(const struct rdmap *ep, const struct rdmap_wr *wr)
{
	if (wr->op >= sizeof(forms) / sizeof(forms[0]) || (wr->flags & ~FLAGS))
		return RDMAP_LOC_OP;
	if (wr->flags & RDMAP_INLINE && !forms[wr->op].payload)
		return RDMAP_LOC_OP;
	if (forms[wr->op].ext && ep->plain)
		return RDMAP_LOC_OP;
	if (rdmap_op_asks(wr->op) && ep->sq.ord == 0)
		return RDMAP_LOC_OP;
	return ep->raw ? rdmap_raw_judge(wr) : RDMAP_OK;
}

/* Everything about a request that can be judged without looking at memory. */
static enum rdmap_status judge_form(const struct rdmap *ep, const struct rdmap_wr *wr)
{
	enum rdmap_status status = wr->status != RDMAP_OK ? wr->status : judge_op(ep, wr);

	if (status != RDMAP_OK)
		return status;
	if (wr->flags & RDMAP_INLINE)
		return wr->len <= RDMAP_INLINE_MAX ? RDMAP_OK : RDMAP_LOC_LEN;
	if (wr->nsge < forms[wr->op].min_sge || wr->nsge > forms[wr->op].max_sge)
		return RDMAP_LOC_SGE;
	if (is_atomic(wr) && wr->nsge == 1 && wr->sge[0].len != sizeof(uint64_t))
		return RDMAP_LOC_LEN;
	return payload_of(wr) <= UINT32_MAX ? RDMAP_OK : RDMAP_LOC_LEN;
}

static void locate(struct perr_at *at, const struct sgl_elem *bad)
{
	*at = (struct perr_at){.stag = bad->stag, .to = bad->to, .len = bad->len};
}

/* All memory of a request is checked before its first byte leaves. */
static enum rdmap_status judge_memory(struct rdmap *ep, const struct rdmap_wr *wr)
{
	const struct sgl_elem *bad;
	int why;

	if (wr->flags & RDMAP_INLINE)
		return RDMAP_OK;
	why = sgl_check(wr->sge, wr->nsge, ep->stags, &ep->who,
			rdmap_op_asks(wr->op) ? STAG_LOCAL_WRITE : 0, &bad);
	if (why != STAG_E_OK)
		locate(&rdmap_sq_youngest(&ep->sq)->at, bad);
	return rdmap_status_of_stag(why);
}

/* Takes the next request to tx.wr. False if there is none or no room for it. */
static bool take_work(struct rdmap *ep)
{
	if (rdmap_sq_full(&ep->sq) || !ep->ops->take_send(ep->user, &ep->tx.wr))
		return false;
	ep->tx.held = true;
	rdmap_sq_add(&ep->sq, &ep->tx.wr);
	return true;
}

/* A fence, or the limit on outstanding Reads, holds the request and all behind it. */
static bool has_to_wait(const struct rdmap *ep)
{
	const struct rdmap_wr *wr = &ep->tx.wr;

	if (wr->flags & RDMAP_FENCE && ep->sq.asks > 0)
		return true;
	return rdmap_op_asks(wr->op) && ep->sq.asks == ep->sq.ord;
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

	if (stag_bind(ep->stags, &b, &ep->who) == STAG_BIND_OK)
		return RDMAP_OK;
	rdmap_sq_youngest(&ep->sq)->at = (struct perr_at){.stag = b.window, .to = b.to};
	return RDMAP_BIND_FAILED;
}

/* A request that sends nothing is done at once, in its turn. */
static enum rdmap_status do_local(struct rdmap *ep, const struct rdmap_wr *wr)
{
	int why;

	if (wr->op == RDMAP_BIND)
		return bind_window(ep, wr);
	why = stag_invalidate(ep->stags, wr->inv_stag, &ep->who);
	if (why != STAG_E_OK)
		rdmap_sq_youngest(&ep->sq)->at = (struct perr_at){.stag = wr->inv_stag};
	return rdmap_status_of_stag(why);
}

/* Finds a request that can begin now, and ends those that send nothing or never can. */
static bool find_work(struct rdmap *ep)
{
	for (int i = 0; i < IDLE_BURST; i++) {
		const struct rdmap_wr *wr = &ep->tx.wr;
		enum rdmap_status status;

		if (!ep->tx.held && !take_work(ep))
			return false;
		status = judge_form(ep, wr);
		if (status == RDMAP_OK) {
			if (has_to_wait(ep))
				return false;
			status = judge_memory(ep, wr);
		}
		if (status == RDMAP_OK && !forms[wr->op].local)
			return true;
		end_work(ep, status == RDMAP_OK ? do_local(ep, wr) : status);
	}
	ep->tx.tired = true;
	return false;
}

static uint8_t send_opcode(const struct rdmap_wr *wr)
{
	if (wr->op == RDMAP_SEND_INV)
		return wr->flags & RDMAP_SOLICITED ? WIRE_OP_SEND_SE_INV : WIRE_OP_SEND_INV;
	return wr->flags & RDMAP_SOLICITED ? WIRE_OP_SEND_SE : WIRE_OP_SEND;
}

/* Opcode, queue or buffer of a request's message, RFC 5040 figure 4 and RFC 7306 4.1. */
static void address(const struct rdmap_wr *wr, struct wire_ddp *h)
{
	switch (wr->op) {
	case RDMAP_WRITE:
		h->opcode = WIRE_OP_WRITE;
		h->tagged = true;
		h->stag = wr->rstag;
		h->to = wr->rto;
		break;
	case RDMAP_READ:
	case RDMAP_FETCH_ADD:
	case RDMAP_CMP_SWAP:
		h->opcode = wr->op == RDMAP_READ ? WIRE_OP_READ_REQ : WIRE_OP_ATOMIC_REQ;
		h->qn = WIRE_QN_READ_REQ;
		break;
	case RDMAP_IMM:
		h->opcode = wr->flags & RDMAP_SOLICITED ? WIRE_OP_IMM_SE : WIRE_OP_IMM;
		h->qn = WIRE_QN_SEND;
		break;
	default:
		h->opcode = send_opcode(wr);
		h->inv_stag = wr->op == RDMAP_SEND_INV ? wr->inv_stag : 0;
		h->qn = WIRE_QN_SEND;
		break;
	}
}

/* Bytes of the header that is all a message carries behind DDP's, or 0: it carries payload. */
static uint32_t header_only(const struct rdmap_wr *wr)
{
	switch (wr->op) {
	case RDMAP_READ:
		return WIRE_READ_REQ_LEN;
	case RDMAP_IMM:
		return WIRE_IMM_LEN;
	case RDMAP_FETCH_ADD:
	case RDMAP_CMP_SWAP:
		return WIRE_ATOMIC_REQ_LEN;
	default:
		return 0;
	}
}

static void begin_work(struct rdmap *ep)
{
	const struct rdmap_wr *wr = &ep->tx.wr;
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);
	uint32_t header = header_only(wr);
	struct wire_ddp h = HEADER;

	r->len = (uint32_t)payload_of(wr);
	if (rdmap_op_asks(wr->op) && wr->nsge > 0)
		r->sink = wr->sge[0];
	if (ep->raw)
		rdmap_raw_address(wr, &h);
	else
		address(wr, &h);
	if (!h.tagged)
		r->msn = h.msn = ep->tx.msn[h.qn];
	ddp_tx_begin(&ep->tx.msg, &h, header ? header : r->len);
	ep->tx.kind = RDMAP_WORK;
	ep->tx.burst = 0;
}

/*
 * RFC 6581 9.2: an empty message that tells the responder to go ahead. It is a request of
 * nobody's, so it completes to nobody.
 */
static void begin_rtr(struct rdmap *ep)
{
	uint8_t rtr = ep->tx.rtr;

	ep->tx.rtr = 0;
	ep->tx.wr = (struct rdmap_wr){
		.op = rtr == WIRE_RTR_SEND    ? RDMAP_SEND
		      : rtr == WIRE_RTR_WRITE ? RDMAP_WRITE
					      : RDMAP_READ,
	};
	ep->tx.held = true;
	rdmap_sq_add(&ep->sq, &ep->tx.wr);
	rdmap_sq_youngest(&ep->sq)->hidden = true;
	begin_work(ep);
}

/* ---- answers to Reads and atomics, and the Terminate ---- */

static void begin_read_response(struct rdmap *ep, const struct rdmap_ird_slot *s)
{
	struct wire_ddp h = HEADER;
	struct wire_read_req req;

	wire_read_req_get(s->body, &req);
	h.opcode = WIRE_OP_READ_RESP;
	h.tagged = true;
	h.stag = req.sink_stag; /* the peer's, copied unread (RFC 5040 4.4) */
	h.to = req.sink_to;
	ddp_tx_begin(&ep->tx.msg, &h, req.size);
}

static void begin_atomic_response(struct rdmap *ep)
{
	struct wire_ddp h = HEADER;

	h.opcode = WIRE_OP_ATOMIC_RESP;
	h.qn = WIRE_QN_ATOMIC_RESP;
	h.msn = ep->tx.msn[h.qn];
	ddp_tx_begin(&ep->tx.msg, &h, WIRE_ATOMIC_RESP_LEN);
}

/* One queue for both, so that answers leave in the order of the requests (RFC 7306 7). */
static void begin_response(struct rdmap *ep)
{
	const struct rdmap_ird_slot *s = rdmap_ird_oldest(&ep->ird);

	if (s->seg.ddp.opcode == WIRE_OP_ATOMIC_REQ)
		begin_atomic_response(ep);
	else
		begin_read_response(ep, s);
	ep->tx.kind = RDMAP_RESPONSE;
}

static void begin_terminate(struct rdmap *ep)
{
	struct wire_ddp h = HEADER;

	h.opcode = WIRE_OP_TERMINATE;
	h.qn = WIRE_QN_TERMINATE;
	h.msn = ep->tx.msn[WIRE_QN_TERMINATE];
	ddp_tx_begin(&ep->tx.msg, &h, ep->tx.term_len);
	ep->tx.kind = RDMAP_TERMINATE;
}

/* Chooses the next message and begins it. */
static bool begin_next(struct rdmap *ep)
{
	bool asked = rdmap_ird_oldest(&ep->ird) != NULL;

	if (ep->tx.term_len > 0) {
		begin_terminate(ep);
		return true;
	}
	if (!rdmap_fsm_may_begin(ep->state) || ep->wait)
		return false;
	if (ep->tx.rtr) {
		begin_rtr(ep);
		return true;
	}
	if (asked && ep->tx.burst < RESPONSE_BURST) {
		begin_response(ep);
		return true;
	}
	if (find_work(ep)) {
		begin_work(ep);
		return true;
	}
	if (asked)
		begin_response(ep);
	return asked;
}

/* ---- segments ---- */

static void put_read_req(const struct rdmap_wr *wr, uint8_t *p)
{
	struct wire_read_req req = {wr->sge[0].stag, wr->sge[0].to, wr->sge[0].len, wr->rstag,
				    wr->rto};

	wire_read_req_put(p, &req);
}

/* The request's number serves as its identifier: unique among those outstanding. */
static void put_atomic_req(const struct rdmap_wr *wr, uint32_t id, uint8_t *p)
{
	struct wire_atomic_req req = {
		.aop = wr->op == RDMAP_CMP_SWAP ? WIRE_CMP_SWAP : WIRE_FETCH_ADD,
		.id = id,
		.stag = wr->rstag,
		.to = wr->rto,
		.data = wr->atomic.data,
		.mask = wr->atomic.mask,
		.compare = wr->atomic.compare,
		.compare_mask = wr->atomic.compare_mask,
	};

	wire_atomic_req_put(p, &req);
}

static void header_body(const struct rdmap *ep, struct rdmap_seg *seg)
{
	const struct rdmap_wr *wr = &ep->tx.wr;
	uint8_t *p = seg->head + seg->head_len;

	if (wr->op == RDMAP_READ)
		put_read_req(wr, p);
	else if (wr->op == RDMAP_IMM)
		be_put64(p, wr->imm);
	else
		put_atomic_req(wr, ep->sq.tail - 1, p);
	seg->head_len += header_only(wr);
}

/* Payload of a segment of our own request. Its memory may be gone since the last one. */
static int work_body(struct rdmap *ep, struct rdmap_seg *seg)
{
	const struct rdmap_wr *wr = &ep->tx.wr;
	const struct ddp_tx *m = &ep->tx.msg;
	const struct sgl_elem *bad;
	enum rdmap_status status;
	int n, why;

	if (header_only(wr)) {
		header_body(ep, seg);
		return RDMAP_TX_SEGMENT;
	}
	if (wr->flags & RDMAP_INLINE) {
		seg->body[0] = (struct span){(uint8_t *)wr->inl + m->off, m->now};
		seg->nbody = m->now > 0;
		return RDMAP_TX_SEGMENT;
	}
	n = sgl_resolve(wr->sge, wr->nsge, m->off, m->now, ep->stags, &ep->who, 0, seg->body, &bad,
			&why);
	if (n >= 0) {
		seg->nbody = (unsigned)n;
		return RDMAP_TX_SEGMENT;
	}
	locate(&rdmap_sq_youngest(&ep->sq)->at, bad);
	status = rdmap_status_of_stag(why);
	if (m->off == 0) {
		ep->tx.kind = RDMAP_NOTHING;
		end_work(ep, status);
		return RDMAP_TX_NONE;
	}
	rdmap_sq_youngest(&ep->sq)->status = (uint8_t)status;
	rdmap_term_fail(ep, PERR_CATASTROPHIC, NULL, NULL);
	return RDMAP_TX_FAILED;
}

/* The atomic is carried out when its turn to be answered has come, and once. */
static int atomic_response_body(struct rdmap *ep, struct rdmap_ird_slot *s, struct rdmap_seg *seg)
{
	enum perr perr = rdmap_atomic_execute(ep, s);

	if (perr != PERR_NONE) {
		/* Of an error that is ours alone nothing is copied (RFC 7306 8.1). */
		rdmap_term_fail(ep, perr, perr == PERR_CATASTROPHIC ? NULL : &s->seg, s->body);
		return RDMAP_TX_FAILED;
	}
	rdmap_atomic_answer(s, seg->head + seg->head_len);
	seg->head_len += WIRE_ATOMIC_RESP_LEN;
	return RDMAP_TX_SEGMENT;
}

/* Payload of a segment of a Read Response, or the Terminate of RFC 5040 4.8 for the rest of it. */
static int read_response_body(struct rdmap *ep, struct rdmap_ird_slot *s, struct rdmap_seg *seg)
{
	const struct ddp_tx *m = &ep->tx.msg;
	struct wire_read_req req;
	uint8_t *p = NULL;
	enum perr perr;

	wire_read_req_get(s->body, &req);
	perr = rdmap_ird_access(ep, STAG_REMOTE_READ, req.src_stag, req.src_to + m->off, m->now,
				&p);
	if (perr == PERR_NONE) {
		seg->body[0] = (struct span){p, m->now};
		seg->nbody = m->now > 0;
		return RDMAP_TX_SEGMENT;
	}
	req.sink_to += m->off;
	req.src_to += m->off;
	req.size -= m->off;
	wire_read_req_put(s->body, &req);
	rdmap_term_fail(ep, perr, &s->seg, s->body);
	return RDMAP_TX_FAILED;
}

static int response_body(struct rdmap *ep, struct rdmap_seg *seg)
{
	struct rdmap_ird_slot *s = rdmap_ird_oldest(&ep->ird);

	if (s->seg.ddp.opcode == WIRE_OP_ATOMIC_REQ)
		return atomic_response_body(ep, s, seg);
	return read_response_body(ep, s, seg);
}

static int terminate_body(const struct rdmap *ep, struct rdmap_seg *seg)
{
	memcpy(seg->head + seg->head_len, ep->tx.term, ep->tx.term_len);
	seg->head_len += ep->tx.term_len;
	return RDMAP_TX_SEGMENT;
}

static int make(struct rdmap *ep, uint32_t mulpdu, struct rdmap_seg *seg)
{
	struct ddp_tx *m = &ep->tx.msg;

	ddp_tx_cut(m, mulpdu);
	seg->head_len = ddp_tx_head(m, seg->head);
	seg->len = (uint32_t)seg->head_len + m->now;
	seg->nbody = 0;
	switch (ep->tx.kind) {
	case RDMAP_WORK:
		return work_body(ep, seg);
	case RDMAP_RESPONSE:
		return response_body(ep, seg);
	default:
		return terminate_body(ep, seg);
	}
}

int rdmap_tx_next(struct rdmap *ep, uint32_t mulpdu, struct rdmap_seg *seg)
{
	ep->tx.tired = false;
	/* A second round is for a request whose memory vanished before its first byte left. */
	while (ep->tx.kind != RDMAP_NOTHING || begin_next(ep)) {
		int r = make(ep, mulpdu, seg);

		if (r != RDMAP_TX_NONE)
			return r;
	}
	return ep->tx.tired ? RDMAP_TX_LATER : RDMAP_TX_NONE;
}

/* What is sent is the ULP's. */
static bool carries_payload(const struct rdmap_tx *tx)
{
	if (tx->kind == RDMAP_WORK)
		return header_only(&tx->wr) == 0;
	return tx->kind == RDMAP_RESPONSE && tx->msg.ddp.tagged;
}

/* The last segment of a message is out. */
static void message_taken(struct rdmap *ep)
{
	struct rdmap_tx *tx = &ep->tx;

	ep->tx_msgs++;
	if (tx->kind == RDMAP_TERMINATE) {
		tx->term_len = 0;
	} else if (tx->kind == RDMAP_RESPONSE) {
		rdmap_ird_answered(&ep->ird);
		tx->burst += tx->burst < RESPONSE_BURST;
	} else if (rdmap_op_asks(tx->wr.op)) {
		rdmap_sq_asked(&ep->sq);
		tx->held = false;
	} else {
		end_work(ep, RDMAP_OK);
	}
	tx->kind = RDMAP_NOTHING;
	if (!tx->finishing)
		ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_SAID);
	tx->finishing = false;
}

void rdmap_tx_taken(struct rdmap *ep)
{
	struct rdmap_tx *tx = &ep->tx;
	bool last = ddp_tx_last(&tx->msg);

	if (tx->kind == RDMAP_NOTHING)
		return; /* given up while the transport took it: the stream failed or was stopped */
	if (tx->msg.off == 0) {
		if (!tx->msg.ddp.tagged)
			tx->msn[tx->msg.ddp.qn]++;
		if (tx->kind == RDMAP_WORK)
			rdmap_sq_youngest(&ep->sq)->sent = true;
	}
	if (carries_payload(tx))
		ep->tx_bytes += tx->msg.now;
	ddp_tx_taken(&tx->msg);
	if (last)
		message_taken(ep);
}

bool rdmap_tx_busy(const struct rdmap *ep)
{
	return ep->tx.kind != RDMAP_NOTHING;
}

bool rdmap_tx_ending(const struct rdmap *ep)
{
	return ep->tx.term_len > 0;
}
