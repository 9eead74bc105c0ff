/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_atomic.h"

#include <assert.h>
#include <string.h>

#include "util/be.h"
#include "util/checked.h"
#include "util/masked.h"

static_assert(__atomic_always_lock_free(sizeof(uint64_t), 0),
	      "a lock in this process would not exclude other programs");

/* ---- responder ---- */

static uint64_t result_of(uint64_t old, const struct wire_atomic_req *r)
{
	if (r->aop == WIRE_CMP_SWAP)
		return masked_swap(old, r->data, r->mask, r->compare, r->compare_mask);
	return masked_add(old, r->data, r->mask);
}

bool rdmap_atomic_apply(uint64_t *cell, const struct wire_atomic_req *r, uint32_t tries,
			uint64_t *ret_old)
{
	uint64_t old = __atomic_load_n(cell, __ATOMIC_ACQUIRE);

	while (tries-- > 0) {
		uint64_t new = result_of(old, r);

		if (__atomic_compare_exchange_n(cell, &old, new, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			*ret_old = old;
			return true;
		}
	}
	return false;
}

/* The cell of a request. RFC 7306 8.2: the address must be aligned, the tagged offset need not. */
static enum perr find_cell(const struct rdmap *ep, const struct wire_atomic_req *r,
			   uint64_t **ret_cell)
{
	uint8_t *p = NULL;
	enum perr perr;

	if (r->aop != WIRE_FETCH_ADD && r->aop != WIRE_CMP_SWAP)
		return PERR_OPCODE;
	perr = rdmap_ird_access(ep, STAG_REMOTE_ATOMIC, r->stag, r->to, sizeof(uint64_t), &p);
	if (perr != PERR_NONE)
		return perr;
	if ((uintptr_t)p % sizeof(uint64_t) != 0)
		return PERR_STREAM_CATASTROPHIC;
	*ret_cell = (uint64_t *)(void *)p;
	return PERR_NONE;
}

enum perr rdmap_atomic_check(const struct rdmap *ep, const uint8_t body[WIRE_ATOMIC_REQ_LEN])
{
	struct wire_atomic_req r;
	uint64_t *cell;

	wire_atomic_req_get(body, &r);
	return find_cell(ep, &r, &cell);
}

/* Whether the cell is at hand; if not, the owner of the endpoint executes the request. */
static int reach_target(const struct rdmap *ep, const struct wire_atomic_req *req,
			uint64_t *ret_old)
{
	struct rdmap_reach r = {.stag = req->stag, .to = req->to, .atomic = req};
	int e = ep->ops->reach ? ep->ops->reach(ep->user, &r) : RDMAP_AT_HAND;

	if (e == RDMAP_REACHED)
		*ret_old = r.ret_old;
	return e;
}

enum perr rdmap_atomic_execute(const struct rdmap *ep, struct rdmap_ird_slot *s)
{
	struct wire_atomic_req r;
	uint64_t *cell;
	enum perr perr;

	if (s->executed)
		return PERR_NONE;
	wire_atomic_req_get(s->body, &r);
	perr = find_cell(ep, &r, &cell);
	if (perr != PERR_NONE)
		return perr;
	switch (reach_target(ep, &r, &s->old)) {
	case RDMAP_NOT_YET:
		return PERR_NONE;
	case RDMAP_UNREACHABLE:
		return PERR_AGENT;
	case RDMAP_AT_HAND:
		if (!rdmap_may_touch(ep, &(struct span){(uint8_t *)cell, sizeof(*cell)}, 1))
			return PERR_MEMORY;
		if (!rdmap_atomic_apply(cell, &r, ep->tries, &s->old))
			return PERR_CATASTROPHIC;
		break;
	default:
		break;
	}
	s->executed = true;
	return PERR_NONE;
}

void rdmap_atomic_answer(const struct rdmap_ird_slot *s, uint8_t p[WIRE_ATOMIC_RESP_LEN])
{
	struct wire_atomic_req r;
	struct wire_atomic_resp resp;

	wire_atomic_req_get(s->body, &r);
	resp = (struct wire_atomic_resp){.id = r.id, .value = s->old};
	wire_atomic_resp_put(p, &resp);
}

/* ---- requester ---- */

static bool is_atomic(const struct rdmap_rec *r)
{
	return r->op == RDMAP_FETCH_ADD || r->op == RDMAP_CMP_SWAP;
}

/*
 * RFC 7306 5.2.2: QN 3 has a buffer for each outstanding atomic, in their order. Reads are
 * outstanding, too, but their responses are tagged.
 */
static enum perr find_outstanding(const struct rdmap_sq *q, uint32_t msn,
				  struct rdmap_orq_entry **ret_entry)
{
	uint32_t ahead = msn - q->resp_msn, n = 0;
	struct rdmap_orq_entry *a;

	for (unsigned i = 0; (a = rdmap_orq_at(q, i)); i++) {
		if (is_atomic(rdmap_orq_rec(q, a)) && n++ == ahead) {
			*ret_entry = a;
			return PERR_NONE;
		}
	}
	return ddp_rx_msn(msn, q->resp_msn, n);
}

/* Copies a segment into a body of fixed size. */
static enum perr gather_body(uint8_t *to, uint32_t size, const struct ssn_rec *c,
			     const uint8_t *body, uint32_t avail)
{
	uint32_t len = ddp_rx_payload(c);

	if (!checked_range(c->ddp.mo, len, size) || len > avail)
		return PERR_RDMAP_LENGTH;
	memcpy(to + c->ddp.mo, body, len);
	return PERR_NONE;
}

enum perr rdmap_atomic_place_resp(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
				  uint32_t avail)
{
	struct rdmap_orq_entry *a;
	enum perr perr = find_outstanding(&ep->sq, c->ddp.msn, &a);

	if (perr != PERR_NONE)
		return perr;
	return gather_body(a->body, sizeof(a->body), c, body, avail);
}

/* Stores the old value in host byte order in the element of the request, if it has one. */
static void store_old(const struct rdmap *ep, struct rdmap_rec *r, const struct sgl_elem *sink)
{
	uint8_t *p;
	int reason;

	if (sink->len == 0)
		return;
	reason = stag_check(ep->stags, sink->stag, &ep->accessor, STAG_LOCAL_WRITE, sink->to,
			    sizeof(r->old), &p);
	if (reason != STAG_E_OK) {
		r->status = (uint8_t)rdmap_status_of_stag(reason);
		return;
	}
	if (!rdmap_may_touch(ep, &(struct span){p, sizeof(r->old)}, 1)) {
		r->status = RDMAP_LOC_BOUNDS_ERR;
		return;
	}
	memcpy(p, &r->old, sizeof(r->old));
	if (ep->ops->wrote)
		ep->ops->wrote(ep->user, p, sizeof(r->old));
}

enum perr rdmap_atomic_deliver_resp(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	struct rdmap_orq_entry *oldest = rdmap_orq_at(&ep->sq, 0), *a;
	enum perr perr = find_outstanding(&ep->sq, c->ddp.msn, &a);
	struct wire_atomic_resp resp;
	struct rdmap_rec *r;
	bool whole = false;

	if (perr == PERR_NONE)
		perr = ddp_rx_gather(&a->in, ep->gaps, c, &whole);
	if (perr != PERR_NONE || !whole)
		return perr;
	if (ddp_rx_end(c) != WIRE_ATOMIC_RESP_LEN)
		return PERR_RDMAP_LENGTH;
	wire_atomic_resp_get(a->body, &resp);
	if (a != oldest || resp.id != a->pos)
		return PERR_OPCODE; /* responses arrive in the order of requests, with their
				       identifiers */
	r = rdmap_orq_rec(&ep->sq, a);
	r->old = resp.value;
	store_old(ep, r, &a->sink);
	if (r->status != RDMAP_SUCCESS && ep->options & RDMAP_STRICT_SENDS) {
		rdmap_sq_delivered(ep, a->pos);
		return PERR_REQUEST;
	}
	ep->sq.resp_msn++;
	rdmap_orq_pop(ep);
	rdmap_sq_report(ep);
	*ret_wake_tx = true;
	return PERR_NONE;
}

/* ---- Immediate Data ---- */

enum perr rdmap_atomic_place_imm(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
				 uint32_t avail)
{
	struct rdmap_rq_slot *s;
	enum perr perr = rdmap_rq_acquire(ep, ep->rq, c->ddp.msn, &s);

	return perr == PERR_NONE ? gather_body(s->imm, sizeof(s->imm), c, body, avail) : perr;
}

/* In order, no receive of a later message was taken yet. */
static bool is_of_send(const struct rdmap *ep, uint64_t imm)
{
	return ep->options & RDMAP_IMM_OF_SEND && (uint32_t)imm == RDMAP_IMM_MARK &&
	       ep->rq->open == 1;
}

enum perr rdmap_atomic_deliver_imm(struct rdmap *ep, const struct ssn_rec *c)
{
	struct rdmap_rq_slot *s = rdmap_rq_find(ep->rq, c->ddp.msn);
	struct rdmap_done done = {.immediate = true, .solicited = c->ddp.opcode == WIRE_OP_IMM_SE};
	bool whole = false;
	enum perr perr = s ? ddp_rx_gather(&s->in, ep->gaps, c, &whole) : PERR_MSN_RANGE;

	if (perr != PERR_NONE || !whole)
		return perr;
	if (c->ddp.msn != ep->rq->msn)
		return PERR_MSN_RANGE;
	if (ddp_rx_end(c) != WIRE_IMM_LEN)
		return PERR_RDMAP_LENGTH;
	done.imm = be_get64(s->imm);
	done.inv_stag = ep->written.len;
	ep->written.len = 0;
	if (is_of_send(ep, done.imm))
		rdmap_rq_hand_on(ep->rq);
	else
		rdmap_rq_complete(ep, ep->rq, &done);
	return PERR_NONE;
}
