/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp/ddp_rx.h"

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

enum perr ddp_rx_tagged(const struct stag_table *stags, const struct stag_accessor *accessor,
			uint32_t rights, uint32_t stag, uint64_t to, uint32_t len, uint8_t **ret_p)
{
	if (len == 0)
		return PERR_NONE;
	switch (stag_check(stags, stag, accessor, rights, to, len, ret_p)) {
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
static bool insert_range(struct ddp_gaps *g, unsigned i, struct ddp_range new)
{
	if (g->n == DDP_GAPS_RANGES)
		return false;
	memmove(&g->range[i + 1], &g->range[i], (g->n - i) * sizeof(g->range[0]));
	g->range[i] = new;
	g->n++;
	return true;
}

static void remove_range(struct ddp_gaps *g, unsigned i)
{
	g->n--;
	memmove(&g->range[i], &g->range[i + 1], (g->n - i) * sizeof(g->range[0]));
}

/* Adds bytes that arrived. False if one of them had arrived before, or if there would be too many
 * ranges. */
static bool add_range(struct ddp_gaps *g, struct ddp_range new)
{
	struct ddp_range *prev, *next;
	unsigned i = 0;

	while (i < g->n && g->range[i].from < new.from)
		i++;
	prev = i > 0 ? &g->range[i - 1] : NULL;
	next = i < g->n ? &g->range[i] : NULL;
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

/* The gaps of a message that has none yet; NULL if all are in use. */
static struct ddp_gaps *take_gaps(struct ddp_gather *g, struct ddp_gaps *gaps)
{
	for (uint8_t i = 0; i < DDP_GAPS_MAX; i++) {
		if (gaps[i].n == 0) {
			gaps[i] = (struct ddp_gaps){{g->range}, 1};
			g->gaps = (uint8_t)(i + 1);
			return &gaps[i];
		}
	}
	return NULL;
}

/* Adds bytes to a message. False as add_range(), or if no gaps are left. */
static bool arrived(struct ddp_gather *g, struct ddp_gaps *gaps, struct ddp_range new)
{
	bool first = g->range.from == g->range.to;
	struct ddp_gaps *own;

	if (g->gaps == 0 && (first || g->range.to == new.from)) {
		g->range = (struct ddp_range){first ? new.from : g->range.from, new.to};
		return true;
	}
	own = g->gaps ? &gaps[g->gaps - 1] : take_gaps(g, gaps);
	if (!own || !add_range(own, new))
		return false;
	if (own->n == 1) {
		g->range = own->range[0];
		g->gaps = own->n = 0;
	}
	return true;
}

/* True if exactly bytes [0, len) have arrived. */
static bool arrived_up_to(const struct ddp_gather *g, uint32_t len)
{
	return g->gaps == 0 && g->range.from == 0 && g->range.to == len;
}

enum perr ddp_rx_gather(struct ddp_gather *g, struct ddp_gaps *gaps, const struct ssn_rec *c,
			bool *ret_whole)
{
	uint64_t end = ddp_rx_end(c);

	if (g->begun && g->opcode != c->ddp.opcode)
		return PERR_OPCODE;
	g->begun = true;
	g->opcode = c->ddp.opcode;
	if (end > UINT32_MAX)
		return PERR_MO; /* RFC 5041 5.2: messages are shorter than 2^32 bytes */
	if (end > c->ddp.mo && !arrived(g, gaps, (struct ddp_range){c->ddp.mo, (uint32_t)end}))
		return PERR_MO;
	if (c->ddp.last && !arrived_up_to(g, (uint32_t)end))
		return PERR_MO;
	*ret_whole = c->ddp.last;
	return PERR_NONE;
}
