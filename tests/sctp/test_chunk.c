/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: packets and chunks look on the wire as RFC 9260 section 3 draws them, and reading stays
 * inside the packet whatever it says. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "sctp/wire/chunk.h"
#include "util/crc32c.h"

#define bytes(...) ((const uint8_t[]){__VA_ARGS__})

static uint8_t space[70000];

static struct sctp_writer writer(uint32_t size)
{
	memset(space, 0xa5, sizeof(space));
	return (struct sctp_writer){.p = space, .size = size};
}

static void expect(const struct sctp_writer *w, const uint8_t *want, uint32_t len)
{
	cr_assert_not(w->full);
	cr_assert_eq(w->len, len, "%u bytes, expected %u", w->len, len);
	cr_assert_arr_eq(w->p, want, len);
	cr_assert_eq(w->p[len], 0xa5);
}

/* The only chunk of these bytes, in memory of its own so that sanitizers see an over-read. Valid
 * until the next call. */
static struct sctp_chunk chunk(const uint8_t *p, size_t len)
{
	struct sctp_cursor c;
	struct sctp_chunk ret;
	static uint8_t *exact;

	free(exact);
	exact = malloc(len);
	memcpy(exact, p, len);
	c = (struct sctp_cursor){exact, exact + len};
	cr_assert_eq(sctp_chunk_next(&c, &ret), SCTP_NEXT_OK);
	cr_assert_eq(c.p, c.end);
	return ret;
}

/* ---- writing ---- */

/* rows: 9260-3-03 9260-3.1-08 9260-A-01 */
Test(sctp_chunk, header_has_its_checksum_over_all_spans)
{
	struct sctp_writer w = writer(64);
	uint8_t payload[] = {'h', 'e', 'l', 'l', 'o', 0, 0, 0}, whole[36];
	struct span part[2] = {{space, 28}, {payload, sizeof(payload)}};
	uint32_t crc;

	sctp_put_head(&w, &(struct sctp_head){0x1388, 0x13b3, 0xdeadbeef});
	expect(&w, bytes(0x13, 0x88, 0x13, 0xb3, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0), 12);
	sctp_put_data_head(space + 12, 0, 1, 2, 3, 5);
	memset(space + 8, 0x77, 4); /* what was there before does not count */
	sctp_seal(part, 2);
	memcpy(whole, space, 28);
	memcpy(whole + 28, payload, 8);
	memset(whole + 8, 0, 4);
	crc = crc32c(whole, sizeof(whole));
	cr_assert_arr_eq(space + 8,
			 bytes((uint8_t)crc, (uint8_t)(crc >> 8), (uint8_t)(crc >> 16),
			       (uint8_t)(crc >> 24)),
			 4);
	memcpy(whole, space, 28);
	cr_assert(crc32c_check(whole, sizeof(whole)));
}

/* rows: 9260-3.2-01 9260-3.2-12 9260-3.3.7-09 9260-3.3.9-02 9260-3.3.12-03 */
/* rows: 9260-3.3.13-03 */
Test(sctp_chunk, chunks_without_a_value)
{
	struct sctp_writer w = writer(64);

	sctp_put_plain(&w, SCTP_ABORT, 0);
	sctp_put_plain(&w, SCTP_ABORT, SCTP_FLAG_T);
	sctp_put_plain(&w, SCTP_SHUTDOWN_ACK, 0);
	sctp_put_plain(&w, SCTP_COOKIE_ACK, 0);
	sctp_put_plain(&w, SCTP_SHUTDOWN_COMPLETE, 0);
	sctp_put_plain(&w, SCTP_SHUTDOWN_COMPLETE, SCTP_FLAG_T);
	expect(&w, bytes(6, 0, 0, 4, 6, 1, 0, 4, 8, 0, 0, 4, 11, 0, 0, 4, 14, 0, 0, 4, 14, 1, 0, 4),
	       24);
}

