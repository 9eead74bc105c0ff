/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA Reads at both ends: how an endpoint checks and answers Read Requests, and how it checks Read
 * Responses (RFC 5040 5.2, 7.1, 7.2).
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "tests/lib/fake.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum { SCOPED = 0x0badcafe }; /* a region of the endpoint alone */

TestSuite(rdmap_read, .init = fake_setup, .fini = fake_teardown);

/* ---- queue 1 ---- */

/* rows: 5041-4.2-01 5040-4.1-04 5040-4.1-05 5040-4.4-02 5040-4.4-03 5040-5.2.1-03 5040-5.2.1-04 */
/* rows: 5040-5.2.1-11 5040-5.2.2-01 */
Test(rdmap_read, read_is_answered_with_its_sink_fields_unread)
{
	struct vector v15 = vector_get("V15");
	struct pair_msg m;

	memcpy(fake.mem, "\xa0\xa1\xa2\xa3\xa4\xa5", 6);
	fake_push_vector("V14", 1);
	cr_assert(pair_pull(&fake.node, &m));
	cr_assert_eq(m.len, v15.len);
	cr_expect_arr_eq(m.b, v15.b, v15.len);
	fake_expect_none();
}

/* rows: 5040-5.2.1-14 5040-5.2.1-15 */
Test(rdmap_read, empty_read_is_answered_whatever_its_source)
{
	struct vector v17 = vector_get("V17");
	struct pair_msg m;

	assoc_test_preset_msn(fake.qp->ep, WIRE_QN_READ_REQ, 1, 2);
	assoc_test_preset(fake.node.assoc, FAKE_SID, 2, 1);
	fake_push_vector("V16", 1);
	cr_assert(pair_pull(&fake.node, &m));
	cr_assert_eq(m.len, v17.len);
	cr_expect_arr_eq(m.b, v17.b, v17.len);
}

