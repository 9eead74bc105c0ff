/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_tx.h"

#include <string.h>

#include "proto/rdmap/rdmap_atomic.h"
#include "proto/rdmap/rdmap_term.h"
#include "proto/rdmap/rdmap_work.h"

enum {
	RESPONSE_BURST = 4, /* responses in a row while our own requests wait */
};

/* ---- responses, and the Terminate ---- */

static void begin_read_response(struct rdmap *ep, const struct rdmap_ird_slot *s)
{
	struct wire_read_req req;
	struct wire_ddp *h;

	wire_read_req_get(s->body, &req);
	h = ddp_tx_begin(&ep->tx.msg, req.size);
	h->opcode = WIRE_OP_READ_RESP;
	h->tagged = true;
	h->stag = req.sink_stag; /* the peer's, copied unchecked (RFC 5040 4.4) */
	h->to = req.sink_to;
}

static void begin_atomic_response(struct rdmap *ep)
{
	struct wire_ddp *h = ddp_tx_begin(&ep->tx.msg, WIRE_ATOMIC_RESP_LEN);

	h->opcode = WIRE_OP_ATOMIC_RESP;
	h->qn = WIRE_QN_ATOMIC_RESP;
	h->msn = ep->tx.msn[h->qn];
}

/* One queue for both, so that responses leave in the order of the requests (RFC 7306 7). */
static void begin_response(struct rdmap *ep)
{
	const struct rdmap_ird_slot *s = rdmap_ird_oldest(&ep->ird);

	if (s->seg.ddp.opcode == WIRE_OP_ATOMIC_REQ)
		begin_atomic_response(ep);
	else
		begin_read_response(ep, s);
	ep->tx.kind = RDMAP_RESPONSE;
	ep->tx.reached = false;
	ep->tx.within = 0;
}

static void begin_terminate(struct rdmap *ep)
{
	struct wire_ddp *h = ddp_tx_begin(&ep->tx.msg, ep->tx.term_len);

	h->opcode = WIRE_OP_TERMINATE;
	h->qn = WIRE_QN_TERMINATE;
	h->msn = ep->tx.msn[WIRE_QN_TERMINATE];
	ep->tx.kind = RDMAP_TERMINATE;
}

/* An endpoint that was stopped answers requests while it waits for responses itself: the peer may
 * do the same, and otherwise neither would end. */
static bool only_answers(const struct rdmap *ep)
{
	return ep->state == RDMAP_STOPPING && rdmap_sq_unanswered(ep);
}

/* Chooses the next message and begins it. */
static bool begin_next(struct rdmap *ep)
{
	bool asked = rdmap_ird_oldest(&ep->ird) != NULL;

	if (ep->tx.term_len > 0) {
		begin_terminate(ep);
		return true;
	}
	if (ep->wait || !(rdmap_fsm_may_begin(ep->state) || (asked && only_answers(ep))))
		return false;
	if (rdmap_sq_stuck(ep))
		return false; /* the session ends now */
	if (asked && (only_answers(ep) || (ep->tx.burst < RESPONSE_BURST && !ep->tx.rtr))) {
		begin_response(ep);
		return true;
	}
	if (rdmap_work_begin(ep))
		return true;
	if (asked)
		begin_response(ep);
	return asked;
}

/* ---- segments ---- */

static bool is_local_error(enum perr perr)
{
	return perr == PERR_CATASTROPHIC || perr == PERR_AGENT || perr == PERR_MEMORY;
}

/* The atomic is executed once, when its response is due. */
static int atomic_response_body(struct rdmap *ep, struct rdmap_ird_slot *s, struct rdmap_seg *seg)
{
	enum perr perr = rdmap_atomic_execute(ep, s);

	if (perr != PERR_NONE) {
		/* No header is copied for an error that is ours alone (RFC 7306 8.1). */
		rdmap_term_fail(ep, perr, is_local_error(perr) ? NULL : &s->seg, s->body);
		return RDMAP_TX_FAILED;
	}
	if (!s->executed)
		return RDMAP_TX_WAIT;
	rdmap_atomic_answer(s, seg->head + seg->head_len);
	seg->head_len += WIRE_ATOMIC_RESP_LEN;
	return RDMAP_TX_SEGMENT;
}

