/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The headers of RFC 7306 and RFC 6581 with contents that no golden vector has: other values, the
 * largest ones, reserved bits. Also sizes and names.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/ddp/wire.h"
#include "tests/lib/vector.h"

/* ---- Atomic Request ---- */

static const struct wire_atomic_req distinct = {
	.aop = WIRE_CMP_SWAP,
	.id = 0xf1e2d3c4,
	.stag = 0xe5d6c7b8,
	.to = UINT64_C(0xf0e1d2c3b4a59687),
	.data = UINT64_C(0xe1d2c3b4a5968778),
	.mask = UINT64_C(0xd2c3b4a596877869),
	.compare = UINT64_C(0xc3b4a5968778695a),
	.compare_mask = UINT64_C(0xb4a5968778695a4b),
};

/* The same, byte by byte, in the order of RFC 7306 5.2.1. */
static const uint8_t distinct_bytes[WIRE_ATOMIC_REQ_LEN] = {
	0x00, 0x00, 0x00, 0x02,                         /* reserved, operation */
	0xf1, 0xe2, 0xd3, 0xc4,                         /* identifier */
	0xe5, 0xd6, 0xc7, 0xb8,                         /* STag */
	0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87, /* TO */
	0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87, 0x78, /* data */
	0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87, 0x78, 0x69, /* its mask */
	0xc3, 0xb4, 0xa5, 0x96, 0x87, 0x78, 0x69, 0x5a, /* compare data */
	0xb4, 0xa5, 0x96, 0x87, 0x78, 0x69, 0x5a, 0x4b, /* its mask */
};

static void expect_distinct(const struct wire_atomic_req *r)
{
	cr_expect_eq(r->aop, distinct.aop);
	cr_expect_eq(r->id, distinct.id);
	cr_expect_eq(r->stag, distinct.stag);
	cr_expect_eq(r->to, distinct.to);
	cr_expect_eq(r->data, distinct.data);
	cr_expect_eq(r->mask, distinct.mask);
	cr_expect_eq(r->compare, distinct.compare);
	cr_expect_eq(r->compare_mask, distinct.compare_mask);
}

Test(wire_fields, atomic_request_has_every_field_at_its_place)
{
	uint8_t b[WIRE_ATOMIC_REQ_LEN];
	struct wire_atomic_req r;

	wire_atomic_req_put(b, &distinct);
	cr_expect_arr_eq(b, distinct_bytes, sizeof(b));
	wire_atomic_req_get(distinct_bytes, &r);
	expect_distinct(&r);
}

Test(wire_fields, atomic_request_reserved_bits_are_sent_as_0_and_ignored)
{
	uint8_t b[WIRE_ATOMIC_REQ_LEN];
	struct wire_atomic_req r = distinct;

	r.aop = 0xf0 | WIRE_CMP_SWAP;
	memset(b, 0xff, sizeof(b));
	wire_atomic_req_put(b, &r);
	cr_expect_arr_eq(b, "\x00\x00\x00\x02", 4);
	memcpy(b, distinct_bytes, sizeof(b));
	memcpy(b, "\xff\xff\xff\xf2", 4);
	wire_atomic_req_get(b, &r);
	expect_distinct(&r);
}

/* The decoder does not check whether the code is defined. */
Test(wire_fields, atomic_request_decodes_every_operation_code)
{
	for (unsigned aop = 0; aop < 16; aop++) {
		uint8_t b[WIRE_ATOMIC_REQ_LEN];
		struct wire_atomic_req r = distinct;

		r.aop = (uint8_t)aop;
		wire_atomic_req_put(b, &r);
		wire_atomic_req_get(b, &r);
		cr_expect_eq(r.aop, aop);
	}
}

Test(wire_fields, fetch_add_is_sent_with_nothing_to_compare)
{
	uint8_t b[WIRE_ATOMIC_REQ_LEN];
	struct wire_atomic_req r = distinct;

	r.aop = WIRE_FETCH_ADD;
	wire_atomic_req_put(b, &r);
	wire_atomic_req_get(b, &r);
	cr_expect_eq(r.compare, 0);
	cr_expect_eq(r.compare_mask, UINT64_MAX);
	cr_expect_eq(r.data, distinct.data);
	cr_expect_eq(r.mask, distinct.mask);
}

/* ---- Atomic Response ---- */

