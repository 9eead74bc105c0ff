/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the window that is advertised follows the network within its bounds and the budget, and
 * is given back after a rest; on short paths it keeps its first size. */
#include <criterion/criterion.h>
#include <string.h>

#include "sctp/base/path.h"
#include "tests/sctp/net.h"
#include "util/network.h"

enum {
	MS = 1000,
	SECOND = 1000 * MS,
	KIB = 1024,
	MIB = 1024 * KIB,
	FIRST = 2 * MIB,
	MOST = 64 * MIB,
};

/* ---- the calculation ---- */

static struct sctp_rwnd w;
static struct sctp_rwnd_limits limits;
static uint64_t now;

static void begin(uint64_t budget)
{
	limits = (struct sctp_rwnd_limits){.first = FIRST, .most = MOST, .budget = budget};
	now = 1000 * (uint64_t)SECOND;
	sctp_rwnd_init(&w, &limits, NULL);
}

static const struct sctp_rwnd_path far_away = {0, 50 * MS, 50 * MS};

/* A round trip in which so many bytes arrive, in packets of 1 KiB. */
static void round_trip(const struct sctp_rwnd_path *p, uint32_t bytes)
{
	uint32_t packets = bytes / KIB, us = p->srtt_us;

	for (uint32_t i = 0; i < packets; i++) {
		sctp_rwnd_took(&w, KIB);
		sctp_rwnd_packet(&w, &limits, p, false, now + (uint64_t)us * i / packets);
	}
	now += us;
}

/* So that the last round trip is over. */
static void one_more(const struct sctp_rwnd_path *p)
{
	sctp_rwnd_took(&w, 1);
	sctp_rwnd_packet(&w, &limits, p, false, now);
}

Test(own_window, it_is_four_times_what_arrives_in_a_round_trip)
{
	static const struct {
		uint32_t arrives, size;
	} row[] = {
		{100 * KIB, FIRST},   {512 * KIB, FIRST}, {768 * KIB, 3 * MIB},
		{100 * KIB, 3 * MIB}, {1 * MIB, 4 * MIB}, {4 * MIB, 16 * MIB},
		{2 * MIB, 16 * MIB},  {16 * MIB, MOST},   {64 * MIB, MOST},
	};

	begin(1 << 30);
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		round_trip(&far_away, row[i].arrives);
		one_more(&far_away);
		cr_expect_leq(w.size, row[i].size + 64 * KIB, "row %u: %u", i, w.size);
		cr_expect_geq(w.size, row[i].size, "row %u: %u", i, w.size);
		cr_expect_eq(limits.used, w.size - FIRST);
	}
}

/* A sender in slow start doubles what it sends in each round trip. */
Test(own_window, a_sender_that_doubles_never_waits)
{
	begin(1 << 30);
	for (uint32_t flight = 16 * KIB; flight <= 32 * MIB; flight *= 2) {
		cr_expect_geq(w.size, flight, "%u of %u", w.size, flight);
		round_trip(&far_away, flight);
		one_more(&far_away);
	}
}

Test(own_window, a_short_path_keeps_the_first_size)
{
	static const uint32_t rtt[] = {1, 50, 300, 999};

	for (unsigned i = 0; i < 4; i++) {
		/* It is busy at times. */
		const struct sctp_rwnd_path quick = {0, rtt[i], rtt[i]}, busy = {0, 4 * MS, 4 * MS};

		begin(1 << 30);
		round_trip(&quick, 8 * MIB);
		for (unsigned n = 0; n < 10; n++)
			round_trip(&busy, 16 * MIB);
		cr_expect_eq(w.size, FIRST, "%u us: %u", rtt[i], w.size);
	}
}

