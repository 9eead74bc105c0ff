/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An untagged message is whole when each of its bytes has arrived exactly once (RFC 5041 5.2), in
 * whatever order of offsets, as long as few separate ranges are open.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/ddp/ddp_rx.h"

static struct ddp_gaps gaps[DDP_GAPS_MAX];

static struct ssn_rec segment(uint32_t from, uint32_t to, bool last)
{
	return (struct ssn_rec){
		.len = (uint16_t)(WIRE_UNTAGGED_LEN + (to - from)),
		.hlen = WIRE_UNTAGGED_LEN,
		.ddp = {.last = last, .opcode = WIRE_OP_SEND, .mo = from},
	};
}

/* A message of an endpoint that has no other. */
static struct ddp_gather fresh(void)
{
	memset(gaps, 0, sizeof(gaps));
	return (struct ddp_gather){0};
}

/* A valid segment that is not the last one. */
static void add(struct ddp_gather *g, uint32_t from, uint32_t to)
{
	struct ssn_rec c = segment(from, to, false);
	bool whole = true;

	cr_assert_eq(ddp_rx_gather(g, gaps, &c, &whole), PERR_NONE, "[%u, %u)", from, to);
	cr_assert_not(whole);
}

/* The last segment of a message that is whole. */
static void finish(struct ddp_gather *g, uint32_t from, uint32_t to)
{
	struct ssn_rec c = segment(from, to, true);
	bool whole = false;

	cr_assert_eq(ddp_rx_gather(g, gaps, &c, &whole), PERR_NONE, "[%u, %u)", from, to);
	cr_assert(whole);
}

static void refuse(struct ddp_gather *g, uint32_t from, uint32_t to, bool last)
{
	struct ssn_rec c = segment(from, to, last);
	bool whole = false;

	cr_assert_eq(ddp_rx_gather(g, gaps, &c, &whole), PERR_MO, "[%u, %u)", from, to);
	cr_assert_not(whole);
}

Test(ddp_rx, repeated_bytes_do_not_replace_missing_ones)
{
	struct ddp_gather g = fresh();

	add(&g, 0, 100);
	refuse(&g, 0, 100, false);
}

Test(ddp_rx, overlaps_at_either_end_or_inside_are_refused)
{
	static const struct {
		uint32_t from, to;
	} bad[] = {{100, 200}, {99, 101}, {199, 201}, {120, 130}, {0, 300}, {50, 200}, {100, 101}};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ddp_gather g = fresh();

		add(&g, 100, 200);
		refuse(&g, bad[i].from, bad[i].to, false);
	}
}

Test(ddp_rx, last_segment_that_leaves_a_gap_is_refused)
{
	struct ddp_gather g = fresh();

	add(&g, 0, 100);
	refuse(&g, 200, 300, true);
	g = fresh();
	refuse(&g, 1, 2, true);
	g = fresh();
	add(&g, 0, 100);
	refuse(&g, 50, 50, true);
}

Test(ddp_rx, empty_segments_add_nothing)
{
	struct ddp_gather g = fresh();

	finish(&g, 0, 0);
	g = fresh();
	add(&g, 7, 7);
	add(&g, 0, 10);
	finish(&g, 10, 10);
}

Test(ddp_rx, ranges_that_meet_become_one)
{
	struct ddp_gather g = fresh();

	/* Downwards, then with gaps that close: never more than four ranges. */
	for (uint32_t at = 100; at > 0; at -= 10)
		add(&g, at - 10, at);
	for (uint32_t at = 100; at < 160; at += 20)
		add(&g, at + 10, at + 20);
	for (uint32_t at = 100; at < 160; at += 20)
		add(&g, at, at + 10);
	finish(&g, 160, 161);
}

Test(ddp_rx, message_with_too_many_separate_ranges_is_refused)
{
	struct ddp_gather g = fresh();

	for (uint32_t i = 0; i < DDP_GAPS_RANGES; i++)
		add(&g, 20 * i + 10, 20 * i + 20);
	refuse(&g, 20 * DDP_GAPS_RANGES + 10, 20 * DDP_GAPS_RANGES + 20, false);
	add(&g, 0, 10); /* one that closes a gap still fits */
}

Test(ddp_rx, so_many_messages_may_have_gaps_and_no_more)
{
	struct ddp_gather g[DDP_GAPS_MAX + 1] = {{.begun = false}};

	memset(gaps, 0, sizeof(gaps));
	for (unsigned i = 0; i < DDP_GAPS_MAX; i++) {
		add(&g[i], 10, 20);
		add(&g[i], 30, 40);
	}
	add(&g[DDP_GAPS_MAX], 0, 10); /* without a gap */
	refuse(&g[DDP_GAPS_MAX], 20, 30, false);

	/* A gap that closes makes room for another message. */
	add(&g[0], 20, 30);
	g[DDP_GAPS_MAX] = (struct ddp_gather){0};
	add(&g[DDP_GAPS_MAX], 10, 20);
	add(&g[DDP_GAPS_MAX], 30, 40);
	for (unsigned i = 1; i <= DDP_GAPS_MAX; i++) {
		add(&g[i], 20, 30);
		add(&g[i], 0, 10);
		finish(&g[i], 40, 41);
	}
}

Test(ddp_rx, message_of_4_gigabytes_is_refused)
{
	struct ddp_gather g = fresh();
	struct ssn_rec c = segment(0, 1, false);
	bool whole = false;

	c.ddp.mo = UINT32_MAX - 1;
	cr_expect_eq(ddp_rx_gather(&g, gaps, &c, &whole), PERR_NONE);
	g = fresh();
	c.ddp.mo = UINT32_MAX;
	cr_expect_eq(ddp_rx_gather(&g, gaps, &c, &whole), PERR_MO);
}

/* ---- against a model: one flag for each byte ---- */

enum { BYTES = 12, SEGMENTS = 8, ROUNDS = 200000 };

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 13) % below;
}

static unsigned ranges_of(const bool got[BYTES])
{
	unsigned n = 0;

	for (unsigned i = 0; i < BYTES; i++)
		n += got[i] && (i == 0 || !got[i - 1]);
	return n;
}

/* The result that the contract requires. Marks the bytes in got. */
static enum perr expected(bool got[BYTES], uint32_t from, uint32_t to, bool last)
{
	for (uint32_t i = from; i < to; i++) {
		if (got[i])
			return PERR_MO;
		got[i] = true;
	}
	if (ranges_of(got) > DDP_GAPS_RANGES)
		return PERR_MO;
	for (uint32_t i = 0; last && i < BYTES; i++) {
		if (got[i] != (i < to))
			return PERR_MO;
	}
	return PERR_NONE;
}

Test(ddp_rx, random_segments_agree_with_a_model_of_one_flag_per_byte)
{
	unsigned whole_messages = 0, refused = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct ddp_gather g = fresh();
		bool got[BYTES] = {0};
		enum perr want = PERR_NONE;
		bool last = false;

		for (unsigned i = 0; i < SEGMENTS && want == PERR_NONE && !last; i++) {
			uint32_t from = draw(BYTES), to = from + draw(4);
			struct ssn_rec c;
			bool whole = false;

			if (to > BYTES)
				to = BYTES;
			last = draw(4) == 0;
			c = segment(from, to, last);
			want = expected(got, from, to, last);
			cr_assert_eq(ddp_rx_gather(&g, gaps, &c, &whole), want);
			cr_assert_eq(whole, last && want == PERR_NONE);
			whole_messages += whole;
			refused += want != PERR_NONE;
		}
	}
	cr_expect_gt(whole_messages, 1000);
	cr_expect_gt(refused, 1000);
}
