/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/stag.h"

#include <assert.h>
#include <string.h>

#include "util/checked.h"

enum { LINE = 64 };

/* Each entry has its own cache line. region.stag 0 marks a free slot. */
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

/* A value without its key: unique among entries, and the key of the search. */
static uint32_t index_of(uint32_t stag)
{
	return stag / (STAG_KEY + 1);
}

/*
 * Indices are random, so any bits would do; the multiplication keeps probes short for
 * indices that are not.
 */
static uint32_t home(const struct stag_table *t, uint32_t stag)
{
	return (index_of(stag) * UINT32_C(0x9e3779b1)) >> t->shift;
}

/* The slot with the index of the value, or the free slot that ends the search for it. */
static struct slot *probe(const struct stag_table *t, uint32_t stag)
{
	uint32_t i = home(t, stag);

	while (t->slots[i].region.stag != 0 && index_of(t->slots[i].region.stag) != index_of(stag))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

/* The entry with the index of the value, whatever its key. */
static struct stag_region *find_any_key(const struct stag_table *t, uint32_t stag)
{
	struct stag_region *r = &probe(t, stag)->region;

	return r->stag ? r : NULL;
}

static struct stag_region *find(const struct stag_table *t, uint32_t stag)
{
	struct stag_region *r = find_any_key(t, stag);

	return r && r->stag == stag ? r : NULL;
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
	s->region.valid = r->kind == STAG_REGION;
	s->region.windows = 0;
	t->used++;
	return STAG_ADD_OK;
}

/* Makes the entry invalid; a window no longer counts for its region. */
static void invalidate(const struct stag_table *t, struct stag_region *r)
{
	if (r->valid && r->kind != STAG_REGION) {
		struct stag_region *parent = find(t, r->parent);

		assert(parent && parent->windows > 0);
		parent->windows--;
	}
	r->valid = false;
}

/* Frees the slot. Entries that a collision moved past it move back. */
static void free_slot(struct stag_table *t, uint32_t hole)
{
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
}

bool stag_remove(struct stag_table *t, uint32_t stag)
{
	struct slot *s = probe(t, stag);

	if (stag == 0 || s->region.stag != stag)
		return false;
	assert(s->region.windows == 0);
	invalidate(t, &s->region);
	free_slot(t, (uint32_t)(s - t->slots));
	return true;
}

const struct stag_region *stag_find(const struct stag_table *t, uint32_t stag)
{
	return find(t, stag);
}

const struct stag_region *stag_find_any_key(const struct stag_table *t, uint32_t stag)
{
	return find_any_key(t, stag);
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
	invalidate(t, r);
	return STAG_E_OK;
}

enum { WINDOW_RIGHTS = STAG_REMOTE_WRITE | STAG_REMOTE_READ | STAG_REMOTE_ATOMIC };

/* The window with the index of the value, if `who` may bind it now. */
static struct stag_region *bindable(const struct stag_table *t, uint32_t stag,
				    const struct stag_who *who)
{
	struct stag_region *w = find_any_key(t, stag);

	if (stag == 0 || !w || w->kind == STAG_REGION || w->pd != who->pd)
		return NULL;
	if (w->kind == STAG_WINDOW_PD)
		return who->scope == 0 ? w : NULL;
	return who->scope != 0 && !w->valid ? w : NULL;
}

/* Checks the bind against the region. Returns a STAG_BIND_ value. */
static int check_region(const struct stag_region *r, const struct stag_bind *b, uint64_t pd)
{
	uint32_t needs = STAG_BIND_WINDOWS;

	if (b->rights & (STAG_REMOTE_WRITE | STAG_REMOTE_ATOMIC))
		needs |= STAG_LOCAL_WRITE;
	if (!r || !r->valid || r->kind != STAG_REGION || r->pd != pd || r->scope != 0)
		return STAG_BIND_E_REGION;
	if ((b->rights & ~(uint32_t)WINDOW_RIGHTS) || (r->rights & needs) != needs)
		return STAG_BIND_E_RIGHTS;
	if (b->len == 0 || b->to < r->to || !checked_range(b->to - r->to, b->len, r->len))
		return STAG_BIND_E_BOUNDS;
	return STAG_BIND_OK;
}

/* Points the window at its part of the region, so that an access needs one lookup. */
static void point_at(struct stag_region *w, struct stag_region *r, const struct stag_bind *b,
		     uint64_t scope)
{
	w->rights = b->rights;
	w->scope = scope;
	w->to = b->to;
	w->len = b->len;
	w->base = r->base + (b->to - r->to);
	w->parent = r->stag;
	w->valid = true;
	r->windows++;
}

int stag_bind(struct stag_table *t, const struct stag_bind *b, const struct stag_who *who)
{
	struct stag_region *w = bindable(t, b->window, who), *r = find(t, b->region);
	bool unbind = w && w->kind == STAG_WINDOW_PD && b->len == 0;
	int e = unbind ? STAG_BIND_OK : check_region(r, b, who->pd);

	if (!w)
		return STAG_BIND_E_WINDOW;
	if (e)
		return e;
	invalidate(t, w);
	w->stag = b->window;
	if (!unbind)
		point_at(w, r, b, who->scope);
	return STAG_BIND_OK;
}
