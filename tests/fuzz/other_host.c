/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/other_host.h"

#include <netinet/in.h>

#include "proto/ddp/wire.h"
#include "tests/fuzz/udp_fake.h"
#include "util/be.h"
#include "util/crc32c.h"

enum {
	DATA = 0, /* chunks */
	INIT = 1,
	INIT_ACK = 2,
	SACK = 3,
	COOKIE_ECHO = 10,
	COOKIE_ACK = 11,
	HEADER = 12,
	FIRST = HEADER + 4, /* value of the first chunk */
	COOKIE = 7,         /* parameters */
	ADAPTATION = 0xc006,
	PORT = 5043,
	TAG = 0x11223344,
	PACKET = 2048,
	STREAMS = 8,
	QUEUES = 4,     /* of a stream */
	WHOLE = 7,      /* flags of DATA: unordered, first and last */
	DATA_HEAD = 12, /* TSN, stream, its number, PPID */
};

static struct {
	struct input *in;
	void (*turn)(uint64_t ms);
	struct sockaddr_storage other;
} host;
static uint32_t their_tag, tsn, their_tsn;
static uint16_t their_port, my_port;
static uint8_t cookie[1024];
static size_t cookie_len;
static uint16_t ssn[STREAMS];
static uint32_t msn[STREAMS][QUEUES];

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

/* The last TSN, to be acknowledged. */
static void note_data(const uint8_t *p, size_t len)
{
	size_t at = HEADER;

	while (at < len && len - at >= 4) {
		size_t n = be_get16(p + at + 2);

		must(n >= 4 && n <= len - at);
		if (p[at] == DATA)
			their_tsn = be_get32(p + at + 4);
		at += (n + 3) & ~(size_t)3;
	}
}

void udp_fake_sent(const struct sockaddr_storage *to, const uint8_t *p, size_t len)
{
	static uint8_t copy[UDP_MAX_PACKET];

	must(to->ss_family == AF_INET && len >= FIRST);
	memcpy(copy, p, len);
	must(crc32c_check(copy, len));
	note_data(p, len);
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
	udp_fake_arrive(&host.other, p, len);
}

static void send_flags(uint8_t type, uint8_t flags, const uint8_t *value, size_t n, uint32_t tag)
{
	static uint8_t p[PACKET];

	memset(p, 0, sizeof(p));
	p[HEADER] = type;
	p[HEADER + 1] = flags;
	be_put16(p + HEADER + 2, (uint16_t)(4 + n));
	if (n > 0)
		memcpy(p + FIRST, value, n);
	send_packet(p, (FIRST + n + 3) & ~(size_t)3, tag);
}

static void send_chunk(uint8_t type, const uint8_t *value, size_t n, uint32_t tag)
{
	send_flags(type, 0, value, n, tag);
}

