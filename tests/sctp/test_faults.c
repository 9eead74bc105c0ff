/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: heartbeats find out which paths work, and silent paths are counted out (RFC 9260 8.2,
 * 8.3). The peer has two addresses. */
#include "sctp/base/stack.h"
#include "tests/sctp/script.h"

static struct peer p;

static bool to_second(void)
{
	struct sctp_addr second = peer_addr(1);

	return sctp_addr_equal(&p.pkt->to.peer, &second);
}

static void answer(void)
{
	peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4, p.chunk[0].len - 4);
}

static void init(uint32_t heartbeat_us)
{
	struct sctp_config c = peer_config(&p, 1);
	struct sctp_addr second = peer_addr(1);
	uint32_t at;

	c.heartbeat_us = heartbeat_us;
	peer_init_cfg(&p, &c);
	peer_stack_connects(&p, 1);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_addr(&p, &second);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	peer_advance(&p, PEER_SECOND / 10);
	peer_expect(&p, SCTP_HEARTBEAT);
	cr_assert(to_second());
	answer();
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
	p.path_events = 0;
	script_nothing(&p);
}

static void setup(void)
{
	init(30 * PEER_SECOND);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(faults, .init = setup, .fini = teardown);

/* Lets time pass; heartbeats to the addresses that live are answered. Returns those to the second
 * one. */
static unsigned live(uint64_t us, bool first, bool second)
{
	uint64_t end = p.now + us;
	unsigned n = 0;

	while (p.now < end && !p.down) {
		peer_advance(&p, 50000);
		while (peer_next(&p)) {
			if (p.chunk[0].type != SCTP_HEARTBEAT)
				continue;
			n += to_second();
			if (to_second() ? second : first)
				answer();
		}
	}
	return n;
}

/* rows: 9260-8.3-01 9260-8.3-20 9260-8.3-23 9260-8.3-05 */
Test(faults, idle_paths_get_heartbeats)
{
	uint64_t last[2] = {p.now, p.now}, least = UINT64_MAX, most = 0;
	unsigned n[2] = {0, 0};

	while (n[0] + n[1] < 60) {
		uint64_t gap;
		unsigned i;

		peer_advance(&p, 1000);
		if (!peer_next(&p))
			continue;
		cr_assert_eq(p.chunk[0].type, SCTP_HEARTBEAT);
		i = to_second();
		gap = p.pkt->at_us - last[i];
		last[i] = p.pkt->at_us;
		if (n[i]++ > 0) {
			least = gap < least ? gap : least;
			most = gap > most ? gap : most;
		}
		answer();
	}
	cr_assert(n[0] >= 25 && n[1] >= 25);
	cr_assert_geq(least, 30500000);
	cr_assert_leq(most, 31600000);
	cr_assert_gt(most - least, 100000, "jitter");
}

/* rows: 9260-8.3-05 */
Test(faults, a_path_with_data_gets_no_heartbeat)
{
	for (unsigned i = 0; i < 200; i++) {
		peer_stack_sends(&p, 0, 10);
		peer_advance(&p, PEER_SECOND / 10);
		peer_send_sack(&p, p.stack_tsn + i);
		peer_advance(&p, 9 * PEER_SECOND / 10);
		while (peer_next(&p)) {
			if (p.chunk[0].type == SCTP_HEARTBEAT) {
				cr_assert(to_second());
				answer();
			}
		}
	}
}

/* rows: 9260-8.3-07 9260-8.3-22 */
Test(faults, the_interval_is_configurable)
{
	unsigned n;

	peer_deinit(&p);
	init(5 * PEER_SECOND);
	n = live(600 * (uint64_t)PEER_SECOND, true, true);
	cr_assert(n > 90 && n < 110, "%u", n);
	peer_deinit(&p);
	init(0);
	cr_assert_eq(live(600 * (uint64_t)PEER_SECOND, true, true), 0);
}

/* 100 heartbeats in a second, or an interval of five seconds; a longer one of the configuration
 * stays. An RTO of a second is added. */
Test(faults, many_associations_share_a_rate_of_heartbeats)
{
	static const struct {
		uint32_t configured;
		unsigned assocs, least, most;
	} cases[] = {
		{PEER_SECOND, 1, 280, 320},        {PEER_SECOND, 100, 280, 320},
		{PEER_SECOND, 300, 140, 160},      {PEER_SECOND, 16384, 90, 110},
		{30 * PEER_SECOND, 16384, 15, 20},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n;

		peer_deinit(&p);
		init(cases[i].configured);
		p.s->nassocs += cases[i].assocs - 1;
		n = live(600 * (uint64_t)PEER_SECOND, true, true);
		p.s->nassocs -= cases[i].assocs - 1;
		cr_expect(n >= cases[i].least && n <= cases[i].most, "%u: %u", cases[i].assocs, n);
	}
}

/* rows: 9260-8.2-01 9260-8.2-02 9260-8.2-03 9260-8.2-04 9260-8.3-09 9260-8.3-10 9260-8.3-12 */
/* rows: 9260-8.1-03 9260-8.3-21 */
Test(faults, the_sixth_silence_makes_a_path_inactive)
{
	unsigned lost = 0;

	while (peer_path_state(&p, 1) != SCTP_PATH_INACTIVE) {
		cr_assert_lt(lost, 10);
		lost += live(50000, true, false);
	}
	/* Six were not answered; the seventh left when the sixth was given up. */
	cr_assert_eq(lost, 7, "%u", lost);
	cr_assert_eq(p.path_events, 2);
	cr_assert_eq(p.last_path.state, SCTP_PATH_INACTIVE);
	live(86400 * (uint64_t)PEER_SECOND, true, false);
	cr_assert_eq(p.path_events, 2);
	cr_assert_eq(p.down, 0);
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_ACTIVE);
}

