/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "proto/rdmap_ep.h"
#include "util/checked.h"

void rdmap_sq_add(struct rdmap_sq *q, const struct rdmap_wr *wr)
{
	q->rec[q->tail++ & q->mask] = (struct rdmap_rec){
		.cookie = wr->cookie,
		.rto = wr->rto,
		.rstag = wr->rstag,
		.op = wr->op,
		.flags = wr->flags,
	};
}

void rdmap_orq_push(struct rdmap_sq *q)
{
	q->orq[(q->orq_head + q->orq_len) % q->size] = (struct rdmap_orq_entry){.pos = q->tail - 1};
	q->orq_len++;
}

struct rdmap_orq_entry *rdmap_orq_at(const struct rdmap_sq *q, unsigned i)
{
	return i < q->orq_len ? &q->orq[(q->orq_head + i) % q->size] : NULL;
}

void rdmap_orq_pop(struct rdmap_sq *q)
{
	rdmap_orq_rec(q, rdmap_orq_at(q, 0))->ended = true;
	q->orq_head = (uint16_t)((q->orq_head + 1) % q->size);
	q->orq_len--;
	q->read_got = 0;
}

static void report(const struct rdmap *ep, const struct rdmap_rec *r)
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

void rdmap_sq_report(struct rdmap *ep)
{
	struct rdmap_sq *q = &ep->sq;

	while (q->head != q->tail && q->rec[q->head & q->mask].ended)
		report(ep, &q->rec[q->head++ & q->mask]);
}

void rdmap_sq_await(struct rdmap *ep, uint32_t mark)
{
	struct rdmap_rec *r = rdmap_sq_youngest(&ep->sq);

	r->awaits = true;
	r->mark = mark;
	if (ep->sq.awaiting++ == 0)
		ep->sq.ack_pos = ep->sq.tail - 1;
	ep->tx.held = false;
}

/* Marks grow with positions. A request that is still being sent may have one later. */
void rdmap_sq_acked(struct rdmap *ep, uint32_t count)
{
	struct rdmap_sq *q = &ep->sq;

	for (; q->awaiting > 0; q->ack_pos++) {
		struct rdmap_rec *r = &q->rec[q->ack_pos & q->mask];

		if (!r->awaits)
			continue;
		if ((int32_t)(count - r->mark) < 0)
			break;
		r->awaits = false;
		r->ended = true;
		q->awaiting--;
	}
	rdmap_sq_report(ep);
}

void rdmap_sq_flush(struct rdmap *ep, unsigned keep)
{
	struct rdmap_sq *q = &ep->sq;

	for (; q->tail - q->head > keep; q->head++) {
		struct rdmap_rec *r = &q->rec[q->head & q->mask];

		if (r->status == RDMAP_SUCCESS)
			r->status = RDMAP_FLUSH_ERR;
		report(ep, r);
	}
	q->orq_len = 0;
	q->read_got = 0;
	q->awaiting = 0;
}

/* True if this is the header of a segment of the request. */
static bool sent_by(const struct rdmap_rec *r, const struct wire_ddp *h)
{
	if (h->tagged)
		return h->opcode == WIRE_OP_WRITE && r->op == RDMAP_WRITE && r->rstag == h->stag &&
		       h->to >= r->rto && checked_range(h->to - r->rto, 1, r->len);
	if (h->qn == WIRE_QN_SEND)
		return opcode_has(r->op, OPCODE_RECEIVE) && r->msn == h->msn;
	return h->qn == WIRE_QN_READ_REQ && rdmap_op_has_response(r->op) && r->msn == h->msn;
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
	for (uint32_t i = q->head; i != q->tail; i++) {
		struct rdmap_rec *r = &q->rec[i & q->mask];

		/* A request that was not sent has no message number yet. */
		if (r->status == RDMAP_SUCCESS && r->sent && sent_by(r, &h)) {
			r->status = (uint8_t)status_of(t);
			r->at = *at;
		}
	}
}