Test(wire_fields, atomic_response_is_identifier_and_old_value)
{
	const struct wire_atomic_resp r = {0xf1e2d3c4, UINT64_C(0xf0e1d2c3b4a59687)};
	static const uint8_t bytes[WIRE_ATOMIC_RESP_LEN] = {0xf1, 0xe2, 0xd3, 0xc4, 0xf0, 0xe1,
							    0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87};
	uint8_t b[WIRE_ATOMIC_RESP_LEN];
	struct wire_atomic_resp got;

	wire_atomic_resp_put(b, &r);
	cr_expect_arr_eq(b, bytes, sizeof(b));
	wire_atomic_resp_get(b, &got);
	cr_expect_eq(got.id, r.id);
	cr_expect_eq(got.value, r.value);
}

/* ---- enhanced params ---- */

static struct wire_enh params(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	struct wire_enh e;

	wire_enh_get((const uint8_t[]){a, b, c, d}, &e);
	return e;
}

/* rows: 6581-9.2-01 */
Test(wire_fields, each_flag_of_the_enhanced_params_is_one_bit)
{
	cr_expect(params(0x80, 0, 0, 0).p2p);
	cr_expect_eq(params(0x80, 0, 0, 0).rtr, 0);
	cr_expect_eq(params(0x40, 0, 0, 0).rtr, WIRE_RTR_SEND);
	cr_expect_eq(params(0, 0, 0x80, 0).rtr, WIRE_RTR_WRITE);
	cr_expect_eq(params(0, 0, 0x40, 0).rtr, WIRE_RTR_READ);
	cr_expect_not(params(0x7f, 0xff, 0xff, 0xff).p2p);
	cr_expect_eq(params(0xbf, 0xff, 0x3f, 0xff).rtr, 0);
	cr_expect_eq(params(0x3f, 0xff, 0, 0).ird, WIRE_ENH_UNCHANGED);
	cr_expect_eq(params(0x3f, 0xff, 0, 0).ord, 0);
	cr_expect_eq(params(0, 0, 0x3f, 0xff).ord, WIRE_ENH_UNCHANGED);
	cr_expect_eq(params(0xc0, 0, 0xff, 0xff).ird, 0);
	cr_expect_eq(params(0, 1, 1, 0).ird, 1);
	cr_expect_eq(params(0, 1, 1, 0).ord, 256);
}

/* Every value of each word: no bit is lost, none moves to the other word. */
/* rows: 6581-9-01 */
Test(wire_fields, enhanced_params_survive_decoding_and_encoding)
{
	for (unsigned w = 0; w <= 0xffff; w++) {
		uint8_t b[WIRE_ENH_LEN] = {(uint8_t)(w >> 8), (uint8_t)w, 0x12, 0x34};
		uint8_t again[WIRE_ENH_LEN];
		struct wire_enh e;

		wire_enh_get(b, &e);
		cr_assert_eq(e.ird, w & 0x3fff);
		cr_assert_eq(e.ord, 0x1234);
		wire_enh_put(again, &e);
		cr_assert_arr_eq(again, b, sizeof(b));
		memcpy(b, (const uint8_t[]){0x12, 0x34, b[0], b[1]}, sizeof(b));
		wire_enh_get(b, &e);
		cr_assert_eq(e.ird, 0x1234);
		cr_assert_eq(e.ord, w & 0x3fff);
		wire_enh_put(again, &e);
		cr_assert_arr_eq(again, b, sizeof(b));
	}
}

Test(wire_fields, depths_too_wide_for_their_bits_do_not_spill_into_flags)
{
	struct wire_enh wide = {.rtr = 0xf8, .ird = 0xc001, .ord = 0xffff};
	uint8_t b[WIRE_ENH_LEN];

	wire_enh_put(b, &wide);
	cr_expect_arr_eq(b, "\x00\x01\x3f\xff", sizeof(b));
}

/* ---- sizes and names ---- */

Test(wire_fields, longest_head_holds_the_longest_terminate)
{
	cr_expect_eq(vector_get("V21").len, WIRE_HEAD_MAX);
	cr_expect_leq(WIRE_CONTROL_LEN, WIRE_HEAD_MAX);
	cr_expect_eq(WIRE_CONTROL_LEN + WIRE_PRIVATE_MAX, WIRE_MULPDU_MIN);
}

Test(wire_fields, longest_head_holds_an_atomic_request)
{
	cr_expect_leq(vector_get("V29").len, WIRE_HEAD_MAX);
}