/* rows: 9260-8.3-11 9260-8.3-16 9260-8.3-17 9260-8.2-05 9260-8.2-06 9260-8.3-18 9260-8.1-09 */
Test(faults, an_answer_makes_a_path_active_again)
{
	live(3600 * (uint64_t)PEER_SECOND, true, false);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_INACTIVE);
	p.path_events = 0;
	live(92 * PEER_SECOND, true, true);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
	cr_assert_eq(p.path_events, 1);
}

/* rows: 9260-8.1-02 9260-8.1-04 */
Test(faults, the_path_for_data_counts_for_the_association)
{
	live(3600 * (uint64_t)PEER_SECOND, false, false);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_TIMEOUT);
}

/* rows: 9260-8.3-19 9260-6.3-02 9260-6.3-01 */
Test(faults, a_heartbeat_measures_its_path)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];
	uint8_t info[64];
	uint32_t len;

	while (!peer_next(&p) || !to_second())
		peer_advance(&p, 100000);
	len = p.chunk[0].len - 4;
	memcpy(info, p.chunk[0].p + 4, len);
	peer_advance(&p, 300000);
	peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, len);
	cr_assert_eq(sctp_assoc_paths(p.assoc, path), 2);
	cr_assert_eq(path[0].srtt_us, 0);
	cr_assert_gt(path[1].srtt_us, 30000);
	peer_drain(&p, SCTP_HEARTBEAT);
}

/* rows: 9260-8.3-13 */
Test(faults, a_forged_answer_changes_nothing)
{
	uint8_t info[64];
	uint32_t len;

	live(3600 * (uint64_t)PEER_SECOND, true, false);
	while (!peer_next(&p) || !to_second())
		peer_advance(&p, 100000);
	len = p.chunk[0].len - 4;
	memcpy(info, p.chunk[0].p + 4, len);
	for (uint32_t i = 4; i < 12; i++) {
		info[i] ^= 1;
		peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, len);
		info[i] ^= 1;
	}
	for (uint32_t i = 0; i < len; i++)
		peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, i);
	info[len - 1] = 0;
	peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, len); /* the other path's index */
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_INACTIVE);
	info[len - 1] = 1;
	peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, len);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
	peer_drain(&p, SCTP_HEARTBEAT);
}

/* rows: 9260-8.3-15 */
Test(faults, what_a_heartbeat_carries_comes_back_unchanged)
{
	static uint8_t info[1000];

	for (uint32_t len = 1; len <= 1000; len += 37) {
		const struct sctp_chunk *c;

		for (uint32_t i = 0; i < len; i++)
			info[i] = (uint8_t)(i * len);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, info, len);
		c = peer_expect(&p, SCTP_HEARTBEAT_ACK);
		cr_assert_eq(c->len, 4 + len);
		cr_assert_eq(memcmp(c->p + 4, info, len), 0);
	}
}

static void heartbeat_is_answered(bool yes)
{
	peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	if (yes)
		peer_expect(&p, SCTP_HEARTBEAT_ACK);
	script_nothing(&p);
}

