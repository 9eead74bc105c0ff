/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport `user` between two hosts that keep the rules: two transports of this process. */
#include <criterion/criterion.h>

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "full_socket.h"
#include "llp/user/udp.h"
#include "tests/lib/llp_one.h"
#include "user_rig.h"
#include "util/addr.h"

enum { PACKET_1500 = 1500 - 20 - 8 - 12 - 16 }; /* data in an IP packet of 1500 bytes */

static struct sockaddr_storage addr[2], server_addr[2];
static struct rig_conn rc, acceptor;
static uint16_t port;
static struct llp *t, *server;
static struct llp_listener *listener;

static struct llp_config config(const char *text, struct sockaddr_storage *a)
{
	return rig_config(text, port, a);
}

static void begin_at_port(void)
{
	struct llp_config cfg = config("127.0.0.1", addr);

	t = rig_open(&cfg);
}

static void begin(void)
{
	port = rig_free_port();
	begin_at_port();
}

static void begin_server_at(const char *text, uint32_t mtu)
{
	struct llp_config cfg = config(text, server_addr);

	cfg.mtu = mtu;
	server = rig_open(&cfg);
	cr_assert_eq(llp_listen(server, NULL, RIG_SCTP_PORT, &acceptor, &listener), 0);
}

/* Both hosts. */
static void begin_two(void)
{
	begin();
	begin_server_at("127.0.0.2", 0);
}

static void connect_two(void)
{
	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	rig_until(&acceptor.incoming, 1);
}

static void end(void)
{
	if (t)
		t = rig_close(t);
	if (server)
		server = rig_close(server);
}

static void assert_reason(const struct rig_conn *c, int err, const char *part)
{
	cr_assert_eq(c->down, 1);
	cr_assert_eq(c->err, err, "%d: %s", c->err, c->reason);
	cr_assert(strstr(c->reason, part), "\"%s\" does not say \"%s\"", c->reason, part);
}

static struct llp_info info_of(const struct rig_conn *c)
{
	struct llp_info info;

	llp_info(c->c, &info);
	return info;
}

/* ---- coming up, carrying messages ---- */

/* rows: 5041-3-04 4296-2.1.1-01 4296-2.1.1-02 */
Test(user, receives_its_messages_back_from_an_echo_server, .init = begin_two, .fini = end)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 17, 64, 639, 641, 1400, 4096, 30001, 65476};

	acceptor.echo = true;
	connect_two();
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		rig_send(&rc, (uint16_t)(i % 8), sizes[i], (uint8_t)i);
		rig_until(&rc.msgs, i + 1);
		cr_assert(rig_last_is(&rc, sizes[i], (uint8_t)i), "%u bytes", sizes[i]);
		cr_assert_eq(rc.last.sid, i % 8);
		cr_assert_eq(rc.last.ppid, 16);
		cr_assert_not(rc.last.ordered);
	}
	llp_shutdown(rc.c);
	rig_until(&rc.down, 1);
	cr_assert_eq(rc.err, 0, "%s", rc.reason);
	rig_until(&acceptor.down, 1);
	cr_assert_eq(acceptor.err, 0, "%s", acceptor.reason);
}

static void echo_many(void)
{
	acceptor.echo = true;
	connect_two();
	for (unsigned i = 0; i < 5000; i++) {
		rig_send(&rc, 0, 1 + i % 1400, (uint8_t)i);
		if (i % 32 == 31)
			rig_until(&rc.msgs, i - 31);
	}
	rig_until(&rc.msgs, 5000);
}

Test(user, loses_nothing_of_many_messages, .init = begin_two, .fini = end)
{
	struct llp_stats st;

	echo_many();
	llp_stats(t, &st);
	cr_assert_eq(st.bad_crc, 0);
	cr_assert_lt(st.tx_packets, 5000, "small messages share packets");
}

Test(user, loses_nothing_over_a_network_that_loses_packets, .init = begin_two, .fini = end)
{
	full_socket_lose_each = 50;
	echo_many();
	cr_assert_eq(rc.down, 0);
}

/* Both ends of the association are at the same address and UDP port. */
Test(user, connects_to_itself, .init = begin, .fini = end)
{
	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &listener), 0);
	rig_connect(t, "127.0.0.1", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	rig_until(&acceptor.incoming, 1);
	rig_send(&rc, 0, 5000, 3);
	rig_send(&acceptor, 0, 6000, 4);
	rig_until(&acceptor.msgs, 1);
	rig_until(&rc.msgs, 1);
	cr_assert(rig_last_is(&acceptor, 5000, 3));
	cr_assert(rig_last_is(&rc, 6000, 4));
}

