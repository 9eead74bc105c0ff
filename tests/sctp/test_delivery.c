/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: samples of the delivery rate are those of draft-ietf-ccwg-bbr, however many batches are
 * in flight. */
#include <criterion/criterion.h>

#include "sctp/path/delivery.h"

enum { MS = 1000, RTT = 50 * MS, BATCH = 10000, ROOM = 16 };

static struct sctp_sending memory[ROOM];

static struct sctp_delivery fresh(void)
{
	struct sctp_delivery d = {0};

	sctp_delivery_give(&d, memory, sizeof(memory));
	return d;
}

/* A batch each millisecond, acknowledged one by one a round trip later. Returns the last sample. */
static struct sctp_sample run(struct sctp_delivery *d, unsigned batches, unsigned batch_us)
{
	struct sctp_sample s = {0};
	uint32_t flight = 0;

	for (unsigned i = 0; i < batches + RTT / batch_us; i++) {
		uint64_t now = MS + (uint64_t)i * batch_us;

		if (i >= RTT / batch_us) {
			s = sctp_delivery_acked(d, BATCH, now - RTT, RTT, now);
			flight -= BATCH;
		}
		if (i < batches) {
			sctp_delivery_sent(d, flight, flight + BATCH, now);
			flight += BATCH;
		}
	}
	return s;
}

Test(sctp_delivery, the_first_batch_takes_a_round_trip)
{
	struct sctp_delivery d = fresh();
	struct sctp_sample s = run(&d, 1, MS);

	cr_assert(s.known);
	cr_assert_eq(s.rate, BATCH * UINT64_C(1000000) / RTT);
	cr_assert_eq(s.delivered, BATCH);
	cr_assert_eq(s.prior_delivered, 0);
	cr_assert_eq(s.in_flight, BATCH);
}

Test(sctp_delivery, the_rate_is_that_of_the_path)
{
	struct sctp_delivery d = {0};
	struct sctp_sending room[400];
	struct sctp_sample s;

	sctp_delivery_give(&d, room, sizeof(room));
	s = run(&d, 300, MS);
	cr_assert_eq(s.rate, BATCH * 1000, "%u", (unsigned)s.rate);
	cr_assert_eq(s.in_flight, 50 * BATCH);
}

Test(sctp_delivery, many_batches_lose_precision_only)
{
	for (unsigned batch_us = 10; batch_us <= MS; batch_us *= 10) {
		struct sctp_delivery d = fresh();
		struct sctp_sample s = run(&d, 20000, batch_us);
		uint64_t rate = BATCH * UINT64_C(1000000) / batch_us;

		cr_assert(s.known);
		cr_assert(s.rate > rate * 99 / 100 && s.rate <= rate, "%u of %u", (unsigned)s.rate,
			  (unsigned)rate);
		cr_assert_leq(s.delivered, BATCH * (RTT / batch_us) * 5 / 4, "about a round trip");
	}
}

Test(sctp_delivery, two_flights_have_records_and_a_fifth_has_not)
{
	struct sctp_delivery d = fresh();

	run(&d, 10000, 100);
	for (unsigned i = 0; i < 4 * RTT / 100; i++)
		sctp_delivery_sent(&d, 500 * BATCH, 501 * BATCH, RTT + MS + (10000 + i) * 100);
	cr_assert(sctp_delivery_lost(&d, 1, MS + (10000 + 3 * RTT / 100) * 100).known);
	cr_assert_not(sctp_delivery_lost(&d, 1, MS + 10000 * 100).known);
}

Test(sctp_delivery, acknowledgements_in_a_cluster_are_no_faster_than_what_was_sent)
{
	struct sctp_delivery d = fresh();
	struct sctp_sample s;

	for (unsigned i = 0; i < 10; i++)
		sctp_delivery_sent(&d, i * BATCH, (i + 1) * BATCH, (1 + i * 10) * MS);
	s = sctp_delivery_acked(&d, BATCH, MS, RTT, 99 * MS);
	s = sctp_delivery_acked(&d, 9 * BATCH, 91 * MS, RTT, 100 * MS);
	cr_assert_eq(s.delivered, 10 * BATCH);
	cr_assert_eq(s.rate, 10 * BATCH * UINT64_C(1000000) / (99 * MS));
}

Test(sctp_delivery, less_than_a_round_trip_gives_no_rate)
{
	struct sctp_delivery d = fresh();
	struct sctp_sample s;

	sctp_delivery_sent(&d, 0, BATCH, MS);
	s = sctp_delivery_acked(&d, BATCH, MS, RTT, 20 * MS);
	cr_assert(s.known);
	cr_assert_eq(s.rate, 0);
}

Test(sctp_delivery, samples_are_limited_by_the_user_until_the_gap_has_passed)
{
	struct sctp_delivery d = fresh();

	sctp_delivery_sent(&d, 0, BATCH, 1 * MS);
	sctp_delivery_limit(&d, BATCH);
	sctp_delivery_sent(&d, BATCH, 2 * BATCH, 2 * MS);
	cr_assert_not(sctp_delivery_acked(&d, BATCH, 1 * MS, 0, 51 * MS).app_limited);
	cr_assert(sctp_delivery_acked(&d, BATCH, 2 * MS, 0, 52 * MS).app_limited);
	sctp_delivery_sent(&d, 0, BATCH, 60 * MS);
	cr_assert_not(sctp_delivery_acked(&d, BATCH, 60 * MS, 0, 110 * MS).app_limited);
}

Test(sctp_delivery, idle_time_does_not_count)
{
	struct sctp_delivery d = fresh();

	run(&d, 1, MS);
	sctp_delivery_sent(&d, 0, BATCH, 9000 * MS);
	cr_assert_eq(sctp_delivery_acked(&d, BATCH, 9000 * MS, RTT, 9050 * MS).rate,
		     BATCH * UINT64_C(1000000) / RTT);
}

Test(sctp_delivery, losses_count_since_the_chunk_was_sent)
{
	struct sctp_delivery d = fresh();
	struct sctp_sample s;

	sctp_delivery_sent(&d, 0, BATCH, 1 * MS);
	sctp_delivery_lost(&d, 1000, 1 * MS);
	sctp_delivery_sent(&d, BATCH, 2 * BATCH, 2 * MS);
	s = sctp_delivery_lost(&d, 500, 2 * MS);
	cr_assert_eq(s.lost, 500);
	cr_assert_eq(s.in_flight, 2 * BATCH);
	cr_assert_eq(sctp_delivery_lost(&d, 500, 1 * MS).lost, 2000);
}

Test(sctp_delivery, without_memory_bytes_are_counted_and_nothing_is_known)
{
	struct sctp_delivery d = {0};
	struct sctp_sample s;

	sctp_delivery_sent(&d, 0, BATCH, 1 * MS);
	s = sctp_delivery_acked(&d, BATCH, 1 * MS, 0, 51 * MS);
	cr_assert_not(s.known);
	cr_assert_eq(s.acked, BATCH);
	cr_assert_eq(d.delivered, BATCH);
	cr_assert_null(sctp_delivery_take(&d));
}

Test(sctp_delivery, a_chunk_from_before_the_records_is_not_known)
{
	struct sctp_delivery d = fresh();

	sctp_delivery_sent(&d, 0, BATCH, 5 * MS);
	cr_assert_not(sctp_delivery_acked(&d, BATCH, 4 * MS, 0, 55 * MS).known);
	cr_assert_not(sctp_delivery_lost(&d, BATCH, 4 * MS).known);
}
