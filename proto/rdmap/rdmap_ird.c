/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_ep.h"

enum perr rdmap_ird_slot(struct rdmap *ep, uint32_t msn, struct rdmap_ird_slot **ret_slot)
{
	struct rdmap_ird *q = &ep->ird;
	enum perr perr = ddp_rx_msn(msn, q->msn, (uint32_t)q->limit - q->busy);
	uint32_t at = q->busy + (msn - q->msn);

	if (perr != PERR_NONE)
		return perr;
	while (block_ring_len(&q->slot) <= at) {
		struct rdmap_ird_slot *s = block_ring_push(&q->slot, ep->pool);

		s->in = (struct ddp_gather){0};
		s->executed = false;
	}
	*ret_slot = block_ring_at(&q->slot, q->slot.head + at);
	return PERR_NONE;
}

void rdmap_ird_deliver(struct rdmap_ird *q)
{
	q->msn++;
	q->busy++;
}

struct rdmap_ird_slot *rdmap_ird_oldest(const struct rdmap_ird *q)
{
	return q->busy ? block_ring_at(&q->slot, q->slot.head) : NULL;
}

void rdmap_ird_answered(struct rdmap *ep)
{
	block_ring_pop(&ep->ird.slot, ep->pool);
	ep->ird.busy--;
}

enum perr rdmap_ird_access(const struct rdmap *ep, uint32_t rights, uint32_t stag, uint64_t to,
			   uint32_t size, uint8_t **ret_p)
{
	if (size == 0)
		return PERR_NONE;
	switch (stag_check(ep->stags, stag, &ep->accessor, rights, to, size, ret_p)) {
	case STAG_E_OK:
		return PERR_NONE;
	case STAG_E_SCOPE:
		return PERR_ACCESS_SCOPE;
	case STAG_E_RIGHTS:
		return PERR_ACCESS_RIGHTS;
	case STAG_E_WRAP:
		return PERR_ACCESS_WRAP;
	case STAG_E_BOUNDS:
		return PERR_ACCESS_BOUNDS;
	default:
		return PERR_ACCESS_STAG;
	}
}
