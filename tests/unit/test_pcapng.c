/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of `ddpctl capture`: blocks, headers with right checksums, cut packets, errors; and the
 * ring that packets come through: order, wrap, overflow, records that are wrong. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem() */
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ctl/capture/pcapng.h"
#include "ipc/packet_ring.h"

enum { SIZE = 4096, PACKET = 100, GUARD = 2 * PACKET_RING_MAX };

/* ---- the ring ---- */

static struct packet_ring writer, reader;
static struct packet_ring_page *page;
static uint8_t got[PACKET_RING_MAX];

static void start(void)
{
	page = calloc(1, packet_ring_bytes(SIZE) + GUARD);
	cr_assert(page);
	packet_ring_init(&writer, page, SIZE);
	packet_ring_init(&reader, page, SIZE);
}

static void stop(void)
{
	free(page);
}

TestSuite(packet_ring, .init = start, .fini = stop, .timeout = 60);
TestSuite(pcapng, .timeout = 60);

static bool put(uint8_t value, size_t len, uint32_t snap)
{
	static uint8_t bytes[SIZE];
	struct span part[2] = {{bytes, len / 3}, {bytes + len / 3, len - len / 3}};

	memset(bytes, value, sizeof(bytes));
	return packet_ring_put(&writer, &(struct packet_head){.out = value & 1}, part, 2, snap);
}

static void expect(uint8_t value, uint32_t kept, uint32_t len, uint64_t lost)
{
	struct packet_head h;

	cr_assert_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_OK);
	cr_assert_eq(h.kept, kept);
	cr_assert_eq(h.len, len);
	cr_assert_eq(h.lost, lost);
	cr_assert_eq(h.out, value & 1);
	for (uint32_t i = 0; i < kept; i++)
		cr_assert_eq(got[i], value);
}

Test(packet_ring, keeps_order_when_it_wraps)
{
	struct packet_head h;

	for (unsigned i = 0; i < 1000; i++) {
		size_t len = 1 + i * 7 % 900;

		cr_assert(put((uint8_t)i, len, UINT32_MAX));
		cr_assert(put((uint8_t)(i + 1), len, UINT32_MAX));
		expect((uint8_t)i, (uint32_t)len, (uint32_t)len, 0);
		expect((uint8_t)(i + 1), (uint32_t)len, (uint32_t)len, 0);
		cr_assert_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_EMPTY);
	}
}

Test(packet_ring, leaves_out_and_counts_what_has_no_room)
{
	unsigned n = 0;

	while (put(7, PACKET, UINT32_MAX))
		n++;
	cr_assert_eq(n, SIZE / (sizeof(struct packet_head) + 104));
	cr_assert(!put(7, PACKET, UINT32_MAX));
	cr_assert_eq(packet_ring_lost(&reader), 2);
	expect(7, PACKET, PACKET, 0);
	cr_assert(put(9, PACKET, UINT32_MAX));
	while (--n)
		expect(7, PACKET, PACKET, 0);
	expect(9, PACKET, PACKET, 2);
}

Test(packet_ring, cuts_packets)
{
	cr_assert(put(3, 500, 40));
	cr_assert(put(4, 20, 40));
	expect(3, 40, 500, 0);
	expect(4, 20, 20, 0);
}

/* The writer stays within the ring, whatever the reader says. */
Test(packet_ring, survives_a_reader_that_writes_wrong_positions)
{
	static const uint64_t wrong[] = {1, UINT64_MAX, UINT64_MAX / 2, SIZE + 1};

	const uint8_t *guard = (const uint8_t *)page + packet_ring_bytes(SIZE);

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		atomic_store(&page->tail, wrong[i]);
		for (unsigned k = 0; k < 100; k++)
			put(1, PACKET, UINT32_MAX);
	}
	for (unsigned i = 0; i < GUARD; i++)
		cr_assert_eq(guard[i], 0);
	atomic_store(&page->tail, atomic_load(&page->head));
	cr_assert(put(1, PACKET, UINT32_MAX));
}

Test(packet_ring, notices_wrong_records)
{
	struct packet_head h, *first = (struct packet_head *)((uint8_t *)page + PACKET_RING_HEAD);

	cr_assert(put(1, PACKET, UINT32_MAX));
	first->kept = PACKET + 8; /* more than there is */
	first->len = PACKET + 8;
	cr_assert_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_WRONG);
	first->kept = first->len = UINT32_MAX;
	cr_assert_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_WRONG);
	first->kept = PACKET;
	first->len = PACKET - 1; /* less than was kept */
	cr_assert_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_WRONG);
	first->len = PACKET;
	atomic_store(&page->head, SIZE + 8);
	cr_assert_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_WRONG);
	atomic_store(&page->head, 8);
	cr_assert_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_WRONG);
}

/* The file would say that almost 2^64 packets are missing. */
Test(packet_ring, the_number_of_lost_packets_does_not_decrease)
{
	struct packet_head h;

	writer.lost = 9;
	cr_assert(put(1, PACKET, SIZE));
	expect(1, PACKET, PACKET, 9);
	writer.lost = 8;
	cr_assert(put(2, PACKET, SIZE));
	cr_expect_eq(packet_ring_take(&reader, &h, got), PACKET_RING_E_WRONG);
	cr_expect_eq(packet_ring_lost(&reader), 9);
}

/* ---- the file ---- */

static uint8_t *file;
static size_t file_len;

