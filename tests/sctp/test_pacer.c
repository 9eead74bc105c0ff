/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: packets leave at the rate of the pacer, in batches of at most 1 ms of it. */
#include <criterion/criterion.h>

#include "sctp/path/pacer.h"
#include "util/minmax.h"

enum { PACKET = 1448, SECOND = 1000000 };

static struct sctp_pacer p;
static uint64_t now;

static uint32_t send_batch(uint32_t packet)
{
	uint32_t sum = 0;

	for (; sctp_pacer_ready(&p, now); sum += packet)
		sctp_pacer_sent(&p, packet, now);
	return sum;
}

static void begin(uint64_t rate)
{
	p = (struct sctp_pacer){0};
	now = SECOND;
	sctp_pacer_set_rate(&p, rate, SCTP_PACER_BATCH_US);
}

Test(pacer, without_a_rate_all_packets_may_leave)
{
	begin(0);
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert(sctp_pacer_ready(&p, now));
		sctp_pacer_sent(&p, 65000, now);
	}
}

Test(pacer, batches_are_a_millisecond_of_the_rate_or_one_packet)
{
	static const uint64_t rates[] = {10000, 144800, 1448000, 12500000, 125000000, 1250000000};

	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t sum = 0, end;

		begin(rates[i]);
		for (end = now + 10 * SECOND; now < end; now = sctp_pacer_wait(&p)) {
			uint32_t n = send_batch(PACKET);

			cr_assert_leq(n, rates[i] / 1000 + rates[i] / SECOND + PACKET);
			sum += n;
		}
		cr_assert_leq(sum, 10 * rates[i] + rates[i] / 1000 + PACKET);
		cr_assert_geq(sum + PACKET, 999 * rates[i] / 100, "%u of %u bytes per ms",
			      (unsigned)(sum / 10000), (unsigned)(rates[i] / 1000));
	}
}

/* A caller with a coarse clock reaches the rate; one that is away for long sends two batches. */
Test(pacer, lateness_is_caught_up_to_a_batch)
{
	uint64_t sum = 0;

	begin(12500000);
	for (unsigned i = 0; i < 1000; i++) {
		sum += send_batch(PACKET);
		now = sctp_pacer_wait(&p) + 900;
	}
	cr_assert_geq(sum, (now - SECOND) * 12500000 / SECOND * 98 / 100, "%lu bytes in %lu us",
		      sum, now - SECOND);
	now += SECOND;
	cr_assert_leq(send_batch(PACKET), 2 * 12500 + PACKET);
}

/* Time without packets gives nothing. */
Test(pacer, rest_is_not_saved_up)
{
	begin(12500000);
	send_batch(PACKET);
	now += SECOND;
	cr_assert_leq(send_batch(PACKET), 12500 + PACKET);
}

/* The rate changes at any time; the caller comes at any time. */
Test(pacer, no_more_than_two_batches_ahead_of_any_rate)
{
	uint64_t used_ns = 0, z = 1;

	begin(1000000);
	used_ns = now * 1000;
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t packet;

		z = z * UINT64_C(6364136223846793005) + 1442695040888963407;
		packet = 20 + (uint32_t)(z >> 33) % 9000;
		if (z >> 60 == 0)
			sctp_pacer_set_rate(&p, 1000 + (z >> 20) % 1000000000, SCTP_PACER_BATCH_US);
		now += z >> 62 ? 0 : (z >> 40) % 3000;
		used_ns = max_u64(used_ns, (now - SCTP_PACER_BATCH_US) * 1000);
		if (!sctp_pacer_ready(&p, now)) {
			cr_assert_geq(sctp_pacer_wait(&p), now);
			continue;
		}
		cr_assert_lt(used_ns, (now + SCTP_PACER_BATCH_US) * 1000);
		sctp_pacer_sent(&p, packet, now);
		used_ns += packet * UINT64_C(1000000000) / p.rate;
	}
}

Test(sctp_pacer, a_batch_may_be_shorter_than_a_millisecond)
{
	static const uint32_t batch_us[] = {SCTP_PACER_BATCH_US, SCTP_PACER_BATCH_US / 2};

	for (unsigned i = 0; i < 2; i++) {
		unsigned n = 0;

		p = (struct sctp_pacer){0};
		sctp_pacer_set_rate(&p, 100000000, batch_us[i]);
		for (; sctp_pacer_ready(&p, 5000); n++)
			sctp_pacer_sent(&p, 1000, 5000);
		cr_assert_eq(n, batch_us[i] / 10, "%u", n);
	}
}
