/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/receive/tsn_map.h"

#include <assert.h>
#include <string.h>

#include "sctp/wire/tsn.h"
#include "util/minmax.h"

enum {
	WORDS = SCTP_BLOCK / 8,
	SACK = 3, /* chunk type */
	SACK_HEAD = 16,
	SACK_MAX = 65532, /* the length has 16 bits */
};

static_assert(WORDS * 64 > SCTP_MAP_WINDOW + 64, "bits of the window fall into different words");

void sctp_tsn_map_init(struct sctp_tsn_map *m, const struct sctp_account *account,
		       uint32_t initial_tsn)
{
	*m = (struct sctp_tsn_map){
		.cum = initial_tsn - 1, .highest = initial_tsn - 1, .account = account};
}

static void free_bits(struct sctp_tsn_map *m)
{
	sctp_pool_put(m->account, m->bits);
	m->bits = NULL;
}

void sctp_tsn_map_deinit(struct sctp_tsn_map *m)
{
	free_bits(m);
	m->highest = m->cum;
}

static uint64_t *word(const struct sctp_tsn_map *m, uint32_t tsn)
{
	return &m->bits[tsn / 64 % WORDS];
}

static uint64_t bit_of(uint32_t tsn)
{
	return UINT64_C(1) << tsn % 64;
}

static bool has(const struct sctp_tsn_map *m, uint32_t tsn)
{
	return !sctp_tsn_before(m->highest, tsn) && *word(m, tsn) & bit_of(tsn);
}

static void note_duplicate(struct sctp_tsn_map *m, uint32_t tsn)
{
	if (m->ndups < SCTP_MAP_DUPS)
		m->dup[m->ndups++] = tsn;
}

enum sctp_tsn_class sctp_tsn_map_check_gap(struct sctp_tsn_map *m, uint32_t tsn)
{
	if (!sctp_tsn_before(m->cum, tsn) || (sctp_tsn_map_gap(m) && has(m, tsn))) {
		note_duplicate(m, tsn);
		return SCTP_TSN_DUP;
	}
	if (tsn - m->cum > SCTP_MAP_WINDOW)
		return SCTP_TSN_BEYOND;
	if (!m->bits)
		m->bits = sctp_pool_get(m->account);
	return m->bits ? SCTP_TSN_NEW : SCTP_TSN_BEYOND;
}

/* Words are cleared when `highest` reaches them: the content of a new block is undefined. */
static void raise_highest(struct sctp_tsn_map *m, uint32_t tsn)
{
	uint32_t from = m->highest / 64, n = (tsn / 64 - from) % WORDS;

	if (!sctp_tsn_map_gap(m))
		m->bits[from % WORDS] = 0;
	for (uint32_t i = 1; i <= n; i++)
		m->bits[(from + i) % WORDS] = 0;
	m->highest = tsn;
}

/* The first TSN from `tsn` on whose bit is not `skipped`, or highest + 1. */
static uint32_t skip(const struct sctp_tsn_map *m, uint32_t tsn, bool skipped)
{
	while (!sctp_tsn_before(m->highest, tsn)) {
		uint64_t w = skipped ? ~*word(m, tsn) : *word(m, tsn);

		w >>= tsn % 64;
		if (w) {
			tsn += (uint32_t)__builtin_ctzll(w);
			break;
		}
		tsn += 64 - tsn % 64;
	}
	return sctp_tsn_before(m->highest, tsn) ? m->highest + 1 : tsn;
}

void sctp_tsn_map_add_gap(struct sctp_tsn_map *m, uint32_t tsn)
{
	if (sctp_tsn_before(m->highest, tsn))
		raise_highest(m, tsn);
	*word(m, tsn) |= bit_of(tsn);
	if (tsn == m->cum + 1)
		m->cum = skip(m, tsn, true) - 1;
	if (!sctp_tsn_map_gap(m))
		free_bits(m);
}

/* The last TSN of the map at or before `tsn`, or cum. */
static uint32_t last_before(const struct sctp_tsn_map *m, uint32_t tsn)
{
	while (sctp_tsn_before(m->cum, tsn)) {
		uint64_t w = *word(m, tsn) << (63 - tsn % 64);

		if (w) {
			tsn -= (uint32_t)__builtin_clzll(w);
			break;
		}
		tsn -= tsn % 64 + 1;
	}
	return sctp_tsn_before(m->cum, tsn) ? tsn : m->cum;
}

void sctp_tsn_map_renege(struct sctp_tsn_map *m, uint32_t tsn)
{
	if (!sctp_tsn_map_gap(m) || !sctp_tsn_before(m->cum, tsn) || !has(m, tsn))
		return;
	*word(m, tsn) &= ~bit_of(tsn);
	if (tsn == m->highest)
		m->highest = last_before(m, tsn);
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint32_t put_gaps(const struct sctp_tsn_map *m, uint8_t *p, uint32_t max)
{
	uint32_t n = 0, tsn = m->cum + 1;

	if (!sctp_tsn_map_gap(m))
		return 0;
	while (n < max) {
		uint32_t first = skip(m, tsn, false);

		if (sctp_tsn_before(m->highest, first))
			break;
		tsn = skip(m, first, true);
		put16(p + (size_t)n * 4, first - m->cum);
		put16(p + (size_t)n * 4 + 2, tsn - 1 - m->cum);
		n++;
	}
	return n;
}

static uint32_t put_duplicates(struct sctp_tsn_map *m, uint8_t *p, uint32_t max)
{
	uint32_t n = m->ndups < max ? m->ndups : max;

	for (uint32_t i = 0; i < n; i++)
		put32(p + (size_t)i * 4, m->dup[i]);
	m->ndups -= n;
	memmove(m->dup, m->dup + n, m->ndups * sizeof(m->dup[0]));
	return n;
}

void sctp_tsn_map_sack(struct sctp_tsn_map *m, uint32_t a_rwnd, struct sctp_writer *w,
		       uint32_t most)
{
	uint32_t max, ngaps, ndups, len, space = w->full ? 0 : min_u32(w->size - w->len, most);
	uint8_t *p = w->p + w->len;

	if (space < SACK_HEAD)
		return;
	max = (min_u32(space, SACK_MAX) - SACK_HEAD) / 4;
	if (!sctp_tsn_map_gap(m))
		free_bits(m); /* of a TSN that was not added, or that was dropped */
	ngaps = put_gaps(m, p + SACK_HEAD, max);
	ndups = put_duplicates(m, p + SACK_HEAD + (size_t)ngaps * 4, max - ngaps);
	len = SACK_HEAD + 4 * (ngaps + ndups);
	p[0] = SACK;
	p[1] = 0;
	put16(p + 2, len);
	put32(p + 4, m->cum);
	put32(p + 8, a_rwnd);
	put16(p + 12, ngaps);
	put16(p + 14, ndups);
	w->len += len;
}
