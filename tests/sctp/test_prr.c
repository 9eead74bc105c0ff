/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: in fast recovery the flight comes down to ssthresh in proportion to what was delivered,
 * and is refilled by no more than was delivered, and half of that while it is safe (RFC 9937). */
#include <criterion/criterion.h>

#include "sctp/path/prr.h"

enum { P = 1460 };

static void ack(struct sctp_prr *p, uint32_t delivered, uint32_t flight, bool safe,
		uint32_t ssthresh)
{
	sctp_prr_acked(
		p, &(struct sctp_prr_ack){.delivered = delivered, .flight = flight, .safe = safe},
		ssthresh, P);
}

/* Sends what it admits, in packets; returns the flight afterwards. */
static uint32_t send_all(struct sctp_prr *p, uint32_t flight, uint32_t ssthresh)
{
	while (sctp_prr_room(p, flight, ssthresh, P)) {
		sctp_prr_sent(p, P);
		flight += P;
	}
	return flight;
}

/* 100 packets, one of which is lost; SACKs of n packets. */
Test(prr, one_loss_takes_a_round_trip)
{
	for (uint32_t n = 1; n <= 64; n++) {
		struct sctp_prr p = {0};
		uint32_t flight = 100 * P, ssthresh = 70 * P, acked = 0;

		sctp_prr_begin(&p, flight - n * P);
		flight -= (n + 1) * P;
		ack(&p, n * P, flight, false, ssthresh);
		cr_assert_eq(p.recover_fs, 100 * P, "the SACK that began it counts");
		flight = send_all(&p, flight, ssthresh);
		for (acked = n; acked + n < 100; acked += n) {
			flight -= n * P;
			ack(&p, n * P, flight, false, ssthresh);
			flight = send_all(&p, flight, ssthresh);
			cr_assert_leq(p.out, p.delivered * 7 / 10 + P, "after %u", acked);
			cr_assert_geq(flight + P, ssthresh);
		}
		cr_assert_leq(flight, (70 + n) * P, "SACKs of %u: %u packets", n, flight / P);
	}
}

/* 100 packets, of which 60 are lost: less than ssthresh is left. */
Test(prr, many_losses_are_refilled_as_packets_arrive)
{
	struct sctp_prr p = {0};
	uint32_t flight = 40 * P, ssthresh = 70 * P;

	sctp_prr_begin(&p, 100 * P);
	for (int i = 0; i < 20; i++) {
		flight -= P;
		ack(&p, P, flight, false, ssthresh);
		cr_assert_eq(sctp_prr_room(&p, flight, ssthresh, P), P);
		flight = send_all(&p, flight, ssthresh);
		cr_assert_eq(flight, 40 * P);
	}
	flight -= 10 * P;
	ack(&p, 10 * P, flight, true, ssthresh);
	cr_assert_eq(sctp_prr_room(&p, flight, ssthresh, P), 15 * P, "half more while it is safe");
	flight -= P;
	ack(&p, P, flight, true, ssthresh);
	cr_assert_eq(sctp_prr_room(&p, flight, ssthresh, P), 17 * P, "what did not leave stays");
	flight = send_all(&p, flight, ssthresh);
	ack(&p, 80 * P, 0, true, ssthresh);
	cr_assert_eq(sctp_prr_room(&p, 0, ssthresh, P), ssthresh, "never beyond ssthresh");
}

/* A timer found that many were lost. */
Test(prr, ten_packets_may_always_be_in_flight)
{
	struct sctp_prr p = {0};

	sctp_prr_begin(&p, 20 * P);
	cr_assert_eq(sctp_prr_room(&p, 19 * P, 14 * P, P), 0);
	cr_assert_eq(sctp_prr_room(&p, 10 * P, 14 * P, P), 0);
	cr_assert_eq(sctp_prr_room(&p, 0, 14 * P, P), 10 * P);
	cr_assert_eq(sctp_prr_room(&p, 0, 7 * P, P), 7 * P);
	cr_assert_eq(send_all(&p, P, 14 * P), 10 * P);
}

/* The peer dropped what it had reported: more is in flight than before. */
Test(prr, chunks_that_are_in_flight_again_take_room)
{
	struct sctp_prr p = {0};

	sctp_prr_begin(&p, 10 * P);
	ack(&p, 2 * P, 5 * P, false, 7 * P);
	cr_assert_eq(sctp_prr_room(&p, 5 * P, 7 * P, P), 2 * P);
	cr_assert_eq(sctp_prr_room(&p, 6 * P, 7 * P, P), P);
	cr_assert_eq(sctp_prr_room(&p, 8 * P, 7 * P, P), 0);
}

/* UBSan finds an overflow here. */
Test(prr, extreme_numbers)
{
	static const uint32_t n[] = {0, 1, 65535, UINT32_C(1) << 31, UINT32_MAX};

	for (unsigned i = 0; i < 5 * 5 * 5 * 5; i++) {
		struct sctp_prr p = {0};
		uint32_t ssthresh = n[i / 125];

		sctp_prr_begin(&p, n[i % 5]);
		for (int k = 0; k < 3; k++) {
			ack(&p, n[i / 5 % 5], n[i / 25 % 5], k % 2, ssthresh);
			sctp_prr_sent(&p, n[i / 5 % 5]);
			cr_assert_leq(sctp_prr_room(&p, 1, ssthresh, P), UINT32_MAX);
		}
		sctp_prr_end(&p);
		cr_assert_not(p.runs);
	}
}
