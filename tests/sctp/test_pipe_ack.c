/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: pipeACK is the most that was acknowledged in a round trip of the last seconds (RFC 7661
 * 4.2), whatever the rhythm of the user and of SACKs is. */
#include <criterion/criterion.h>

#include "sctp/path/pipe_ack.h"

enum { P = 1460, MS = 1000, RTT = 50 * MS };

static struct {
	struct sctp_pipe_ack p;
	uint32_t cum, next;
	uint64_t now;
} flow;

static void set_up(void)
{
	flow.p = (struct sctp_pipe_ack){0};
	flow.cum = UINT32_MAX - 1000;
	flow.next = flow.cum + 1;
	flow.now = 7 * MS;
}

/* Packets of a flight that never is empty: SACKs of n packets, spread over the time. */
static void steady(uint32_t flight, uint32_t n, uint64_t us)
{
	uint64_t end = flow.now + us;

	flow.next = flow.cum + 1 + flight;
	while (flow.now < end) {
		flow.now += (uint64_t)RTT * n / flight;
		flow.cum += n;
		sctp_pipe_ack_add(&flow.p, n * P, flow.cum, flow.next, false, RTT, flow.now);
		flow.next += n;
	}
}

/* A request of n packets, which are acknowledged one by one. */
static void request(uint32_t n)
{
	flow.next += n;
	flow.now += RTT;
	while (flow.cum + 1 != flow.next) {
		flow.now += 10;
		flow.cum++;
		sctp_pipe_ack_add(&flow.p, P, flow.cum, flow.next, flow.cum + 1 == flow.next, RTT,
				  flow.now);
	}
}

TestSuite(pipe_ack, .init = set_up);

Test(pipe_ack, a_steady_flow)
{
	static const uint32_t n[] = {1, 3, 25};

	for (unsigned i = 0; i < 3; i++) {
		set_up();
		steady(100, n[i], 1000 * MS);
		cr_assert_float_eq((double)sctp_pipe_ack_bytes(&flow.p), 100 * P, (n[i] + 2) * P,
				   "SACKs of %u: %u packets", n[i],
				   sctp_pipe_ack_bytes(&flow.p) / P);
	}
}

Test(pipe_ack, requests_between_pauses)
{
	for (int i = 0; i < 20; i++) {
		request(i == 10 ? 40 : 8);
		flow.now += 40 * MS;
	}
	cr_assert_eq(sctp_pipe_ack_bytes(&flow.p), 40 * P, "the largest one");
	for (int i = 0; i < 40; i++) {
		request(8);
		flow.now += 40 * MS;
	}
	cr_assert_eq(sctp_pipe_ack_bytes(&flow.p), 8 * P, "it is long ago: %u",
		     sctp_pipe_ack_bytes(&flow.p) / P);
	flow.now += 3600 * 1000 * (uint64_t)MS;
	request(2);
	request(1);
	cr_assert_eq(sctp_pipe_ack_bytes(&flow.p), 2 * P, "nothing of the time before a pause");
}

/* The cumulative TSN stands for three round trips, in which 100 packets each arrive. */
Test(pipe_ack, holes_do_not_add_up)
{
	steady(100, 2, 200 * MS);
	for (int i = 0; i < 300; i++) {
		flow.now += RTT / 100;
		flow.next++;
		sctp_pipe_ack_add(&flow.p, P, flow.cum, flow.next, false, RTT, flow.now);
	}
	flow.cum = flow.next - 100;
	sctp_pipe_ack_add(&flow.p, P, flow.cum, flow.next, false, RTT, flow.now);
	cr_assert_float_eq((double)sctp_pipe_ack_bytes(&flow.p), 100 * P, 5 * P, "%u",
			   sctp_pipe_ack_bytes(&flow.p) / P);
}

Test(pipe_ack, extreme_numbers)
{
	static const uint32_t n[] = {0, 1, UINT32_MAX};
	static const uint64_t t[] = {0, 1, UINT64_MAX / 2, UINT64_MAX};

	for (unsigned i = 0; i < 3 * 4 * 4 * 3; i++) {
		set_up();
		for (unsigned k = 0; k < 4; k++)
			sctp_pipe_ack_add(&flow.p, n[i % 3], k * 7, k, k % 2, n[i / 48],
					  t[k % 2 ? i / 3 % 4 : i / 12 % 4]);
		cr_assert_leq(sctp_pipe_ack_bytes(&flow.p), UINT32_MAX);
	}
}