/* rows: 9260-3.2-02 */
Test(sctp_chunk, types_have_the_numbers_of_the_list)
{
	static const enum sctp_chunk_type types[] = {
		SCTP_DATA,  SCTP_INIT,        SCTP_INIT_ACK,
		SCTP_SACK,  SCTP_HEARTBEAT,   SCTP_HEARTBEAT_ACK,
		SCTP_ABORT, SCTP_SHUTDOWN,    SCTP_SHUTDOWN_ACK,
		SCTP_ERROR, SCTP_COOKIE_ECHO, SCTP_COOKIE_ACK,
		SCTP_ECNE,  SCTP_CWR,         SCTP_SHUTDOWN_COMPLETE,
	};

	for (unsigned i = 0; i < 15; i++)
		cr_assert_eq((unsigned)types[i], i);
}

/* rows: 9260-3.3.1-01 9260-3.3.1-07 9260-3.3.1-12 9260-3.3.1-16 */
Test(sctp_chunk, data_is_whole_and_unordered)
{
	uint8_t p[16];

	sctp_put_data_head(p, 0, 0x01020304, 0x0506, 0x10, 1);
	cr_assert_arr_eq(p, bytes(0, 7, 0, 17, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0x10), 16);
	sctp_put_data_head(p, SCTP_DATA_I, UINT32_MAX, 0xffff, 0x11, 1000);
	cr_assert_arr_eq(
		p, bytes(0, 15, 3, 0xf8, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0x11), 16);
}

/* rows: 9260-3.3.11-01 9260-3.2-10 9260-3.2-15 9260-3.2-16 9260-3.2-17 */
Test(sctp_chunk, padding_is_zero_and_not_counted)
{
	for (uint32_t n = 0; n <= 9; n++) {
		struct sctp_writer w = writer(64);
		uint32_t at, end = 4 + (n + 3) / 4 * 4;

		at = sctp_begin_chunk(&w, SCTP_COOKIE_ECHO, 0);
		sctp_put_bytes(&w, "cookie-xy", n);
		sctp_end_chunk(&w, at);
		cr_assert_eq(w.len, end, "%u bytes", n);
		cr_assert_arr_eq(space, bytes(10, 0, 0, (uint8_t)(4 + n)), 4);
		cr_assert_arr_eq(space + 4, "cookie-xy", n);
		for (uint32_t i = 4 + n; i < end; i++)
			cr_assert_eq(space[i], 0);
		cr_assert_eq(space[end], 0xa5);
	}
}

Test(sctp_chunk, shutdown_and_heartbeat)
{
	struct sctp_writer w = writer(64);
	uint32_t at = sctp_begin_chunk(&w, SCTP_SHUTDOWN, 0), info;

	sctp_put32(&w, 0xfffffffe);
	sctp_end_chunk(&w, at);
	at = sctp_begin_chunk(&w, SCTP_HEARTBEAT, 0);
	info = sctp_begin_tlv(&w, 1);
	sctp_put64(&w, 0x0102030405060708);
	sctp_put16(&w, 0x090a);
	sctp_put8(&w, 0x0b);
	sctp_end_chunk(&w, info);
	sctp_end_chunk(&w, at);
	expect(&w,
	       bytes(7, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 4, 0, 0, 19, 0, 1, 0, 15, 1, 2, 3, 4, 5, 6,
		     7, 8, 9, 10, 11, 0),
	       28);
}

/* rows: 9260-3.2-11 9260-3.3.7-12 9260-3.3.10-03 9260-3.3.10-05 9260-3.3.10.4-01 */
/* rows: 9260-3.3.10.9-01 */
Test(sctp_chunk, length_counts_the_padding_of_all_causes_but_the_last)
{
	struct sctp_writer w = writer(64);
	uint32_t at = sctp_begin_chunk(&w, SCTP_ERROR, 0);

	sctp_put_cause(&w, SCTP_CAUSE_USER, "abcde", 5);
	sctp_put_cause(&w, SCTP_CAUSE_RESOURCE, NULL, 0);
	sctp_put_cause(&w, SCTP_CAUSE_PROTOCOL, "f", 1);
	sctp_end_chunk(&w, at);
	at = sctp_begin_chunk(&w, SCTP_ABORT, 0);
	sctp_put_cause(&w, SCTP_CAUSE_NO_DATA, bytes(0, 0, 0, 7), 4);
	sctp_put_cause(&w, SCTP_CAUSE_USER, "abcde", 5);
	sctp_end_chunk(&w, at);
	expect(&w,
	       bytes(9, 0, 0, 25, 0, 12, 0, 9, 'a', 'b', 'c', 'd', 'e', 0, 0, 0, 0, 4, 0, 4, 0, 13,
		     0, 5, 'f', 0, 0, 0, /* */
		     6, 0, 0, 21, 0, 9, 0, 8, 0, 0, 0, 7, 0, 12, 0, 9, 'a', 'b', 'c', 'd', 'e', 0,
		     0, 0),
	       52);
}