Test(own_window, a_path_that_proves_to_be_short_gets_the_first_size_back)
{
	const struct sctp_rwnd_path busy = {0, 4 * MS, 4 * MS}, quick = {0, 100, 100};
	uint32_t size;

	begin(1 << 30);
	round_trip(&busy, 2 * MIB);
	one_more(&busy);
	size = w.size;
	cr_assert_geq(size, 7 * MIB);
	sctp_rwnd_took(&w, MIB);
	sctp_rwnd_packet(&w, &limits, &busy, false, now);
	sctp_rwnd_took(&w, KIB);
	sctp_rwnd_packet(&w, &limits, &quick, false, now);
	cr_expect_eq(w.size, size, "not by what arrived before");
	sctp_rwnd_took(&w, KIB);
	sctp_rwnd_packet(&w, &limits, &quick, true, now);
	cr_expect_eq(w.size, size, "while data waits");
	while (w.size > FIRST) {
		size = w.size;
		sctp_rwnd_took(&w, 10 * KIB);
		sctp_rwnd_packet(&w, &limits, &quick, false, ++now);
		cr_assert_geq(w.size + 10 * KIB, size, "the right edge stays");
		cr_assert_lt(w.size, size);
	}
	cr_expect_eq(limits.used, 0);
	cr_expect_eq(w.rest_us, SCTP_NEVER);
}

Test(own_window, another_path_counts_for_itself)
{
	const struct sctp_rwnd_path quick = {1, 100, 100};

	begin(1 << 30);
	round_trip(&quick, MIB);
	round_trip(&far_away, 4 * MIB);
	one_more(&far_away);
	cr_expect_geq(w.size, 15 * MIB);
}

Test(own_window, a_path_may_become_long_after_a_rest)
{
	const struct sctp_rwnd_path quick = {0, 100, 100};

	begin(1 << 30);
	round_trip(&quick, MIB);
	now += SCTP_RWND_REST_US;
	round_trip(&far_away, 4 * MIB);
	one_more(&far_away);
	cr_expect_geq(w.size, 15 * MIB);
}

Test(own_window, windows_share_a_budget)
{
	struct sctp_rwnd other;

	begin(10 * MIB);
	round_trip(&far_away, 2 * MIB);
	one_more(&far_away);
	cr_expect_geq(w.size, 7 * MIB);
	other = w;
	sctp_rwnd_init(&w, &limits, NULL);
	round_trip(&far_away, 16 * MIB);
	one_more(&far_away);
	cr_expect_eq(w.size - FIRST + other.size - FIRST, 10 * MIB, "%u, %u", w.size, other.size);
	sctp_rwnd_release(&other, &limits);
	cr_expect_eq(limits.used, w.size - FIRST);
	round_trip(&far_away, 16 * MIB);
	one_more(&far_away);
	cr_expect_eq(w.size, FIRST + 10 * MIB);
}

static void grow_far(struct network *n)
{
	sctp_rwnd_init(&w, &limits, n);
	for (unsigned i = 0; i < 3; i++) {
		round_trip(&far_away, 16 * MIB);
		one_more(&far_away);
	}
}

/* One network, with as many associations as it likes, leaves a quarter to the next one. */
Test(own_window, a_network_has_its_share_of_the_budget)
{
	const struct network_limits l = {.most = {[NETWORK_WINDOWS] = NETWORK_NO_LIMIT},
					 .all = {[NETWORK_WINDOWS] = 80 * MIB}};
	static const uint8_t ip[2][16] = {{0x20, 1}, {0x20, 2}};
	struct network *greedy, *other;
	struct sctp_rwnd of_greedy[3];
	struct network_table t;

	network_table_init(&t, 1, &l);
	greedy = network_hold(&t, ip[0]);
	other = network_hold(&t, ip[1]);
	begin(80 * MIB);
	for (unsigned i = 0; i < 3; i++) {
		grow_far(greedy);
		of_greedy[i] = w;
	}
	cr_expect_eq(limits.used, 60 * MIB);
	grow_far(other);
	cr_expect_eq(w.size - FIRST, 15 * MIB, "three quarters of the rest");
	cr_expect_eq(greedy->refused[NETWORK_WINDOWS], 0, "nothing is refused");
	sctp_rwnd_release(&w, &limits);
	for (unsigned i = 0; i < 3; i++)
		sctp_rwnd_release(&of_greedy[i], &limits);
	cr_expect_eq(t.used[NETWORK_WINDOWS], 0);
	cr_expect_eq(limits.used, 0);
	network_drop(greedy);
	network_drop(other);
	network_table_deinit(&t);
}

