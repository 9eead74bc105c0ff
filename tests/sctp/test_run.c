/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that arrive together: how many are processed at once, and what is fetched then. */
#include "sctp/base/path.h"
#include "tests/sctp/script.h"

enum { LEN = 1000, SEGMENT = SCTP_HEAD + SCTP_DATA_HEAD + LEN };

static struct peer p;
static uint8_t run[65536];
static uint32_t len;

static void setup(void)
{
	peer_init(&p, 1);
	peer_accept(&p);
	len = 0;
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(run, .init = setup, .fini = teardown);

/* The packet under construction becomes the next one of the run. */
static void add(void)
{
	struct span whole = {p.out, p.w.len};

	sctp_seal(&whole, 1);
	memcpy(run + len, p.out, p.w.len);
	len += p.w.len;
}

static void add_data(uint32_t n)
{
	peer_begin(&p);
	peer_put_data(&p, p.tsn++, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, n);
	add();
}

static uint32_t input(void)
{
	return (uint32_t)sctp_input_run(p.s, &p.from, run, len, SEGMENT, p.now);
}

static unsigned messages(void)
{
	struct sctp_msg m;
	unsigned n = 0;

	for (; sctp_recv(p.s, &m); n++)
		cr_assert(m.part[0].p >= run && m.part[0].p + m.part[0].len <= run + len);
	return n;
}

Test(run, packets_are_processed_together)
{
	for (int i = 0; i < 9; i++)
		add_data(LEN);
	add_data(100);
	cr_assert_eq(input(), len);
	cr_assert_eq(messages(), 10);
	peer_poll(&p);
	cr_assert_eq(script_sack(&p).cum, p.tsn - 1);
}

Test(run, a_long_run_is_processed_in_parts)
{
	uint32_t n, all = 0, calls = 0;

	for (int i = 0; i < 60; i++)
		add_data(LEN);
	for (uint32_t done = 0; done < len; done += n, calls++) {
		n = (uint32_t)sctp_input_run(p.s, &p.from, run + done, len - done, SEGMENT, p.now);
		cr_assert_eq(n % SEGMENT, 0);
		all += messages();
	}
	cr_assert_eq(all, 60);
	cr_assert_gt(calls, 2);
	cr_assert_lt(calls, 10);
}

Test(run, a_bad_packet_harms_no_other_one)
{
	add_data(LEN);
	add_data(LEN);
	add_data(LEN);
	run[SEGMENT + 500] ^= 1;
	cr_assert_eq(input(), len);
	cr_assert_eq(messages(), 2);
	peer_poll(&p);
	cr_assert_eq(script_sack(&p).cum, p.tsn - 3);
}

/* Their messages have another receiver. */
Test(run, another_association_is_served_apart)
{
	add_data(LEN);
	p.port++;
	add_data(LEN);
	p.port--;
	add_data(LEN);
	cr_assert_eq(input(), SEGMENT);
	cr_assert_eq(messages(), 1);
}

Test(run, an_event_is_fetched_before_later_packets)
{
	cr_assert_eq(peer_stack_sends(&p, 0, 100), SCTP_E_OK);
	peer_poll(&p);
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn, p.rwnd, NULL, 0);
	peer_put_data(&p, p.tsn++, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, LEN - 16);
	add();
	add_data(LEN);
	cr_assert_eq(input(), SEGMENT);
	cr_assert_eq(messages(), 1);
	peer_poll(&p);
	cr_assert_eq(p.acked, 1);
}

/* The end comes behind the messages that came before it. */
Test(run, what_came_before_an_abort_is_delivered)
{
	add_data(LEN);
	peer_begin(&p);
	peer_put_plain(&p, SCTP_ABORT);
	add();
	cr_assert_eq(input(), len);
	p.keep_down = true;
	peer_poll(&p);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.messages, 1);
}

/* ---- distance ---- */

static uint32_t input_rtt_after(uint32_t rtt_us)
{
	struct sctp_rto *rto = &p.assoc->paths.at[0].rto;

	rto->srtt_us = rto->min_rtt_us = rtt_us;
	len = 0;
	add_data(LEN);
	input();
	messages();
	return sctp_input_rtt(p.s);
}

Test(run, the_distance_of_packets_is_the_least_round_trip)
{
	(void)sctp_input_rtt(p.s);
	cr_expect_eq(sctp_input_rtt(p.s), UINT32_MAX, "no packet since");
	cr_expect_eq(input_rtt_after(1000), 1000);
	cr_expect_eq(input_rtt_after(0), 0, "no round trip was measured");
	cr_expect_eq(sctp_input_rtt(p.s), UINT32_MAX);
}
