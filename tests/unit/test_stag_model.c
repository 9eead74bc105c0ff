/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random operations on an almost full STag table, and on an array as the model. After each
 * operation both have the same entries.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "proto/ddp/stag.h"

enum {
	INDICES = 12, /* what values are drawn from, with a few keys each */
	KEYS = 4,
	MAX = 8, /* entries in the table, so that it is often full */
	ROUNDS = 60,
	STEPS = 2000,
	SIZE = 64,
};

static uint8_t memory[SIZE];

struct model {
	struct stag_region e[INDICES]; /* stag 0: none */
	uint32_t index[INDICES];       /* the first is index 0 */
	unsigned used;
};

static uint64_t seed = 504110;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 13) % below;
}

static uint32_t draw_value(const struct model *m)
{
	return m->index[draw(INDICES)] << 8 | draw(KEYS);
}

/* Mostly one that is in the table. */
static uint32_t draw_known(const struct model *m)
{
	const struct stag_region *r = &m->e[draw(INDICES)];

	for (unsigned i = 0; i < 4 && r->stag == 0; i++)
		r = &m->e[draw(INDICES)];
	return r->stag && draw(8) ? r->stag : draw_value(m);
}

/* Mostly one of a region. */
static uint32_t draw_region(const struct model *m)
{
	for (unsigned i = 0; i < 8; i++) {
		const struct stag_region *r = &m->e[draw(INDICES)];

		if (r->stag != 0 && r->kind == STAG_REGION)
			return r->stag;
	}
	return draw_known(m);
}

static uint64_t draw_pd(void)
{
	return draw(5) == 0;
}

static struct stag_accessor draw_who(void)
{
	return (struct stag_accessor){.pd = draw_pd(), .scope = draw(3)};
}

static struct stag_region *at(struct model *m, uint32_t value)
{
	for (unsigned i = 0; i < INDICES; i++) {
		if (m->index[i] == value >> 8)
			return &m->e[i];
	}
	return NULL;
}

static struct stag_region *of(struct model *m, uint32_t value)
{
	struct stag_region *r = at(m, value);

	return value != 0 && r->stag == value ? r : NULL;
}

static bool is_window(const struct stag_region *r)
{
	return r->stag != 0 && r->kind != STAG_REGION;
}

/* Counted each time, to compare it with the count of the table. */
static uint32_t windows_on(const struct model *m, const struct stag_region *r)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < INDICES; i++)
		n += is_window(&m->e[i]) && m->e[i].valid && m->e[i].parent == r->stag;
	return n;
}

/* ---- the operations: each changes the model and returns the expected result ---- */

static int model_add(struct model *m, const struct stag_region *r)
{
	if (m->used == MAX)
		return STAG_ADD_E_FULL;
	if (r->stag == 0 || at(m, r->stag)->stag != 0)
		return STAG_ADD_E_TAKEN;
	*at(m, r->stag) = *r;
	at(m, r->stag)->valid = r->kind == STAG_REGION;
	m->used++;
	return STAG_ADD_OK;
}

static bool model_remove(struct model *m, uint32_t value)
{
	struct stag_region *r = of(m, value);

	if (!r)
		return false;
	r->stag = 0;
	m->used--;
	return true;
}

static int model_invalidate(struct model *m, uint32_t value, struct stag_accessor accessor)
{
	struct stag_region *r = of(m, value);

	if (!r || !r->valid)
		return STAG_E_INVALID;
	if (r->scope == 0 || r->scope != accessor.scope || r->pd != accessor.pd)
		return STAG_E_SCOPE;
	r->valid = false;
	return STAG_E_OK;
}

static int model_bind(struct model *m, const struct stag_bind *b, struct stag_accessor accessor)
{
	struct stag_region *w = at(m, b->window), *r = of(m, b->region);
	bool type_1 = w->kind == STAG_WINDOW_PD;

	if (b->window == 0 || !is_window(w) || w->pd != accessor.pd ||
	    type_1 != (accessor.scope == 0))
		return STAG_BIND_E_WINDOW;
	if (!type_1 && w->valid)
		return STAG_BIND_E_WINDOW;
	if (!type_1 || b->len != 0) {
		if (!r || r->kind != STAG_REGION || !r->valid || r->pd != accessor.pd ||
		    r->scope != 0)
			return STAG_BIND_E_REGION;
		if (!(r->rights & STAG_BIND_WINDOWS))
			return STAG_BIND_E_RIGHTS;
		if (b->rights & STAG_REMOTE_WRITE && !(r->rights & STAG_LOCAL_WRITE))
			return STAG_BIND_E_RIGHTS;
		if (b->len == 0 || b->to < r->to || b->to + b->len > r->to + r->len)
			return STAG_BIND_E_BOUNDS;
		w->base = memory + b->to;
		w->to = b->to;
		w->len = b->len;
		w->rights = b->rights;
		w->scope = accessor.scope;
		w->parent = b->region;
	}
	w->stag = b->window;
	w->valid = b->len != 0;
	return STAG_BIND_OK;
}

/* ---- the steps ---- */

