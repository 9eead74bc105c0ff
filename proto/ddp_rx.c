/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp_rx.h"

#include <string.h>

#include "util/checked.h"

enum { VERSION = 1 };

enum perr ddp_rx_header(const struct wire_ddp *h, uint32_t queues)
{
	if (h->dv != VERSION)
		return h->tagged ? PERR_TAGGED_VERSION : PERR_UNTAGGED_VERSION;
	if (!h->tagged && h->qn >= queues)
		return PERR_QN;
	return PERR_NONE;
}

enum perr ddp_rx_tagged(const struct stag_table *stags, const struct stag_who *who, uint32_t rights,
			uint32_t stag, uint64_t to, uint32_t len, uint8_t **ret_p)
{
	if (len == 0)
		return PERR_NONE;
	switch (stag_check(stags, stag, who, rights, to, len, ret_p)) {
	case STAG_E_OK:
		return PERR_NONE;
	case STAG_E_SCOPE:
		return PERR_TAGGED_SCOPE;
	case STAG_E_WRAP:
		return PERR_TAGGED_WRAP;
	case STAG_E_BOUNDS:
		return PERR_TAGGED_BOUNDS;
	default: /* RFC 5041 7.2 has no code for a missing access right */
		return PERR_TAGGED_STAG;
	}
}

enum perr ddp_rx_msn(uint32_t msn, uint32_t next, uint32_t buffers)
{
	uint32_t ahead = msn - next;

	/* Each message uses at least one DDP-SSN, which limits the messages in flight. */
	if (ahead >= SSN_WINDOW)
		return PERR_MSN_RANGE;
	return ahead < buffers ? PERR_NONE : PERR_NO_BUFFER;
}

enum perr ddp_rx_offset(uint32_t mo, uint32_t len, uint64_t size)
{
	if (checked_range(mo, len, size))
		return PERR_NONE;
	return mo > size ? PERR_MO : PERR_TOO_LONG;
}

/* Adds a range at index i. False if there is no room for one more. */
static bool insert_range(struct ddp_gather *g, unsigned i, struct ddp_range new)
{
	if (g->ranges == DDP_GATHER_RANGES)
		return false;
	memmove(&g->range[i + 1], &g->range[i], (g->ranges - i) * sizeof(g->range[0]));
	g->range[i] = new;
	g->ranges++;
	return true;
}

static void remove_range(struct ddp_gather *g, unsigned i)
{
	g->ranges--;
	memmove(&g->range[i], &g->range[i + 1], (g->ranges - i) * sizeof(g->range[0]));
}

/* Adds bytes that arrived. False if one of them was there, or if there would be too many ranges. */
static bool add_range(struct ddp_gather *g, struct ddp_range new)
{
	struct ddp_range *prev, *next;
	unsigned i = 0;

	while (i < g->ranges && g->range[i].from < new.from)
		i++;
	prev = i > 0 ? &g->range[i - 1] : NULL;
	next = i < g->ranges ? &g->range[i] : NULL;
	if ((prev && prev->to > new.from) || (next && next->from < new.to))
		return false;
	if (prev && prev->to == new.from) {
		prev->to = new.to;
		if (next && next->from == new.to) {
			prev->to = next->to;
			remove_range(g, i);
		}
		return true;
	}
	if (next && next->from == new.to) {
		next->from = new.from;
		return true;
	}
	return insert_range(g, i, new);
}

/* True if exactly bytes [0, len) have arrived. */
static bool arrived_up_to(const struct ddp_gather *g, uint32_t len)
{
	if (len == 0)
		return g->ranges == 0;
	return g->ranges == 1 && g->range[0].from == 0 && g->range[0].to == len;
}

enum perr ddp_rx_gather(struct ddp_gather *g, const struct ssn_rec *c, bool *ret_whole)
{
	uint64_t end = ddp_rx_end(c);

	if (g->begun && g->opcode != c->ddp.opcode)
		return PERR_OPCODE;
	g->begun = true;
	g->opcode = c->ddp.opcode;
	if (end > UINT32_MAX)
		return PERR_MO; /* RFC 5041 5.2: no message is that long */
	if (end > c->ddp.mo && !add_range(g, (struct ddp_range){c->ddp.mo, (uint32_t)end}))
		return PERR_MO;
	if (c->ddp.last && !arrived_up_to(g, (uint32_t)end))
		return PERR_MO;
	*ret_whole = c->ddp.last;
	return PERR_NONE;
}
