/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport `user` between two processes that keep the rules. */
#include <criterion/criterion.h>

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "full_socket.h"
#include "llp/user.h"
#include "tests/lib/llp_one.h"
#include "user_rig.h"
#include "util/addr.h"

static struct sockaddr_storage addr[2];
static struct rig_conn rc, acceptor;
static uint16_t port;

static struct llp *open_here(void)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, &addr[0]);

	return rig_open(&cfg);
}

static void begin(void)
{
	port = rig_free_port();
}

static void listen_here(struct llp *t)
{
	struct llp_listener *l;

	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l), 0);
}

static void assert_reason(const struct rig_conn *c, int err, const char *part)
{
	cr_assert_eq(c->down, 1);
	cr_assert_eq(c->err, err, "%d: %s", c->err, c->reason);
	cr_assert(strstr(c->reason, part), "\"%s\" does not say \"%s\"", c->reason, part);
}

/* ---- coming up, carrying messages ---- */

/* rows: 5041-3-04 4296-2.1.1-01 4296-2.1.1-02 */
Test(user, receives_its_messages_back_from_an_echo_server, .init = begin)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 17, 64, 639, 641, 1400, 4096, 30001, 65476};
	struct rig_child peer = rig_echo_server(port);
	struct llp *t = open_here();

	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		rig_send(t, &rc, (uint16_t)(i % 8), sizes[i], (uint8_t)i);
		rig_until(t, &rc.msgs, i + 1);
		cr_assert(rig_last_is(&rc, sizes[i], (uint8_t)i), "%u bytes", sizes[i]);
		cr_assert_eq(rc.last.sid, i % 8);
		cr_assert_eq(rc.last.ppid, 16);
		cr_assert_not(rc.last.ordered);
	}
	llp_shutdown(rc.c);
	rig_until(t, &rc.down, 1);
	cr_assert_eq(rc.err, 0, "%s", rc.reason);
	cr_assert_eq(rig_wait(&peer), 0);
	llp_close(t);
}

Test(user, loses_nothing_of_many_messages, .init = begin)
{
	struct rig_child peer = rig_echo_server(port);
	struct llp *t = open_here();
	struct llp_stats st;

	rig_connect(t, "127.0.0.2", &rc);
	for (unsigned i = 0; i < 5000; i++) {
		rig_send(t, &rc, 0, 1 + i % 3000, (uint8_t)i);
		if (i % 32 == 31)
			rig_until(t, &rc.msgs, i - 31);
	}
	rig_until(t, &rc.msgs, 5000);
	llp_stats(t, &st);
	cr_assert_eq(st.bad_crc, 0);
	llp_shutdown(rc.c);
	rig_until(t, &rc.down, 1);
	cr_assert_eq(rig_wait(&peer), 0);
	llp_close(t);
}

Test(user, describes_an_association, .init = begin)
{
	struct rig_child peer = rig_echo_server(port);
	struct llp *t = open_here();
	struct llp_info info;
	char text[ADDR_TEXT_MAX];

	rig_connect(t, "127.0.0.2", &rc);
	llp_info(rc.c, &info);
	cr_assert_str_eq(info.backend, "user");
	cr_assert_str_eq(addr_host_text(&info.local, text), "127.0.0.1");
	cr_assert_neq(addr_port(&info.local), 0);
	cr_assert_str_eq(addr_host_text(&info.remote, text), "127.0.0.2");
	cr_assert_eq(addr_port(&info.remote), RIG_SCTP_PORT);
	cr_assert_eq(info.remote_udp_port, port);
	cr_assert_eq(info.streams, 8);
	cr_assert_eq(info.max_message, 65476);
	cr_assert_geq(info.mtu, 65535);
	rig_kill(&peer);
	llp_close(t);
}

