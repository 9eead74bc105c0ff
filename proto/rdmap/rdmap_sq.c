/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "proto/rdmap/rdmap_ep.h"
#include "util/checked.h"

void rdmap_sq_add(struct rdmap *ep)
{
	const struct rdmap_wr *wr = ep->tx.wr;
	struct rdmap_rec *r = block_ring_push(&ep->sq.rec, ep->pool);

	ep->sq.youngest = r;
	*r = (struct rdmap_rec){
		.cookie = wr->cookie,
		.rto = wr->rto,
		.rstag = wr->rstag,
		.op = wr->op,
		.flags = wr->flags,
	};
}

void rdmap_orq_push(struct rdmap *ep, const struct sgl_elem *sink, bool last)
{
	struct rdmap_orq_entry *a = block_ring_push(&ep->sq.orq, ep->pool);

	*a = (struct rdmap_orq_entry){.pos = ep->sq.rec.tail - 1, .last = last, .sink = *sink};
}

struct rdmap_orq_entry *rdmap_orq_at(const struct rdmap_sq *q, unsigned i)
{
	return i < rdmap_orq_len(q) ? block_ring_at(&q->orq, q->orq.head + i) : NULL;
}

void rdmap_orq_pop(struct rdmap *ep)
{
	struct rdmap_sq *q = &ep->sq;
	const struct rdmap_orq_entry *a = rdmap_orq_at(q, 0);

	rdmap_orq_rec(q, a)->ended = a->last;
	block_ring_pop(&q->orq, ep->pool);
	q->read_got = 0;
}

static void complete_request(const struct rdmap *ep, const struct rdmap_rec *r)
{
	struct rdmap_done done = {
		.cookie = r->cookie,
		.op = r->op,
		.status = r->status,
		.signaled = r->flags & RDMAP_SIGNALED,
		.len = r->op == RDMAP_READ && r->status == RDMAP_SUCCESS ? r->len : 0,
		.imm = r->old,
		.at = r->at,
	};

	if (!r->hidden)
		ep->ops->complete(ep->user, &done);
}

static struct rdmap_rec *oldest_request(const struct rdmap_sq *q)
{
	return block_ring_len(&q->rec) > 0 ? block_ring_at(&q->rec, q->rec.head) : NULL;
}

void rdmap_sq_report(struct rdmap *ep)
{
	const struct rdmap_rec *r;

	while ((r = oldest_request(&ep->sq)) && r->ended) {
		complete_request(ep, r);
		block_ring_pop(&ep->sq.rec, ep->pool);
	}
}

void rdmap_sq_await(struct rdmap *ep, uint32_t mark)
{
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);

	r->awaits = true;
	r->mark = mark;
	if (ep->sq.awaiting++ == 0)
		ep->sq.ack_pos = ep->sq.rec.tail - 1;
	rdmap_drop_wr(ep);
}

void rdmap_sq_delivered(struct rdmap *ep, uint32_t pos)
{
	for (uint32_t i = ep->sq.rec.head; i != pos; i++)
		((struct rdmap_rec *)block_ring_at(&ep->sq.rec, i))->ended = true;
}

/* No Read Request leaves any more, and no record of one that was begun may be used: it has one
 * segment, so none of it was sent. A probe is over, its request ends without it. */
static void take_back(struct rdmap *ep)
{
	struct rdmap_tx *tx = &ep->tx;

	if (tx->kind == RDMAP_WORK && rdmap_op_has_response(tx->wr->op))
		tx->kind = RDMAP_NOTHING;
	if (!tx->held || !rdmap_sq_youngest(&ep->sq)->probed)
		return;
	tx->rtr = 0;
	rdmap_drop_wr(ep);
}

void rdmap_sq_unpace(struct rdmap *ep, uint32_t mark)
{
	struct rdmap_sq *q = &ep->sq;

	ep->tx.no_answers = true;
	take_back(ep);
	rdmap_sq_report(ep); /* ack_pos is of one that is there */
	q->ack_pos = q->rec.head;
	for (uint32_t i = q->rec.head; i != q->rec.tail; i++) {
		struct rdmap_rec *r = block_ring_at(&q->rec, i);

		if (!r->probed || r->ended || r->awaits || r->flags & RDMAP_PLACED)
			continue;
		r->awaits = ep->options & RDMAP_ACKED;
		r->ended = !r->awaits;
		r->mark = mark;
		q->awaiting += r->awaits;
	}
	block_ring_clear(&q->orq, ep->pool);
	q->read_got = 0;
	rdmap_sq_report(ep);
}

