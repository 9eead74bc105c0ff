/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap_tx.h"

#include <string.h>

#include "proto/rdmap_term.h"

enum {
	RESPONSE_BURST = 4, /* responses in a row while requests of our own wait */
	BAD_BURST = 32,     /* bad requests in a row before others have their turn */
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

/* Everything about a request that can be judged without looking at memory. */
static enum rdmap_status judge_form(const struct rdmap *ep, const struct rdmap_wr *wr)
{
	if (wr->status != RDMAP_OK)
		return wr->status;
	if (wr->op > RDMAP_READ || (wr->flags & ~FLAGS))
		return RDMAP_LOC_OP;
	if (wr->op == RDMAP_READ && (wr->flags & RDMAP_INLINE || ep->sq.ord == 0))
		return RDMAP_LOC_OP;
	if (wr->flags & RDMAP_INLINE)
		return wr->len <= RDMAP_INLINE_MAX ? RDMAP_OK : RDMAP_LOC_LEN;
	if (wr->nsge > SGL_MAX || (wr->op == RDMAP_READ && wr->nsge != 1))
		return RDMAP_LOC_SGE;
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
			wr->op == RDMAP_READ ? STAG_LOCAL_WRITE : 0, &bad);
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

	if (wr->flags & RDMAP_FENCE && ep->sq.reads > 0)
		return true;
	return wr->op == RDMAP_READ && ep->sq.reads == ep->sq.ord;
}

/* Finds a request that can begin now, and ends those that never can. */
static bool find_work(struct rdmap *ep)
{
	for (int i = 0; i < BAD_BURST; i++) {
		enum rdmap_status status;

		if (!ep->tx.held && !take_work(ep))
			return false;
		status = judge_form(ep, &ep->tx.wr);
		if (status == RDMAP_OK) {
			if (has_to_wait(ep))
				return false;
			status = judge_memory(ep, &ep->tx.wr);
		}
		if (status == RDMAP_OK)
			return true;
		end_work(ep, status);
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

static void begin_work(struct rdmap *ep)
{
	const struct rdmap_wr *wr = &ep->tx.wr;
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);
	struct wire_ddp h = HEADER;
	uint32_t len;

	r->len = len = (uint32_t)payload_of(wr);
	switch (wr->op) {
	case RDMAP_WRITE:
		h.opcode = WIRE_OP_WRITE;
		h.tagged = true;
		h.stag = wr->rstag;
		h.to = wr->rto;
		break;
	case RDMAP_READ:
		h.opcode = WIRE_OP_READ_REQ;
		h.qn = WIRE_QN_READ_REQ;
		r->sink = wr->sge[0];
		len = WIRE_READ_REQ_LEN;
		break;
	default:
		h.opcode = send_opcode(wr);
		h.inv_stag = wr->op == RDMAP_SEND_INV ? wr->inv_stag : 0;
		h.qn = WIRE_QN_SEND;
		break;
	}
	if (!h.tagged)
		r->msn = h.msn = ep->tx.msn[h.qn];
	ddp_tx_begin(&ep->tx.msg, &h, len);
	ep->tx.kind = RDMAP_WORK;
	ep->tx.burst = 0;
}

/* ---- answers to Reads, and the Terminate ---- */

static void begin_response(struct rdmap *ep)
{
	struct wire_ddp h = HEADER;
	struct wire_read_req req;

	wire_read_req_get(rdmap_ird_oldest(&ep->ird)->body, &req);
	h.opcode = WIRE_OP_READ_RESP;
	h.tagged = true;
	h.stag = req.sink_stag; /* the peer's, copied unread (RFC 5040 4.4) */
	h.to = req.sink_to;
	ddp_tx_begin(&ep->tx.msg, &h, req.size);
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
	if (!rdmap_fsm_may_begin(ep->state))
		return false;
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

/* Payload of a segment of our own request. Its memory may be gone since the last one. */
static int work_body(struct rdmap *ep, struct rdmap_seg *seg)
{
	const struct rdmap_wr *wr = &ep->tx.wr;
	const struct ddp_tx *m = &ep->tx.msg;
	const struct sgl_elem *bad;
	enum rdmap_status status;
	int n, why;

	if (wr->op == RDMAP_READ) {
		struct wire_read_req req = {wr->sge[0].stag, wr->sge[0].to, wr->sge[0].len,
					    wr->rstag, wr->rto};

		wire_read_req_put(seg->head + seg->head_len, &req);
		seg->head_len += WIRE_READ_REQ_LEN;
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

/* Payload of a segment of a Read Response, or the Terminate of RFC 5040 4.8 for the rest of it. */
static int response_body(struct rdmap *ep, struct rdmap_seg *seg)
{
	struct rdmap_ird_slot *s = rdmap_ird_oldest(&ep->ird);
	const struct ddp_tx *m = &ep->tx.msg;
	struct wire_read_req req;
	uint8_t *p = NULL;
	enum perr perr;

	wire_read_req_get(s->body, &req);
	perr = rdmap_ird_source(ep, req.src_stag, req.src_to + m->off, m->now, &p);
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

void rdmap_tx_taken(struct rdmap *ep)
{
	struct rdmap_tx *tx = &ep->tx;
	bool read = tx->kind == RDMAP_WORK && tx->wr.op == RDMAP_READ;
	bool last = ddp_tx_last(&tx->msg);

	if (tx->kind == RDMAP_NOTHING)
		return; /* given up while the transport took it: the stream failed or was stopped */
	if (tx->msg.off == 0) {
		if (!tx->msg.ddp.tagged)
			tx->msn[tx->msg.ddp.qn]++;
		if (tx->kind == RDMAP_WORK)
			rdmap_sq_youngest(&ep->sq)->sent = true;
	}
	if (tx->kind != RDMAP_TERMINATE && !read)
		ep->tx_bytes += tx->msg.now;
	ddp_tx_taken(&tx->msg);
	if (!last)
		return;
	ep->tx_msgs++;
	if (tx->kind == RDMAP_TERMINATE) {
		tx->term_len = 0;
	} else if (tx->kind == RDMAP_RESPONSE) {
		rdmap_ird_answered(&ep->ird);
		tx->burst += tx->burst < RESPONSE_BURST;
	} else if (read) {
		rdmap_sq_read_sent(&ep->sq);
		tx->held = false;
	} else {
		end_work(ep, RDMAP_OK);
	}
	tx->kind = RDMAP_NOTHING;
}

bool rdmap_tx_busy(const struct rdmap *ep)
{
	return ep->tx.kind != RDMAP_NOTHING;
}

bool rdmap_tx_ending(const struct rdmap *ep)
{
	return ep->tx.term_len > 0;
}