/* rows: 5043-9-01 5043-9-02 5043-9-06 5043-11.2-01 6951-5.6-01 */
Test(user, sends_the_largest_message_in_one_packet_and_refuses_a_larger_one, .init = begin)
{
	static uint8_t buf[70000];
	struct rig_child peer = rig_echo_server(port);
	struct sockaddr_storage a;
	struct llp_config cfg = rig_config("127.0.0.1", port, &a);
	struct llp_stats before, after;
	struct llp_info info;
	struct llp_msg m = {.n = 1};
	struct llp *t;

	cfg.mtu = 1500;
	t = rig_open(&cfg);
	rig_connect(t, "127.0.0.2", &rc);
	llp_info(rc.c, &info);
	cr_assert_eq(info.max_message, 1500 - 20 - 8 - 12 - 16);
	llp_stats(t, &before);
	m.len = info.max_message;
	m.part[0] = (struct span){buf, m.len};
	cr_assert_eq(llp_send(rc.c, &m), LLP_E_OK);
	llp_stats(t, &after);
	cr_assert_eq(after.tx_packets, before.tx_packets + 1);
	cr_assert_eq(after.tx_bytes, before.tx_bytes + info.max_message + 28);
	m.part[0].len = ++m.len;
	cr_assert_eq(llp_send(rc.c, &m), LLP_E_TOO_LONG);
	/* A small message does not wait for its acknowledgement. */
	m.part[0].len = m.len = 10;
	cr_assert_eq(llp_send(rc.c, &m), LLP_E_OK);
	llp_stats(t, &after);
	cr_assert_eq(after.tx_packets, before.tx_packets + 2);
	rig_kill(&peer);
	llp_close(t);
}

Test(user, reports_when_everything_is_acknowledged, .init = begin)
{
	struct rig_child peer = rig_echo_server(port);
	struct llp *t = open_here();
	struct llp_info info;

	rig_connect(t, "127.0.0.2", &rc);
	for (unsigned i = 0; i < 3; i++) {
		unsigned had = rc.acked;

		rig_send(t, &rc, 1, 5000, 0);
		llp_info(rc.c, &info);
		cr_assert_eq(info.unacked, 1);
		rig_until(t, &rc.acked, had + 1);
		llp_info(rc.c, &info);
		cr_assert_eq(info.unacked, 0);
	}
	rig_kill(&peer);
	llp_close(t);
}

/* The event is queued after a message that is read only when another message was sent. */
Test(user, an_old_acknowledgement_does_not_count_for_a_new_message, .init = begin)
{
	struct llp *t = open_here();
	struct llp_info info;

	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &acceptor.incoming, 1);
	rc.stopped = true;
	rig_send(t, &acceptor, 0, 100, 1);
	rig_until(t, &acceptor.acked, 1);
	rig_send(t, &rc, 0, 100, 2);
	do {
		rig_turn(t);
		llp_info(rc.c, &info);
	} while (info.unacked);
	rc.acked = 0;
	rig_send(t, &rc, 0, 100, 3);
	rc.stopped = false;
	llp_input(t, 0);
	cr_assert_eq(rc.msgs, 1);
	cr_assert_eq(rc.acked, 0);
	rig_until(t, &rc.acked, 1);
	cr_assert_eq(acceptor.msgs, 2);
	llp_close(t);
}

/* A listener does not know the packet size of future peers. */
Test(user, limits_the_packets_of_accepted_associations_too, .init = begin)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, addr);
	struct llp_stats before, after;
	struct llp_info info;
	struct llp *t;

	cfg.mtu = 1500;
	t = rig_open(&cfg);
	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &acceptor.incoming, 1);
	llp_info(acceptor.c, &info);
	cr_assert_eq(info.mtu, 1500);
	cr_assert_eq(info.max_message, 1500 - 20 - 8 - 12 - 16);
	llp_stats(t, &before);
	rig_send(t, &acceptor, 0, info.max_message, 5);
	llp_stats(t, &after);
	cr_assert_eq(after.tx_packets, before.tx_packets + 1);
	rig_until(t, &rc.msgs, 1);
	cr_assert(rig_last_is(&rc, info.max_message, 5));
	llp_close(t);
}

/* As after an ICMP message that a packet was too big for the path. */
/* rows: 5043-9-02 5041-3-01 4296-2.1.1-03 */
Test(user, shrinks_its_packets_after_an_icmp_message, .init = begin)
{
	struct llp *t = open_here();
	struct user *u = (struct user *)t;
	struct user_rx rx = {u, u->sock[0]};
	struct sockaddr_storage to;
	struct llp_info info;
	struct llp_msg m = {.n = 1};
	static uint8_t buf[65476];

	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &acceptor.incoming, 1);
	rig_address("127.0.0.1", port, &to);
	llp_user_icmp(&rx, &to, EMSGSIZE, 1400);
	llp_info(rc.c, &info);
	cr_assert_eq(info.mtu, 1400);
	cr_assert_eq(info.max_message, 1400 - 20 - 8 - 12 - 16);
	m.len = 65476;
	m.part[0] = (struct span){buf, m.len};
	cr_assert_eq(llp_send(rc.c, &m), LLP_E_TOO_LONG);
	rig_send(t, &rc, 0, info.max_message, 8);
	rig_until(t, &acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, info.max_message, 8));
	/* A forged message cannot make packets uselessly small. */
	llp_user_icmp(&rx, &to, EMSGSIZE, 1);
	llp_info(rc.c, &info);
	cr_assert_eq(info.mtu, USER_MIN_MTU);
	cr_assert_geq(info.max_message, 518, "segments of 516 bytes at least");
	llp_close(t);
}