/* Marks grow with positions. A request that is still being sent may have one later. */
void rdmap_sq_acked(struct rdmap *ep, uint32_t count)
{
	struct rdmap_sq *q = &ep->sq;

	for (; q->awaiting > 0; q->ack_pos++) {
		struct rdmap_rec *r = block_ring_at(&q->rec, q->ack_pos);

		if (!r->awaits)
			continue;
		if ((int32_t)(count - r->mark) < 0)
			break;
		r->awaits = false;
		r->ended = true;
		q->awaiting--;
	}
}

void rdmap_sq_flush(struct rdmap *ep, unsigned keep)
{
	struct rdmap_sq *q = &ep->sq;
	bool failed = false;

	while (block_ring_len(&q->rec) > keep) {
		struct rdmap_rec *r = oldest_request(q);

		failed |= !r->ended || r->status != RDMAP_SUCCESS;
		if (failed && r->status == RDMAP_SUCCESS)
			r->status = RDMAP_FLUSH_ERR;
		complete_request(ep, r);
		block_ring_pop(&q->rec, ep->pool);
	}
	block_ring_clear(&q->orq, ep->pool);
	q->read_got = 0;
	q->awaiting = 0;
}

bool rdmap_sq_stuck(const struct rdmap *ep)
{
	const struct rdmap_sq *q = &ep->sq;
	uint32_t i = q->rec.head;

	if (!ep->tx.failed || rdmap_orq_len(q) > 0 || block_ring_len(&q->rec) == 0)
		return false;
	for (; i + 1 != q->rec.tail; i++) {
		const struct rdmap_rec *r = block_ring_at(&q->rec, i);

		if (!r->ended)
			return false;
	}
	return true;
}

/* True if this is the header of a segment of the request. */
static bool sent_by(const struct rdmap_rec *r, const struct wire_ddp *h)
{
	if (h->tagged)
		return h->opcode == WIRE_OP_WRITE && r->op == RDMAP_WRITE && r->rstag == h->stag &&
		       h->to >= r->rto && checked_range(h->to - r->rto, 1, r->len);
	if (h->qn == WIRE_QN_SEND)
		return rdmap_takes_receive(r->op, r->flags) && h->msn - r->msn < r->parts;
	return h->qn == WIRE_QN_READ_REQ && rdmap_op_has_response(r->op) &&
	       h->msn - r->msn < r->parts;
}

static enum rdmap_status status_of(const struct wire_term *t)
{
	/* Access errors: RDMAP error type 1 for the source of a Read, DDP error type 1 for tagged
	 * buffers. */
	return t->layer <= 1 && t->etype == 1 ? RDMAP_REM_ACCESS_ERR : RDMAP_REM_OP_ERR;
}

void rdmap_sq_assign_error(struct rdmap_sq *q, const struct wire_term *t, const struct perr_at *at)
{
	struct wire_ddp h;

	if (!t->has_ddp || wire_ddp_get(t->ddp, t->ddp_len, &h) == 0)
		return;
	for (uint32_t i = q->rec.head; i != q->rec.tail; i++) {
		struct rdmap_rec *r = block_ring_at(&q->rec, i);

		/* A request that was not sent has no message number yet. */
		if (r->status == RDMAP_SUCCESS && r->sent && sent_by(r, &h)) {
			r->status = (uint8_t)status_of(t);
			r->at = *at;
			return;
		}
	}
}

void rdmap_sq_not_ready(struct rdmap *ep)
{
	struct rdmap_sq *q = &ep->sq;

	for (uint32_t i = q->rec.head; i != q->rec.tail; i++) {
		struct rdmap_rec *r = block_ring_at(&q->rec, i);

		if (r->ended || !r->sent || !rdmap_takes_receive(r->op, r->flags))
			continue;
		r->status = RDMAP_RNR_RETRY_EXC_ERR;
		return;
	}
}