/* Whether the memory of the segment may be read. Returns RDMAP_AT_HAND or another outcome. */
static int reach_payload(struct rdmap *ep, const struct wire_read_req *req)
{
	const struct ddp_tx *m = &ep->tx.msg;
	struct rdmap_reach r = {
		.stag = req->src_stag,
		.to = req->src_to + m->off,
		.len = (uint32_t)(req->size - m->off),
	};
	int e;

	if (!ep->ops->reach || (ep->tx.reached && m->off + m->now <= ep->tx.within))
		return RDMAP_AT_HAND;
	e = ep->ops->reach(ep->user, &r);
	if (e == RDMAP_AT_HAND || e == RDMAP_REACHED) {
		ep->tx.reached = true;
		ep->tx.within = m->off + (uint64_t)(e == RDMAP_REACHED ? r.ret_len : r.len);
	}
	return e;
}

static int read_now(struct rdmap *ep, const struct wire_read_req *req, uint8_t *p,
		    struct rdmap_seg *seg)
{
	switch (reach_payload(ep, req)) {
	case RDMAP_NOT_YET:
		return RDMAP_TX_WAIT;
	case RDMAP_UNREACHABLE:
		rdmap_term_fail(ep, PERR_AGENT, NULL, NULL);
		return RDMAP_TX_FAILED;
	default:
		seg->body[0] = (struct span){p, ep->tx.msg.now};
		seg->nbody = ep->tx.msg.now > 0;
		if (rdmap_may_touch(ep, seg->body, seg->nbody))
			return RDMAP_TX_SEGMENT;
		rdmap_term_fail(ep, PERR_MEMORY, NULL, NULL);
		return RDMAP_TX_FAILED;
	}
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
	if (perr == PERR_NONE)
		return read_now(ep, &req, p, seg);
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
	memcpy(seg->head + seg->head_len, ep->term, ep->tx.term_len);
	seg->head_len += ep->tx.term_len;
	return RDMAP_TX_SEGMENT;
}

static int make_segment(struct rdmap *ep, uint32_t mulpdu, struct rdmap_seg *seg)
{
	struct ddp_tx *m = &ep->tx.msg;

	ddp_tx_cut(m, mulpdu, seg->room);
	seg->head_len = ddp_tx_head(m, seg->head);
	seg->len = (uint32_t)seg->head_len + m->now;
	seg->nbody = 0;
	switch (ep->tx.kind) {
	case RDMAP_WORK:
		return rdmap_work_body(ep, seg);
	case RDMAP_RESPONSE:
		return response_body(ep, seg);
	default:
		return terminate_body(ep, seg);
	}
}

int rdmap_tx_next(struct rdmap *ep, uint32_t mulpdu, struct rdmap_seg *seg)
{
	ep->tx.idle = 0;
	/* Begins again after a request whose memory may not be used. */
	while (ep->tx.kind != RDMAP_NOTHING || begin_next(ep)) {
		int r = make_segment(ep, mulpdu, seg);

		if (r != RDMAP_TX_NONE)
			return r;
	}
	if (rdmap_fsm_may_begin(ep->state) && rdmap_sq_stuck(ep)) {
		rdmap_term_fail(ep, PERR_REQUEST, NULL, NULL);
		return RDMAP_TX_FAILED;
	}
	return ep->tx.idle == RDMAP_IDLE_BURST ? RDMAP_TX_YIELD : RDMAP_TX_NONE;
}

/* True if the message carries ULP payload. */
static bool carries_payload(const struct rdmap *ep)
{
	const struct rdmap_tx *tx = &ep->tx;

	if (tx->kind == RDMAP_WORK)
		return rdmap_work_header(ep) == 0;
	return tx->kind == RDMAP_RESPONSE && tx->msg.ddp.tagged;
}

