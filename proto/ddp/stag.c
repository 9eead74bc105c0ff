/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp/stag.h"

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
struct slots {
	struct slot *at;
	uint32_t mask;
	uint32_t shift; /* leaves the upper bits of the product in home() */
};

struct stag_table {
	struct slots now;
	struct slots old; /* entries move from here to `now`; at NULL: there are none */
	uint32_t scan; /* slots of `old` before this one are free, and none of its entries has its
			  home there */
	uint32_t max;
	uint32_t used; /* in both */
};

enum { SCAN = 64 /* slots of `old` that each change of the table moves to `now` */ };

static unsigned log2_slots(uint32_t max)
{
	unsigned n = 1;

	assert(max <= UINT32_C(1) << 30);
	while (UINT64_C(1) << n < (uint64_t)max * 2)
		n++;
	return n;
}

size_t stag_slots_size(uint32_t max)
{
	uint64_t slots = UINT64_C(1) << log2_slots(max);
	uint64_t size = LINE + slots * sizeof(struct slot);

	assert(size <= SIZE_MAX - sizeof(struct stag_table));
	return (size_t)size;
}

size_t stag_table_size(uint32_t max)
{
	return sizeof(struct stag_table) + stag_slots_size(max);
}

static struct slots slots_in(void *mem, uint32_t max)
{
	unsigned bits = log2_slots(max);

	return (struct slots){
		.at = (struct slot *)checked_round_up((uintptr_t)mem, LINE),
		.mask = (uint32_t)((UINT64_C(1) << bits) - 1),
		.shift = 32 - bits,
	};
}

struct stag_table *stag_table_init(void *mem, uint32_t max)
{
	struct stag_table *t = mem;

	*t = (struct stag_table){.now = slots_in(t + 1, max), .max = max};
	return t;
}