/* INIT or INIT ACK, as it should be but for the indication, which the input has. */
static void send_start(uint8_t type, uint32_t tag)
{
	uint8_t v[16 + 8 + 12] = {0};
	uint8_t indication = in_8(host.in);
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

void other_host_begin_there(void)
{
	my_port = 4000;
	their_port = PORT;
	cookie_len = 0;
	send_start(INIT, 0);
	host.turn(1);
	if (cookie_len > 0)
		send_chunk(COOKIE_ECHO, cookie, cookie_len, their_tag);
	host.turn(1);
}

void other_host_answer(void)
{
	send_start(INIT_ACK, their_tag);
	host.turn(1);
	send_chunk(COOKIE_ACK, NULL, 0, their_tag);
	host.turn(1);
}

/* Type, flags, length; DATA chunks get the number that is due, and more. */
static size_t put_chunk(uint8_t *p, size_t room)
{
	uint8_t bits = in_8(host.in);
	size_t n, head = 4;

	p[0] = in_8(host.in);
	p[1] = in_8(host.in);
	if (p[0] == 0 && !(bits & 1)) {
		tsn += bits & 2 ? in_8(host.in) : 0;
		be_put32(p + head, tsn++);
		head += 4;
	}
	n = bits & 4 ? in_16(host.in) : in_8(host.in);
	n = n < room - head ? n : room - head;
	in_fill(host.in, p + head, n);
	be_put16(p + 2, bits & 8 ? in_16(host.in) : (uint16_t)(head + n));
	return (head + n + 3) & ~(size_t)3;
}

void other_host_packet(void)
{
	static uint8_t p[PACKET];
	uint8_t bits = in_8(host.in);
	uint32_t tag = bits & 1 ? 0 : their_tag;
	size_t len = HEADER;

	memset(p, 0, sizeof(p));
	for (unsigned i = 0; i <= (bits >> 4) % 4; i++)
		len += put_chunk(p + len, 256);
	if (bits & 2)
		tag = in_32(host.in);
	if (bits & 4)
		len -= in_8(host.in) % len;
	send_packet(p, len < HEADER ? HEADER : len, tag);
	host.turn(1);
}

void other_host_bytes(void)
{
	uint8_t p[UINT8_MAX];
	size_t n = in_8(host.in);

	in_fill(host.in, p, n);
	if (n >= HEADER && p[0] & 1)
		crc32c_seal(p, n);
	udp_fake_arrive(&host.other, p, n);
	host.turn(1);
}

/* About a packet that was sent, or about one with another tag. */
void other_host_icmp(void)
{
	uint8_t quoted[20] = {0};
	uint8_t bits = in_8(host.in);
	struct udp_error e = {
		.kind = bits % 4, .to = host.other, .mtu = in_16(host.in), .quoted = quoted};

	be_put16(quoted, their_port);
	be_put16(quoted + 2, my_port);
	be_put32(quoted + 4, bits & 4 ? TAG : in_32(host.in));
	quoted[HEADER] = bits & 8 ? INIT : 0;
	be_put32(quoted + FIRST, their_tag);
	e.len = bits & 16 ? in_8(host.in) % (sizeof(quoted) + 1) : sizeof(quoted);
	udp_fake_error(&e);
}

void other_host_ack(void)
{
	uint8_t v[12] = {0};

	be_put32(v, their_tsn);
	be_put32(v + 4, 1 << 20);
	send_chunk(SACK, v, sizeof(v), their_tag);
	host.turn(1);
}

/* The next number of its queue, in an untagged segment. */
static void number_segment(uint8_t *p, size_t len, unsigned sid)
{
	struct wire_ddp h;

	if (!wire_ddp_get(p, len, &h) || h.tagged)
		return;
	h.msn = ++msn[sid][h.qn % QUEUES];
	wire_ddp_put(p, &h);
}

/* Input: stream and kind, length, the bytes after the DDP-SSN. */
void other_host_message(void)
{
	uint8_t v[DATA_HEAD + WIRE_SSN_LEN + UINT8_MAX] = {0};
	uint8_t kind = in_8(host.in), n = in_8(host.in);
	unsigned sid = kind % STREAMS;
	uint8_t *p = v + DATA_HEAD;

	be_put32(v, tsn++);
	be_put16(v + 4, (uint16_t)sid);
	be_put32(v + 8, kind & 8 ? WIRE_PPID_CONTROL : WIRE_PPID_SEGMENT);
	if (kind & 16)
		be_put32(v + 8, WIRE_PPID_CREDIT);
	be_put16(p, ssn[sid]++);
	in_fill(host.in, p + WIRE_SSN_LEN, n);
	if (!(kind & 32) && !(kind & 8))
		number_segment(p + WIRE_SSN_LEN, n, sid);
	send_flags(DATA, WHOLE, v, DATA_HEAD + WIRE_SSN_LEN + n, their_tag);
	host.turn(1);
}

void other_host_begin(struct input *in, const struct sockaddr_storage *addr,
		      void (*turn)(uint64_t ms))
{
	host.in = in;
	host.turn = turn;
	host.other = *addr;
	their_tag = TAG;
	their_port = PORT;
	my_port = 4000;
	tsn = 1;
	memset(ssn, 0, sizeof(ssn));
	memset(msn, 0, sizeof(msn));
}