/* rows: 9260-3.3.10-04 */
Test(sctp_chunk, causes_have_the_numbers_of_the_list)
{
	static const enum sctp_cause causes[] = {
		SCTP_CAUSE_STREAM,          SCTP_CAUSE_MISSING,     SCTP_CAUSE_STALE_COOKIE,
		SCTP_CAUSE_RESOURCE,        SCTP_CAUSE_ADDRESS,     SCTP_CAUSE_CHUNK,
		SCTP_CAUSE_INVALID,         SCTP_CAUSE_PARAM,       SCTP_CAUSE_NO_DATA,
		SCTP_CAUSE_COOKIE_SHUTDOWN, SCTP_CAUSE_NEW_ADDRESS, SCTP_CAUSE_USER,
		SCTP_CAUSE_PROTOCOL,
	};

	for (unsigned i = 0; i < 13; i++)
		cr_assert_eq((unsigned)causes[i], i + 1);
}

Test(sctp_chunk, a_full_writer_writes_nothing_more)
{
	for (uint32_t size = 0; size < 24; size++) {
		struct sctp_writer w = writer(size), before = w;
		uint32_t at = sctp_begin_chunk(&w, SCTP_ERROR, 0);

		sctp_put_cause(&w, SCTP_CAUSE_USER, "abcde", 5);
		sctp_put32(&w, 1);
		sctp_end_chunk(&w, at);
		cr_assert_eq(w.full, size < 20, "%u", size);
		for (uint32_t i = size; i < 32; i++)
			cr_assert_eq(space[i], 0xa5, "size %u, byte %u", size, i);
		if (w.full) {
			w = before;
			sctp_put_plain(&w, SCTP_COOKIE_ACK, 0);
			cr_assert_eq(w.full, size < 4);
		}
	}
}

Test(sctp_chunk, no_length_wraps)
{
	struct sctp_writer w = writer(sizeof(space) - 1);
	uint32_t at = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	static const uint8_t zeros[65532];

	sctp_put_bytes(&w, zeros, 65531);
	sctp_end_chunk(&w, at);
	cr_assert_not(w.full);
	cr_assert_arr_eq(space, bytes(9, 0, 255, 255), 4);
	w = writer(sizeof(space) - 1);
	at = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	sctp_put_bytes(&w, zeros, 65532);
	sctp_end_chunk(&w, at);
	cr_assert(w.full);
}

/* ---- reading ---- */

Test(sctp_chunk, header_is_read)
{
	struct sctp_head h = sctp_head_get(bytes(0x13, 0x88, 0xff, 0xfe, 0xde, 0xad, 0xbe, 0xef));

	cr_assert_eq(h.src, 0x1388);
	cr_assert_eq(h.dst, 0xfffe);
	cr_assert_eq(h.tag, 0xdeadbeef);
}

static const uint8_t packet[] = {
	0x13, 0x88, 0x13, 0xb3, 1,   2,    3,    4,    0, 0, 0, 0, /* common header */
	0x0a, 0xff, 0,    5,    'c', 0xff, 0xff, 0xff,             /* COOKIE ECHO, padded with FF */
	3,    0,    0,    16,   0,   0,    0,    9,    0, 1, 0, 0, 0, 0, 0, 0, /* SACK */
	0,    3,    0,    19,   0,   0,    0,    1,    0, 2, 0, 3, 0, 0, 0, 4,
	1,    2,    3 /* DATA; the padding is missing */
};

/* rows: 9260-3.2-18 */
Test(sctp_chunk, each_chunk_is_found)
{
	static const struct sctp_chunk want[] = {{10, 0xff, 5, 0}, {3, 0, 16, 0}, {0, 3, 19, 0}};
	static const size_t at[] = {12, 20, 36};
	struct sctp_cursor c = sctp_chunks(packet, sizeof(packet));
	struct sctp_chunk ch;

	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(sctp_chunk_next(&c, &ch), SCTP_NEXT_OK);
		cr_assert_eq(ch.type, want[i].type);
		cr_assert_eq(ch.flags, want[i].flags);
		cr_assert_eq(ch.len, want[i].len);
		cr_assert_eq(ch.p, packet + at[i]);
	}
	cr_assert_eq(sctp_chunk_next(&c, &ch), SCTP_NEXT_END);
	cr_assert_eq(sctp_chunk_next(&c, &ch), SCTP_NEXT_END);
}

