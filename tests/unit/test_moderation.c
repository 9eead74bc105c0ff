/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: closely following packets from far away are read in few wake-ups, and no others wait. */
#include <criterion/criterion.h>

#include "daemon/base/moderation.h"

enum { PATIENCE_US = 500, SECOND_US = 1000000 };

static struct moderation m;
static uint64_t now = 100 * UINT64_C(1000000);

/* A turn that reads packets; returns how long the loop then pauses. */
static uint64_t read_packets(uint32_t patience_us)
{
	moderation_note(&m, true, patience_us, now);
	return moderation_begin(&m, UINT64_MAX, now) ? moderation_expiry_us(&m) - now : 0;
}

static uint64_t read_later(uint64_t us)
{
	moderation_end(&m);
	now += us;
	return read_packets(PATIENCE_US);
}

Test(moderation, packets_that_follow_closely_are_waited_for)
{
	cr_expect_eq(read_packets(PATIENCE_US), 0, "the first one is alone");
	cr_expect_eq(read_later(120), PATIENCE_US);
	for (unsigned i = 0; i < 100; i++)
		cr_expect_eq(read_later(PATIENCE_US + 10), PATIENCE_US, "some have arrived");
}

Test(moderation, packets_with_longer_gaps_are_read_at_once)
{
	for (unsigned i = 0; i < 100; i++)
		cr_expect_eq(read_later(2 * PATIENCE_US), 0);
}

Test(moderation, packets_as_far_apart_as_the_pauses_of_the_peer_are_waited_for)
{
	read_packets(PATIENCE_US);
	cr_expect_eq(read_later(PATIENCE_US + 100), PATIENCE_US);
}

Test(moderation, a_pause_in_which_nothing_arrives_is_the_last_one)
{
	read_packets(PATIENCE_US);
	cr_expect_eq(read_later(120), PATIENCE_US);
	moderation_end(&m);
	cr_expect_eq(moderation_expiry_us(&m), UINT64_MAX);
	now += PATIENCE_US;
	moderation_note(&m, false, 0, now);
	cr_expect_not(moderation_begin(&m, UINT64_MAX, now));
	moderation_end(&m);
	cr_expect_eq(read_later(2 * PATIENCE_US), 0);
	cr_expect_eq(read_later(2 * PATIENCE_US), 0);
}

Test(moderation, no_packet_waits_within_a_second_after_one_from_near)
{
	read_packets(PATIENCE_US);
	cr_expect_eq(read_later(120), PATIENCE_US);
	moderation_end(&m);
	cr_expect_eq(read_packets(0), 0);
	for (unsigned i = 0; i < SECOND_US / 100 - 1; i++)
		cr_assert_eq(read_later(100), 0, "%u", i);
	cr_expect_eq(read_later(100), PATIENCE_US);
}

Test(moderation, a_bell_ends_the_pause_and_begins_none)
{
	read_packets(PATIENCE_US);
	cr_expect_eq(read_later(120), PATIENCE_US);
	moderation_end(&m);
	now += 10;
	moderation_note(&m, true, PATIENCE_US, now);
	moderation_skip(&m);
	cr_expect_not(moderation_begin(&m, UINT64_MAX, now));
	cr_expect_eq(read_later(100), PATIENCE_US, "it was no packet from near");
}

/* A pause that begins with packets, when the transport's timer is due in so long. */
static uint64_t pause_before(uint64_t timer_us)
{
	uint64_t us;

	now += 120;
	moderation_note(&m, true, PATIENCE_US, now);
	us = moderation_begin(&m, now + timer_us, now) ? moderation_expiry_us(&m) - now : 0;
	moderation_end(&m);
	return us;
}

Test(moderation, a_pause_lasts_until_a_timer_that_is_due_soon_after)
{
	read_packets(PATIENCE_US);
	moderation_end(&m);
	cr_expect_eq(pause_before(PATIENCE_US + 300), PATIENCE_US + 300);
	cr_expect_eq(pause_before(2 * PATIENCE_US), 2 * PATIENCE_US);
	cr_expect_eq(pause_before(2 * PATIENCE_US + 1), PATIENCE_US);
	cr_expect_eq(pause_before(100), PATIENCE_US, "the timer wakes the loop anyway");
}

Test(moderation, a_turn_that_only_sends_does_not_end_a_pause)
{
	read_packets(PATIENCE_US);
	cr_expect_eq(read_later(120), PATIENCE_US);
	moderation_end(&m);
	now += 100;
	moderation_note(&m, false, 0, now);
	cr_expect(moderation_begin(&m, UINT64_MAX, now));
	cr_expect_eq(moderation_expiry_us(&m), now + PATIENCE_US - 100);
}
