/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport `user` against peers that do not speak DDP, and against handmade packets. */
#include <criterion/criterion.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llp/crc32c.h"
#include "llp/udp.h"
#include "tests/lib/llp_one.h"
#include "user_rig.h"
#include "util/addr.h"
#include "util/be.h"

enum {
	INIT = 1,
	INIT_ACK = 2,
	HEARTBEAT = 4,
	ABORT = 6,
	SHUTDOWN_ACK = 8,
	COOKIE_ECHO = 10,
	SHUTDOWN_COMPLETE = 14,
	INIT_LEN = 12 + 20,
	TAG = 0x11223344,
};

static struct sockaddr_storage addr, ours;
static struct rig_conn rc, acceptor;
static uint16_t port;
static struct udp *other_domain;
static struct udp_flow to_us;

static void begin(void)
{
	port = rig_free_port();
}

static struct llp *open_and_listen(void)
{
	struct llp_config cfg = rig_config("127.0.0.1", port, &addr);
	struct llp *t = rig_open(&cfg);
	struct llp_listener *l;

	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l), 0);
	rig_turn(t);
	return t;
}

/* ---- peers without the right indication ---- */

static void connect_to_raw(int adaptation, const char *part)
{
	struct rig_raw raw = {.udp_port = port,
			      .local = "127.0.0.2",
			      .remote = "127.0.0.1",
			      .adaptation = adaptation,
			      .wants_abort = true};
	struct rig_child peer = rig_raw_peer(&raw);
	struct llp *t = open_and_listen();

	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 0);
	cr_assert_eq(rc.err, EPROTONOSUPPORT, "%s", rc.reason);
	cr_assert(strstr(rc.reason, part), "%s", rc.reason);
	cr_assert_eq(rig_wait(&peer), 0, "the peer got no ABORT");
	llp_close(t);
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-03 */
Test(user_hostile, a_peer_without_an_indication_is_refused, .init = begin)
{
	connect_to_raw(-1, "no adaptation indication");
}

Test(user_hostile, a_peer_with_indication_0_is_refused, .init = begin)
{
	connect_to_raw(0, "indication 0x0,");
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-05 */
Test(user_hostile, a_peer_with_another_indication_is_refused, .init = begin)
{
	connect_to_raw(2, "indication 0x2,");
}

static void raw_connects(int adaptation, uint32_t send_len)
{
	struct rig_raw raw = {.udp_port = port,
			      .local = "127.0.0.2",
			      .remote = "127.0.0.1",
			      .adaptation = adaptation,
			      .connects = true,
			      .wants_abort = true,
			      .send_len = send_len};
	struct rig_child peer = rig_raw_peer(&raw);
	struct llp *t = open_and_listen();

	if (adaptation == 1) {
		rig_until(t, &acceptor.incoming, 1);
	} else {
		/* The pipe closes when the child ends. */
		while (rig_running(&peer))
			rig_turn(t);
	}
	cr_assert_eq(acceptor.incoming, adaptation == 1);
	if (adaptation == 1)
		rig_kill(&peer);
	else
		cr_assert_eq(rig_wait(&peer), 0, "the peer got no ABORT");
	llp_close(t);
}

/* rows: 5043-11.1-02 5043-11.1-04 */
Test(user_hostile, a_peer_that_connects_with_the_indication_is_accepted, .init = begin)
{
	raw_connects(1, 0);
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-03 */
Test(user_hostile, a_peer_that_connects_without_an_indication_is_aborted_silently, .init = begin)
{
	raw_connects(-1, 0);
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-05 */
Test(user_hostile, a_peer_that_connects_with_another_indication_is_aborted_silently, .init = begin)
{
	raw_connects(7, 0);
}

/* rows: 5043-11.1-03 */
Test(user_hostile, early_data_does_not_replace_an_indication, .init = begin)
{
	raw_connects(-1, 100);
}

/* ---- fragmented messages ---- */

static void raw_sends(uint32_t n)
{
	struct rig_raw raw = {.udp_port = port,
			      .local = "127.0.0.2",
			      .remote = "127.0.0.1",
			      .adaptation = 1,
			      .connects = true,
			      .send_len = n};
	struct rig_child peer = rig_raw_peer(&raw);
	struct llp *t = open_and_listen();

	rig_until(t, &acceptor.incoming, 1);
	while (!acceptor.msgs && !acceptor.down)
		rig_turn(t);
	rig_kill(&peer);
	llp_close(t);
}

/* rows: 5041-3-04 */
Test(user_hostile, a_fragmented_message_is_reassembled, .init = begin)
{
	raw_sends(100000);
	cr_assert_eq(acceptor.msgs, 1);
	cr_assert_eq(acceptor.last.ppid, 16);
	cr_assert_eq(acceptor.last.sid, 1);
	cr_assert(rig_last_is(&acceptor, 100000, 7));
}

Test(user_hostile, an_endless_message_ends_the_association, .init = begin)
{
	raw_sends(400000);
	cr_assert_eq(acceptor.msgs, 0);
	cr_assert_eq(acceptor.err, EMSGSIZE, "%s", acceptor.reason);
}

Test(user_hostile, ipv6_peers_may_use_any_udp_port, .init = begin)
{
	struct rig_raw raw = {.udp_port = port,
			      .local = "::1",
			      .remote = "::1",
			      .adaptation = 1,
			      .connects = true,
			      .send_len = 5000};
	struct rig_child peer = rig_raw_peer(&raw);
	struct llp_config cfg = rig_config("::1", port, &addr);
	struct llp *t = rig_open(&cfg);
	struct llp_listener *l;
	struct llp_info info;

	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l), 0);
	rig_until(t, &acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, 5000, 7));
	llp_info(acceptor.c, &info);
	cr_assert_neq(info.remote_udp_port, port);
	rig_kill(&peer);
	llp_close(t);
}