Test(user, describes_an_association, .init = begin_two, .fini = end)
{
	struct llp_info info;
	char text[ADDR_TEXT_MAX];

	connect_two();
	rig_until_max(&rc, 65476);
	info = info_of(&rc);
	cr_assert_str_eq(info.backend, "user");
	cr_assert_str_eq(addr_host_text(&info.local, text), "127.0.0.1");
	cr_assert_neq(addr_port(&info.local), 0);
	cr_assert_str_eq(addr_host_text(&info.remote, text), "127.0.0.2");
	cr_assert_eq(addr_port(&info.remote), RIG_SCTP_PORT);
	cr_assert_eq(info.remote_udp_port, port);
	cr_assert_eq(info.streams, 8);
	cr_assert_geq(info.mtu, 65500);
	cr_assert(info.gso, "the peer takes batches");
	/* What is known of it stays when it has ended. */
	llp_abort(rc.c, "");
	info = info_of(&rc);
	cr_assert_str_eq(addr_host_text(&info.remote, text), "127.0.0.2");
	cr_assert_eq(llp_paths(rc.c, (struct llp_path[LLP_MAX_PATHS]){{.mtu = 0}}), 0);
}

/* rows: 5043-9-01 5043-9-02 5043-9-06 5043-11.2-01 6951-5.6-01 */
Test(user, sends_the_largest_message_in_one_packet_and_refuses_a_larger_one, .init = begin,
     .fini = end)
{
	static uint8_t buf[70000];
	struct llp_stats before, after;
	struct llp_msg m = {.n = 1};

	begin_server_at("127.0.0.2", 1500);
	connect_two();
	rig_until_max(&acceptor, PACKET_1500);
	cr_assert_geq(acceptor.resized, 1);
	llp_flush(server);
	llp_stats(server, &before);
	m.len = PACKET_1500;
	m.part[0] = (struct span){buf, m.len};
	cr_assert_eq(llp_send(acceptor.c, &m), LLP_E_OK);
	rig_until_sent(server, before.tx_packets + 1);
	llp_stats(server, &after);
	cr_assert_eq(after.tx_packets, before.tx_packets + 1);
	cr_assert_eq(after.tx_bytes, before.tx_bytes + m.len + 28);
	m.part[0].len = ++m.len;
	cr_assert_eq(llp_send(acceptor.c, &m), LLP_E_TOO_LONG);
	/* A small message does not wait for its acknowledgement. */
	m.part[0].len = m.len = 10;
	cr_assert_eq(llp_send(acceptor.c, &m), LLP_E_OK);
	rig_until_sent(server, before.tx_packets + 2);
	rig_until(&rc.msgs, 2);
}

Test(user, reports_when_everything_is_acknowledged, .init = begin_two, .fini = end)
{
	connect_two();
	for (unsigned i = 0; i < 3; i++) {
		unsigned had = rc.acked;

		rig_send(&rc, 1, 5000, 0);
		cr_assert_eq(info_of(&rc).unacked, 1);
		rig_until(&rc.acked, had + 1);
		cr_assert_eq(info_of(&rc).unacked, 0);
	}
}

/* The peer's host is busy for a while: sending stops, and resumes later. */
Test(user, refuses_to_send_without_room_and_reports_room, .init = begin_two, .fini = end)
{
	static uint8_t buf[60000];
	struct llp_msg m = {.len = sizeof(buf), .n = 1, .part[0] = {buf, sizeof(buf)}};
	unsigned sent = 0, before = 0;
	int r;

	connect_two();
	rig_until_max(&rc, 65476);
	rig_pause(server);
	for (int turns = 0; turns < 5; turns++) {
		while ((r = llp_send(rc.c, &m)) == LLP_E_OK)
			cr_assert_lt(++sent, 100, "the sender is never refused");
		cr_assert_eq(r, LLP_E_AGAIN);
		before = rc.writable;
		rig_turn();
	}
	rig_resume(server);
	rig_until(&rc.writable, before + 1);
	cr_assert_eq(llp_send(rc.c, &m), LLP_E_OK);
	rig_until(&acceptor.msgs, sent + 1);
}

/* The real socket always has room: only the test makes it full. */
Test(user, wakes_its_owner_when_a_full_udp_socket_has_room, .init = begin_two, .fini = end)
{
	int fds[LLP_MAX_FDS];
	struct pollfd room = {.events = POLLIN};

	cr_assert_eq(llp_fds(t, fds), 2);
	room.fd = fds[1];
	connect_two();
	cr_assert_eq(poll(&room, 1, 0), 0);
	full_socket_fd = fds[0];
	rig_send(&rc, 0, 1000, 1);
	llp_flush(t);
	cr_assert_eq(poll(&room, 1, 0), 1);
	full_socket_fd = -1;
	llp_flush(t);
	cr_assert_eq(poll(&room, 1, 0), 0);
	rig_until(&acceptor.msgs, 1);
}