/* The other side does not read for a while: sending stops, and resumes later. */
Test(user, refuses_to_send_without_room_and_reports_room, .init = begin)
{
	static uint8_t buf[60000];
	struct llp *t = open_here();
	struct llp_msg m = {.len = sizeof(buf), .n = 1, .part[0] = {buf, sizeof(buf)}};
	unsigned sent = 0, turns = 0;

	listen_here(t);
	acceptor.stopped = true;
	rig_connect(t, "127.0.0.1", &rc);
	while (turns < 20) {
		int r = llp_send(rc.c, &m);

		cr_assert(r == LLP_E_OK || r == LLP_E_AGAIN);
		sent += r == LLP_E_OK;
		turns += r == LLP_E_AGAIN;
		rig_turn(t);
		cr_assert_lt(sent, 100, "the sender is never refused");
	}
	rc.writable = 0;
	acceptor.stopped = false;
	rig_until(t, &acceptor.msgs, sent);
	rig_until(t, &rc.writable, 1);
	cr_assert_eq(llp_send(rc.c, &m), LLP_E_OK);
	rig_until(t, &acceptor.msgs, sent + 1);
	llp_close(t);
}

/* The real socket always has room: only the test makes it full. */
Test(user, wakes_its_owner_when_a_full_udp_socket_has_room, .init = begin)
{
	struct llp *t = open_here();
	int fds[LLP_MAX_FDS];
	struct pollfd room = {.events = POLLIN};

	cr_assert_eq(llp_fds(t, fds), 2);
	room.fd = fds[1];
	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	cr_assert_eq(poll(&room, 1, 0), 0);
	full_socket_fd = fds[0];
	rig_send(t, &rc, 0, 1000, 1);
	llp_flush(t);
	cr_assert_eq(poll(&room, 1, 0), 1);
	full_socket_fd = -1;
	llp_flush(t);
	cr_assert_eq(poll(&room, 1, 0), 0);
	rig_until(t, &acceptor.msgs, 1);
	llp_close(t);
}

Test(user, works_over_ipv6, .init = begin)
{
	struct llp_config cfg = rig_config("::1", port, &addr[0]);
	struct llp *t = rig_open(&cfg);
	struct llp_info info;

	listen_here(t);
	rig_connect(t, "::1", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	rig_until(t, &acceptor.incoming, 1);
	llp_info(rc.c, &info);
	cr_assert_eq(info.max_message, 65536 - 40 - 8 - 12 - 16);
	rig_send(t, &rc, 3, info.max_message, 9);
	rig_until(t, &acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, info.max_message, 9));
	llp_close(t);
}

/* ---- not coming up ---- */

Test(user, is_refused_by_a_transport_without_a_listener, .init = begin)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, addr);
	struct llp *t;

	/* The own transport has no listener. */
	t = rig_open(&cfg);
	rig_connect(t, "127.0.0.1", &rc);
	assert_reason(&rc, ECONNREFUSED, "127.0.0.1 refuses associations to SCTP port 5043");
	llp_close(t);
}

Test(user, is_refused_by_a_host_without_a_daemon, .init = begin)
{
	struct llp *t = open_here();

	rig_connect(t, "127.0.0.2", &rc);
	assert_reason(&rc, ECONNREFUSED, "nothing listens on UDP port");
	llp_close(t);
}

Test(user, times_out_without_an_answer, .init = begin)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, addr);
	struct udp *silent;
	struct llp *t;

	cfg.init_ms = 100;
	rig_address("127.0.0.3", 0, &addr[1]);
	cr_assert_eq(udp_open(&addr[1], port, 65536, &silent), 0);
	t = rig_open(&cfg);
	rig_connect(t, "127.0.0.3", &rc);
	assert_reason(&rc, ETIMEDOUT, "127.0.0.3 does not answer");
	udp_close(silent);
	llp_close(t);
}

/* The owner's time up to the next tick, which follows at once. */
static uint64_t tick_next(struct llp *t)
{
	uint64_t now = llp_expiry(t);

	llp_tick(t, now);
	llp_flush(t);
	return now;
}

