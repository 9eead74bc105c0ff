/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_ep.h"

/* The oldest receive, or NULL. */
static struct rdmap_rq_slot *oldest_receive(const struct rdmap_rq *q)
{
	return block_ring_len(&q->slot) > 0 ? block_ring_at(&q->slot, q->slot.head) : NULL;
}

/* Raw endpoints: the queue for notifications of tagged messages follows the numbered ones. */
static bool is_notice_queue(const struct rdmap *ep, const struct rdmap_rq *q)
{
	return ep->raw && q == &ep->rq[ep->queues];
}

/* Completes the oldest receive and frees its slot. */
static void complete_oldest(struct rdmap *ep, struct rdmap_rq *q, struct rdmap_done *done)
{
	const struct rdmap_rq_slot *s = oldest_receive(q);

	done->cookie = s->cookie;
	if (done->status >= RDMAP_LOC_KEY_ERR && done->status <= RDMAP_LOC_BOUNDS_ERR)
		done->at = (struct perr_at){
			.stag = s->sge[0].stag, .to = s->sge[0].to, .len = s->sge[0].len};
	done->op = is_notice_queue(ep, q) ? RDMAP_RECV_TAGGED : RDMAP_RECV;
	done->qn = is_notice_queue(ep, q) ? 0 : (uint8_t)(q - ep->rq);
	done->signaled = true;
	block_ring_pop(&q->slot, ep->pool);
	ep->rq_taken--;
	ep->ops->complete(ep->user, done);
}

/* Bad receives wait until those before them have completed. */
static void report_bad(struct rdmap *ep, struct rdmap_rq *q)
{
	const struct rdmap_rq_slot *s;

	while ((s = oldest_receive(q)) && s->status != RDMAP_SUCCESS) {
		struct rdmap_done done = {.status = s->status};

		complete_oldest(ep, q, &done);
	}
}

/* The first element that names no memory: its STag is 0, which none has. NULL: there is none. */
static const struct sgl_elem *without_memory(const struct sgl_elem *e, unsigned n)
{
	for (; n > 0; e++, n--)
		if (e->stag == 0 && e->len > 0)
			return e;
	return NULL;
}

/* Returns RDMAP_SUCCESS or the error of a bad receive; *ret_bad is the element at fault, if there
 * is one. Elements without memory are at fault only when bytes arrive: *ret_no_memory. */
static uint8_t check_recv(const struct rdmap *ep, const struct rdmap_recv *r,
			  const struct sgl_elem **ret_bad, bool *ret_no_memory)
{
	struct sgl_access access = rdmap_access(ep, STAG_LOCAL_WRITE);
	int reason;

	if (r->status != RDMAP_SUCCESS)
		return r->status;
	if (r->nsge > ep->max_recv_sge)
		return RDMAP_LOC_SGE_ERR;
	reason = sgl_check((struct sgl){r->sge, r->nsge}, &access, ret_bad);
	if (reason != STAG_E_OK && without_memory(r->sge, r->nsge)) {
		*ret_no_memory = true;
		return RDMAP_SUCCESS;
	}
	return (uint8_t)rdmap_status_of_stag(reason);
}

/* No message is longer, however large its buffer (RFC 5041 5.2). */
static uint64_t at_most_4g(uint64_t size)
{
	return size < UINT32_MAX ? size : UINT32_MAX;
}

/* The queue of a receive. One with an unknown queue number completes as a bad receive of queue 0.
 */
static struct rdmap_rq *queue_of(struct rdmap *ep, struct rdmap_recv *r)
{
	if (!ep->raw)
		return ep->rq;
	if (r->qn == RDMAP_QN_TAGGED)
		return &ep->rq[ep->queues];
	if (r->qn < ep->queues)
		return &ep->rq[r->qn];
	r->status = r->status ? r->status : RDMAP_LOC_OP_ERR;
	return ep->rq;
}

/*
 * Takes one receive from the owner. False if there is none, or no slot: all queues together hold
 * as many receives as one queue has slots.
 */
static bool take_receive(struct rdmap *ep)
{
	const struct sgl_elem *bad = NULL;
	struct rdmap_rq_slot *s;
	bool no_memory = false;
	struct rdmap_recv r;
	struct rdmap_rq *q;

	if (ep->rq_taken > ep->rq->slot.mask || !ep->ops->take_recv(ep->user, &r))
		return false;
	ep->rq_taken++;
	q = queue_of(ep, &r);
	s = block_ring_push(&q->slot, ep->pool);
	*s = (struct rdmap_rq_slot){.cookie = r.cookie,
				    .status = check_recv(ep, &r, &bad, &no_memory)};
	if (s->status == RDMAP_SUCCESS) {
		s->nsge = r.nsge;
		s->no_memory = no_memory;
		s->size = at_most_4g(sgl_total(r.sge, r.nsge));
		sgl_copy(s->sge, r.sge, r.nsge);
		q->of_msn[(q->msn + q->open) & q->slot.mask] =
			(uint16_t)((q->slot.tail - 1) & q->slot.mask);
		q->open++;
	} else {
		ep->bad_recvs++;
		if (bad)
			s->sge[0] = *bad;
		report_bad(ep, q);
	}
	return true;
}

