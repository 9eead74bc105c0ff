/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/capture/pcapng.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "util/be.h"

enum block {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
};

enum option {
	OPT_END = 0,
	OPT_COMMENT = 1,
	OPT_USERAPPL = 4,  /* of the section */
	OPT_NAME = 2,      /* of the interface */
	OPT_TSRESOL = 9,   /* of the interface */
	OPT_FLAGS = 2,     /* of a packet */
	OPT_DROPCOUNT = 4, /* of a packet */
	OPT_IFRECV = 4,    /* of statistics */
	OPT_IFDROP = 5,    /* of statistics */
};

enum {
	MAGIC = 0x1a2b3c4d,
	LINKTYPE_RAW = 101, /* an IPv4 or IPv6 packet */
	NANOSECONDS = 9,
	INBOUND = 1,
	OUTBOUND = 2,
	PROTO_UDP = 17,
	HEAD_UDP = 8,
	HEAD_V4 = 20,
	HEAD_V6 = 40,
	TTL = 64,
	SPACE = 768, /* of a block without packet data */
};

/* A block that grows. Numbers are in host byte order, as the magic number says. */
struct build {
	uint8_t b[SPACE];
	uint32_t len;
};

static void add_bytes(struct build *w, const void *p, size_t len)
{
	if (len == 0 || len > sizeof(w->b) - w->len)
		return;
	memcpy(w->b + w->len, p, len);
	w->len += (uint32_t)len;
}

static void add16(struct build *w, uint16_t v)
{
	add_bytes(w, &v, sizeof(v));
}

static void add32(struct build *w, uint32_t v)
{
	add_bytes(w, &v, sizeof(v));
}

static void add_padding(struct build *w)
{
	static const uint8_t zero[4];

	add_bytes(w, zero, -w->len & 3);
}

static void add_option(struct build *w, enum option code, const void *p, uint16_t len)
{
	add16(w, (uint16_t)code);
	add16(w, len);
	add_bytes(w, p, len);
	add_padding(w);
}

static void add_text(struct build *w, enum option code, const char *s)
{
	size_t len = strlen(s);

	add_option(w, code, s, (uint16_t)(len < SPACE / 3 ? len : SPACE / 3));
}

static void add_time(struct build *w, uint64_t ns)
{
	add32(w, (uint32_t)(ns >> 32));
	add32(w, (uint32_t)ns);
}

static int stream_result(FILE *f)
{
	if (!ferror(f))
		return 0;
	return errno ? -errno : -EIO;
}

/* The block: type, length, body, the rest of the body (a multiple of 4 bytes), options, length. */
static int write_block(FILE *f, enum block type, const struct build *body, const uint8_t *data,
		       uint32_t len, const struct build *options)
{
	static const uint8_t zero[4];
	uint32_t padding = -len & 3;
	uint32_t all = 12 + body->len + len + padding + options->len;
	const uint32_t head[2] = {(uint32_t)type, all};

	errno = 0;
	fwrite(head, sizeof(head), 1, f);
	fwrite(body->b, 1, body->len, f);
	if (len)
		fwrite(data, 1, len, f);
	fwrite(zero, 1, padding, f);
	fwrite(options->b, 1, options->len, f);
	fwrite(&all, sizeof(all), 1, f);
	return stream_result(f);
}

int pcapng_begin(FILE *f, const char *program, const char *comment, uint32_t snap)
{
	struct build section = {.len = 0}, about = {.len = 0};
	struct build interface = {.len = 0}, more = {.len = 0};
	const uint8_t resolution = NANOSECONDS;
	const int64_t unknown = -1;
	int r;

	add32(&section, MAGIC);
	add16(&section, 1);
	add16(&section, 0);
	add_bytes(&section, &unknown, sizeof(unknown));
	add_text(&about, OPT_COMMENT, comment);
	add_text(&about, OPT_USERAPPL, program);
	add_option(&about, OPT_END, NULL, 0);
	r = write_block(f, BLOCK_SECTION, &section, NULL, 0, &about);
	if (r)
		return r;
	add16(&interface, LINKTYPE_RAW);
	add16(&interface, 0);
	add32(&interface, snap);
	add_text(&more, OPT_NAME, "ddpsctpd");
	add_option(&more, OPT_TSRESOL, &resolution, 1);
	add_option(&more, OPT_END, NULL, 0);
	return write_block(f, BLOCK_INTERFACE, &interface, NULL, 0, &more);
}

/* ---- headers ---- */

static uint32_t sum_words(uint32_t s, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		s += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	return s;
}

static uint16_t fold_sum(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)s;
}