/* A packet without a chunk ends at once. */
Test(sctp_chunk, a_packet_cut_anywhere_is_read_up_to_the_cut)
{
	for (size_t len = SCTP_HEAD; len <= sizeof(packet); len++) {
		uint8_t *exact = malloc(len);
		struct sctp_cursor c = sctp_chunks(exact, len);
		struct sctp_chunk ch;
		unsigned n = 0, whole = (len >= 17) + (len >= 36) + (len >= 55);
		enum sctp_next r;

		memcpy(exact, packet, len);
		while ((r = sctp_chunk_next(&c, &ch)) == SCTP_NEXT_OK) {
			cr_assert_leq(ch.p + ch.len, exact + len);
			n++;
		}
		cr_assert_eq(n, whole, "%zu bytes: %u chunks", len, n);
		cr_assert_eq(r == SCTP_NEXT_END,
			     len == 12 || (len >= 17 && len <= 20) || len == 36 || len == 55,
			     "%zu bytes", len);
		free(exact);
	}
}

/* rows: 9260-3.2-14 */
Test(sctp_chunk, bad_lengths_end_reading)
{
	static const uint16_t lens[] = {0, 1, 2, 3, 9, 16, 0x7fff, 0x8000, 0xffff};

	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint8_t p[8] = {7, 0, (uint8_t)(lens[i] >> 8), (uint8_t)lens[i]};
		struct sctp_cursor c = {p, p + sizeof(p)};
		struct sctp_chunk ch;

		cr_assert_eq(sctp_chunk_next(&c, &ch), SCTP_NEXT_BAD, "length %u", lens[i]);
		cr_assert_eq(sctp_chunk_next(&c, &ch), SCTP_NEXT_BAD, "again, length %u", lens[i]);
	}
}

Test(sctp_chunk, upper_bits_of_unknown_types)
{
	cr_assert_not(sctp_unknown_skips(0x3e >> 6));
	cr_assert_not(sctp_unknown_reports(0x3e >> 6));
	cr_assert_not(sctp_unknown_skips(0x7e >> 6));
	cr_assert(sctp_unknown_reports(0x7e >> 6));
	cr_assert(sctp_unknown_skips(0xbe >> 6));
	cr_assert_not(sctp_unknown_reports(0xbe >> 6));
	cr_assert(sctp_unknown_skips(0xfe >> 6));
	cr_assert(sctp_unknown_reports(0xfe >> 6));
}

