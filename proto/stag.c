/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/stag.h"

#include <assert.h>
#include <string.h>

#include "util/checked.h"

enum { LINE = 64 };

/* One region on a cache line of its own. region.stag 0 marks a free slot. */
struct slot {
	_Alignas(LINE) struct stag_region region;
};

static_assert(sizeof(struct slot) == LINE, "a lookup touches one cache line");

/* Open addressing, linear probing, never more than half full. */
struct stag_table {
	struct slot *slots;
	uint32_t mask;
	uint32_t shift; /* leaves the upper bits of the product in home() */
	uint32_t max;
	uint32_t used;
};

static unsigned log2_slots(uint32_t max)
{
	unsigned n = 1;

	assert(max <= UINT32_C(1) << 30);
	while (UINT64_C(1) << n < (uint64_t)max * 2)
		n++;
	return n;
}

size_t stag_table_size(uint32_t max)
{
	uint64_t slots = UINT64_C(1) << log2_slots(max);
	uint64_t size = sizeof(struct stag_table) + LINE + slots * sizeof(struct slot);

	assert(size <= SIZE_MAX);
	return (size_t)size;
}

struct stag_table *stag_table_init(void *mem, uint32_t max)
{
	struct stag_table *t = mem;
	unsigned bits = log2_slots(max);

	t->slots = (struct slot *)checked_round_up((uintptr_t)(t + 1), LINE);
	t->mask = (uint32_t)((UINT64_C(1) << bits) - 1);
	t->shift = 32 - bits;
	t->max = max;
	t->used = 0;
	return t;
}

/*
 * Values are random, so any bits would do; the multiplication keeps probes short for
 * values that are not.
 */
static uint32_t home(const struct stag_table *t, uint32_t stag)
{
	return (stag * UINT32_C(0x9e3779b1)) >> t->shift;
}

/* The region's slot, or the free one that ends the search for it. */
static struct slot *probe(const struct stag_table *t, uint32_t stag)
{
	uint32_t i = home(t, stag);

	while (t->slots[i].region.stag != stag && t->slots[i].region.stag != 0)
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

static struct stag_region *find(const struct stag_table *t, uint32_t stag)
{
	struct stag_region *r = &probe(t, stag)->region;

	return r->stag ? r : NULL;
}

int stag_add(struct stag_table *t, const struct stag_region *r)
{
	struct slot *s;

	if (t->used == t->max)
		return STAG_ADD_E_FULL;
	if (r->stag == 0)
		return STAG_ADD_E_TAKEN;
	s = probe(t, r->stag);
	if (s->region.stag)
		return STAG_ADD_E_TAKEN;
	s->region = *r;
	s->region.valid = true;
	t->used++;
	return STAG_ADD_OK;
}

bool stag_remove(struct stag_table *t, uint32_t stag)
{
	struct slot *s = probe(t, stag);
	uint32_t hole = (uint32_t)(s - t->slots);

	if (s->region.stag == 0)
		return false;
	/* Whoever was pushed past the hole by a collision moves back into it. */
	for (uint32_t i = (hole + 1) & t->mask; t->slots[i].region.stag; i = (i + 1) & t->mask) {
		uint32_t from_home = (i - home(t, t->slots[i].region.stag)) & t->mask;
		uint32_t from_hole = (i - hole) & t->mask;

		if (from_home >= from_hole) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	}
	memset(&t->slots[hole], 0, sizeof(t->slots[hole]));
	t->used--;
	return true;
}

const struct stag_region *stag_find(const struct stag_table *t, uint32_t stag)
{
	return find(t, stag);
}

int stag_check(const struct stag_table *t, uint32_t stag, const struct stag_who *who,
	       uint32_t rights, uint64_t to, uint64_t len, uint8_t **ret_p)
{
	const struct stag_region *r = find(t, stag);

	if (!r || !r->valid)
		return STAG_E_INVALID;
	if (r->pd != who->pd || (r->scope != 0 && r->scope != who->scope))
		return STAG_E_SCOPE;
	if ((r->rights & rights) != rights)
		return STAG_E_RIGHTS;
	if (checked_add_wraps(to, len))
		return STAG_E_WRAP;
	if (to < r->to || !checked_range(to - r->to, len, r->len))
		return STAG_E_BOUNDS;
	*ret_p = r->base + (to - r->to);
	return STAG_E_OK;
}

int stag_invalidate(struct stag_table *t, uint32_t stag, const struct stag_who *who)
{
	struct stag_region *r = find(t, stag);

	if (!r || !r->valid)
		return STAG_E_INVALID;
	if (r->scope == 0 || r->scope != who->scope || r->pd != who->pd)
		return STAG_E_SCOPE;
	r->valid = false;
	return STAG_E_OK;
}
