/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop transport is synchronous, copies once, and makes no upcall from an unexpected call. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "llp/common/llp.h"
#include "tests/lib/llp_one.h"

enum { PORT = 5000, STREAMS = 8 };

struct end {
	struct llp_conn *conn;
	unsigned up, down, readable, writable, acked;
	int err;
	char reason[128];
	bool ignore;       /* readable() takes nothing */
	bool answer;       /* readable() also sends */
	bool free_self;    /* readable() frees its own conn */
	struct end *other; /* readable() frees its conn */
	int answered;
	struct llp_msg got; /* its spans are invalid after the upcall */
	uint8_t bytes[70000];
	size_t nbytes;
};

static struct end client, server;
static struct llp *loop;
static bool turn_down, unlisten_in_upcall;
static struct llp_listener *listener;

static struct llp_msg message(uint8_t *head, size_t hlen, uint8_t *body, size_t blen)
{
	struct llp_msg m = {.sid = 3, .ppid = 16, .len = (uint32_t)(hlen + blen), .n = 2};

	m.part[0] = (struct span){head, hlen};
	m.part[1] = (struct span){body, blen};
	return m;
}

static void *on_incoming(void *user, struct llp_conn *c)
{
	cr_assert_eq(user, &server);
	if (unlisten_in_upcall)
		listener = llp_unlisten(listener);
	if (turn_down)
		return NULL;
	server.conn = c;
	server.up++;
	return &server;
}

static void on_up(void *user)
{
	((struct end *)user)->up++;
}

static void on_down(void *user, int err, const char *reason)
{
	struct end *e = user;

	e->down++;
	e->err = err;
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
}

static void take(struct end *e)
{
	struct span dst = {e->bytes, sizeof(e->bytes)};

	cr_assert_eq(llp_recv(e->conn, &e->got), LLP_E_OK);
	e->nbytes = span_copy(&dst, 1, e->got.part, e->got.n, 0, e->got.len);
	cr_assert_eq(e->nbytes, e->got.len);
	cr_assert_eq(llp_recv(e->conn, &(struct llp_msg){0}), LLP_E_AGAIN);
}

static bool on_readable(void *user)
{
	struct end *e = user;
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	e->readable++;
	if (!e->ignore)
		take(e);
	if (e->answer)
		e->answered = llp_send(e->conn, &m);
	if (e->other)
		e->other->conn = llp_conn_free(e->other->conn);
	if (e->free_self)
		e->conn = llp_conn_free(e->conn);
	return false;
}

static void on_writable(void *user)
{
	((struct end *)user)->writable++;
}

static void on_acked(void *user)
{
	((struct end *)user)->acked++;
}

static const struct llp_events events = {
	.incoming = on_incoming,
	.up = on_up,
	.down = on_down,
	.readable = on_readable,
	.writable = on_writable,
	.acked = on_acked,
};

static struct sockaddr_storage address(const char *host, uint16_t port)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	cr_assert_eq(inet_pton(AF_INET, host, &in->sin_addr), 1);
	return ss;
}

static int connect_to(const char *host, uint16_t port)
{
	struct sockaddr_storage ss = address(host, port);

	return llp_connect(loop, (struct sockaddr *)&ss, &client, &client.conn);
}

static void tick(void)
{
	llp_tick(loop, 1);
}

static void open_loop(void)
{
	struct sockaddr_storage ours = address("127.0.0.1", 0);
	struct llp_config cfg = {.addrs = &ours, .naddrs = 1, .streams = STREAMS};

	cr_assert_eq(llp_loop_open(&cfg, &events, &loop), 0);
	cr_assert_eq(llp_listen(loop, NULL, PORT, &server, &listener), 0);
}

static void open_pair(void)
{
	open_loop();
	cr_assert_eq(connect_to("127.0.0.1", PORT), 0);
	tick();
	cr_assert_eq(client.up, 1);
	cr_assert_eq(server.up, 1);
}

static void close_loop(void)
{
	loop = llp_close(loop);
}