/* ---- handmade packets ---- */

struct answers {
	unsigned n;
	uint8_t type, flags;
	uint32_t tag;
};

static void note(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len)
{
	struct answers *a = arg;

	(void)from;
	cr_assert_geq(len, 16);
	cr_assert(crc32c_check(p, len), "a reply with a bad checksum");
	a->n++;
	a->type = p[12];
	a->flags = p[13];
	a->tag = be_get32(p + 4);
}

static void open_raw(const char *text)
{
	struct sockaddr_storage a;

	rig_address(text, 0, &a);
	cr_assert_eq(udp_open(&a, 0, 65536, &other_domain), 0);
	rig_address("127.0.0.1", port, &ours);
	to_us = (struct udp_flow){.to = ours, .tolen = sizeof(struct sockaddr_in)};
}

/* A packet with one chunk: an INIT, or a chunk without a body. */
static size_t make(uint8_t *p, uint8_t type, uint32_t tag, uint16_t sctp_port)
{
	size_t len = type == INIT ? INIT_LEN : 16;

	memset(p, 0, len);
	be_put16(p, 4000);
	be_put16(p + 2, sctp_port);
	be_put32(p + 4, tag);
	p[12] = type;
	be_put16(p + 14, (uint16_t)(len - 12));
	if (type == INIT) {
		be_put32(p + 16, TAG);
		be_put32(p + 20, 65536);
		be_put16(p + 24, 8);
		be_put16(p + 26, 8);
		be_put32(p + 28, 1);
	}
	return len;
}

static struct answers throw_at(struct llp *t, const uint8_t *p, size_t len)
{
	struct answers a = {0};

	udp_send(other_domain, &to_us, p, len);
	udp_flush(other_domain);
	llp_input(t, 256);
	llp_flush(t);
	udp_recv(other_domain, 64, note, &a);
	return a;
}

static struct answers throw_chunk(struct llp *t, uint8_t type, uint32_t tag, uint16_t sctp_port)
{
	uint8_t p[INIT_LEN];
	size_t len = make(p, type, tag, sctp_port);