static uint32_t at32(size_t at)
{
	uint32_t v;

	cr_assert_leq(at + sizeof(v), file_len);
	memcpy(&v, file + at, sizeof(v));
	return v;
}

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t sum(const uint8_t *p, size_t len, uint32_t s)
{
	for (size_t i = 0; i < len; i += 2)
		s += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static struct packet_head head(int family, uint32_t kept, uint32_t len, bool out)
{
	struct packet_head h = {
		.kept = kept, .len = len, .out = out, .time_ns = 0x123456789abcdef0};

	h.local.family = h.remote.family = (uint16_t)family;
	h.local.port = 9899;
	h.remote.port = 9900;
	memcpy(h.local.bytes, (uint8_t[16]){192, 0, 2, 1}, 16);
	memcpy(h.remote.bytes, (uint8_t[16]){192, 0, 2, 2}, 16);
	return h;
}

/* Writes one packet; the position of its IP packet in the file. */
static uint8_t *write_packet(const struct packet_head *h, uint64_t lost, uint32_t ip)
{
	static uint8_t data[PACKET_RING_MAX];
	FILE *f = open_memstream((char **)&file, &file_len);

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 13 + 1);
	cr_assert_eq(pcapng_packet(f, h, data, lost), 0);
	cr_assert_eq(fclose(f), 0);
	cr_assert_eq(at32(0), 6);
	cr_assert_eq(at32(4), file_len);
	cr_assert_eq(at32(file_len - 4), file_len);
	cr_assert_eq(file_len % 4, 0);
	cr_assert_eq(at32(12), 0x12345678);
	cr_assert_eq(at32(16), 0x9abcdef0);
	cr_assert_eq(at32(20), ip + 8 + h->kept);
	cr_assert_eq(at32(24), ip + 8 + h->len);
	cr_assert_eq(memcmp(file + 28 + ip + 8, data, h->kept), 0);
	return file + 28;
}

Test(pcapng, ipv4_headers_are_right)
{
	struct packet_head h = head(AF_INET, 77, 77, true);
	uint8_t *p = write_packet(&h, 0, 20);

	cr_assert_eq(p[0], 0x45);
	cr_assert_eq(be16(p + 2), 20 + 8 + 77);
	cr_assert_eq(sum(p, 20, 0), 0xffff);
	cr_assert_eq(p[15], 1); /* from this host */
	cr_assert_eq(be16(p + 20), 9899);
	cr_assert_eq(be16(p + 24), 85);
	cr_assert_eq(sum(p + 12, 8 + 85, 17 + 85), 0xffff);
	free(file);
	h = head(AF_INET, 77, 77, false);
	p = write_packet(&h, 0, 20);
	cr_assert_eq(p[15], 2);
	cr_assert_eq(be16(p + 20), 9900);
	free(file);
}

Test(pcapng, ipv6_headers_are_right)
{
	struct packet_head h = head(AF_INET6, 1200, 1200, false);
	uint8_t *p = write_packet(&h, 0, 40);

	cr_assert_eq(p[0], 0x60);
	cr_assert_eq(be16(p + 4), 1208);
	cr_assert_eq(p[6], 17);
	cr_assert_eq(sum(p + 8, 32 + 1208, 17 + 1208), 0xffff);
	free(file);
}

Test(pcapng, cut_packets_have_their_whole_length)
{
	struct packet_head h = head(AF_INET, 40, 1400, true);
	uint8_t *p = write_packet(&h, 3, 20);

	cr_assert_eq(be16(p + 2), 20 + 8 + 1400);
	cr_assert_eq(be16(p + 24), 1408);
	free(file);
}

/* Direction and what was left out before are options. */
Test(pcapng, packets_have_their_options)
{
	struct packet_head h = head(AF_INET, 40, 40, false);
	size_t options = 28 + 20 + 8 + 40;

	write_packet(&h, 5, 20);
	cr_assert_eq(at32(options), 4u << 16 | 2);
	cr_assert_eq(at32(options + 4), 1);
	cr_assert_eq(at32(options + 8), 8u << 16 | 4);
	cr_assert_eq(at32(options + 12), 5);
	cr_assert_eq(at32(options + 20), 0);
	free(file);
}

Test(pcapng, impossible_packets_are_left_out)
{
	struct packet_head h = head(AF_INET, 8, UINT32_MAX, true);
	uint8_t data[8] = {0};
	FILE *f = open_memstream((char **)&file, &file_len);

	cr_assert_eq(pcapng_packet(f, &h, data, 0), 1);
	h = head(AF_INET, 8, 8, true);
	h.remote.family = AF_INET6;
	cr_assert_eq(pcapng_packet(f, &h, data, 0), 1);
	h = head(AF_UNIX, 8, 8, true);
	cr_assert_eq(pcapng_packet(f, &h, data, 0), 1);
	fclose(f);
	cr_assert_eq(file_len, 0);
	free(file);
}

Test(pcapng, blocks_follow_each_other)
{
	FILE *f = open_memstream((char **)&file, &file_len);
	size_t at = 0;
	unsigned n = 0;
	static const uint32_t types[] = {0x0a0d0d0a, 1, 5};

	cr_assert_eq(pcapng_begin(f, "ddpctl", "all packets", 100), 0);
	cr_assert_eq(pcapng_end(f, 7, 2, 1), 0);
	fclose(f);
	for (; at < file_len; at += at32(at + 4)) {
		cr_assert_lt(n, 3);
		cr_assert_eq(at32(at), types[n++]);
		cr_assert_eq(at32(at + at32(at + 4) - 4), at32(at + 4));
	}
	cr_assert_eq(n, 3);
	cr_assert_eq(at, file_len);
	cr_assert(memmem(file, file_len, "7 packets, 2 left out", 21));
	free(file);
}

Test(pcapng, a_full_disk_is_an_error)
{
	FILE *f = fopen("/dev/full", "w");

	cr_assert(f);
	setvbuf(f, NULL, _IONBF, 0);
	cr_assert_eq(pcapng_begin(f, "ddpctl", "all packets", 100), -ENOSPC);
	fclose(f);
}