TestSuite(loop_setup, .init = open_loop, .fini = close_loop);
TestSuite(loop, .init = open_pair, .fini = close_loop);

Test(loop_setup, upcalls_are_made_by_tick_and_not_by_connect)
{
	cr_assert_eq(connect_to("127.0.0.1", PORT), 0);
	cr_assert_eq(client.up + server.up, 0);
	cr_assert_neq(llp_expiry_us(loop), UINT64_MAX);
	tick();
	cr_assert_eq(client.up, 1);
	cr_assert_eq(server.up, 1);
	cr_assert_eq(llp_expiry_us(loop), UINT64_MAX);
}

Test(loop_setup, a_connect_does_not_wait_for_a_tick)
{
	cr_assert_eq(connect_to("127.0.0.1", PORT), 0);
	llp_input(loop, 1);
	cr_assert_eq(client.up + server.up, 2);
	llp_shutdown(client.conn);
	llp_input(loop, 1);
	cr_assert_eq(client.down + server.down, 2);
}

Test(loop_setup, a_port_without_a_listener_refuses)
{
	cr_assert_eq(connect_to("127.0.0.1", PORT + 1), 0);
	cr_assert_eq(client.down, 0);
	tick();
	cr_assert_eq(client.down, 1);
	cr_assert_eq(client.err, ECONNREFUSED);
}

Test(loop_setup, an_address_of_another_host_refuses)
{
	cr_assert_eq(connect_to("127.0.0.2", PORT), 0);
	tick();
	cr_assert_eq(client.err, ECONNREFUSED);
}

Test(loop_setup, a_listener_can_refuse)
{
	turn_down = true;
	cr_assert_eq(connect_to("127.0.0.1", PORT), 0);
	tick();
	tick();
	cr_assert_eq(client.up, 0);
	cr_assert_eq(client.down, 1);
	cr_assert_eq(client.err, ECONNREFUSED);
	cr_assert_eq(server.down, 0);
}

Test(loop_setup, a_listener_may_be_closed_in_its_own_upcall)
{
	unlisten_in_upcall = true;
	cr_assert_eq(connect_to("127.0.0.1", PORT), 0);
	tick();
	cr_assert_eq(client.up, 1);
}

Test(loop_setup, a_connecting_conn_may_be_freed)
{
	cr_assert_eq(connect_to("127.0.0.1", PORT), 0);
	client.conn = llp_conn_free(client.conn);
	tick();
	cr_assert_eq(client.up + client.down + server.up, 0);
}

Test(loop_setup, two_that_connect_to_each_other_at_once_have_one_association)
{
	static struct end other;
	struct sockaddr_storage to = address("127.0.0.1", 0);
	const struct llp_addrs all = {NULL, 0}, at = {&to, 1};
	struct llp_info info[2];

	cr_assert_eq(llp_connect_at(loop, &at, 7000, &all, PORT, &client, &client.conn), 0);
	cr_assert_eq(llp_connect_at(loop, &at, PORT, &all, 7000, &other, &other.conn), 0);
	cr_assert_eq(llp_connect_at(loop, &at, 7000, &all, 7000, &other, &other.conn), -EADDRINUSE,
		     "both ends would be the same");
	tick();
	cr_assert_eq(client.up, 1);
	cr_assert_eq(other.up, 1);
	cr_assert_eq(server.up, 0);
	llp_info(client.conn, &info[0]);
	llp_info(other.conn, &info[1]);
	cr_assert_eq(addr_port(&info[0].remote), 7000);
	cr_assert_eq(addr_port(&info[1].remote), PORT);
	cr_assert(info[0].same_endpoint && info[1].same_endpoint);
	cr_assert_neq(info[0].even, info[1].even);
	llp_shutdown(client.conn);
	tick();
	cr_assert_eq(other.down, 1);
}