	crc32c_seal(p, len);
	return throw_at(t, p, len);
}

Test(user_hostile, a_bad_checksum_is_counted_and_ignored, .init = begin)
{
	struct llp *t = open_and_listen();
	uint8_t p[INIT_LEN];
	struct answers a;
	struct llp_stats st;

	open_raw("127.0.0.2");
	make(p, INIT, 0, RIG_SCTP_PORT);
	crc32c_seal(p, sizeof(p));
	p[30] ^= 1;
	cr_assert_eq(throw_at(t, p, sizeof(p)).n, 0);
	llp_stats(t, &st);
	cr_assert_eq(st.bad_crc, 1);
	/* The same packet with a correct checksum is answered. */
	crc32c_seal(p, sizeof(p));
	a = throw_at(t, p, sizeof(p));
	cr_assert_eq(a.n, 1);
	cr_assert_eq(a.type, INIT_ACK);
	cr_assert_eq(a.tag, TAG);
	llp_close(t);
}

Test(user_hostile, an_init_to_a_closed_port_gets_an_abort_with_its_tag, .init = begin)
{
	struct llp *t = open_and_listen();
	struct answers a;

	open_raw("127.0.0.2");
	a = throw_chunk(t, INIT, 0, RIG_SCTP_PORT + 1);
	cr_assert_eq(a.n, 1);
	cr_assert_eq(a.type, ABORT);
	cr_assert_eq(a.flags, 0);
	cr_assert_eq(a.tag, TAG);
	llp_close(t);
}

Test(user_hostile, packets_out_of_the_blue_are_answered_as_in_rfc_9260, .init = begin)
{
	struct llp *t = open_and_listen();
	struct answers a;

	open_raw("127.0.0.2");
	a = throw_chunk(t, HEARTBEAT, 99, RIG_SCTP_PORT);
	cr_assert_eq(a.n, 1);
	cr_assert_eq(a.type, ABORT);
	cr_assert_eq(a.flags, 1);
	cr_assert_eq(a.tag, 99);
	a = throw_chunk(t, SHUTDOWN_ACK, 99, RIG_SCTP_PORT);
	cr_assert_eq(a.type, SHUTDOWN_COMPLETE);
	cr_assert_eq(a.flags, 1);
	cr_assert_eq(a.tag, 99);
	cr_assert_eq(throw_chunk(t, ABORT, 99, RIG_SCTP_PORT).n, 0);
	cr_assert_eq(throw_chunk(t, COOKIE_ECHO, 99, RIG_SCTP_PORT).n, 0);
	cr_assert_eq(throw_chunk(t, SHUTDOWN_COMPLETE, 99, RIG_SCTP_PORT).n, 0);
	llp_close(t);
}

Test(user_hostile, answers_out_of_the_blue_are_limited, .init = begin)
{
	struct llp *t = open_and_listen();
	unsigned n = 0;

	open_raw("127.0.0.2");
	for (int i = 0; i < 1000; i++)
		n += throw_chunk(t, HEARTBEAT, 99, RIG_SCTP_PORT).n;
	cr_assert_geq(n, 10);
	cr_assert_leq(n, 100, "%u replies within one tick", n);
	llp_close(t);
}

/* More than the transport keeps: the newest must still be able to connect. */
Test(user_hostile, a_flood_of_inits_does_not_lock_others_out, .init = begin)
{
	struct rig_raw raw = {.udp_port = port,
			      .local = "127.0.0.2",
			      .remote = "127.0.0.1",
			      .adaptation = 1,
			      .connects = true};
	struct llp *t;
	struct rig_child peer;

	peer = rig_raw_peer(&raw);
	t = open_and_listen();
	for (int i = 0; i < 3000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "127.1.%d.%d", i / 250, i % 250 + 1);
		open_raw(text);
		cr_assert_eq(throw_chunk(t, INIT, 0, RIG_SCTP_PORT).type, INIT_ACK);
		other_domain = udp_close(other_domain);
	}
	rig_until(t, &acceptor.incoming, 1);
	rig_kill(&peer);
	llp_close(t);
}