Test(user, works_over_ipv6, .fini = end)
{
	struct llp_config cfg;

	port = rig_free_port();
	cfg = config("::1", addr);
	t = rig_open(&cfg);
	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &listener), 0);
	rig_connect(t, "::1", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	rig_until(&acceptor.incoming, 1);
	rig_until_max(&rc, 65536 - 40 - 8 - 12 - 16);
	rig_send(&rc, 3, info_of(&rc).max_message, 9);
	rig_until(&acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, info_of(&rc).max_message, 9));
}

/* ---- packets of any size ---- */

/* A network that drops long packets without a word. */
/* rows: 5043-9-02 5041-3-01 4296-2.1.1-03 */
Test(user, shrinks_its_packets_on_a_path_that_became_narrower, .init = begin_two, .fini = end,
     .timeout = 60)
{
	static uint8_t buf[65476];
	struct llp_msg m = {.n = 1, .len = sizeof(buf), .part[0] = {buf, sizeof(buf)}};
	struct llp_info info;

	connect_two();
	rig_until_max(&rc, 65476);
	full_socket_longest = 1400;
	for (unsigned i = 0; i < 4; i++)
		rig_send(&rc, 0, 65476, 7);
	rig_until(&rc.resized, 2);
	rig_until(&acceptor.msgs, 4);
	cr_assert(rig_last_is(&acceptor, 65476, 7), "longer than the path MTU, IP had to fragment");
	info = info_of(&rc);
	cr_assert_leq(info.mtu, 1400 + 28);
	cr_assert_geq(info.max_message, 518, "segments of 516 bytes at least");
	cr_assert_eq(llp_send(rc.c, &m), LLP_E_TOO_LONG);
	rig_send(&rc, 0, info.max_message, 8);
	rig_until(&acceptor.msgs, 5);
	cr_assert(rig_last_is(&acceptor, info.max_message, 8));
}

/* ---- not coming up ---- */

Test(user, is_refused_by_a_transport_without_a_listener, .init = begin_two, .fini = end)
{
	llp_unlisten(listener);
	rig_connect(t, "127.0.0.2", &rc);
	assert_reason(&rc, ECONNREFUSED, "127.0.0.2 refuses associations to SCTP port 5043");
}

Test(user, is_refused_by_a_host_without_a_daemon, .init = begin, .fini = end)
{
	rig_connect(t, "127.0.0.2", &rc);
	assert_reason(&rc, ECONNREFUSED, "nothing listens on UDP port");
}

static struct udp *silent;

/* A host at 127.0.0.3 that does not read. */
static void begin_silent(void)
{
	port = rig_free_port();
	rig_address("127.0.0.3", RIG_SCTP_PORT, &addr[1]);
	cr_assert_eq(udp_open(&addr[1], port, 65536, &silent), 0);
}

Test(user, times_out_without_an_answer, .init = begin_silent, .fini = end)
{
	struct llp_config cfg = config("127.0.0.1", addr);

	cfg.init_ms = 100;
	t = rig_open(&cfg);
	rig_connect(t, "127.0.0.3", &rc);
	assert_reason(&rc, ETIMEDOUT, "127.0.0.3 does not answer on UDP port");
	udp_close(silent);
}

/* The owner's time up to the next tick, which follows at once. */
static uint64_t tick_next(void)
{
	uint64_t now = (llp_expiry_us(t) + 999) / 1000;

	llp_tick(t, now);
	llp_flush(t);
	return now;
}

/* Only timers have something to do. The time is the test's, and some ms of the machine's. */
Test(user, wakes_its_owner_only_for_its_timers, .init = begin_silent, .fini = end)
{
	struct llp_config cfg = config("127.0.0.1", addr);
	unsigned ticks = 0;
	struct llp_stats st;
	uint64_t now;

	cfg.rto_max_ms = 60000;
	cfg.init_ms = 20000;
	t = rig_open(&cfg);
	llp_tick(t, 1);
	cr_assert_eq(llp_expiry_us(t), UINT64_MAX);
	cr_assert_eq(llp_connect(t, (struct sockaddr *)&addr[1], &rc, &rc.c), 0);
	llp_flush(t);
	do {
		now = tick_next();
		ticks++;
		llp_stats(t, &st);
	} while (st.tx_packets < 2);
	cr_assert_geq(now, 750, "the INIT is sent again after a second, not after %lu ms", now);
	cr_assert_leq(now, 1250, "the INIT is sent again after a second, not after %lu ms", now);
	for (; !rc.down; ticks++)
		now = tick_next();
	cr_assert_eq(now, 20001);
	cr_assert_leq(ticks, 10, "%u ticks", ticks);
	udp_close(silent);
}

