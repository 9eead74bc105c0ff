/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/shadow.h"

#include <stdatomic.h>

#include "util/checked.h"

enum {
	BITS = 64,                  /* of a word */
	WORDS = SHADOW_PAGE / BITS, /* of the marks of a page */
};

static uint64_t pages_of(const struct shadow_layout *l)
{
	return l->size / SHADOW_PAGE;
}

static uint64_t words_for(uint64_t bits)
{
	return (bits + BITS - 1) / BITS;
}

struct shadow_layout shadow_layout(uint64_t span)
{
	struct shadow_layout l = {.size = checked_round_up(span, SHADOW_PAGE)};
	uint64_t groups = words_for(pages_of(&l));
	uint64_t words = l.size / BITS + groups + words_for(groups);

	l.total = checked_round_up(2 * l.size + words * sizeof(uint64_t), SHADOW_PAGE);
	return l;
}

struct shadow shadow_at(void *marks, const struct shadow_layout *layout)
{
	struct shadow s = {.size = layout->size, .bytes = marks};

	s.pages = s.bytes + layout->size / BITS;
	s.groups = s.pages + words_for(pages_of(layout));
	return s;
}

/* ---- daemon ---- */

static uint64_t bit(uint64_t n)
{
	return UINT64_C(1) << n % BITS;
}

/* The bits from n % 64 on, but no more than `count`. */
static uint64_t bits_from(uint64_t n, uint64_t count)
{
	uint64_t all = UINT64_MAX << n % BITS, end = n % BITS + count;

	return end < BITS ? all & ~(UINT64_MAX << end) : all;
}

/* The upper levels follow the lower ones: who takes an upper bit finds the lower ones. */
static void mark_pages(const struct shadow *s, uint64_t first, uint64_t last)
{
	for (uint64_t page = first; page <= last; page++)
		atomic_fetch_or(&s->pages[page / BITS], bit(page));
	for (uint64_t group = first / BITS; group <= last / BITS; group++)
		atomic_fetch_or(&s->groups[group / BITS], bit(group));
}

void shadow_mark(const struct shadow *s, uint64_t at, uint64_t len)
{
	const uint64_t end = at + len;

	if (len == 0)
		return;
	for (uint64_t n = at; n < end; n += BITS - n % BITS) {
		uint64_t bits = bits_from(n, end - n);

		if (bits == UINT64_MAX)
			atomic_store_explicit(&s->bytes[n / BITS], bits, memory_order_release);
		else
			atomic_fetch_or_explicit(&s->bytes[n / BITS], bits, memory_order_release);
	}
	mark_pages(s, at / SHADOW_PAGE, (end - 1) / SHADOW_PAGE);
}

/* ---- library ---- */

/* Ranges that touch become one. */
struct run {
	uint64_t at, len;
	shadow_fn *fn;
	void *arg;
};

static void flush(struct run *r)
{
	if (r->len)
		r->fn(r->arg, r->at, r->len);
	r->len = 0;
}

static void extend_run(struct run *r, uint64_t at, uint64_t len)
{
	if (r->at + r->len != at)
		flush(r);
	if (r->len == 0)
		r->at = at;
	r->len += len;
}

/* The bytes of one word of marks. */
static void take_word(struct run *r, uint64_t at, uint64_t bits)
{
	while (bits) {
		unsigned first = (unsigned)__builtin_ctzll(bits);
		uint64_t rest = ~(bits >> first);
		unsigned n = rest ? (unsigned)__builtin_ctzll(rest) : BITS;

		extend_run(r, at + first, n);
		if (first + n >= BITS)
			return;
		bits &= UINT64_MAX << (first + n);
	}
}

static void take_page(const struct shadow *s, struct run *r, uint64_t page)
{
	for (uint64_t w = page * WORDS; w < (page + 1) * WORDS; w++)
		if (atomic_load_explicit(&s->bytes[w], memory_order_relaxed))
			take_word(r, w * BITS, atomic_exchange(&s->bytes[w], 0));
}

/* The set bits of a word, as numbers from 64 * word on that are below the limit. */
static bool next(uint64_t *bits, uint64_t word, uint64_t limit, uint64_t *ret)
{
	if (!*bits)
		return false;
	*ret = word * BITS + (unsigned)__builtin_ctzll(*bits);
	*bits &= *bits - 1;
	return *ret < limit;
}

static void take_group(const struct shadow *s, struct run *r, uint64_t group)
{
	uint64_t bits = atomic_exchange(&s->pages[group], 0), page;

	while (next(&bits, group, s->size / SHADOW_PAGE, &page))
		take_page(s, r, page);
}

void shadow_take(const struct shadow *s, shadow_fn *fn, void *arg)
{
	const uint64_t groups = words_for(s->size / SHADOW_PAGE);
	struct run r = {.fn = fn, .arg = arg};

	for (uint64_t w = 0; w < words_for(groups); w++) {
		uint64_t bits = 0, group;

		if (atomic_load_explicit(&s->groups[w], memory_order_relaxed))
			bits = atomic_exchange(&s->groups[w], 0);
		while (next(&bits, w, groups, &group))
			take_group(s, &r, group);
	}
	flush(&r);
}