Test(loop_setup, a_port_has_one_listener)
{
	struct llp_listener *l = NULL;
	struct sockaddr_storage one = address("127.0.0.1", 0), other = address("127.0.0.9", 0);

	cr_assert_eq(llp_listen(loop, NULL, PORT, &server, &l), -EADDRINUSE);
	cr_assert_eq(llp_listen(loop, (struct sockaddr *)&one, PORT, &server, &l), -EADDRINUSE);
	cr_assert_eq(llp_listen(loop, (struct sockaddr *)&other, PORT + 1, &server, &l),
		     -EADDRNOTAVAIL);
	cr_assert_eq(llp_listen(loop, (struct sockaddr *)&one, PORT + 1, &server, &l), 0);
	cr_assert_eq(llp_unlisten(l), NULL);
}

Test(loop_setup, a_port_is_taken_at_each_of_the_addresses)
{
	struct sockaddr_storage ours[] = {address("127.0.0.1", 0), address("127.0.0.2", 0)};
	struct llp_config cfg = {.addrs = ours, .naddrs = 2, .streams = STREAMS};
	const struct llp_addrs both = {ours, 2};
	struct llp_listener *second, *l;
	struct llp *t;

	cr_assert_eq(llp_loop_open(&cfg, &events, &t), 0);
	cr_assert_eq(llp_listen(t, (struct sockaddr *)&ours[1], PORT, &server, &second), 0);
	cr_assert_eq(llp_listen_at(t, &both, PORT, &server, &l), -EADDRINUSE);
	cr_assert_eq(llp_listen_at(t, &both, PORT + 1, &server, &l), 0);
	llp_unlisten(l);
	llp_unlisten(second);
	llp_close(t);
}

Test(loop, a_large_message_is_the_senders_memory)
{
	static uint8_t body[20000];
	uint8_t head[20] = "head";
	struct llp_msg m = message(head, sizeof(head), body, sizeof(body));

	memset(body, 7, sizeof(body));
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_OK);
	cr_assert_eq(server.readable, 1);
	cr_assert_eq(server.got.n, 2);
	cr_assert_eq(server.got.part[0].p, head);
	cr_assert_eq(server.got.part[1].p, body);
	cr_assert_eq(server.got.sid, 3);
	cr_assert_eq(server.got.ppid, 16);
	cr_assert_eq(server.nbytes, sizeof(head) + sizeof(body));
}

Test(loop, a_small_message_is_in_one_span)
{
	uint8_t head[40], body[600];
	struct llp_msg m = message(head, sizeof(head), body, sizeof(body));

	memset(head, 1, sizeof(head));
	memset(body, 2, sizeof(body));
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_OK);
	cr_assert_eq(server.got.n, 1);
	cr_assert_eq(server.got.part[0].len, 640);
	cr_assert_arr_eq(server.bytes, head, sizeof(head));
	cr_assert_arr_eq(server.bytes + sizeof(head), body, sizeof(body));
}

Test(loop, a_message_that_is_not_taken_is_not_queued)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	server.ignore = true;
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_AGAIN);
	cr_assert_eq(llp_recv(server.conn, &m), LLP_E_AGAIN);
	cr_assert_eq(client.writable, 0);
	tick();
	cr_assert_eq(client.writable, 1);
	cr_assert_eq(client.acked, 0);
}

Test(loop, a_reply_within_readable_waits_for_the_next_turn)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	server.answer = true;
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_OK);
	cr_assert_eq(server.answered, LLP_E_AGAIN);
	cr_assert_eq(client.readable, 0);
	tick();
	cr_assert_eq(server.writable, 1);
	cr_assert_eq(llp_send(server.conn, &m), LLP_E_OK);
	cr_assert_eq(client.readable, 1);
}

Test(loop, acked_is_called_once_a_turn)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	for (int i = 0; i < 5; i++)
		cr_assert_eq(llp_send(client.conn, &m), LLP_E_OK);
	cr_assert_eq(client.acked, 0);
	tick();
	tick();
	cr_assert_eq(client.acked, 1);
	cr_assert_eq(server.acked, 0);
}

