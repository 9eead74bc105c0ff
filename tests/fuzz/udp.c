/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile packets against the user transport: SCTP in this process over a socket that is none.
 * The input plays the other host: packets of any chunks, with or without an association, which
 * either side may have begun; and what the owner of the transport does meanwhile.
 * What leaves is sealed, upcalls come in order, and at the end nothing is left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "llp/user/user.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/udp_fake.h"
#include "tests/lib/llp_one.h"
#include "util/be.h"
#include "util/crc32c.h"

enum {
	INIT = 1,
	INIT_ACK = 2,
	COOKIE_ECHO = 10,
	COOKIE_ACK = 11,
	HEADER = 12,
	FIRST = HEADER + 4, /* value of the first chunk */
	COOKIE = 7,         /* parameters */
	ADAPTATION = 0xc006,
	PORT = 5043,
	TAG = 0x11223344,
	ENDS = 4,
	STEPS = 100, /* of one input */
	PACKET = 2048,
	KEPT = 512 << 10, /* memory that the core keeps for later */
};

/* An association as its owner sees it. */
struct end {
	struct llp_conn *c;
	bool up, over;
};

static struct llp *t;
static struct llp_listener *listener;
static struct end end[ENDS];
static uint64_t now;
static uint64_t memory; /* of the transport without associations */
static struct input in;
static volatile uint8_t seen; /* of what arrived */

/* The other host. */
static struct sockaddr_storage ours, other;
static uint32_t their_tag, tsn;
static uint16_t their_port, my_port;
static uint8_t cookie[1024];
static size_t cookie_len;

/* ---- the owner ---- */

static struct end *end_new(void)
{
	for (unsigned i = 0; i < ENDS; i++)
		if (!end[i].c && !end[i].up)
			return &end[i];
	return NULL;
}

static void *on_incoming(void *user, struct llp_conn *c)
{
	struct end *e = end_new();

	must(user == &listener);
	if (e)
		*e = (struct end){.c = c, .up = true};
	return e;
}

static void on_up(void *user)
{
	struct end *e = user;

	must(e->c && !e->up && !e->over);
	e->up = true;
}

static void on_down(void *user, int err, const char *reason)
{
	struct end *e = user;

	must(e->c && !e->over && err >= 0 && *reason);
	e->over = true;
}

static bool on_readable(void *user)
{
	struct end *e = user;
	struct llp_msg m;

	must(e->up && !e->over);
	while (llp_recv(e->c, &m) == LLP_E_OK) {
		must(m.n > 0 && m.len > 0 && m.len <= LLP_SCTP_MAX_MESSAGE);
		must(span_total(m.part, m.n) == m.len);
		for (size_t i = 0; i < m.part[0].len; i++)
			seen = m.part[0].p[i];
	}
	return false;
}

static void on_room(void *user)
{
	struct end *e = user;

	must(e->up && !e->over);
}

static const struct llp_events events = {
	.incoming = on_incoming,
	.up = on_up,
	.down = on_down,
	.readable = on_readable,
	.writable = on_room,
	.acked = on_room,
};

static void turn(uint64_t ms)
{
	now += ms;
	llp_input(t, 64);
	llp_tick(t, now);
	llp_flush(t);
}

/* ---- the other host ---- */

static void look_for_cookie(const uint8_t *p, size_t len)
{
	size_t at = FIRST + 16;

	while (at < len && len - at >= 4) {
		size_t n = be_get16(p + at + 2);

		must(n >= 4 && n <= len - at);
		if (be_get16(p + at) == COOKIE && n - 4 <= sizeof(cookie)) {
			cookie_len = n - 4;
			memcpy(cookie, p + at + 4, cookie_len);
		}
		at += (n + 3) & ~(size_t)3;
	}
}