Test(user, an_association_that_the_listener_refuses_is_aborted, .init = begin_two, .fini = end)
{
	acceptor.refuse = true;
	rig_connect(t, "127.0.0.2", &rc);
	rig_until(&rc.down, 1);
	assert_reason(&rc, ECONNRESET, "ddpsctpd is stopping");
	cr_assert_eq(acceptor.incoming, 1);
	cr_assert_eq(acceptor.down, 0);
}

Test(user, may_be_closed_before_it_is_up, .init = begin_two, .fini = end)
{
	struct sockaddr_storage a;

	rig_address("127.0.0.2", RIG_SCTP_PORT, &a);
	cr_assert_eq(llp_connect(t, (struct sockaddr *)&a, &rc, &rc.c), 0);
	llp_shutdown(rc.c);
	rig_until(&rc.down, 1);
	assert_reason(&rc, 0, "closed during setup");
	cr_assert_eq(rc.up, 0);
}

/* ---- ending ---- */

Test(user, delivers_everything_before_an_orderly_end, .init = begin_two, .fini = end)
{
	connect_two();
	for (unsigned i = 0; i < 20; i++)
		rig_send(&rc, 0, 40000, (uint8_t)i);
	llp_shutdown(rc.c);
	rig_until(&acceptor.down, 1);
	cr_assert_eq(acceptor.msgs, 20);
	cr_assert_eq(acceptor.last.ppid, 16);
	cr_assert_eq(acceptor.err, 0, "%s", acceptor.reason);
	rig_until(&rc.down, 1);
	cr_assert_eq(rc.err, 0, "%s", rc.reason);
}

/* rows: 5041-6.2.2-01 5041-7-01 */
Test(user, sends_the_reason_of_an_abort, .init = begin_two, .fini = end)
{
	struct llp_msg m;

	connect_two();
	llp_abort(rc.c, "the disk is full");
	cr_assert_eq(llp_send(rc.c, &(struct llp_msg){.n = 0}), LLP_E_DOWN);
	cr_assert_eq(llp_recv(rc.c, &m), LLP_E_DOWN);
	rig_until(&acceptor.down, 1);
	assert_reason(&acceptor, ECONNRESET, "127.0.0.1 aborted the association: the disk is full");
	cr_assert_eq(rc.down, 0, "the aborting side gets no upcall");
}

Test(user, a_freed_association_ends_for_the_peer, .init = begin_two, .fini = end)
{
	connect_two();
	llp_conn_free(rc.c);
	rig_until(&acceptor.down, 1);
	cr_assert_eq(acceptor.err, ECONNRESET);
}

Test(user, closing_the_transport_aborts_its_associations, .init = begin_two, .fini = end)
{
	connect_two();
	t = rig_close(t);
	rig_until(&acceptor.down, 1);
	cr_assert_eq(acceptor.err, ECONNRESET);
}

/* The new process answers unknown packets with ABORT. */
/* rows: 5041-6.2.2-01 */
Test(user, detects_that_the_peer_restarted, .fini = end)
{
	struct rig_child peer;

	port = rig_free_port();
	peer = rig_restartable_server(port);
	begin_at_port();
	rig_connect(t, "127.0.0.2", &rc);
	rig_restart(&peer);
	rig_send(&rc, 0, 100, 0);
	rig_until(&rc.down, 1);
	cr_assert_eq(rc.err, ECONNRESET, "%s", rc.reason);
	rig_kill(&peer);
}

/* Its host says so: the next packet is answered with an ICMP message. */
Test(user, detects_that_the_peer_was_killed, .fini = end)
{
	struct rig_child peer;

	port = rig_free_port();
	peer = rig_echo_server(port);
	begin_at_port();
	rig_connect(t, "127.0.0.2", &rc);
	rig_kill(&peer);
	rig_send(&rc, 0, 100, 0);
	rig_until(&rc.down, 1);
	assert_reason(&rc, ECONNRESET, "nothing listens on UDP port");
}