/* RDMAP_ACKED. If a Read follows each signaled request, that is enough. */
static bool awaits_ack(const struct rdmap *ep)
{
	bool read_follows = !ep->acks && ep->sq.ord > 0 && !ep->tx.no_answers;

	return ep->options & RDMAP_ACKED && !read_follows;
}

bool rdmap_tx_awaited(const struct rdmap *ep)
{
	const struct rdmap_tx *tx = &ep->tx;

	return tx->kind == RDMAP_WORK && ddp_tx_last(&tx->msg) && awaits_ack(ep) &&
	       tx->wr->flags & RDMAP_SIGNALED && !rdmap_op_has_response(tx->wr->op) &&
	       rdmap_work_is_last(ep);
}

/* The transport accepted the last segment of a message. */
static void message_taken(struct rdmap *ep, uint32_t count)
{
	struct rdmap_tx *tx = &ep->tx;

	ep->tx_msgs++;
	if (tx->kind == RDMAP_TERMINATE) {
		tx->term_len = 0;
	} else if (tx->kind == RDMAP_RESPONSE) {
		rdmap_ird_answered(ep);
		tx->burst += tx->burst < RESPONSE_BURST;
	} else if (rdmap_op_has_response(tx->wr->op)) {
		rdmap_work_asked(ep);
	} else if (!rdmap_work_is_last(ep)) {
		tx->part++;
	} else if (tx->wr->flags & RDMAP_PLACED ||
		   (tx->wr->flags & RDMAP_PACED && !tx->no_answers)) {
		rdmap_work_probe(ep);
	} else if (awaits_ack(ep)) {
		rdmap_sq_await(ep, count);
	} else {
		rdmap_work_end(ep, RDMAP_SUCCESS);
	}
	tx->kind = RDMAP_NOTHING;
	if (!tx->finishing)
		ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_SENT);
	tx->finishing = false;
}

void rdmap_tx_taken(struct rdmap *ep, uint32_t count)
{
	struct rdmap_tx *tx = &ep->tx;
	bool last = ddp_tx_last(&tx->msg);

	if (tx->kind == RDMAP_NOTHING)
		return; /* the stream failed or was stopped since rdmap_tx_next() */
	if (tx->msg.off == 0) {
		if (!tx->msg.ddp.tagged)
			tx->msn[tx->msg.ddp.qn]++;
		if (tx->kind == RDMAP_WORK)
			rdmap_sq_youngest(&ep->sq)->sent = true;
	}
	if (carries_payload(ep))
		ep->tx_bytes += tx->msg.now;
	ddp_tx_taken(&tx->msg);
	if (last)
		message_taken(ep, count);
}

bool rdmap_tx_busy(const struct rdmap *ep)
{
	return ep->tx.kind != RDMAP_NOTHING;
}

bool rdmap_tx_takes_receive(const struct rdmap *ep, uint32_t *ret_msn)
{
	const struct wire_ddp *h = &ep->tx.msg.ddp;

	*ret_msn = h->msn;
	return !h->tagged && h->qn == WIRE_QN_SEND;
}

bool rdmap_tx_spent(const struct rdmap *ep)
{
	const struct rdmap_tx *tx = &ep->tx;

	if (tx->kind == RDMAP_NOTHING && !rdmap_fsm_may_begin(ep->state))
		return true;
	if (tx->held) /* it would wait for an answer, unless its second message is next */
		return tx->kind == RDMAP_NOTHING && tx->no_answers &&
		       (tx->part == 0 || rdmap_op_has_response(tx->wr->op));
	return tx->left == 0 && rdmap_orq_len(&ep->sq) == 0 && ep->sq.awaiting == 0;
}

bool rdmap_tx_ending(const struct rdmap *ep)
{
	return ep->tx.term_len > 0;
}
