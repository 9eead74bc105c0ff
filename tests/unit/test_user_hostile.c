/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport `user` against peers that do not speak DDP, and against handmade packets. */
#include <criterion/criterion.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "llp/user/udp.h"
#include "tests/lib/llp_one.h"
#include "user_rig.h"
#include "util/addr.h"
#include "util/be.h"
#include "util/crc32c.h"

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
static struct udp *unknown_peer;
static struct llp *t;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void listen_here(void)
{
	struct llp_listener *l;

	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l), 0);
	rig_turn();
}

static void open_and_listen_at(const char *text)
{
	struct llp_config cfg = rig_config(text, port, &addr);

	t = rig_open(&cfg);
	listen_here();
}

static void begin(void)
{
	port = rig_free_port();
	open_and_listen_at("127.0.0.1");
}

static void end(void)
{
	rig_close(t);
	udp_close(unknown_peer);
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

	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 0);
	cr_assert_eq(rc.err, EPROTONOSUPPORT, "%s", rc.reason);
	cr_assert(strstr(rc.reason, part), "%s", rc.reason);
	cr_assert_eq(rig_wait(&peer), 0, "the peer got no ABORT");
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-03 */
Test(user_hostile, a_peer_without_an_indication_is_refused, .init = begin, .fini = end)
{
	connect_to_raw(-1, "no adaptation indication");
}

Test(user_hostile, a_peer_with_indication_0_is_refused, .init = begin, .fini = end)
{
	connect_to_raw(0, "indication 0x0,");
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-05 */
Test(user_hostile, a_peer_with_another_indication_is_refused, .init = begin, .fini = end)
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

	if (adaptation == 1) {
		rig_until(&acceptor.incoming, 1);
	} else {
		/* The pipe closes when the child ends. */
		while (rig_running(&peer))
			rig_turn();
	}
	cr_assert_eq(acceptor.incoming, adaptation == 1);
	if (adaptation == 1)
		rig_kill(&peer);
	else
		cr_assert_eq(rig_wait(&peer), 0, "the peer got no ABORT");
}

/* rows: 5043-11.1-02 5043-11.1-04 */
Test(user_hostile, a_peer_that_connects_with_the_indication_is_accepted, .init = begin, .fini = end)
{
	raw_connects(1, 0);
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-03 */
Test(user_hostile, a_peer_that_connects_without_an_indication_is_aborted_silently, .init = begin,
     .fini = end)
{
	raw_connects(-1, 0);
}

/* rows: 5043-7.1-03 5043-11.1-02 5043-11.1-05 */
Test(user_hostile, a_peer_that_connects_with_another_indication_is_aborted_silently, .init = begin,
     .fini = end)
{
	raw_connects(7, 0);
}

/* rows: 5043-11.1-03 */
Test(user_hostile, early_data_does_not_replace_an_indication, .init = begin, .fini = end)
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

	rig_until(&acceptor.incoming, 1);
	while (!acceptor.msgs && !acceptor.down)
		rig_turn();
	rig_kill(&peer);
}

/* rows: 5041-3-04 */
Test(user_hostile, a_fragmented_message_is_reassembled, .init = begin, .fini = end)
{
	raw_sends(100000);
	cr_assert_eq(acceptor.msgs, 1);
	cr_assert_eq(acceptor.last.ppid, 16);
	cr_assert_eq(acceptor.last.sid, 1);
	cr_assert(rig_last_is(&acceptor, 100000, 7));
}

Test(user_hostile, an_endless_message_ends_the_association, .init = begin, .fini = end)
{
	raw_sends(400000);
	cr_assert_eq(acceptor.msgs, 0);
	cr_assert_eq(acceptor.err, EPROTO, "%s", acceptor.reason);
}

Test(user_hostile, ipv6_peers_may_use_any_udp_port, .init = begin, .fini = end)
{
	struct rig_raw raw = {.udp_port = port,
			      .local = "::1",
			      .remote = "::1",
			      .adaptation = 1,
			      .connects = true,
			      .send_len = 5000};
	struct rig_child peer;
	struct llp_info info;

	rig_close(t);
	open_and_listen_at("::1");
	raw.udp_port = port;
	peer = rig_raw_peer(&raw);
	rig_until(&acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, 5000, 7));
	llp_info(acceptor.c, &info);
	cr_assert_neq(info.remote_udp_port, port);
	rig_kill(&peer);
}

/* ---- handmade packets ---- */

struct answers {
	unsigned n;
	uint8_t type, flags;
	uint32_t tag;
};

static void note(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len,
		 size_t segment)
{
	struct answers *a = arg;

	(void)from;
	for (size_t n; len; p += n, len -= n) {
		n = len < segment ? len : segment;
		cr_assert_geq(n, 16);
		cr_assert(crc32c_check(p, n), "a reply with a bad checksum");
		a->n++;
		a->type = p[12];
		a->flags = p[13];
		a->tag = be_get32(p + 4);
	}
}