/* rows: 5041-6.2.2-01 5041-7-01 */
Test(user, ends_the_association_with_a_peer_that_stopped_answering, .init = begin_two, .fini = end)
{
	connect_two();
	rig_pause(server);
	rig_send(&rc, 0, 100, 0);
	rig_until(&rc.down, 1);
	assert_reason(&rc, ETIMEDOUT, "127.0.0.2 does not answer any more");
	rig_resume(server);
}

static void connect_and_free(unsigned i)
{
	rc.up = rc.down = acceptor.down = acceptor.incoming = 0;
	connect_two();
	rig_send(&rc, 0, 1000, 0);
	if (i % 2) {
		llp_shutdown(rc.c);
		rig_until(&rc.down, 1);
	}
	llp_conn_free(rc.c);
	rig_until(&acceptor.down, 1);
	llp_conn_free(acceptor.c);
}

/* RIG_ROUNDS sets the number of rounds. */
Test(user, frees_everything_of_ended_associations, .init = begin_two, .fini = end, .timeout = 300)
{
	const char *more = getenv("RIG_ROUNDS");
	unsigned rounds = more ? (unsigned)atoi(more) : 100;
	size_t half = 0, grown;

	for (unsigned i = 0; i < rounds; i++) {
		if (i == rounds / 2)
			half = mallinfo2().uordblks;
		connect_and_free(i);
	}
	grown = mallinfo2().uordblks - half;
	cr_assert(grown > SIZE_MAX / 2 || grown < 65536, "%zu bytes", grown);
}

/* ---- opening and listening ---- */

static void assert_open_fails(const struct llp_config *cfg, int err, const char *part)
{
	static const struct llp_events none;
	char reason[256] = "";
	struct llp *fails = NULL;

	cr_assert_eq(llp_user_open(cfg, &none, &fails, reason, sizeof(reason)), err);
	cr_assert_null(fails);
	cr_assert(strstr(reason, part), "\"%s\" does not say \"%s\"", reason, part);
}

Test(user, names_the_address_that_it_cannot_bind)
{
	struct llp_config cfg;
	struct udp *taken;

	port = rig_free_port();
	cfg = config("203.0.113.77", addr);
	assert_open_fails(&cfg, -EADDRNOTAVAIL, "203.0.113.77 is not an address of this host");
	cfg = config("0.0.0.0", addr);
	assert_open_fails(&cfg, -EINVAL, "0.0.0.0 is a wildcard");
	cfg = config("127.0.0.1", addr);
	cr_assert_eq(udp_open(addr, port, 65536, &taken), 0);
	assert_open_fails(&cfg, -EADDRINUSE, "of 127.0.0.1 is in use");
	udp_close(taken);
}

Test(user, listens_only_at_its_addresses, .init = begin, .fini = end)
{
	struct llp_config cfg = config("127.0.0.2", server_addr);
	struct sockaddr *second = (struct sockaddr *)&server_addr[1];
	struct llp_listener *l2;

	rig_address("127.0.0.4", 0, &server_addr[1]);
	cfg.naddrs = 2;
	server = rig_open(&cfg);
	cr_assert_eq(llp_listen(server, (struct sockaddr *)addr, RIG_SCTP_PORT, &acceptor, &l2),
		     -EADDRNOTAVAIL);
	cr_assert_eq(llp_listen(server, second, RIG_SCTP_PORT, &acceptor, &listener), 0);
	cr_assert_eq(llp_listen(server, second, RIG_SCTP_PORT, &acceptor, &l2), -EADDRINUSE);
	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.err, ECONNREFUSED, "%s", rc.reason);
	llp_conn_free(rc.c);
	rc.down = 0;
	rig_connect(t, "127.0.0.4", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	llp_unlisten(listener);
	cr_assert_eq(llp_listen(server, NULL, RIG_SCTP_PORT, &acceptor, &listener), 0);
	cr_assert_eq(llp_listen(server, NULL, RIG_SCTP_PORT, &acceptor, &l2), -EADDRINUSE);
}

/* An association to a listener at all addresses has the one that it came to. */
Test(user, a_listener_at_all_addresses_shows_each_peer_one, .init = begin, .fini = end)
{
	struct llp_config cfg = config("127.0.0.2", server_addr);
	struct llp_path path[LLP_MAX_PATHS];

	rig_address("127.0.0.4", 0, &server_addr[1]);
	cfg.naddrs = 2;
	server = rig_open(&cfg);
	cr_assert_eq(llp_listen(server, NULL, RIG_SCTP_PORT, &acceptor, &listener), 0);
	rig_connect(t, "127.0.0.4", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	cr_assert_eq(llp_paths(rc.c, path), 1);
	cr_assert(addr_same_host(&path[0].remote, &server_addr[1]));
}