/* rows: 9260-3.3.1-02 */
Test(sctp_chunk, data_is_read)
{
	struct sctp_chunk c = chunk(
		bytes(0, 0xf7, 0, 19, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0x10, 'a', 'b', 'c', 0), 20);
	struct sctp_data d;

	cr_assert(sctp_data_get(&c, &d));
	cr_assert_eq(d.tsn, 0x01020304);
	cr_assert_eq(d.sid, 0x0506);
	cr_assert_eq(d.ssn, 0x0708);
	cr_assert_eq(d.ppid, 0x10);
	cr_assert(d.unordered && d.begin && d.end);
	cr_assert_eq(d.len, 3);
	cr_assert_arr_eq(d.p, "abc", 3);
	c = chunk(bytes(0, 0xf8, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 16);
	cr_assert(sctp_data_get(&c, &d));
	cr_assert(!d.unordered && !d.begin && !d.end);
	cr_assert_eq(d.len, 0);
}

Test(sctp_chunk, short_data_is_refused)
{
	for (uint8_t len = 4; len < 16; len++) {
		struct sctp_chunk c =
			chunk(bytes(0, 3, 0, len, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), len);
		struct sctp_data d;

		cr_assert_not(sctp_data_get(&c, &d), "length %u", len);
	}
}

/* rows: 9260-3.3.4-02 */
Test(sctp_chunk, sack_is_read)
{
	struct sctp_chunk c = chunk(bytes(3, 0xff, 0, 28, 0, 0, 0, 12, 0, 0, 0x12, 0x34, 0, 2, 0, 1,
					  0, 2, 0, 3, 0, 5, 0, 5, 0, 0, 0, 11),
				    28);
	struct sctp_sack s;

	cr_assert(sctp_sack_get(&c, &s));
	cr_assert_eq(s.cum, 12);
	cr_assert_eq(s.a_rwnd, 4660);
	cr_assert_eq(s.ngaps, 2);
	cr_assert_eq(s.ndups, 1);
	cr_assert_arr_eq(s.gaps, bytes(0, 2, 0, 3, 0, 5, 0, 5), 8);
	cr_assert_arr_eq(s.dups, bytes(0, 0, 0, 11), 4);
}

/* rows: 9260-3.3.4-15 */
Test(sctp_chunk, sack_with_more_blocks_than_bytes_is_refused)
{
	static const uint16_t counts[][2] = {{1, 0},     {0, 1},         {65535, 0},
					     {0, 65535}, {65535, 65535}, {0x8000, 0x8000}};
	uint8_t p[16] = {3, 0, 0, 16};
	struct sctp_sack s;
	struct sctp_chunk c;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		p[12] = (uint8_t)(counts[i][0] >> 8);
		p[13] = (uint8_t)counts[i][0];
		p[14] = (uint8_t)(counts[i][1] >> 8);
		p[15] = (uint8_t)counts[i][1];
		c = chunk(p, 16);
		cr_assert_not(sctp_sack_get(&c, &s), "%u blocks, %u duplicates", counts[i][0],
			      counts[i][1]);
	}
	for (uint8_t len = 4; len < 16; len++) {
		p[3] = len;
		memset(p + 12, 0, 4);
		c = chunk(p, len);
		cr_assert_not(sctp_sack_get(&c, &s), "length %u", len);
	}
	for (uint8_t len = 16; len < 24; len++) {
		uint8_t q[24] = {3, 0, 0, len, [13] = 1, [15] = 1};

		c = chunk(q, len);
		cr_assert_not(sctp_sack_get(&c, &s), "length %u", len);
	}
}

Test(sctp_chunk, causes_are_read)
{
	struct sctp_chunk c = chunk(bytes(6, 0, 0, 25, 0, 12, 0, 9, 'a', 'b', 'c', 'd', 'e', 0, 0,
					  0, 0, 4, 0, 4, 0x12, 0x34, 0, 5, 'f'),
				    25);
	struct sctp_cursor at = sctp_errors(&c);
	struct sctp_error e;

	cr_assert(sctp_error_next(&at, &e));
	cr_assert_eq(e.cause, SCTP_CAUSE_USER);
	cr_assert_eq(e.len, 5);
	cr_assert_arr_eq(e.p, "abcde", 5);
	cr_assert(sctp_error_next(&at, &e));
	cr_assert_eq(e.cause, SCTP_CAUSE_RESOURCE);
	cr_assert_eq(e.len, 0);
	cr_assert(sctp_error_next(&at, &e));
	cr_assert_eq(e.cause, 0x1234);
	cr_assert_eq(e.len, 1);
	cr_assert_not(sctp_error_next(&at, &e));
}

/* rows: 9260-3.3.10-06 */
Test(sctp_chunk, bad_causes_end_the_list)
{
	static const uint8_t lens[] = {0, 1, 2, 3, 9, 200};

	for (unsigned i = 0; i < sizeof(lens); i++) {
		struct sctp_chunk c =
			chunk(bytes(9, 0, 0, 16, 0, 4, 0, 4, 0, 12, 0, lens[i], 1, 2, 3, 4), 16);
		struct sctp_cursor at = sctp_errors(&c);
		struct sctp_error e;

		cr_assert(sctp_error_next(&at, &e));
		cr_assert_not(sctp_error_next(&at, &e), "length %u", lens[i]);
		cr_assert_not(sctp_error_next(&at, &e), "length %u", lens[i]);
	}
	for (uint8_t len = 4; len < 8; len++) {
		struct sctp_chunk c = chunk(bytes(6, 0, 0, len, 0, 12, 0), len);
		struct sctp_cursor at = sctp_errors(&c);
		struct sctp_error e;

		cr_assert_not(sctp_error_next(&at, &e), "length %u", len);
	}
}