Test(own_window, it_is_given_back_after_a_rest)
{
	begin(1 << 30);
	round_trip(&far_away, 17 * MIB);
	one_more(&far_away);
	cr_assert_eq(w.size, MOST);
	now = w.rest_us;
	sctp_rwnd_rest(&w, &limits, false, now);
	cr_expect_eq(w.size, MOST, "data has arrived meanwhile");
	cr_expect_eq(w.rest_us, now + SCTP_RWND_REST_US);
	now = w.rest_us;
	sctp_rwnd_rest(&w, &limits, true, now);
	cr_expect_eq(w.size, MOST, "data is missing");
	now = w.rest_us;
	sctp_rwnd_rest(&w, &limits, false, now);
	cr_expect_eq(w.size, FIRST);
	cr_expect_eq(w.rest_us, SCTP_NEVER);
	cr_expect_eq(limits.used, 0);
}

/* The first size of later windows may be another one. */
Test(own_window, it_gives_back_what_it_has_taken)
{
	static const uint32_t first[] = {FIRST / 4, FIRST * 2};
	const struct sctp_rwnd_path quick = {0, 100, 100};

	for (unsigned i = 0; i < 2; i++) {
		begin(1 << 30);
		limits.first = first[i];
		round_trip(&quick, 4 * FIRST);
		cr_expect_eq(w.size, FIRST, "%u", w.size);
		sctp_rwnd_release(&w, &limits);
		cr_expect_eq(limits.used, 0);
		cr_expect_eq(w.size, first[i]);
		begin(1 << 30);
		round_trip(&far_away, MIB);
		one_more(&far_away);
		limits.first = first[i];
		cr_assert_gt(limits.used, 0);
		sctp_rwnd_release(&w, &limits);
		cr_expect_eq(limits.used, 0);
	}
}

/* True if a packet with so many bytes asks for a measurement. */
static bool asks(const struct sctp_rwnd_path *p, uint32_t bytes)
{
	sctp_rwnd_took(&w, bytes);
	return sctp_rwnd_packet(&w, &limits, p, false, now);
}

Test(own_window, a_path_that_is_not_measured_asks_for_it)
{
	const struct sctp_rwnd_path unknown = {0, 0, UINT32_MAX};

	begin(1 << 30);
	cr_expect_not(asks(&unknown, FIRST / SCTP_RWND_TIMES));
	cr_expect(asks(&unknown, 1));
	cr_expect_not(asks(&unknown, FIRST / SCTP_RWND_TIMES), "not again at once");
	/* What arrived before says nothing about a round trip. */
	cr_expect_not(asks(&far_away, MIB));
	now += far_away.srtt_us;
	cr_expect_not(asks(&far_away, 1));
	cr_expect_eq(w.size, FIRST);
}

/* The queues on the way make round trips longer. */
Test(own_window, a_window_that_may_be_too_small_soon_asks_in_each_round_trip)
{
	begin(1 << 30);
	for (unsigned i = 0; i < 10; i++, now += far_away.srtt_us) {
		cr_expect_eq(asks(&far_away, FIRST / 8 + KIB), i > 0);
		cr_expect_not(asks(&far_away, 1));
	}
	asks(&far_away, 1);
	for (unsigned i = 0; i < 10; i++) {
		now += far_away.srtt_us;
		cr_expect_not(asks(&far_away, FIRST / 8));
	}
}

/* ---- two stacks ---- */

static struct net net;

static void set_up(uint64_t rtt_us, uint64_t budget, uint32_t mtu)
{
	struct sctp_config cfg[2];

	memset(&net, 0, sizeof(net));
	for (unsigned i = 0; i < 2; i++) {
		cfg[i] = net_config(&net, i, 1);
		cfg[i].send_buffer = cfg[i].recv_buffer = MOST;
		cfg[i].recv_first = 256 * KIB;
		cfg[i].max_memory = budget;
		cfg[i].mtu = mtu;
	}
	net.delay_us = rtt_us / 2;
	net_init_cfg(&net, 1, &cfg[0], &cfg[1]);
	net.rate = 12500;
	net.queue_us = SECOND;
	net.mtu = 1500;
	net_establish(&net);
}