static void open_unknown(const char *text)
{
	struct sockaddr_storage a;

	rig_address(text, 0, &a);
	cr_assert_eq(udp_open(&a, 0, 65536, &unknown_peer), 0);
	rig_address("127.0.0.1", port, &ours);
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

static void send_to_us(const uint8_t *p, size_t len)
{
	struct span whole = {(uint8_t *)(uintptr_t)p, len};
	struct udp_batch b = {.to = ours,
			      .span = &whole,
			      .nspans = 1,
			      .segment = (uint32_t)len,
			      .len = (uint32_t)len};

	udp_send(unknown_peer, &b);
}

static struct answers throw_at(const uint8_t *p, size_t len)
{
	struct answers a = {0};

	send_to_us(p, len);
	llp_input(t, 256);
	llp_flush(t);
	udp_recv(unknown_peer, 64, note, &a);
	return a;
}

static struct answers throw_chunk(uint8_t type, uint32_t tag, uint16_t sctp_port)
{
	uint8_t p[INIT_LEN];
	size_t len = make(p, type, tag, sctp_port);

	crc32c_seal(p, len);
	return throw_at(p, len);
}

Test(user_hostile, a_bad_checksum_is_counted_and_ignored, .init = begin, .fini = end)
{
	uint8_t p[INIT_LEN];
	struct answers a;
	struct llp_stats st;

	open_unknown("127.0.0.2");
	make(p, INIT, 0, RIG_SCTP_PORT);
	crc32c_seal(p, sizeof(p));
	p[30] ^= 1;
	cr_assert_eq(throw_at(p, sizeof(p)).n, 0);
	llp_stats(t, &st);
	cr_assert_eq(st.bad_crc, 1);
	/* The same packet with a correct checksum is answered. */
	crc32c_seal(p, sizeof(p));
	a = throw_at(p, sizeof(p));
	cr_assert_eq(a.n, 1);
	cr_assert_eq(a.type, INIT_ACK);
	cr_assert_eq(a.tag, TAG);
}

Test(user_hostile, an_init_to_a_closed_port_gets_an_abort_with_its_tag, .init = begin, .fini = end)
{
	struct answers a;

	open_unknown("127.0.0.2");
	a = throw_chunk(INIT, 0, RIG_SCTP_PORT + 1);
	cr_assert_eq(a.n, 1);
	cr_assert_eq(a.type, ABORT);
	cr_assert_eq(a.flags, 0);
	cr_assert_eq(a.tag, TAG);
}

Test(user_hostile, packets_out_of_the_blue_are_answered_as_in_rfc_9260, .init = begin, .fini = end)
{
	struct answers a;

	open_unknown("127.0.0.2");
	a = throw_chunk(HEARTBEAT, 99, RIG_SCTP_PORT);
	cr_assert_eq(a.n, 1);
	cr_assert_eq(a.type, ABORT);
	cr_assert_eq(a.flags, 1);
	cr_assert_eq(a.tag, 99);
	a = throw_chunk(SHUTDOWN_ACK, 99, RIG_SCTP_PORT);
	cr_assert_eq(a.type, SHUTDOWN_COMPLETE);
	cr_assert_eq(a.flags, 1);
	cr_assert_eq(a.tag, 99);
	cr_assert_eq(throw_chunk(ABORT, 99, RIG_SCTP_PORT).n, 0);
	cr_assert_eq(throw_chunk(COOKIE_ECHO, 99, RIG_SCTP_PORT).n, 0);
	cr_assert_eq(throw_chunk(SHUTDOWN_COMPLETE, 99, RIG_SCTP_PORT).n, 0);
}

/* 4,000 a second, of which half a second may be saved up; half of it is for one network. */
Test(user_hostile, answers_out_of_the_blue_are_limited, .init = begin, .fini = end)
{
	uint64_t began, most;
	unsigned n = 0;

	open_unknown("127.0.0.2");
	began = now_ms();
	for (int i = 0; i < 5000; i++)
		n += throw_chunk(HEARTBEAT, 99, RIG_SCTP_PORT).n;
	most = 2000 + 4 * (now_ms() - began + 1);
	cr_assert_geq(n, 500);
	cr_assert_leq(n, most, "%u replies, expected %lu", n, most);
}

/* More than are answered in that time: another peer must still be able to connect. */
Test(user_hostile, a_flood_of_inits_does_not_lock_others_out, .init = begin, .fini = end)
{
	struct rig_raw raw = {.udp_port = port,
			      .local = "127.0.0.2",
			      .remote = "127.0.0.1",
			      .adaptation = 1,
			      .connects = true};
	struct rig_child peer = rig_raw_peer(&raw);
	unsigned answered = 0;

	for (int i = 0; i < 3000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "127.1.%d.%d", i / 250, i % 250 + 1);
		open_unknown(text);
		answered += throw_chunk(INIT, 0, RIG_SCTP_PORT).type == INIT_ACK;
		unknown_peer = udp_close(unknown_peer);
	}
	cr_assert_gt(answered, 0);
	rig_until(&acceptor.incoming, 1);
	rig_kill(&peer);
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

Test(user_hostile, survives_random_packets, .init = begin, .fini = end)
{
	static uint8_t p[2000];
	struct rig_raw raw = {.udp_port = port,
			      .local = "127.0.0.2",
			      .remote = "127.0.0.1",
			      .adaptation = 1,
			      .connects = true,
			      .send_len = 1000};
	struct rig_child peer = rig_raw_peer(&raw);
	struct answers a = {0};

	srand(20);
	open_unknown("127.0.0.3");
	for (int i = 0; i < 30000; i++) {
		size_t len;

		mutate(p, &len);
		if (len >= 12)
			crc32c_seal(p, len);
		send_to_us(p, len);
		rig_turn();
		if (i % 64 == 0)
			udp_recv(unknown_peer, 256, note, &a);
	}
	rig_until(&acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, 1000, 7));
	rig_kill(&peer);
}