static void put_v4(uint8_t *p, const struct msg_addr *from, const struct msg_addr *to, uint32_t len)
{
	memset(p, 0, HEAD_V4);
	p[0] = 0x45;
	be_put16(p + 2, (uint16_t)(HEAD_V4 + len));
	p[6] = 0x40; /* DF */
	p[8] = TTL;
	p[9] = PROTO_UDP;
	memcpy(p + 12, from->bytes, 4);
	memcpy(p + 16, to->bytes, 4);
	be_put16(p + 10, (uint16_t)~fold_sum(sum_words(0, p, HEAD_V4)));
}

static void put_v6(uint8_t *p, const struct msg_addr *from, const struct msg_addr *to, uint32_t len)
{
	memset(p, 0, HEAD_V6);
	p[0] = 0x60;
	be_put16(p + 4, (uint16_t)len);
	p[6] = PROTO_UDP;
	p[7] = TTL;
	memcpy(p + 8, from->bytes, 16);
	memcpy(p + 24, to->bytes, 16);
}

/* UDP's checksum. Of a packet that was cut it is the sum of the pseudo header alone, as hosts leave
 * it to a network interface. */
static uint16_t checksum(const struct packet_head *h, const uint8_t *udp, const uint8_t *data,
			 uint32_t len)
{
	size_t alen = h->local.family == AF_INET6 ? 16 : 4;
	uint32_t s = PROTO_UDP + len;
	uint16_t v;

	s = sum_words(s, h->local.bytes, alen);
	s = sum_words(s, h->remote.bytes, alen);
	if (h->kept < h->len)
		return fold_sum(s);
	s = sum_words(s, udp, HEAD_UDP);
	v = (uint16_t)~fold_sum(sum_words(s, data, h->kept));
	return v ? v : 0xffff;
}

/* The headers of IP and UDP. Returns their length, 0: no such packet can be. */
static uint32_t headers(uint8_t *p, const struct packet_head *h, const uint8_t *data)
{
	const struct msg_addr *from = h->out ? &h->local : &h->remote;
	const struct msg_addr *to = h->out ? &h->remote : &h->local;
	uint32_t len = HEAD_UDP + h->len;
	bool v6 = h->local.family == AF_INET6;
	uint8_t *udp = p + (v6 ? HEAD_V6 : HEAD_V4);

	if (h->local.family != h->remote.family || (!v6 && h->local.family != AF_INET) ||
	    h->len > UINT16_MAX - HEAD_UDP - HEAD_V4)
		return 0;
	if (v6)
		put_v6(p, from, to, len);
	else
		put_v4(p, from, to, len);
	be_put16(udp, from->port);
	be_put16(udp + 2, to->port);
	be_put16(udp + 4, (uint16_t)len);
	be_put16(udp + 6, 0);
	be_put16(udp + 6, checksum(h, udp, data, len));
	return (uint32_t)(udp + HEAD_UDP - p);
}

int pcapng_packet(FILE *f, const struct packet_head *h, const uint8_t *data, uint64_t lost)
{
	const uint32_t flags = h->out ? OUTBOUND : INBOUND;
	struct build body = {.len = 0}, options = {.len = 0};
	uint8_t packet[PCAPNG_MAX_PACKET];
	uint32_t head = headers(packet, h, data);

	if (!head)
		return 1;
	memcpy(packet + head, data, h->kept);
	add32(&body, 0); /* the interface */
	add_time(&body, h->time_ns);
	add32(&body, head + h->kept);
	add32(&body, head + h->len);
	add_option(&options, OPT_FLAGS, &flags, sizeof(flags));
	if (lost)
		add_option(&options, OPT_DROPCOUNT, &lost, sizeof(lost));
	add_option(&options, OPT_END, NULL, 0);
	return write_block(f, BLOCK_PACKET, &body, packet, head + h->kept, &options);
}

int pcapng_end(FILE *f, uint64_t packets, uint64_t lost, uint64_t time_ns)
{
	struct build body = {.len = 0}, options = {.len = 0};
	char comment[80];

	snprintf(comment, sizeof(comment), "%" PRIu64 " packets, %" PRIu64 " left out", packets,
		 lost);
	add32(&body, 0);
	add_time(&body, time_ns);
	add_text(&options, OPT_COMMENT, comment);
	add_option(&options, OPT_IFRECV, &packets, sizeof(packets));
	add_option(&options, OPT_IFDROP, &lost, sizeof(lost));
	add_option(&options, OPT_END, NULL, 0);
	return write_block(f, BLOCK_STATISTICS, &body, NULL, 0, &options);
}