static struct sctp_assoc *sender(void)
{
	return net.host[0].assoc;
}

static struct sctp_rwnd *receivers(void)
{
	return &net.host[1].assoc->acks.rwnd;
}

/* The peer's window holds the sender back. */
static bool is_limited(void)
{
	const struct sctp_path *p = sctp_primary(sender());

	return sender()->flight.payload + SCTP_MAX_PACKET > sender()->window.rwnd &&
	       p->flight.bytes < p->cc.cwnd;
}

/* There always is something to send. Returns the most round trips in a row of which the window
 * limited each moment, while it could grow. */
static unsigned bulk(uint64_t us, uint64_t rtt_us)
{
	uint64_t end = net.now + us, since = net.now;
	unsigned most = 0;

	while (net.now < end) {
		struct sctp_info i;

		sctp_assoc_info(sender(), &i);
		while (net_send(&net, 0, 0, 0, i.max_message) == SCTP_E_OK)
			;
		net_run(&net, net.now + MS);
		if (!is_limited() || receivers()->size == MOST ||
		    net.host[1].s->windows.used == net.host[1].s->windows.budget)
			since = net.now;
		if ((net.now - since) / rtt_us > most)
			most = (unsigned)((net.now - since) / rtt_us);
	}
	return most;
}

Test(own_window, a_sender_does_not_wait_for_the_window_on_a_long_path)
{
	unsigned limited;

	set_up(100 * MS, 1 << 30, 0);
	limited = bulk(5 * SECOND, 100 * MS);
	cr_log_info("window %u, cwnd %u, limited for %u round trips", receivers()->size,
		    sctp_primary(sender())->cc.cwnd, limited);
	cr_expect_lt(limited, 8u);
	cr_expect_gt(receivers()->size, 256 * KIB);
	cr_expect_geq(receivers()->size, sender()->flight.payload);
	/* The user is idle: the promise is taken back, and data may go on. */
	net_run(&net, net.now + 3 * (uint64_t)SCTP_RWND_REST_US);
	cr_expect_eq(receivers()->size, 256 * KIB);
	cr_expect_eq(net.host[1].s->windows.used, 0);
	cr_expect_lt(bulk(5 * SECOND, 100 * MS), 8u);
	cr_expect_gt(receivers()->size, 256 * KIB);
	net_deinit(&net);
}

/* No probe of the path MTU measures it, and no heartbeat before 30 s. */
Test(own_window, a_path_that_was_never_measured_is_no_obstacle)
{
	set_up(100 * MS, 1 << 30, 576);
	cr_expect_lt(bulk(5 * SECOND, 100 * MS), 8u);
	cr_expect_gt(receivers()->size, 256 * KIB);
	net_deinit(&net);
}

Test(own_window, a_budget_that_is_used_up_limits_it)
{
	set_up(100 * MS, 2 * MIB, 0);
	bulk(5 * SECOND, 100 * MS);
	cr_expect_leq(receivers()->size, 256 * KIB + MIB);
	net_deinit(&net);
}

Test(own_window, it_stays_small_where_round_trips_are_short)
{
	set_up(200, 1 << 30, 0);
	bulk(SECOND, 200);
	cr_expect_eq(receivers()->size, 256 * KIB);
	net_deinit(&net);
}

/* What arrives out of order and in fragments waits in the window. */
Test(own_window, losses_do_not_move_its_right_edge_back)
{
	set_up(20 * MS, 1 << 30, 0);
	net.loss = 200;
	net.reorder = 100;
	bulk(20 * SECOND, 20 * MS);
	cr_expect_gt(net.host[1].bytes, 5 * MIB);
	net_deinit(&net);
}