static void mutate(uint8_t *p, size_t *len)
{
	static const uint8_t types[] = {0,  1,  2,  3,  4,  5,   6,   7,   8,   9,   10,  11,
					12, 13, 14, 15, 64, 128, 129, 130, 132, 192, 193, 194};

	*len = make(p, INIT, 0, RIG_SCTP_PORT);
	while (rand() % 4 && *len < 1000) {
		uint16_t n = (uint16_t)(4 + rand() % 40);

		be_put16(p + *len, (uint16_t)rand());
		be_put16(p + *len + 2, n);
		for (int i = 4; i < n; i++)
			p[*len + (size_t)i] = (uint8_t)rand();
		*len += (n + 3u) & ~3u;
	}
	be_put16(p + 14, (uint16_t)(*len - 12));
	if (rand() % 2)
		p[12] = types[(size_t)rand() % sizeof(types)];
	for (int i = rand() % 4; i > 0; i--)
		p[(size_t)rand() % *len] = (uint8_t)rand();
	if (rand() % 8 == 0)
		*len = (size_t)rand() % (*len + 1);
	if (*len == 0)
		*len = 1;
}

Test(user_hostile, survives_random_packets, .init = begin)
{
	static uint8_t p[2000];
	struct rig_raw raw = {.udp_port = port,
			      .local = "127.0.0.2",
			      .remote = "127.0.0.1",
			      .adaptation = 1,
			      .connects = true,
			      .send_len = 1000};
	struct rig_child peer = rig_raw_peer(&raw);
	struct llp *t = open_and_listen();
	struct answers a = {0};

	srand(20);
	open_raw("127.0.0.3");
	for (int i = 0; i < 30000; i++) {
		size_t len;

		mutate(p, &len);
		if (len >= 12)
			crc32c_seal(p, len);
		udp_send(other_domain, &to_us, p, len);
		udp_flush(other_domain);
		rig_turn(t);
		if (i % 64 == 0)
			udp_recv(other_domain, 256, note, &a);
	}
	rig_until(t, &acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, 1000, 7));
	rig_kill(&peer);
	llp_close(t);
}

/* The same against an association: the ports are correct, the tags random or correct. */
Test(user_hostile, an_association_survives_forged_packets, .init = begin)
{
	static uint8_t p[2000];
	struct llp *t = open_and_listen();
	struct llp_info info;

	rig_connect(t, "127.0.0.1", &rc);
	rig_until(t, &acceptor.incoming, 1);
	llp_info(rc.c, &info);
	srand(21);
	open_raw("127.0.0.3");
	for (int i = 0; i < 10000; i++) {
		size_t len;

		mutate(p, &len);
		if (len < 12)
			continue;
		be_put16(p, addr_port(&info.local));
		be_put32(p + 4, (uint32_t)rand());
		crc32c_seal(p, len);
		udp_send(other_domain, &to_us, p, len);
		udp_flush(other_domain);
		llp_input(t, 256);
	}
	rig_send(t, &rc, 0, 3000, 1);
	rig_until(t, &acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, 3000, 1));
	llp_close(t);
}

/* ---- our own INIT and INIT ACK ---- */

struct captured {
	size_t len;
	uint8_t p[2000];
};

static void capture(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len)
{
	struct captured *c = arg;

	(void)from;
	if (len > sizeof(c->p))
		return;
	c->len = len;
	memcpy(c->p, p, len);
}

/* At two addresses, which the packets must not contain. */
static struct llp *open_at_two(uint32_t adaptation)
{
	static struct sockaddr_storage two[2];
	struct llp_config cfg = rig_config("127.0.0.1", port, two);
	struct llp_listener *l;
	struct llp *t;