/* rows: 9260-8.3-03 9260-8.3-04 */
Test(faults, heartbeats_belong_to_some_states)
{
	peer_deinit(&p);
	peer_init(&p, 1);
	peer_stack_connects(&p, 1);
	heartbeat_is_answered(false); /* COOKIE-WAIT */
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	heartbeat_is_answered(true); /* COOKIE-ECHOED */
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	heartbeat_is_answered(true); /* ESTABLISHED */
	script_queue(&p, 1, 10);
	peer_expect(&p, SCTP_DATA);
	sctp_assoc_shutdown(p.assoc, p.now);
	heartbeat_is_answered(true); /* SHUTDOWN-PENDING */
	peer_send_sack(&p, p.stack_tsn);
	peer_expect(&p, SCTP_SHUTDOWN);
	/* SHUTDOWN-SENT: none leaves any more, in an hour with an ever talking peer. */
	for (unsigned i = 0; i < 250; i++) {
		peer_advance(&p, PEER_SECOND);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
		cr_assert_eq(peer_drain(&p, SCTP_HEARTBEAT), 0);
	}
}

/* rows: 9260-8.2-08 9260-8.2-09 9260-6.4-07 9260-6.3.3-06 9260-6.3.3-07 9260-6.3.3-11 */
Test(faults, the_other_path_takes_over_with_its_own_timer)
{
	uint64_t at;

	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_OK);
	script_data(&p, p.stack_tsn);
	cr_assert(!to_second());
	peer_advance(&p, PEER_SECOND);
	script_data(&p, p.stack_tsn);
	cr_assert(to_second());
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_FAILING);
	at = p.pkt->at_us;
	peer_advance(&p, 1500000);
	script_data(&p, p.stack_tsn);
	cr_assert(p.pkt->at_us - at <= PEER_SECOND, "after its own RTO");
	peer_drain(&p, SCTP_DATA);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-7.2-05 */
Test(faults, the_window_of_the_peer_is_one_for_both_paths)
{
	struct sctp_addr second = peer_addr(1);

	p.rwnd = 3000;
	peer_stack_sends(&p, 0, 10);
	script_data(&p, p.stack_tsn);
	peer_send_sack(&p, p.stack_tsn);
	script_queue(&p, 6, 1000);
	for (unsigned i = 1; i <= 3; i++)
		script_data(&p, p.stack_tsn + i);
	cr_assert_eq(sctp_assoc_set_primary(p.assoc, &second), SCTP_E_OK);
	peer_poll(&p);
	script_nothing(&p);
}

static uint32_t cwnd(unsigned i)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];
	struct sctp_addr a = peer_addr(i);

	cr_assert_eq(sctp_assoc_paths(p.assoc, path), 2);
	return path[!sctp_addr_equal(&path[0].flow.peer, &a)].cwnd;
}

/* rows: 9260-7.1-07 9260-7.2-03 9260-7.2.1-05 */
Test(faults, a_fresh_path_begins_with_its_initial_window)
{
	unsigned n = 0;

	cr_assert_eq(cwnd(1), 4404);
	script_queue(&p, 20, SCRIPT_FULL);
	while (peer_next(&p))
		;
	peer_advance(&p, PEER_SECOND);
	while (script_next(&p)) {
		cr_assert(to_second());
		n++;
	}
	cr_assert_eq(n, 4);
	cr_assert_leq(cwnd(0), 1188);
	cr_assert_eq(cwnd(1), 4404);
}

/* rows: 9260-7.2.1-13 */
Test(faults, a_sack_from_elsewhere_opens_the_window_of_the_path_of_the_data)
{
	script_queue(&p, 20, SCRIPT_FULL);
	for (unsigned i = 0; i < 4; i++) {
		script_data(&p, p.stack_tsn + i);
		cr_assert(!to_second());
	}
	p.from = (struct sctp_flow){peer_addr(1), PEER_UDP, 0, false};
	peer_send_sack(&p, p.stack_tsn + 3);
	cr_assert_eq(cwnd(0), 4404 + 1188);
	cr_assert_eq(cwnd(1), 4404);
	peer_drain(&p, SCTP_DATA);
}

/* rows: 9260-8.3-21 */
Test(faults, heartbeats_of_a_failing_path_become_rarer)
{
	uint64_t last = 0, gap = 0;

	for (unsigned n = 0; n < 6;) {
		peer_advance(&p, 10000);
		if (!peer_next(&p) || !to_second()) {
			if (p.n && !to_second() && p.pkt->at_us == p.now)
				answer();
			continue;
		}
		if (n > 1)
			cr_assert_eq(p.pkt->at_us - last, 2 * gap, "heartbeat %u", n);
		gap = last ? p.pkt->at_us - last : 0;
		last = p.pkt->at_us;
		n++;
	}
}
