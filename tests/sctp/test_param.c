/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: INIT and INIT ACK are read and written as RFC 9260 3.3.2 and 3.3.3 say, whatever a peer
 * puts into them. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "sctp/wire/param.h"
#include "util/be.h"

#define bytes(...) ((const uint8_t[]){__VA_ARGS__})

static struct sctp_init got;

/* Reads the fixed fields `tag 0x01020304, a_rwnd 65536, 10 out, 2048 in, TSN 0xfffffffe` and these
 * parameters. got refers to memory that is valid until the next call. */
static enum sctp_init_result read_init(uint8_t type, const uint8_t *params, size_t len)
{
	static const uint8_t fixed[20] = {0, 0, 0, 0,  1, 2, 3,    4,    0,    1,
					  0, 0, 0, 10, 8, 0, 0xff, 0xff, 0xff, 0xfe};
	static uint8_t *exact;
	struct sctp_chunk c = {.type = type, .len = (uint32_t)(20 + len)};

	free(exact);
	c.p = exact = malloc(20 + len);
	memcpy(exact, fixed, 20);
	exact[0] = type;
	be_put16(exact + 2, (uint16_t)(20 + len));
	memcpy(exact + 20, params, len);
	memset(&got, 0xff, sizeof(got));
	return sctp_init_get(&c, &got);
}

#define init(...) read_init(SCTP_INIT, bytes(__VA_ARGS__), sizeof(bytes(__VA_ARGS__)))
#define init_ack(...) read_init(SCTP_INIT_ACK, bytes(__VA_ARGS__), sizeof(bytes(__VA_ARGS__)))

static struct sctp_addr v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return sctp_addr_v4(bytes(a, b, c, d));
}

/* ---- reading ---- */

/* rows: 9260-3.3.2-01 */
Test(sctp_param, init_without_parameters)
{
	cr_assert_eq(read_init(SCTP_INIT, bytes(0), 0), SCTP_INIT_OK);
	cr_assert_eq(got.tag, 0x01020304);
	cr_assert_eq(got.a_rwnd, 65536);
	cr_assert_eq(got.out_streams, 10);
	cr_assert_eq(got.in_streams, 2048);
	cr_assert_eq(got.tsn, 0xfffffffe);
	cr_assert_eq(got.naddrs, 0);
	cr_assert_eq(got.nunknown, 0);
	cr_assert(!got.has_adaptation && !got.takes_batches && !got.families_listed);
	cr_assert(got.takes_v4 && got.takes_v6);
	cr_assert_null(got.cookie);
}

static const uint8_t all_params[] = {
	0x00, 0x05, 0, 8,  192,  0,    2,    1,                                        /* IPv4 */
	0x00, 0x06, 0, 20, 0x20, 1,    0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, /* IPv6 */
	0x00, 0x09, 0, 8,  0,    0,    0,    9,    /* Cookie Preservative */
	0x80, 0x00, 0, 4,                          /* ECN */
	0x00, 0x0c, 0, 6,  0,    5,    0xff, 0xff, /* Supported Address Types: IPv4 */
	0x80, 0x05, 0, 5,  7,    0xff, 0xff, 0xff, /* PAD */
	0xb5, 0xdd, 0, 4,                          /* BATCHES */
	0xc0, 0x06, 0, 8,  0,    0,    0,    1,    /* adaptation */
	0x00, 0x07, 0, 7,  'c',  'k',  'i',  0xff, /* State Cookie */
	0x00, 0x05, 0, 8,  192,  0,    2,    2,    /* IPv4 */
};