	rig_address("127.0.0.3", 0, &two[1]);
	cfg.naddrs = 2;
	cfg.adaptation = adaptation;
	t = rig_open(&cfg);
	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l), 0);
	rig_turn(t);
	return t;
}

/* The parameter of an INIT or INIT ACK, or NULL. */
static const uint8_t *parameter(const struct captured *c, uint16_t type)
{
	size_t off = INIT_LEN;

	while (off + 4 <= c->len) {
		if (be_get16(c->p + off) == type)
			return c->p + off;
		off += (be_get16(c->p + off + 2) + 3u) & ~3u;
	}
	return NULL;
}

static void assert_start(const struct captured *c, uint8_t type, uint8_t adaptation)
{
	const uint8_t indication[] = {0xc0, 0x06, 0x00, 0x08, 0x00, 0x00, 0x00, adaptation};
	static const uint16_t unwanted[] = {
		0x0005, 0x0006,         /* addresses */
		0x8000,                 /* ECN */
		0x8002, 0x8003, 0x8004, /* AUTH */
		0x8001,                 /* zero checksum */
		0xc000,                 /* PR-SCTP */
	};
	const uint8_t *extensions = parameter(c, 0x8008);

	cr_assert_geq(c->len, INIT_LEN);
	cr_assert_eq(c->p[12], type);
	cr_assert_geq(be_get32(c->p + 20), 256 << 10, "receive window");
	cr_assert_eq(be_get16(c->p + 24), 8, "outbound streams");
	cr_assert_eq(be_get16(c->p + 26), 8, "inbound streams");
	cr_assert_not_null(parameter(c, 0xc006));
	cr_assert_arr_eq(parameter(c, 0xc006), indication, sizeof(indication));
	for (unsigned i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
		cr_assert_null(parameter(c, unwanted[i]), "parameter 0x%04x", unwanted[i]);
	cr_assert(!extensions || be_get16(extensions + 2) == 4, "extensions in the INIT");
}

static void call(uint8_t adaptation)
{
	static struct captured c;
	struct llp *t = open_at_two(adaptation);
	struct sockaddr_storage a;
	struct llp_conn *conn;

	rig_address("127.0.0.2", 0, &a);
	cr_assert_eq(udp_open(&a, port, 65536, &other_domain), 0);
	rig_address("127.0.0.2", RIG_SCTP_PORT, &a);
	cr_assert_eq(llp_connect(t, (struct sockaddr *)&a, &rc, &conn), 0);
	llp_flush(t);
	cr_assert_eq(udp_recv(other_domain, 64, capture, &c), 1);
	cr_assert(crc32c_check(c.p, c.len));
	assert_start(&c, INIT, adaptation);
	llp_close(t);
}

/* rows: 5043-5.1-01 5043-7.2-02 5043-8-01 5043-8-02 5043-11.1-01 5041-3-07 5041-11.1-01 */
Test(user_hostile, init_has_the_indication_and_no_extensions, .init = begin)
{
	call(1);
}

/* rows: 5043-7.1-01 */
Test(user_hostile, init_has_the_configured_indication, .init = begin)
{
	call(7);
}

/* rows: 5043-5.1-01 5043-7.2-02 5043-8-01 5043-8-02 5043-11.1-01 5041-3-07 5041-11.1-01 */
Test(user_hostile, init_ack_has_the_indication_and_no_extensions, .init = begin)
{
	static struct captured c;
	struct llp *t = open_at_two(1);
	uint8_t p[INIT_LEN];

	open_raw("127.0.0.2");
	make(p, INIT, 0, RIG_SCTP_PORT);
	crc32c_seal(p, sizeof(p));
	udp_send(other_domain, &to_us, p, sizeof(p));
	udp_flush(other_domain);
	llp_input(t, 64);
	llp_flush(t);
	cr_assert_eq(udp_recv(other_domain, 64, capture, &c), 1);
	assert_start(&c, INIT_ACK, 1);
	llp_close(t);
}