void udp_fake_sent(const struct sockaddr_storage *to, const uint8_t *p, size_t len)
{
	static uint8_t copy[UDP_MAX_PACKET];

	must(to->ss_family == AF_INET && len >= FIRST);
	memcpy(copy, p, len);
	must(crc32c_check(copy, len));
	if (p[HEADER] != INIT && p[HEADER] != INIT_ACK)
		return;
	must(len >= FIRST + 16);
	their_tag = be_get32(p + FIRST);
	their_port = be_get16(p);
	my_port = be_get16(p + 2);
	if (p[HEADER] == INIT_ACK)
		look_for_cookie(p, len);
}

static void send_packet(uint8_t *p, size_t len, uint32_t tag)
{
	be_put16(p, my_port);
	be_put16(p + 2, their_port);
	be_put32(p + 4, tag);
	crc32c_seal(p, len);
	udp_fake_arrive(&other, p, len);
}

static void send_chunk(uint8_t type, const uint8_t *value, size_t n, uint32_t tag)
{
	static uint8_t p[PACKET];

	memset(p, 0, sizeof(p));
	p[HEADER] = type;
	be_put16(p + HEADER + 2, (uint16_t)(4 + n));
	if (n > 0)
		memcpy(p + FIRST, value, n);
	send_packet(p, (FIRST + n + 3) & ~(size_t)3, tag);
}

/* INIT or INIT ACK, as it should be but for the indication, which the input has. */
static void send_start(uint8_t type, uint32_t tag)
{
	uint8_t v[16 + 8 + 12] = {0};
	uint8_t indication = in_8(&in);
	size_t n = 16;

	be_put32(v, TAG);
	be_put32(v + 4, 65536);
	be_put16(v + 8, 8);
	be_put16(v + 10, 8);
	be_put32(v + 12, tsn = 1);
	if (indication != UINT8_MAX) {
		be_put16(v + n, ADAPTATION);
		be_put16(v + n + 2, 8);
		be_put32(v + n + 4, indication);
		n += 8;
	}
	if (type == INIT_ACK) {
		be_put16(v + n, COOKIE);
		be_put16(v + n + 2, 12);
		n += 12;
	}
	send_chunk(type, v, n, tag);
}

static void begin_there(void)
{
	my_port = 4000;
	their_port = PORT;
	cookie_len = 0;
	send_start(INIT, 0);
	turn(1);
	if (cookie_len > 0)
		send_chunk(COOKIE_ECHO, cookie, cookie_len, their_tag);
	turn(1);
}

static void begin_here(void)
{
	struct sockaddr_storage to = other;
	struct end *e = end_new();

	if (!e)
		return;
	((struct sockaddr_in *)&to)->sin_port = htons(PORT);
	*e = (struct end){0};
	if (llp_connect(t, (struct sockaddr *)&to, e, &e->c) < 0)
		return;
	turn(1);
	send_start(INIT_ACK, their_tag);
	turn(1);
	send_chunk(COOKIE_ACK, NULL, 0, their_tag);
	turn(1);
}

/* Type, flags, length; DATA chunks get the number that is due, and more. */
static size_t put_chunk(uint8_t *p, size_t room)
{
	uint8_t bits = in_8(&in);
	size_t n, head = 4;

	p[0] = in_8(&in);
	p[1] = in_8(&in);
	if (p[0] == 0 && !(bits & 1)) {
		tsn += bits & 2 ? in_8(&in) : 0;
		be_put32(p + head, tsn++);
		head += 4;
	}
	n = bits & 4 ? in_16(&in) : in_8(&in);
	n = n < room - head ? n : room - head;
	in_fill(&in, p + head, n);
	be_put16(p + 2, bits & 8 ? in_16(&in) : (uint16_t)(head + n));
	return (head + n + 3) & ~(size_t)3;
}

static void packet(void)
{
	static uint8_t p[PACKET];
	uint8_t bits = in_8(&in);
	uint32_t tag = bits & 1 ? 0 : their_tag;
	size_t len = HEADER;

	memset(p, 0, sizeof(p));
	for (unsigned i = 0; i <= (bits >> 4) % 4; i++)
		len += put_chunk(p + len, 256);
	if (bits & 2)
		tag = in_32(&in);
	if (bits & 4)
		len -= in_8(&in) % len;
	send_packet(p, len < HEADER ? HEADER : len, tag);
	turn(1);
}