/* The same against an association: the ports are correct, the tags random or correct. */
Test(user_hostile, an_association_survives_forged_packets, .init = begin, .fini = end)
{
	static uint8_t p[2000];
	struct llp_info info;

	rig_connect(t, "127.0.0.1", &rc);
	rig_until(&acceptor.incoming, 1);
	llp_info(rc.c, &info);
	srand(21);
	open_unknown("127.0.0.3");
	for (int i = 0; i < 10000; i++) {
		size_t len;

		mutate(p, &len);
		if (len < 12)
			continue;
		be_put16(p, addr_port(&info.local));
		be_put32(p + 4, (uint32_t)rand());
		crc32c_seal(p, len);
		send_to_us(p, len);
		llp_input(t, 256);
	}
	rig_send(&rc, 0, 3000, 1);
	rig_until(&acceptor.msgs, 1);
	cr_assert(rig_last_is(&acceptor, 3000, 1));
}

/* ---- our own INIT and INIT ACK ---- */

struct captured {
	size_t len;
	uint8_t p[2000];
};

static void capture(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len,
		    size_t segment)
{
	struct captured *c = arg;

	(void)from;
	(void)segment;
	if (len > sizeof(c->p))
		return;
	c->len = len;
	memcpy(c->p, p, len);
}

/* At two addresses, which the packets must not contain. */
static void open_at_two(uint32_t adaptation)
{
	static struct sockaddr_storage two[2];
	struct llp_config cfg = rig_config("127.0.0.1", port, two);

	rig_close(t);
	rig_address("127.0.0.3", 0, &two[1]);
	cfg.naddrs = 2;
	cfg.adaptation = adaptation;
	t = rig_open(&cfg);
	listen_here();
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

static void ask(uint8_t adaptation)
{
	static struct captured c;
	struct sockaddr_storage a;
	struct llp_conn *conn;

	open_at_two(adaptation);
	rig_address("127.0.0.2", 0, &a);
	cr_assert_eq(udp_open(&a, port, 65536, &unknown_peer), 0);
	rig_address("127.0.0.2", RIG_SCTP_PORT, &a);
	cr_assert_eq(llp_connect(t, (struct sockaddr *)&a, &rc, &conn), 0);
	llp_flush(t);
	cr_assert_eq(udp_recv(unknown_peer, 64, capture, &c), 1);
	cr_assert(crc32c_check(c.p, c.len));
	assert_start(&c, INIT, adaptation);
}

/* rows: 5043-5.1-01 5043-7.2-02 5043-8-01 5043-8-02 5043-11.1-01 5041-3-07 5041-11.1-01 */
Test(user_hostile, init_has_the_indication_and_no_extensions, .init = begin, .fini = end)
{
	ask(1);
}

/* rows: 5043-7.1-01 */
Test(user_hostile, init_has_the_configured_indication, .init = begin, .fini = end)
{
	ask(7);
}

/* rows: 5043-5.1-01 5043-7.2-02 5043-8-01 5043-8-02 5043-11.1-01 5041-3-07 5041-11.1-01 */
Test(user_hostile, init_ack_has_the_indication_and_no_extensions, .init = begin, .fini = end)
{
	static struct captured c;
	uint8_t p[INIT_LEN];

	open_at_two(1);
	open_unknown("127.0.0.2");
	make(p, INIT, 0, RIG_SCTP_PORT);
	crc32c_seal(p, sizeof(p));
	send_to_us(p, sizeof(p));
	llp_input(t, 64);
	llp_flush(t);
	cr_assert_eq(udp_recv(unknown_peer, 64, capture, &c), 1);
	assert_start(&c, INIT_ACK, 1);
}