uint32_t stag_table_used(const struct stag_table *t)
{
	return t->used;
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
static uint32_t home(const struct slots *s, uint32_t stag)
{
	return (index_of(stag) * UINT32_C(0x9e3779b1)) >> s->shift;
}

/* The slot with the index of the value, or the free slot that ends the search for it. */
static inline struct slot *probe(const struct slots *s, uint32_t stag)
{
	uint32_t i = home(s, stag);

	while (s->at[i].region.stag != 0 && index_of(s->at[i].region.stag) != index_of(stag))
		i = (i + 1) & s->mask;
	return &s->at[i];
}

/* The entry with the index of the value, whatever its key. */
static inline struct stag_region *find_any_key(const struct stag_table *t, uint32_t stag)
{
	struct stag_region *r = &probe(&t->now, stag)->region;

	if (!r->stag && t->old.at)
		r = &probe(&t->old, stag)->region;
	return r->stag ? r : NULL;
}

static struct stag_region *find_stag(const struct stag_table *t, uint32_t stag)
{
	struct stag_region *r = find_any_key(t, stag);

	return r && r->stag == stag ? r : NULL;
}

/* ---- changes ---- */

/* Frees the slot. Entries that a collision moved past it move back. */
static void free_slot(const struct slots *s, uint32_t hole)
{
	for (uint32_t i = (hole + 1) & s->mask; s->at[i].region.stag; i = (i + 1) & s->mask) {
		uint32_t from_home = (i - home(s, s->at[i].region.stag)) & s->mask;
		uint32_t from_hole = (i - hole) & s->mask;

		if (from_home >= from_hole) {
			s->at[hole] = s->at[i];
			hole = i;
		}
	}
	memset(&s->at[hole], 0, sizeof(s->at[hole]));
}

/* Moves the entries of the next slots. A slot is left when no entry has its home at or before it.
 */
static void move_some(struct stag_table *t)
{
	for (unsigned n = 0; t->old.at && n < SCAN; n++) {
		const struct slot *s = &t->old.at[t->scan];

		while (s->region.stag) {
			*probe(&t->now, s->region.stag) = *s;
			free_slot(&t->old, t->scan);
		}
		if (t->scan++ == t->old.mask)
			t->old.at = NULL;
	}
}

void stag_table_resize(struct stag_table *t, void *mem, uint32_t max)
{
	assert(!t->old.at && t->used <= max);
	t->old = t->now;
	t->scan = 0;
	t->now = slots_in(mem, max);
	t->max = max;
}

bool stag_table_moving(const struct stag_table *t)
{
	return t->old.at;
}

int stag_add(struct stag_table *t, const struct stag_region *r)
{
	struct slot *s;

	if (t->used == t->max)
		return STAG_ADD_E_FULL;
	if (r->stag == 0 || find_any_key(t, r->stag))
		return STAG_ADD_E_TAKEN;
	s = probe(&t->now, r->stag);
	s->region = *r;
	s->region.valid = r->kind == STAG_REGION;
	s->region.windows = 0;
	t->used++;
	move_some(t);
	return STAG_ADD_OK;
}

/* Makes the entry invalid; a window no longer counts for its region. */
static void invalidate(const struct stag_table *t, struct stag_region *r)
{
	if (r->valid && r->kind != STAG_REGION) {
		struct stag_region *parent = find_stag(t, r->parent);

		assert(parent && parent->windows > 0);
		parent->windows--;
	}
	r->valid = false;
}

bool stag_remove(struct stag_table *t, uint32_t stag)
{
	const struct slots *in = &t->now;
	struct slot *s = probe(in, stag);

	if (!s->region.stag && t->old.at) {
		in = &t->old;
		s = probe(in, stag);
	}
	if (stag == 0 || s->region.stag != stag)
		return false;
	assert(s->region.windows == 0);
	invalidate(t, &s->region);
	free_slot(in, (uint32_t)(s - in->at));
	t->used--;
	move_some(t);
	return true;
}

/* ---- lookups ---- */

const struct stag_region *stag_find(const struct stag_table *t, uint32_t stag)
{
	return find_stag(t, stag);
}

const struct stag_region *stag_find_any_key(const struct stag_table *t, uint32_t stag)
{
	return find_any_key(t, stag);
}

/* A STAG_E_ value. */
static int allows(const struct stag_region *r, const struct stag_accessor *accessor,
		  uint32_t rights, uint64_t to, uint64_t len)
{
	if (!r->valid)
		return STAG_E_INVALID;
	if (r->pd != accessor->pd || (r->scope != 0 && r->scope != accessor->scope))
		return STAG_E_SCOPE;
	if (rights & (~r->rights | accessor->withheld))
		return STAG_E_RIGHTS;
	if (checked_add_wraps(to, len))
		return STAG_E_WRAP;
	if (to < r->to || !checked_range(to - r->to, len, r->len))
		return STAG_E_BOUNDS;
	return STAG_E_OK;
}

int stag_check(const struct stag_table *t, uint32_t stag, const struct stag_accessor *accessor,
	       uint32_t rights, uint64_t to, uint64_t len, uint8_t **ret_p)
{
	const struct stag_region *r = find_stag(t, stag);
	int e = r ? allows(r, accessor, rights, to, len) : STAG_E_INVALID;

	if (e)
		return e;
	*ret_p = r->base + (to - r->to);
	if (rights & (STAG_LOCAL_WRITE | STAG_REMOTE_WRITE))
		*ret_p += (uint64_t)r->apart * STAG_APART;
	return STAG_E_OK;
}

void stag_set_notice(struct stag_table *t, uint32_t stag, uint32_t notice)
{
	struct stag_region *r = find_stag(t, stag);

	assert(r && r->kind == STAG_REGION);
	r->notice = notice;
}

uint32_t stag_notice(const struct stag_table *t, uint32_t stag,
		     const struct stag_accessor *accessor, uint64_t to)
{
	const struct stag_region *r = find_stag(t, stag);

	if (!r || allows(r, accessor, STAG_REMOTE_WRITE, to, 0))
		return 0;
	if (r->kind != STAG_REGION)
		r = find_stag(t, r->parent);
	return r ? r->notice : 0;
}

int stag_invalidate(struct stag_table *t, uint32_t stag, const struct stag_accessor *accessor)
{
	struct stag_region *r = find_stag(t, stag);

	if (!r || !r->valid)
		return STAG_E_INVALID;
	if (r->scope == 0 || r->scope != accessor->scope || r->pd != accessor->pd)
		return STAG_E_SCOPE;
	invalidate(t, r);
	return STAG_E_OK;
}

/* The window with the index of the value, if `accessor` may bind it now. */
static struct stag_region *bindable(const struct stag_table *t, uint32_t stag,
				    const struct stag_accessor *accessor)
{
	struct stag_region *w = find_any_key(t, stag);

	if (stag == 0 || !w || w->kind == STAG_REGION || w->pd != accessor->pd)
		return NULL;
	if (w->kind == STAG_WINDOW_PD)
		return accessor->scope == 0 ? w : NULL;
	return accessor->scope != 0 && !w->valid ? w : NULL;
}

/* Checks the bind against the region. Returns a STAG_BIND_ value. */
static int check_region(const struct stag_region *r, const struct stag_bind *b, uint64_t pd)
{
	uint32_t needs = STAG_BIND_WINDOWS;

	if (b->rights & (STAG_REMOTE_WRITE | STAG_REMOTE_ATOMIC))
		needs |= STAG_LOCAL_WRITE;
	if (!r || !r->valid || r->kind != STAG_REGION || r->pd != pd || r->scope != 0)
		return STAG_BIND_E_REGION;
	if ((b->rights & ~(uint32_t)STAG_REMOTE_ALL) || (r->rights & needs) != needs)
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
	w->apart = r->apart;
	w->parent = r->stag;
	w->valid = true;
	r->windows++;
}

int stag_bind(struct stag_table *t, const struct stag_bind *b, const struct stag_accessor *accessor)
{
	struct stag_region *w = bindable(t, b->window, accessor), *r = find_stag(t, b->region);
	bool unbind = w && w->kind == STAG_WINDOW_PD && b->len == 0;
	int e = unbind ? STAG_BIND_OK : check_region(r, b, accessor->pd);

	if (!w)
		return STAG_BIND_E_WINDOW;
	if (e)
		return e;
	invalidate(t, w);
	w->stag = b->window;
	if (!unbind)
		point_at(w, r, b, accessor->scope);
	return STAG_BIND_OK;
}