enum perr rdmap_rq_acquire(struct rdmap *ep, struct rdmap_rq *q, uint32_t msn,
			   struct rdmap_rq_slot **ret_slot)
{
	enum perr perr = ddp_rx_msn(msn, q->msn, q->open);
	uint64_t bad = ep->bad_recvs;
	uint32_t i;

	/* Bounded, because an owner may supply bad receives without end.
	 */
	for (i = 0; perr == PERR_NO_BUFFER && i <= q->slot.mask && take_receive(ep); i++) {
		if (rdmap_is_strict(ep) && ep->bad_recvs != bad)
			break;
		perr = ddp_rx_msn(msn, q->msn, q->open);
	}
	ep->more_recvs = perr == PERR_NO_BUFFER && i > q->slot.mask;
	if (perr == PERR_NONE)
		*ret_slot = rdmap_rq_find(q, msn);
	return perr == PERR_NO_BUFFER && ep->bad_recvs != bad ? PERR_BAD_RECEIVE : perr;
}

/*
 * A message with bytes found a receive without memory. That is bad, as one with an unknown STag is,
 * and the message takes the next one, unless a later message or a part of this one has a receive
 * already.
 */
static enum perr pass_over(struct rdmap *ep, struct rdmap_rq *q, uint32_t msn,
			   struct rdmap_rq_slot **s)
{
	enum perr perr = PERR_NONE;
	uint32_t i;

	for (i = 0; perr == PERR_NONE && (*s)->no_memory && i <= q->slot.mask; i++) {
		if (msn - q->msn + 1 != q->open || (*s)->in.begun || (*s)->has_imm)
			return PERR_CATASTROPHIC;
		(*s)->status = RDMAP_LOC_KEY_ERR;
		(*s)->sge[0] = *without_memory((*s)->sge, (*s)->nsge);
		q->open--;
		ep->bad_recvs++;
		report_bad(ep, q);
		if (rdmap_is_strict(ep))
			return PERR_BAD_RECEIVE;
		perr = rdmap_rq_acquire(ep, q, msn, s);
	}
	if (perr == PERR_NONE && (*s)->no_memory)
		ep->more_recvs = true;
	else if (perr != PERR_NO_BUFFER)
		return perr;
	return PERR_BAD_RECEIVE;
}

enum perr rdmap_rq_place(struct rdmap *ep, struct rdmap_rq *q, const struct ssn_rec *c,
			 struct span *dst, unsigned *ret_n)
{
	uint32_t len = ddp_rx_payload(c);
	struct sgl_access access = rdmap_access(ep, STAG_LOCAL_WRITE);
	struct rdmap_rq_slot *s;
	struct sgl_fault fault;
	enum perr perr;
	int n;

	perr = rdmap_rq_acquire(ep, q, c->ddp.msn, &s);
	if (perr == PERR_NONE && len > 0 && s->no_memory)
		perr = pass_over(ep, q, c->ddp.msn, &s);
	if (perr == PERR_NONE)
		perr = ddp_rx_offset(c->ddp.mo, len, s->size);
	if (perr != PERR_NONE)
		return perr;
	n = sgl_resolve((struct sgl){s->sge, s->nsge}, c->ddp.mo, len, &access, dst, &fault);
	if (n < 0)
		return PERR_CATASTROPHIC; /* our receive's memory is no longer accessible: not the
					     peer's error */
	*ret_n = (unsigned)n;
	return PERR_NONE;
}

uint32_t rdmap_rq_limit(const struct rdmap *ep)
{
	uint32_t posted = ep->ops->recvs ? ep->ops->recvs(ep->user) : 0;

	return ep->rq->msn - 1 + ep->rq->open + posted;
}

struct rdmap_rq_slot *rdmap_rq_find(const struct rdmap_rq *q, uint32_t msn)
{
	if (msn - q->msn >= q->open)
		return NULL;
	return block_ring_at(&q->slot, q->of_msn[msn & q->slot.mask]);
}

void rdmap_rq_complete(struct rdmap *ep, struct rdmap_rq *q, struct rdmap_done *done)
{
	q->msn++;
	q->open--;
	complete_oldest(ep, q, done);
	report_bad(ep, q);
}

void rdmap_rq_hand_on(struct rdmap_rq *q)
{
	struct rdmap_rq_slot *s = rdmap_rq_find(q, q->msn);

	s->in = (struct ddp_gather){.begun = false};
	s->has_imm = true;
	q->of_msn[(q->msn + 1) & q->slot.mask] = q->of_msn[q->msn & q->slot.mask];
	q->msn++;
}

static void flush_queue(struct rdmap *ep, struct rdmap_rq *q)
{
	const struct rdmap_rq_slot *s;

	while ((s = oldest_receive(q))) {
		struct rdmap_done done = {.status = s->status ? s->status : RDMAP_FLUSH_ERR};

		complete_oldest(ep, q, &done);
	}
	q->open = 0;
}

void rdmap_rq_flush(struct rdmap *ep)
{
	for (unsigned i = 0; i < rdmap_rqs(ep); i++)
		flush_queue(ep, &ep->rq[i]);
}