/* A program that waits for its completion would wait for the next millisecond. */
Test(loop, acked_and_writable_do_not_wait_for_a_tick)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	cr_assert_eq(llp_send(client.conn, &m), LLP_E_OK);
	cr_expect_not(llp_input(loop, 1), "no message has arrived");
	cr_assert_eq(client.acked, 1);
	cr_assert_eq(llp_expiry_us(loop), UINT64_MAX);
	server.ignore = true;
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_AGAIN);
	llp_input(loop, 1);
	cr_assert_eq(client.writable, 1);
	tick();
	cr_assert_eq(client.acked + client.writable, 2);
}

Test(loop, the_longest_message_passes_and_a_longer_one_does_not)
{
	static uint8_t body[70000];
	uint8_t head[20] = {0};
	struct llp_info info;
	struct llp_msg m;

	llp_info(client.conn, &info);
	cr_assert_leq(info.max_message, 65537);
	m = message(head, sizeof(head), body, info.max_message - sizeof(head));
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_OK);
	m = message(head, sizeof(head), body, info.max_message - sizeof(head) + 1);
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_TOO_LONG);
}

Test(loop, a_stream_beyond_the_last_is_an_error)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	m.sid = STREAMS;
	cr_assert_eq(llp_send(client.conn, &m), -EINVAL);
	cr_assert_eq(server.readable, 0);
}

Test(loop, shutdown_ends_both_sides_without_an_error)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	llp_shutdown(client.conn);
	cr_assert_eq(client.down + server.down, 0);
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_DOWN);
	cr_assert_eq(llp_send(server.conn, &m), LLP_E_DOWN);
	tick();
	cr_assert_eq(client.down, 1);
	cr_assert_eq(server.down, 1);
	cr_assert_eq(client.err, 0);
	cr_assert_eq(server.err, 0);
}

Test(loop, an_abort_is_reported_to_the_peer_only)
{
	llp_abort(client.conn, "not needed any longer");
	cr_assert_eq(server.down, 0);
	tick();
	cr_assert_eq(client.down, 0);
	cr_assert_eq(server.down, 1);
	cr_assert_eq(server.err, ECONNRESET);
	cr_assert_str_eq(server.reason, "not needed any longer");
}

Test(loop, a_receiver_may_free_itself_while_it_receives)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	server.free_self = true;
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_DOWN);
	tick();
	cr_assert_eq(client.down, 1);
	cr_assert_eq(server.down, 0);
}

Test(loop, a_receiver_may_free_the_sender_while_it_sends)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);

	server.other = &client;
	cr_assert_eq(llp_send(client.conn, &m), LLP_E_DOWN);
	tick();
	cr_assert_eq(client.down, 0);
	cr_assert_eq(server.down, 1);
}

Test(loop, down_is_called_once)
{
	llp_shutdown(server.conn);
	llp_shutdown(client.conn);
	llp_abort(server.conn, "again");
	tick();
	tick();
	cr_assert_eq(client.down, 1);
	cr_assert_eq(server.down, 0);
	client.conn = llp_conn_free(client.conn);
	server.conn = llp_conn_free(server.conn);
	tick();
	cr_assert_eq(client.down, 1);
}

Test(loop, both_ends_have_addresses_and_counters)
{
	uint8_t head[4] = {0};
	struct llp_msg m = message(head, sizeof(head), NULL, 0);
	struct llp_info a, b;
	struct llp_stats s;

	cr_assert_eq(llp_send(client.conn, &m), LLP_E_OK);
	llp_info(client.conn, &a);
	llp_info(server.conn, &b);
	cr_assert_str_eq(a.backend, "loop");
	cr_assert_eq(a.streams, STREAMS);
	cr_assert_arr_eq(&a.local, &b.remote, sizeof(a.local));
	cr_assert_arr_eq(&a.remote, &b.local, sizeof(a.local));
	llp_stats(loop, &s);
	cr_assert_eq(s.tx_packets, 1);
	cr_assert_eq(s.rx_packets, 1);
	cr_assert_eq(s.tx_bytes, 4);
}