static void bytes(void)
{
	uint8_t p[UINT8_MAX];
	size_t n = in_8(&in);

	in_fill(&in, p, n);
	if (n >= HEADER && p[0] & 1)
		crc32c_seal(p, n);
	udp_fake_arrive(&other, p, n);
	turn(1);
}

/* About a packet that was sent, or about one with another tag. */
static void icmp(void)
{
	uint8_t quoted[20] = {0};
	uint8_t bits = in_8(&in);
	struct udp_error e = {.kind = bits % 4, .to = other, .mtu = in_16(&in), .quoted = quoted};

	be_put16(quoted, their_port);
	be_put16(quoted + 2, my_port);
	be_put32(quoted + 4, bits & 4 ? TAG : in_32(&in));
	quoted[HEADER] = bits & 8 ? INIT : 0;
	be_put32(quoted + FIRST, their_tag);
	e.len = bits & 16 ? in_8(&in) % (sizeof(quoted) + 1) : sizeof(quoted);
	udp_fake_error(&e);
}

/* ---- one input ---- */

static void send_message(struct end *e)
{
	static uint8_t payload[4096];
	struct llp_msg m = {.sid = in_8(&in), .ppid = 16, .len = in_16(&in), .n = 1};

	m.part[0] = (struct span){payload, m.len % sizeof(payload)};
	m.len = (uint32_t)m.part[0].len;
	m.urgent = m.sid & 1;
	if (e->c)
		llp_send(e->c, &m);
}

static void let_go(struct end *e)
{
	e->c = llp_conn_free(e->c);
	*e = (struct end){0};
}

static void step(void)
{
	uint8_t what = in_8(&in);
	struct end *e = &end[what / 16 % ENDS];

	switch (what % 10) {
	case 0:
		begin_there();
		break;
	case 1:
		begin_here();
		break;
	case 2:
	case 3:
		packet();
		break;
	case 4:
		bytes();
		break;
	case 5:
		send_message(e);
		break;
	case 6:
		turn(UINT64_C(1) << in_8(&in) % 13);
		break;
	case 7:
		if (e->c && e->up)
			llp_shutdown(e->c);
		break;
	case 8:
		let_go(e);
		break;
	default:
		icmp();
	}
	turn(1);
}

static void start(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr("10.0.0.1")};
	struct llp_config cfg = {
		.addrs = &ours,
		.naddrs = 1,
		.udp_port = 9899,
		.streams = 8,
		.adaptation = 1,
		.buffer = 1 << 20,
		.sack_packets = 4,
		.sack_ms = 20,
		.rto_min_ms = 50,
		.rto_max_ms = 500,
		.heartbeat_ms = 1000,
		.path_max_retrans = 2,
		.init_ms = 2000,
	};
	char reason[LLP_SCTP_REASON];

	memcpy(&ours, &a, sizeof(a));
	a.sin_addr.s_addr = inet_addr("10.0.0.2");
	a.sin_port = htons(9899);
	memcpy(&other, &a, sizeof(a));
	must(llp_user_open(&cfg, &events, &t, reason, sizeof(reason)) == 0);
	must(llp_listen(t, NULL, PORT, &listener, &listener) == 0);
	turn(1);
}

/* Everybody lets go. */
static void finish(void)
{
	const struct user *u = (const struct user *)t;

	for (unsigned i = 0; i < ENDS; i++)
		let_go(&end[i]);
	turn(1);
	must(u->sctp.nconns == 0 && list_empty(&u->sctp.conns));
	must(sctp_memory(u->core) <= memory + KEPT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!t) {
		start();
		memory = sctp_memory(((const struct user *)t)->core);
	}
	in = (struct input){data, size};
	their_tag = TAG;
	their_port = PORT;
	my_port = 4000;
	tsn = 1;
	for (unsigned i = 0; i < STEPS && in.left > 0; i++)
		step();
	finish();
	return 0;
}