/* Nothing answers, so that only timers have something to do. The time is the test's. */
Test(user, a_quiet_association_wakes_its_owner_only_a_few_times, .init = begin)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, addr);
	unsigned ticks = 0;
	struct udp *silent;
	struct llp_stats st;
	uint64_t now;
	struct llp *t;

	cfg.rto_max_ms = 60000;
	cfg.init_ms = 20000;
	rig_address("127.0.0.3", RIG_SCTP_PORT, &addr[1]);
	cr_assert_eq(udp_open(&addr[1], port, 65536, &silent), 0);
	t = rig_open(&cfg);
	llp_tick(t, 1);
	cr_assert_eq(llp_connect(t, (struct sockaddr *)&addr[1], &rc, &rc.c), 0);
	do {
		now = tick_next(t);
		ticks++;
		llp_stats(t, &st);
	} while (st.tx_packets < 2);
	cr_assert_geq(now, 1000, "the INIT is sent again after a second, not after %lu ms", now);
	cr_assert_leq(now, 1250, "the INIT is sent again after a second, not after %lu ms", now);
	for (; !rc.down; ticks++)
		now = tick_next(t);
	cr_assert_geq(now, 20000);
	cr_assert_leq(now, 20600, "%lu ms", now);
	cr_assert_leq(ticks, 700, "%u ticks: one in 10 ms would be 2000", ticks);
	udp_close(silent);
	llp_close(t);
}

Test(user, an_association_that_the_listener_refuses_is_aborted, .init = begin)
{
	struct llp *t = open_here();

	listen_here(t);
	acceptor.refuse = true;
	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &rc.down, 1);
	assert_reason(&rc, ECONNRESET, "not wanted");
	cr_assert_eq(acceptor.incoming, 1);
	cr_assert_eq(acceptor.down, 0);
	llp_close(t);
}

/* ---- ending ---- */

Test(user, delivers_everything_before_an_orderly_end, .init = begin)
{
	struct llp *t = open_here();

	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	for (unsigned i = 0; i < 20; i++)
		rig_send(t, &rc, 0, 40000, (uint8_t)i);
	llp_shutdown(rc.c);
	rig_until(t, &acceptor.down, 1);
	cr_assert_eq(acceptor.msgs, 20);
	cr_assert_eq(acceptor.last.ppid, 16);
	cr_assert_eq(acceptor.err, 0, "%s", acceptor.reason);
	rig_until(t, &rc.down, 1);
	cr_assert_eq(rc.err, 0, "%s", rc.reason);
	llp_close(t);
}

/* rows: 5041-6.2.2-01 5041-7-01 */
Test(user, sends_the_reason_of_an_abort, .init = begin)
{
	struct llp *t = open_here();
	struct llp_msg m;

	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &acceptor.incoming, 1);
	llp_abort(rc.c, "the cat sat on it");
	cr_assert_eq(llp_send(rc.c, &(struct llp_msg){.n = 0}), LLP_E_DOWN);
	cr_assert_eq(llp_recv(rc.c, &m), LLP_E_DOWN);
	rig_until(t, &acceptor.down, 1);
	assert_reason(&acceptor, ECONNRESET, "the cat sat on it");
	cr_assert_eq(rc.down, 0, "the aborting side gets no upcall");
	llp_close(t);
}

Test(user, a_freed_association_ends_for_the_peer, .init = begin)
{
	struct llp *t = open_here();

	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &acceptor.incoming, 1);
	llp_conn_free(rc.c);
	rig_until(t, &acceptor.down, 1);
	cr_assert_eq(acceptor.err, ECONNRESET);
	llp_close(t);
}

/* The new process answers unknown packets with ABORT. */
/* rows: 5041-6.2.2-01 */
Test(user, detects_that_the_peer_restarted, .init = begin)
{
	struct rig_child peer = rig_restartable_server(port);
	struct llp *t = open_here();

	rig_connect(t, "127.0.0.2", &rc);
	rig_restart(&peer);
	rig_send(t, &rc, 0, 100, 0);
	rig_until(t, &rc.down, 1);
	cr_assert_eq(rc.err, ECONNRESET, "%s", rc.reason);
	rig_kill(&peer);
	llp_close(t);
}

