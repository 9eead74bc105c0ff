/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/other_host.h"

#include <netinet/in.h>

#include "llp/dtls/dtls_record.h"
#include "proto/ddp/wire.h"
#include "tests/fuzz/udp_fake.h"
#include "util/addr.h"
#include "util/be.h"
#include "util/crc32c.h"

enum {
	DATA = 0, /* chunks */
	INIT = 1,
	INIT_ACK = 2,
	SACK = 3,
	HEARTBEAT = 4,
	HEARTBEAT_ACK = 5,
	COOKIE_ECHO = 10,
	COOKIE_ACK = 11,
	HEADER = 12,
	FIRST = HEADER + 4, /* value of the first chunk */
	IPV4 = 5,           /* parameters */
	COOKIE = 7,
	ADAPTATION = 0xc006,
	PORT = 5043,
	TAG = 0x11223344,
	PACKET = 2048,
	STREAMS = 8,
	QUEUES = 4,     /* of a stream */
	ADDRS = 4,      /* consecutive ones */
	WHOLE = 7,      /* flags of DATA: unordered, first and last */
	DATA_HEAD = 12, /* TSN, stream, its number, PPID */
	COVER = DTLS_OVERHEAD,
};

static struct {
	struct input *in;
	void (*turn)(uint64_t ms);
	struct sockaddr_storage first, other; /* `other` is one of its addresses */
	unsigned listed;                      /* in its INITs */
	uint32_t tag;                         /* of these; another one: it has restarted */
	size_t head;                          /* bytes before each packet, 0 or COVER */
} host;
static struct {
	struct sockaddr_storage to;
	uint8_t info[512];
	size_t len;
} beat; /* the last HEARTBEAT */
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

static void note_beat(const struct sockaddr_storage *to, const uint8_t *info, size_t len)
{
	if (len > sizeof(beat.info))
		return;
	beat.to = *to;
	beat.len = len;
	memcpy(beat.info, info, len);
}

/* The last TSN, to be acknowledged. */
static void note_chunks(const struct sockaddr_storage *to, const uint8_t *p, size_t len)
{
	size_t at = HEADER;

	while (at < len && len - at >= 4) {
		size_t n = be_get16(p + at + 2);

		must(n >= 4 && n <= len - at);
		if (p[at] == DATA)
			their_tsn = be_get32(p + at + 4);
		if (p[at] == HEARTBEAT)
			note_beat(to, p + at + 4, n - 4);
		at += (n + 3) & ~(size_t)3;
	}
}

void udp_fake_sent(const struct sockaddr_storage *to, const uint8_t *p, size_t len)
{
	static uint8_t copy[UDP_MAX_PACKET];

	if (host.head && addr_port(to) == addr_port(&host.first)) {
		must(len >= COVER && be_get16(p) == len - COVER);
		p += COVER;
		len -= COVER;
		if (len == 0)
			return; /* of a handshake */
	}
	must(to->ss_family == AF_INET && len >= FIRST);
	memcpy(copy, p, len);
	must(crc32c_check(copy, len));
	note_chunks(to, p, len);
	if (p[HEADER] != INIT && p[HEADER] != INIT_ACK)
		return;
	must(len >= FIRST + 16);
	their_tag = be_get32(p + FIRST);
	their_port = be_get16(p);
	my_port = be_get16(p + 2);
	if (p[HEADER] == INIT_ACK)
		look_for_cookie(p, len);
}

static void seal_packet(uint8_t *p, size_t len, uint32_t tag)
{
	be_put16(p, my_port);
	be_put16(p + 2, their_port);
	be_put32(p + 4, tag);
	crc32c_seal(p, len);
}

/* Packets of `segment` bytes each, but the last one. */
static void send_packets(const uint8_t *p, size_t len, size_t segment)
{
	static uint8_t records[8192];
	size_t at = 0;

	for (size_t n; len > 0; p += n, len -= n) {
		n = len < segment ? len : segment;
		if (at + host.head + n > sizeof(records))
			break;
		memset(records + at, 0, host.head);
		if (host.head)
			be_put16(records + at, (uint16_t)n);
		memcpy(records + at + host.head, p, n);
		at += host.head + n;
	}
	udp_fake_arrive_run(&host.other, records, at, host.head + segment);
}

static void send_packet(uint8_t *p, size_t len, uint32_t tag)
{
	seal_packet(p, len, tag);
	send_packets(p, len, len);
}