static void expect_all(void)
{
	struct sctp_addr first = v4(192, 0, 2, 1), third = v4(192, 0, 2, 2);

	cr_assert_eq(got.naddrs, 3);
	cr_assert(sctp_addr_equal(&got.addr[0], &first));
	cr_assert_arr_eq(got.addr[1].ip,
			 bytes(0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 16);
	cr_assert(sctp_addr_equal(&got.addr[2], &third));
	cr_assert(got.families_listed && got.takes_v4 && !got.takes_v6);
	cr_assert(got.takes_batches && got.has_adaptation);
	cr_assert_eq(got.adaptation, 1);
	cr_assert_eq(got.nunknown, 0);
}

/* rows: 9260-3.2.1-01 9260-3.2.1-06 9260-3.2.1-14 9260-3.3.2-03 9260-3.3.2.1.1-01 */
/* rows: 9260-3.3.2.1.2-01 */
/* rows: 9260-3.3.3-02 9260-3.3.3-03 */
Test(sctp_param, every_parameter_is_read)
{
	cr_assert_eq(read_init(SCTP_INIT_ACK, all_params, sizeof(all_params)), SCTP_INIT_OK);
	expect_all();
	cr_assert_eq(got.cookie_len, 3);
	cr_assert_arr_eq(got.cookie, "cki", 3);
	cr_assert_eq(read_init(SCTP_INIT, all_params, sizeof(all_params)), SCTP_INIT_OK);
	expect_all();
	cr_assert_null(got.cookie);
}

/* A cut inside a parameter is malformed, a cut inside the padding of the last one is not. */
/* rows: 9260-3.2-13 */
Test(sctp_param, parameters_cut_anywhere)
{
	static const uint8_t ends[] = {0, 8, 28, 36, 40, 48, 56, 60, 68, 76, 84};

	for (size_t len = 0; len <= sizeof(all_params); len++) {
		bool good = (len > 45 && len < 48) || (len > 52 && len < 56) || len == 75;

		for (unsigned i = 0; i < sizeof(ends); i++)
			good |= len == ends[i];
		cr_assert_eq(read_init(SCTP_INIT, all_params, len),
			     good ? SCTP_INIT_OK : SCTP_INIT_MALFORMED, "%zu bytes", len);
	}
}

Test(sctp_param, init_shorter_than_its_fields_is_malformed)
{
	static const uint8_t p[20] = {1};
	struct sctp_chunk c = {.type = SCTP_INIT, .p = p};

	for (c.len = 4; c.len < 20; c.len++)
		cr_assert_eq(sctp_init_get(&c, &got), SCTP_INIT_MALFORMED);
}

Test(sctp_param, bad_fixed_fields_differ)
{
	static const struct {
		uint32_t tag, a_rwnd;
		uint16_t out, in;
		enum sctp_init_result want;
	} cases[] = {
		{1, 1500, 1, 1, SCTP_INIT_OK},          {1, 1499, 1, 1, SCTP_INIT_BAD_RWND},
		{1, 0, 1, 1, SCTP_INIT_BAD_RWND},       {1, 1500, 0, 1, SCTP_INIT_BAD_STREAMS},
		{1, 1500, 1, 0, SCTP_INIT_BAD_STREAMS}, {0, 1500, 1, 1, SCTP_INIT_BAD_TAG},
		{0, 0, 0, 0, SCTP_INIT_BAD_TAG},        {1, 0, 0, 1, SCTP_INIT_BAD_STREAMS},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t p[20] = {1, 0xff, 0, 20};
		struct sctp_chunk c = {1, 0xff, 20, p};

		be_put32(p + 4, cases[i].tag);
		be_put32(p + 8, cases[i].a_rwnd);
		be_put16(p + 12, cases[i].out);
		be_put16(p + 14, cases[i].in);
		cr_assert_eq(sctp_init_get(&c, &got), cases[i].want, "case %u", i);
		cr_assert_eq(got.tag, cases[i].tag);
		cr_assert_eq(got.tsn, 0);
	}
}

/* rows: 9260-3.2.1-07 */
Test(sctp_param, bad_lengths_are_malformed)
{
	for (unsigned len = 0; len < 4; len++)
		cr_assert_eq(init(0xbe, 1, 0, (uint8_t)len, 0, 0, 0, 0), SCTP_INIT_MALFORMED);
	cr_assert_eq(init(0xbe, 1, 0, 9, 0, 0, 0, 0), SCTP_INIT_MALFORMED);
	cr_assert_eq(init(0xbe, 1, 0xff, 0xff, 0, 0, 0, 0), SCTP_INIT_MALFORMED);
	cr_assert_eq(init(0, 5, 0, 7, 1, 2, 3, 4), SCTP_INIT_MALFORMED, "IPv4 of 3 bytes");
	cr_assert_eq(init(0, 5, 0, 4), SCTP_INIT_MALFORMED, "empty IPv4");
	cr_assert_eq(init(0, 6, 0, 8, 1, 2, 3, 4), SCTP_INIT_MALFORMED, "IPv6 of 4 bytes");
	cr_assert_eq(init(0, 5, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
		     SCTP_INIT_MALFORMED, "IPv4 of 16 bytes");
	cr_assert_eq(init(0xc0, 6, 0, 7, 0, 0, 1, 0), SCTP_INIT_MALFORMED, "indication of 3 bytes");
	cr_assert_eq(init(0xc0, 6, 0, 4), SCTP_INIT_MALFORMED, "empty indication");
}

/* The address before the unknown parameter is used in all cases, the one after it in two. */
/* rows: 9260-3.2.1-08 9260-3.2.1-09 9260-3.2.1-10 9260-3.2.1-11 9260-3.2.1-13 */
/* rows: 9260-3.3.3.1.2-02 */
Test(sctp_param, unknown_parameters_of_the_four_kinds)
{
	static const struct {
		uint8_t high;
		unsigned addrs, reports;
	} cases[] = {{0x3f, 1, 0}, {0x7f, 1, 1}, {0xbf, 2, 0}, {0xff, 2, 1}};

	for (unsigned i = 0; i < 4; i++) {
		const uint8_t p[] = {0,    5, 0,  8,   10, 0, 0, 1, cases[i].high,
				     0xf0, 0, 5,  'x', 0,  0, 0, 0, 5,
				     0,    8, 10, 0,   0,  2};

		cr_assert_eq(read_init(SCTP_INIT, p, sizeof(p)), SCTP_INIT_OK);
		cr_assert_eq(got.naddrs, cases[i].addrs, "%02x", cases[i].high);
		cr_assert_eq(got.nunknown, cases[i].reports, "%02x", cases[i].high);
		if (got.nunknown) {
			cr_assert_eq(got.unknown[0].len, 5);
			cr_assert_arr_eq(got.unknown[0].p, p + 8, 5);
		}
	}
}

Test(sctp_param, more_unknown_parameters_than_can_be_reported)
{
	uint8_t p[4 * (SCTP_MAX_UNKNOWN + 5)];

	for (unsigned i = 0; i < sizeof(p); i += 4)
		memcpy(p + i, bytes(0xc0, 0xff, 0, 4), 4);
	cr_assert_eq(read_init(SCTP_INIT, p, sizeof(p)), SCTP_INIT_OK);
	cr_assert_eq(got.nunknown, SCTP_MAX_UNKNOWN);
}

Test(sctp_param, mapped_addresses_are_ipv4_and_each_counts_once)
{
	struct sctp_addr want = v4(10, 0, 0, 1);

	cr_assert_eq(init(0, 6, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1, /* */
			  0, 5, 0, 8, 10, 0, 0, 1,                                            /* */
			  0, 5, 0, 8, 10, 0, 0, 1),
		     SCTP_INIT_OK);
	cr_assert_eq(got.naddrs, 1);
	cr_assert(sctp_addr_is_v4(&got.addr[0]));
	cr_assert(sctp_addr_equal(&got.addr[0], &want));
}

Test(sctp_param, unusable_addresses_are_left_out)
{
	cr_assert_eq(init(0, 5, 0, 8, 224, 0, 0, 1,                                            /* */
			  0, 5, 0, 8, 0, 0, 0, 0,                                              /* */
			  0, 5, 0, 8, 255, 255, 255, 255,                                      /* */
			  0, 6, 0, 20, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,      /* */
			  0, 6, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,         /* */
			  0, 6, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 224, 0, 0, 1, /* */
			  0, 5, 0, 8, 10, 0, 0, 1),
		     SCTP_INIT_OK);
	cr_assert_eq(got.naddrs, 1);
	cr_assert_eq(got.addr[0].ip[12], 10);
}

/* rows: 9260-3.3.3-30 */
Test(sctp_param, a_thousand_addresses_and_a_large_cookie)
{
	static uint8_t p[8 * 1000 + 4004 + 8];

	for (unsigned i = 0; i < 1000; i++)
		memcpy(p + 8 * i, bytes(0, 5, 0, 8, 10, 0, (uint8_t)(i >> 8), (uint8_t)i), 8);
	memcpy(p + 8000, bytes(0, 7, 0x0f, 0xa4), 4);
	memcpy(p + 12004, bytes(0xc0, 6, 0, 8, 0, 0, 0, 9), 8);
	cr_assert_eq(read_init(SCTP_INIT_ACK, p, sizeof(p)), SCTP_INIT_OK);
	cr_assert_eq(got.naddrs, SCTP_MAX_PATHS - 1);
	cr_assert_eq(got.cookie_len, 4000);
	cr_assert_eq(got.adaptation, 9);
}

Test(sctp_param, host_names_are_found_anywhere)
{
	cr_assert_eq(init(0, 11, 0, 6, 'h', 0, 0, 0), SCTP_INIT_HOST_NAME);
	cr_assert_eq(init(0, 5, 0, 8, 10, 0, 0, 1, 0, 11, 0, 6, 'h', 0), SCTP_INIT_HOST_NAME);
	cr_assert_eq(init_ack(0, 7, 0, 5, 1, 0, 0, 0, 0, 11, 0, 4), SCTP_INIT_HOST_NAME);
	cr_assert_eq(got.tag, 0x01020304);
}

/* rows: 9260-3.3.2.1.5-01 9260-3.3.2.1.5-03 */
Test(sctp_param, address_types)
{
	cr_assert_eq(init(0, 12, 0, 8, 0, 5, 0, 6), SCTP_INIT_OK);
	cr_assert(got.families_listed && got.takes_v4 && got.takes_v6);
	cr_assert_eq(init(0, 12, 0, 6, 0, 6, 0, 0), SCTP_INIT_OK);
	cr_assert(got.families_listed && !got.takes_v4 && got.takes_v6);
	cr_assert_eq(init(0, 12, 0, 8, 0, 5, 0, 11), SCTP_INIT_OK);
	cr_assert(got.families_listed && got.takes_v4 && !got.takes_v6);
	cr_assert_eq(init(0, 12, 0, 4), SCTP_INIT_OK);
	cr_assert(got.families_listed && !got.takes_v4 && !got.takes_v6);
	cr_assert_eq(init(0, 12, 0, 7, 0, 5, 0, 0), SCTP_INIT_OK, "half a type");
	cr_assert(got.takes_v4 && !got.takes_v6);
}

Test(sctp_param, of_two_the_first_counts)
{
	cr_assert_eq(init_ack(0, 7, 0, 5, 'a', 0, 0, 0, 0, 7, 0, 5, 'b', 0, 0, 0,   /* */
			      0xc0, 6, 0, 8, 0, 0, 0, 1, 0xc0, 6, 0, 8, 0, 0, 0, 2, /* */
			      0, 12, 0, 6, 0, 5, 0, 0, 0, 12, 0, 6, 0, 6, 0, 0),
		     SCTP_INIT_OK);
	cr_assert_eq(got.cookie[0], 'a');
	cr_assert_eq(got.adaptation, 1);
	cr_assert(got.takes_v4 && !got.takes_v6);
}

/* rows: 9260-3.3.3-01 */
Test(sctp_param, init_ack_needs_a_cookie)
{
	cr_assert_eq(init_ack(0xc0, 6, 0, 8, 0, 0, 0, 1), SCTP_INIT_NO_COOKIE);
	cr_assert(got.has_adaptation);
	cr_assert_eq(init_ack(0x3f, 0xf0, 0, 4, 0, 8, 0, 5, 1), SCTP_INIT_NO_COOKIE);
	cr_assert_eq(init_ack(0, 7, 0, 5, 1), SCTP_INIT_OK);
}

/* rows: 9260-3.2.1-12 */
Test(sctp_param, a_cookie_counts_behind_a_parameter_that_stops)
{
	cr_assert_eq(init_ack(0x3f, 0xf0, 0, 4, 0, 8, 0, 4, 0, 7, 0, 5, 'c'), SCTP_INIT_OK);
	cr_assert_eq(got.cookie_len, 1);
	cr_assert_eq(got.cookie[0], 'c');
	cr_assert_eq(
		init_ack(0x7f, 0xf0, 0, 4, 0, 7, 0, 5, 'c', 0, 0, 0, 0xc0, 6, 0, 8, 0, 0, 0, 1),
		SCTP_INIT_OK);
	cr_assert(!got.has_adaptation, "the others do not");
}

/* ---- writing ---- */

static uint8_t space[1500];

static struct sctp_init ours(void)
{
	static const uint8_t cookie[] = {'c', 'k', 'i'};
	struct sctp_init i = {
		.tag = 0x01020304,
		.a_rwnd = 65536,
		.tsn = 0xfffffffe,
		.out_streams = 10,
		.in_streams = 2048,
		.naddrs = 2,
		.has_adaptation = true,
		.adaptation = 1,
		.takes_batches = true,
		.takes_v4 = true,
		.takes_v6 = true,
		.cookie = cookie,
		.cookie_len = 3,
	};

	i.addr[0] = v4(192, 0, 2, 1);
	i.addr[1] = (struct sctp_addr){.ip = {0x20, 1, 0x0d, 0xb8, [15] = 1}};
	return i;
}

static void expect_written(uint8_t type, const struct sctp_init *i,
			   const struct sctp_chunk *unknown, unsigned nunknown, const uint8_t *want,
			   uint32_t len)
{
	struct sctp_writer w = {.p = space, .size = sizeof(space)};

	memset(space, 0xa5, sizeof(space));
	sctp_init_put(&w, type, i, unknown, nunknown);
	cr_assert_not(w.full);
	cr_assert_eq(w.len, len, "%u bytes, expected %u", w.len, len);
	cr_assert_arr_eq(space, want, len);
}

/* rows: 9260-3.2.1-02 9260-3.2.1-03 9260-3.2.1-04 9260-3.3.2-13 9260-3.3.2.1-01 */
/* rows: 9260-3.3.2.1.2-02 */
/* rows: 9260-3.3.2.1.2-03 */
Test(sctp_param, init_is_written)
{
	struct sctp_init i = ours();

	expect_written(
		SCTP_INIT, &i, NULL, 0,
		bytes(1, 0, 0, 68, 1, 2, 3, 4, 0, 1, 0, 0, 0, 10, 8, 0, 255, 255, 255, 254, /* */
		      0, 5, 0, 8, 192, 0, 2, 1,                                             /* */
		      0, 6, 0, 20, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, /* */
		      0xc0, 6, 0, 8, 0, 0, 0, 1,                                            /* */
		      0xb5, 0xdd, 0, 4,                                                     /* */
		      0, 12, 0, 8, 0, 5, 0, 6),
		68);
	i.naddrs = 0;
	i.has_adaptation = i.takes_batches = i.takes_v6 = false;
	expect_written(SCTP_INIT, &i, NULL, 0,
		       bytes(1, 0, 0, 26, 1, 2, 3, 4, 0, 1, 0, 0, 0, 10, 8, 0, 255, 255, 255,
			     254, /* */
			     0, 12, 0, 6, 0, 5, 0, 0),
		       28);
	i.takes_v4 = false;
	expect_written(SCTP_INIT, &i, NULL, 0,
		       bytes(1, 0, 0, 20, 1, 2, 3, 4, 0, 1, 0, 0, 0, 10, 8, 0, 255, 255, 255, 254),
		       20);
}

/* rows: 9260-3.2-11 9260-3.2.1-05 9260-3.2.2-01 9260-3.3.3-01 9260-3.3.3-07 */
/* rows: 9260-3.3.3.1-02 */
/* rows: 9260-3.3.3.1.2-01 */
Test(sctp_param, init_ack_is_written_with_cookie_and_reports)
{
	const struct sctp_chunk unknown[] = {{.p = bytes(0xc0, 0xff, 0, 5, 0xaa), .len = 5},
					     {.p = bytes(0x7f, 0xf0, 0, 6, 1, 2), .len = 6}};
	struct sctp_init i = ours();

	i.naddrs = 1;
	i.has_adaptation = i.takes_batches = false;
	expect_written(SCTP_INIT_ACK, &i, unknown, 2,
		       bytes(2, 0, 0, 58, 1, 2, 3, 4, 0, 1, 0, 0, 0, 10, 8, 0, 255, 255, 255,
			     254,                                         /* */
			     0, 5, 0, 8, 192, 0, 2, 1,                    /* */
			     0, 7, 0, 7, 'c', 'k', 'i', 0,                /* */
			     0, 8, 0, 9, 0xc0, 0xff, 0, 5, 0xaa, 0, 0, 0, /* */
			     0, 8, 0, 10, 0x7f, 0xf0, 0, 6, 1, 2, 0, 0),
		       60);
	i.naddrs = 0;
	expect_written(SCTP_INIT_ACK, &i, NULL, 0,
		       bytes(2, 0, 0, 27, 1, 2, 3, 4, 0, 1, 0, 0, 0, 10, 8, 0, 255, 255, 255,
			     254, /* */
			     0, 7, 0, 7, 'c', 'k', 'i', 0),
		       28);
}

Test(sctp_param, reports_that_do_not_fit_are_left_out)
{
	static const uint8_t large[400] = {0xc0, 0xff, 1, 0x90};
	const struct sctp_chunk unknown[] = {{.p = large, .len = 400},
					     {.p = bytes(0xc0, 0xfe, 0, 4), .len = 4}};
	struct sctp_writer w = {.p = space, .size = 40};
	struct sctp_init i = ours();

	i.naddrs = 0;
	i.has_adaptation = i.takes_batches = false;
	sctp_init_put(&w, SCTP_INIT_ACK, &i, unknown, 2);
	cr_assert_not(w.full);
	cr_assert_eq(w.len, 36);
	cr_assert_arr_eq(space + 24, bytes('c', 'k', 'i', 0, 0, 8, 0, 8, 0xc0, 0xfe, 0, 4), 12);
	cr_assert_eq(space[3], 36);
	w = (struct sctp_writer){.p = space, .size = 28};
	sctp_init_put(&w, SCTP_INIT_ACK, &i, unknown, 2);
	cr_assert_eq(w.len, 28);
	cr_assert_eq(space[3], 27, "the last padding does not count");
}

Test(sctp_param, without_room_for_what_is_needed_the_writer_is_full)
{
	for (uint32_t size = 0; size < 68; size++) {
		struct sctp_writer w = {.p = space, .size = size};
		struct sctp_init i = ours();

		sctp_init_put(&w, SCTP_INIT, &i, NULL, 0);
		cr_assert(w.full, "%u bytes", size);
		cr_assert_leq(w.len, size);
	}
}

Test(sctp_param, what_was_written_is_read)
{
	struct sctp_writer w = {.p = space, .size = sizeof(space)};
	struct sctp_init i = ours();
	struct sctp_cursor at;
	struct sctp_chunk c;

	sctp_init_put(&w, SCTP_INIT, &i, NULL, 0);
	at = (struct sctp_cursor){space, space + w.len};
	cr_assert_eq(sctp_chunk_next(&at, &c), SCTP_NEXT_OK);
	cr_assert_eq(sctp_init_get(&c, &got), SCTP_INIT_OK);
	cr_assert_eq(got.naddrs, 2);
	cr_assert(sctp_addr_equal(&got.addr[1], &i.addr[1]));
	cr_assert(got.takes_batches && got.families_listed && got.takes_v4 && got.takes_v6);
}