/* rows: 5041-8.3.1-02 5041-8.3.1-05 5040-4.8-08 5040-4.8-09 5040-5.2.1-13 5040-7.1-04 */
/* rows: 5040-7.2-06 5040-7.2-07 5040-7.2-08 5040-7.2-09 5040-7.2-10 5040-8.1.1-07 4296-2.2.1-06 */
/* rows: 4296-2.2.1-09 4296-3-02 4296-3.2-01 */
Test(rdmap_read, source_of_a_read_is_checked)
{
	static const struct {
		uint32_t stag;
		uint64_t to;
		enum perr want;
	} row[] = {
		{FAKE_STAG, FAKE_BASE + FAKE_MEM - 8, PERR_NONE},
		{FAKE_STAG, FAKE_BASE + FAKE_MEM - 7, PERR_ACCESS_BOUNDS},
		{FAKE_STAG, FAKE_BASE - 1, PERR_ACCESS_BOUNDS},
		{FAKE_STAG, UINT64_MAX - 7, PERR_ACCESS_WRAP},
		{99, FAKE_BASE, PERR_ACCESS_STAG},
		{0x500, FAKE_BASE, PERR_ACCESS_RIGHTS},
		{0x600, FAKE_BASE, PERR_ACCESS_SCOPE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pair_msg m = fake_read(1, 1, row[i].stag, row[i].to, 8);
		struct wire_term t;

		fake_teardown();
		fake_setup();
		pair_region(&fake.node, 0x500, FAKE_BASE, 64, STAG_LOCAL_WRITE | STAG_REMOTE_WRITE,
			    0);
		pair_region(&fake.node, 0x600, FAKE_BASE, 64, FAKE_ALL, 999);
		fake_push(m);
		if (row[i].want == PERR_NONE) {
			cr_assert(pair_pull(&fake.node, &m));
			cr_expect_eq(m.len, 16 + 8);
			continue;
		}
		t = fake_expect_terminate(row[i].want);
		cr_expect(t.has_len && t.has_ddp && t.has_read);
		cr_expect_eq(t.seg_len, 46);
		cr_expect_arr_eq(t.ddp, m.b + 2, 18);
		cr_expect_arr_eq(t.read, m.b + 20, 28);
	}
}

/* rows: 5040-4.8-03 5040-4.8-09 */
Test(rdmap_read, read_requests_have_28_bytes)
{
	for (uint32_t len = 26; len <= 30; len++) {
		struct pair_msg m = fake_read(1, 1, FAKE_STAG, FAKE_BASE, 8);

		fake_teardown();
		fake_setup();
		m.len = 20 + len;
		fake_push(m);
		if (len != 28)
			cr_expect_not(fake_expect_terminate(PERR_RDMAP_LENGTH).has_read);
	}
}

Test(rdmap_read, read_request_may_come_in_two_parts)
{
	struct pair_msg whole = fake_read(1, 1, FAKE_STAG, FAKE_BASE, 8), one = whole, two = whole;

	fake.mem[7] = 0x77;
	one.len = 20 + 14;
	one.b[2] = 0x01;
	be_put16(two.b, 2);
	be_put32(two.b + 16, 14);
	memmove(two.b + 20, two.b + 34, 14);
	two.len = 20 + 14;
	fake_push(two);
	fake_push(one);
	cr_assert(pair_pull(&fake.node, &whole));
	cr_expect_eq(whole.len, 16 + 8);
	cr_expect_eq(whole.b[16 + 7], 0x77);
}

/* rows: 5040-5.2.1-02 5040-6.1-05 */
Test(rdmap_read, more_reads_than_we_hold_are_refused)
{
	for (uint16_t i = 1; i <= PAIR_READS; i++)
		fake_push(fake_read(i, i, FAKE_STAG, FAKE_BASE, 8));
	fake_push(fake_read(PAIR_READS + 1, PAIR_READS + 1, FAKE_STAG, FAKE_BASE, 8));
	fake_expect_terminate(PERR_NO_BUFFER);
}

/* rows: 5040-5.5-06 5040-5.5-13 */
Test(rdmap_read, read_waits_for_what_was_sent_before_it)
{
	struct pair_msg m;

	fake_push(fake_read(2, 1, FAKE_STAG, FAKE_BASE, 4));
	fake_expect_nothing_sent();
	fake_push(fake_write(1, FAKE_BASE, "new!"));
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_arr_eq(m.b + 16, "new!", 4);
}

/* ---- Read Responses ---- */

/* rows: 5040-5.2.2-06 */
Test(rdmap_read, unrequested_response_is_refused)
{
	fake_push(fake_response(1, FAKE_STAG, FAKE_BASE, true, "data"));
	fake_expect_terminate(PERR_OPCODE);
	cr_expect_eq(fake.mem[0], 0);
}

/* rows: 5040-5.2.2-04 5040-5.2.2-06 */
Test(rdmap_read, response_must_be_what_was_asked_for)
{
	static const struct {
		uint32_t stag;
		uint64_t to;
		const char *text;
		enum perr want;
	} row[] = {
		{FAKE_STAG, FAKE_BASE + 8, "8 bytes!", PERR_NONE},
		{FAKE_STAG, FAKE_BASE + 8, "9 bytes !", PERR_TAGGED_BOUNDS},
		{FAKE_STAG, FAKE_BASE + 7, "8 bytes!", PERR_TAGGED_BOUNDS},
		{FAKE_STAG, FAKE_BASE + 9, "8 bytes!", PERR_TAGGED_BOUNDS},
		{FAKE_STAG, FAKE_BASE + 8, "7 bytes", PERR_RDMAP_LENGTH},
		{FAKE_STAG, FAKE_BASE + 8, "", PERR_RDMAP_LENGTH},
		{FAKE_STAG, UINT64_MAX - 3, "8 bytes!", PERR_TAGGED_WRAP},
		{SCOPED, FAKE_BASE + 8, "8 bytes!", PERR_TAGGED_STAG},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		fake_teardown();
		fake_setup();
		pair_region(&fake.node, SCOPED, FAKE_BASE, 64, FAKE_ALL, 0);
		fake_post_read(1, 8, 8);
		fake_push(fake_response(1, row[i].stag, row[i].to, true, row[i].text));
		if (row[i].want) {
			fake_expect_terminate(row[i].want);
			fake_expect_done(1, RDMAP_FLUSH_ERR, 0);
		} else {
			fake_expect_done(1, RDMAP_SUCCESS, 8);
		}
	}
}

Test(rdmap_read, responses_come_in_the_order_of_the_requests)
{
	fake_post_read(1, 0, 8);
	fake_post_read(2, 100, 8);
	fake_push(fake_response(1, FAKE_STAG, FAKE_BASE + 100, true, "8 bytes!"));
	fake_expect_terminate(PERR_TAGGED_BOUNDS);
}

/* rows: 5040-5.5-05 */
Test(rdmap_read, response_that_arrives_early_is_placed_for_a_later_read)
{
	fake_post_read(1, 0, 8);
	fake_post_read(2, 100, 8);
	fake_push(fake_response(3, FAKE_STAG, FAKE_BASE + 100, true, "8 bytes!"));
	cr_expect_arr_eq(fake.mem + 100, "8 bytes!", 8);
	fake_push(fake_response(2, FAKE_STAG, FAKE_BASE + 4, true, "tes!"));
	fake_expect_none();
	fake_push(fake_response(1, FAKE_STAG, FAKE_BASE, false, "8 by"));
	fake_expect_done(1, RDMAP_SUCCESS, 8);
	fake_expect_done(2, RDMAP_SUCCESS, 8);
	cr_expect_arr_eq(fake.mem, "8 bytes!", 8);
}

Test(rdmap_read, response_to_an_empty_read_may_name_anything)
{
	fake_post_read(1, 0, 0);
	fake_push(fake_response(1, 0xdeadbeef, UINT64_MAX, true, ""));
	fake_expect_done(1, RDMAP_SUCCESS, 0);
}

Test(rdmap_read, sink_that_was_revoked_is_not_written)
{
	fake_post_read(1, 0, 8);
	stag_remove(fake.node.stags, FAKE_STAG);
	fake_push(fake_response(1, FAKE_STAG, FAKE_BASE, true, "8 bytes!"));
	fake_expect_terminate(PERR_TAGGED_STAG);
	cr_expect_eq(fake.mem[0], 0);
}