/* rows: 5041-6.2.2-01 5041-7-01 */
Test(user, ends_the_association_with_a_peer_that_stopped_answering, .init = begin)
{
	struct rig_child peer = rig_echo_server(port);
	struct llp *t = open_here();

	rig_connect(t, "127.0.0.2", &rc);
	kill(peer.pid, SIGSTOP);
	rig_send(t, &rc, 0, 100, 0);
	rig_until(t, &rc.down, 1);
	assert_reason(&rc, ETIMEDOUT, "does not answer any more");
	rig_kill(&peer);
	llp_close(t);
}

static void connect_and_free(struct llp *t, unsigned i)
{
	rc.up = rc.down = acceptor.down = acceptor.incoming = 0;
	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &acceptor.incoming, 1);
	rig_send(t, &rc, 0, 1000, 0);
	if (i % 2) {
		llp_shutdown(rc.c);
		rig_until(t, &rc.down, 1);
	}
	llp_conn_free(rc.c);
	rig_until(t, &acceptor.down, 1);
	llp_conn_free(acceptor.c);
}

/* RIG_ROUNDS sets the number of rounds. */
Test(user, frees_everything_of_ended_associations, .init = begin, .timeout = 300)
{
	const char *more = getenv("RIG_ROUNDS");
	unsigned rounds = more ? (unsigned)atoi(more) : 100;
	struct llp *t = open_here();
	size_t half = 0, grown;

	listen_here(t);
	for (unsigned i = 0; i < rounds; i++) {
		if (i == rounds / 2)
			half = mallinfo2().uordblks;
		connect_and_free(t, i);
	}
	grown = mallinfo2().uordblks - half;
	/* usrsctp keeps the tags of ended associations for a minute, 12 bytes each, in blocks. */
	cr_assert(grown > SIZE_MAX / 2 || grown < 65536 + rounds * 40, "%zu bytes", grown);
	llp_close(t);
}

/* ---- opening and listening ---- */

static void assert_open_fails(const struct llp_config *cfg, int err, const char *part)
{
	static const struct llp_events none;
	char reason[256] = "";
	struct llp *t = NULL;

	cr_assert_eq(llp_user_open(cfg, &none, &t, reason, sizeof(reason)), err);
	cr_assert_null(t);
	cr_assert(strstr(reason, part), "\"%s\" does not say \"%s\"", reason, part);
}

Test(user, opens_only_once_at_a_time_in_a_process, .init = begin)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, addr);
	struct llp *t = rig_open(&cfg);

	assert_open_fails(&cfg, -EBUSY, "already open");
	llp_close(t);
	t = rig_open(&cfg);
	listen_here(t);
	rig_connect(t, "127.0.0.1", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	llp_close(t);
}

Test(user, names_the_address_that_it_cannot_bind, .init = begin)
{
	struct llp_config cfg = rig_config("203.0.113.77", port, addr);
	struct udp *taken;

	assert_open_fails(&cfg, -EADDRNOTAVAIL, "203.0.113.77 is not an address of this host");
	cfg = rig_config("0.0.0.0", port, addr);
	assert_open_fails(&cfg, -EINVAL, "0.0.0.0 is a wildcard");
	cfg = rig_config("127.0.0.1", port, addr);
	cr_assert_eq(udp_open(addr, port, 65536, &taken), 0);
	assert_open_fails(&cfg, -EADDRINUSE, "of 127.0.0.1 is in use");
	udp_close(taken);
}

Test(user, listens_only_at_its_addresses, .init = begin)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, addr);
	struct sockaddr_storage other;
	struct llp_listener *l, *l2;
	struct llp *t;

	rig_address("127.0.0.3", 0, &addr[1]);
	rig_address("127.0.0.2", 0, &other);
	cfg.naddrs = 2;
	t = rig_open(&cfg);
	cr_assert_eq(llp_listen(t, (struct sockaddr *)&other, RIG_SCTP_PORT, &acceptor, &l),
		     -EADDRNOTAVAIL);
	cr_assert_eq(llp_listen(t, (struct sockaddr *)&addr[1], RIG_SCTP_PORT, &acceptor, &l), 0);
	cr_assert_eq(llp_listen(t, (struct sockaddr *)&addr[1], RIG_SCTP_PORT, &acceptor, &l2),
		     -EADDRINUSE);
	rig_connect(t, "127.0.0.1", &rc);
	cr_assert_eq(rc.err, ECONNREFUSED, "%s", rc.reason);
	llp_conn_free(rc.c);
	rc.down = 0;
	rig_connect(t, "127.0.0.3", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	llp_unlisten(l);
	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l), 0);
	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l2), -EADDRINUSE);
	llp_close(t);
}