/* The i-th address of it. */
static struct sockaddr_storage address(unsigned i)
{
	struct sockaddr_storage a = host.first;
	struct sockaddr_in *a4 = (struct sockaddr_in *)&a;

	a4->sin_addr.s_addr = htonl(ntohl(a4->sin_addr.s_addr) + i % ADDRS);
	return a;
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

static size_t put_addresses(uint8_t *v, size_t n)
{
	for (unsigned i = 0; i < host.listed; i++, n += 8) {
		struct sockaddr_storage a = address(i);

		be_put16(v + n, IPV4);
		be_put16(v + n + 2, 8);
		memcpy(v + n + 4, &((struct sockaddr_in *)&a)->sin_addr, 4);
	}
	return n;
}

/* INIT or INIT ACK, as it should be but for the indication, which the input has. */
static void send_start(uint8_t type, uint32_t tag)
{
	uint8_t v[16 + 8 + 12 + 8 * ADDRS] = {0};
	uint8_t indication = in_8(host.in);
	size_t n = 16;

	be_put32(v, host.tag);
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
	n = put_addresses(v, n);
	send_chunk(type, v, n, tag);
}

void other_host_begin_at(uint16_t port)
{
	my_port = 4000;
	their_port = port;
	cookie_len = 0;
	send_start(INIT, 0);
	host.turn(1);
	if (cookie_len > 0)
		send_chunk(COOKIE_ECHO, cookie, cookie_len, their_tag);
	host.turn(1);
}

void other_host_begin_there(void)
{
	other_host_begin_at(PORT);
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
	uint8_t record[COVER + 20] = {0}, *quoted = record + host.head;
	size_t len = host.head + 20;
	uint8_t bits = in_8(host.in);
	struct udp_error e = {
		.kind = bits % 4, .to = host.other, .mtu = in_16(host.in), .quoted = record};

	be_put16(quoted, their_port);
	be_put16(quoted + 2, my_port);
	be_put32(quoted + 4, bits & 4 ? host.tag : in_32(host.in));
	quoted[HEADER] = bits & 8 ? INIT : 0;
	be_put32(quoted + FIRST, their_tag);
	e.len = bits & 16 ? in_8(host.in) % (len + 1) : len;
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

/* Packets that arrive together: all have the length of the first one, but the last one. */
static void send_run(void)
{
	static uint8_t p[8 * 512];
	uint8_t more = in_8(host.in), cut = in_8(host.in);
	size_t segment, first, len = 0;

	memset(p, 0, sizeof(p));
	first = put_chunk(p + HEADER, 500);
	segment = HEADER + (first > 8 ? first : 8); /* with room for the head of DATA */
	for (unsigned i = 0; i <= more % 8; i++, len += segment) {
		if (i > 0)
			put_chunk(p + len + HEADER, segment - HEADER);
		seal_packet(p + len, segment, their_tag);
	}
	send_packets(p, len - cut % segment, segment);
	host.turn(1);
}

static void answer_beat(void)
{
	struct sockaddr_storage from = host.other;

	if (beat.len == 0)
		return;
	host.other = beat.to;
	send_chunk(HEARTBEAT_ACK, beat.info, beat.len, their_tag);
	host.other = from;
	host.turn(1);
}

void other_host_network(void)
{
	uint8_t what = in_8(host.in), n = what / 8;

	switch (what % 8) {
	case 0:
		host.other = address(n);
		break;
	case 1:
		host.listed = n % (ADDRS + 1);
		host.tag = TAG + n / (ADDRS + 1);
		break;
	case 2:
		if (n % 2)
			other_host_ack();
		else
			answer_beat();
		break;
	case 3:
		send_run();
		break;
	case 4:
		udp_fake.at = n;
		break;
	case 5:
		udp_fake.mtu = n == 0 ? 0 : 100 * n;
		break;
	case 6:
		udp_fake.full = n & 1;
		break;
	default:
		udp_fake.crowded = n & 1;
		udp_fake.no_gso = n & 2;
	}
}

void other_host_cover(void)
{
	host.head = COVER;
}

void other_host_begin(struct input *in, const struct sockaddr_storage *addr,
		      void (*turn)(uint64_t ms))
{
	host.in = in;
	host.turn = turn;
	host.first = host.other = *addr;
	host.listed = 0;
	host.tag = TAG;
	host.head = 0;
	beat.len = 0;
	udp_fake = (struct udp_fake){0};
	their_tag = TAG;
	their_port = PORT;
	my_port = 4000;
	tsn = 1;
	memset(ssn, 0, sizeof(ssn));
	memset(msn, 0, sizeof(msn));
}