static void step_add(struct stag_table *t, struct model *m)
{
	struct stag_region r = {.stag = draw_value(m), .pd = draw_pd()};

	if (draw(2))
		r.kind = draw(2) ? STAG_WINDOW_PD : STAG_WINDOW_STREAM;
	if (r.kind == STAG_REGION) {
		r.scope = draw(4) ? 0 : draw(3);
		r.rights = (draw(4) ? STAG_LOCAL_WRITE : 0) | (draw(8) ? STAG_BIND_WINDOWS : 0) |
			   STAG_REMOTE_READ;
		r.to = draw(SIZE / 4);
		r.len = SIZE / 4 + draw(SIZE / 2 + 1);
		r.base = memory + r.to; /* so that an address is the same through any entry */
	}
	cr_assert_eq(stag_add(t, &r), model_add(m, &r), "%#x", r.stag);
}

static void step_remove(struct stag_table *t, struct model *m)
{
	uint32_t value = draw_known(m);
	struct stag_region *r = of(m, value);

	if (r && windows_on(m, r) > 0)
		return;
	cr_assert_eq(stag_remove(t, value), model_remove(m, value), "%#x", value);
}

static void step_invalidate(struct stag_table *t, struct model *m)
{
	uint32_t value = draw_known(m);
	struct stag_accessor accessor = draw_who();

	cr_assert_eq(stag_invalidate(t, value, &accessor), model_invalidate(m, value, accessor),
		     "%#x", value);
}

/* Returns whether a window is bound now, not unbound. */
static bool step_bind(struct stag_table *t, struct model *m)
{
	struct stag_accessor accessor = draw_who();
	struct stag_bind b = {
		.window = draw_known(m) ^ draw(KEYS),
		.region = draw_region(m),
		.rights = draw(2) ? STAG_REMOTE_WRITE : STAG_REMOTE_READ,
		.to = draw(SIZE),
		.len = draw(4) ? draw(SIZE / 8) : 0,
	};
	int e = model_bind(m, &b, accessor);

	cr_assert_eq(stag_bind(t, &b, &accessor), e, "%#x on %#x", b.window, b.region);
	return e == STAG_BIND_OK && b.len > 0;
}

/* Returns whether access was granted. */
static bool expect_check(const struct stag_table *t, struct model *m)
{
	uint32_t value = draw_known(m), rights = draw(3) ? 0 : draw(32);
	struct stag_region *r = of(m, value);
	struct stag_accessor accessor = draw_who();
	uint64_t to = draw(SIZE), len = draw(SIZE / 4);
	bool ok = r && r->valid && r->pd == accessor.pd &&
		  (r->scope == 0 || r->scope == accessor.scope) && !(rights & ~r->rights) &&
		  to >= r->to && to + len <= r->to + r->len;
	uint8_t *p = NULL;

	cr_assert_eq(stag_check(t, value, &accessor, rights, to, len, &p) == STAG_E_OK, ok, "%#x",
		     value);
	cr_assert_eq(p, ok ? memory + to : NULL);
	return ok;
}

/* ---- the comparison ---- */

static void expect_entry(const struct stag_region *got, const struct stag_region *want)
{
	cr_assert_eq(got->stag, want->stag);
	cr_assert_eq(got->kind, want->kind);
	cr_assert_eq(got->valid, want->valid);
	cr_assert_eq(got->pd, want->pd);
	cr_assert_eq(got->scope, want->scope);
	cr_assert_eq(got->rights, want->rights);
	cr_assert_eq(got->to, want->to);
	cr_assert_eq(got->len, want->len);
	cr_assert_eq(got->base, want->base);
	if (is_window(want) && want->valid)
		cr_assert_eq(got->parent, want->parent);
}

static void expect_same(const struct stag_table *t, const struct model *m)
{
	for (unsigned i = 0; i < INDICES; i++) {
		const struct stag_region *want = &m->e[i];

		for (uint32_t key = 0; key < KEYS; key++) {
			uint32_t value = m->index[i] << 8 | key;
			const struct stag_region *got = stag_find(t, value);

			cr_assert_eq(got != NULL, value != 0 && value == want->stag, "%#x", value);
			if (got) {
				expect_entry(got, want);
				cr_assert_eq(got->windows, windows_on(m, want), "%#x", value);
			}
			got = stag_find_any_key(t, value);
			cr_assert_eq(got ? got->stag : 0, want->stag);
		}
	}
}

/* In a table this small nearly every search passes occupied slots, and some pass its end. */
Test(stag_model, any_order_of_operations_agrees_with_the_model)
{
	unsigned bound = 0, granted = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		void *mem = calloc(1, stag_table_size(MAX));
		struct stag_table *t = stag_table_init(mem, MAX);
		struct model m = {0};

		for (unsigned i = 1; i < INDICES; i++)
			m.index[i] = draw(1 << 20) * INDICES + i; /* no two are alike */
		for (unsigned step = 0; step < STEPS; step++) {
			switch (draw(8)) {
			case 0:
			case 1:
				step_add(t, &m);
				break;
			case 2:
				step_remove(t, &m);
				break;
			case 3:
				step_invalidate(t, &m);
				break;
			default:
				bound += step_bind(t, &m);
			}
			granted += expect_check(t, &m);
			expect_same(t, &m);
		}
		free(mem);
	}
	/* Most random operations are refused; the test requires that some succeed. */
	cr_expect_gt(bound, ROUNDS * STEPS / 200, "only %u binds succeeded", bound);
	cr_expect_gt(granted, ROUNDS * STEPS / 40, "only %u accesses were granted", granted);
}
