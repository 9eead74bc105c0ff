/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an endpoint handles arriving segments: each check of RFC 5041 7.1 and RFC 5040 7.2 with its
 * Terminate, and delivery.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "tests/lib/fake.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum { SCOPED = 0x0badcafe }; /* a region of the endpoint alone */

TestSuite(rdmap_rx, .init = fake_setup, .fini = fake_teardown);

/* ---- errors and their Terminates ---- */

/* rows: 5043-6.2-05 5043-11.3-04 5041-6.2.2-03 5041-6.2.2-05 5041-7.1-16 5041-7.1-18 5040-3.1-05 */
/* rows: 5040-4.1-04 5040-4.1-05 5040-4.1-10 5040-4.8-01 5040-4.8-02 5040-4.8-03 5040-4.8-04 */
/* rows: 5040-4.8-06 5040-4.8-07 5040-4.8-08 5040-5.1-03 5040-5.4-01 5040-5.4-02 5040-5.4-08 */
/* rows: 5040-6.2.1-01 5040-6.2.1-03 5040-7.1-03 */
Test(rdmap_rx, write_outside_the_region_is_answered_with_v19)
{
	fake_push_vector("V18", 1);
	fake_expect_vector("V19", 1);
	fake_push(fake_end(2));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_TAGGED_BOUNDS);
}

/* rows: 5040-3.2-08 5040-4.8-02 5040-4.8-03 5040-4.8-04 5040-4.8-09 5040-4.8-10 5040-5.2.1-05 */
/* rows: 5040-7.1-04 */
Test(rdmap_rx, read_outside_the_region_is_answered_with_v21)
{
	struct vector v = vector_get("V20");

	assoc_test_preset_msn(fake.qp->ep, WIRE_QN_READ_REQ, 1, 3);
	fake_push_vector("V20", 1);
	(void)v;
	fake_expect_vector("V21", 1);
	fake_push(fake_end(2));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_ACCESS_BOUNDS);
}

/* rows: 5041-4.1-09 5040-4.1-09 5040-4.8-06 5040-7.1-03 */
Test(rdmap_rx, reserved_bits_are_ignored_and_come_back_in_the_terminate)
{
	struct pair_msg m = fake_write(1, FAKE_BASE, "fine");
	struct wire_term t;

	m.b[2] |= 0x3c;
	m.b[3] |= 0x30;
	fake_push(m);
	cr_expect_arr_eq(fake.mem, "fine", 4);
	for (unsigned ahead = 0; ahead < 2; ahead++) {
		fake_teardown();
		fake_setup();
		m = fake_write(1 + ahead, FAKE_BASE - 1, "bad");
		m.b[2] |= 0x3c;
		m.b[3] |= 0x30;
		fake_push(m);
		if (ahead)
			fake_push(fake_write(1, FAKE_BASE, "good"));
		t = fake_expect_terminate(PERR_TAGGED_BOUNDS);
		cr_expect_eq(t.seg_len, 14 + 3);
		cr_expect_eq(t.ddp_len, 14);
		cr_expect_arr_eq(t.ddp, m.b + 2, 14);
		cr_expect_not(t.has_read);
	}
}

/* RFC 5041 7.1: the first error in sequence counts, and nothing after it. */
/* rows: 5041-3-10 5041-6.2.2-04 5041-7.1-17 5040-3.1-06 5040-7.1-05 5040-7-02 */
Test(rdmap_rx, error_found_early_is_raised_in_order)
{
	fake_post_recvs(2, 100);
	fake_push(fake_write(3, FAKE_BASE + FAKE_MEM, "bad"));
	fake_push(fake_send(4, 2, 0, true, "behind"));
	fake_push(fake_write(2, FAKE_BASE + FAKE_MEM + 9, "first"));
	fake_expect_nothing_sent();
	fake_push(fake_send(1, 1, 0, true, "before"));
	cr_expect_eq(be_get64(fake_expect_terminate(PERR_TAGGED_BOUNDS).ddp + 6),
		     FAKE_BASE + FAKE_MEM + 9);
	fake_expect_done(0, RDMAP_SUCCESS, 6);
	fake_expect_done(1, RDMAP_FLUSH_ERR, 0);
	fake_push(fake_write(5, FAKE_BASE + 500, "good"));
	cr_expect_eq(fake.mem[500], 0, "dropped");
	fake_expect_nothing_sent();
	fake_push(fake_end(6));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_TAGGED_BOUNDS);
}

/* rows: 5041-6.2.2-03 5041-8.3-05 5040-7.1-01 4296-2.1.2-14 */
Test(rdmap_rx, error_event_has_the_place)
{
	struct assoc_event ev;

	fake_push(fake_write(1, FAKE_BASE + FAKE_MEM - 2, "bad"));
	fake_expect_terminate(PERR_TAGGED_BOUNDS);
	fake_push(fake_end(2));
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.at.stag, FAKE_STAG);
	cr_expect_eq(ev.at.to, FAKE_BASE + FAKE_MEM - 2);
	cr_expect_eq(ev.at.len, 3);
	cr_expect_eq(ev.at.term, 0x1101);
}

/* rows: 5041-4.2-05 5041-7.1-10 5041-7.1-11 5041-7.1-12 5041-7.1-13 5041-7.1-14 5041-7.2-01 */
/* rows: 5041-8.3.1-02 5041-8.3.1-05 5040-7.2-01 4296-2.1.2-14 4296-2.1.3-03 4296-2.2.1-06 */
/* rows: 4296-2.2.1-09 4296-3-02 4296-3.2-01 */
Test(rdmap_rx, tagged_placement_is_byte_exact)
{
	static const struct {
		uint32_t stag;
		uint64_t to;
		enum perr want;
	} row[] = {
		{FAKE_STAG, FAKE_BASE, PERR_NONE},
		{FAKE_STAG, FAKE_BASE + FAKE_MEM - 8, PERR_NONE},
		{FAKE_STAG, FAKE_BASE + FAKE_MEM - 7, PERR_TAGGED_BOUNDS},
		{FAKE_STAG, FAKE_BASE - 1, PERR_TAGGED_BOUNDS},
		{FAKE_STAG, UINT64_MAX - 7, PERR_TAGGED_WRAP},
		{FAKE_STAG, UINT64_MAX - 3, PERR_TAGGED_WRAP},
		{FAKE_STAG, UINT64_MAX - 8, PERR_TAGGED_BOUNDS},
		{99, FAKE_BASE, PERR_TAGGED_STAG},
		{0x500, FAKE_BASE, PERR_TAGGED_STAG},  /* no remote write right */
		{0x600, FAKE_BASE, PERR_TAGGED_SCOPE}, /* another endpoint's */
		{SCOPED, FAKE_BASE, PERR_NONE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pair_msg m;

		fake_teardown();
		fake_setup();
		pair_region(&fake.node, 0x500, FAKE_BASE, 64, STAG_LOCAL_WRITE | STAG_REMOTE_READ,
			    0);
		pair_region(&fake.node, 0x600, FAKE_BASE, 64, FAKE_ALL, 999);
		pair_region(&fake.node, SCOPED, FAKE_BASE, 64, FAKE_ALL, fake.qp->scope);
		m = fake_write(1, row[i].to, "8 bytes!");
		be_put32(m.b + 4, row[i].stag);
		fake_push(m);
		if (row[i].want)
			fake_expect_terminate(row[i].want);
		else
			fake_expect_nothing_sent();
	}
}

/* rows: 5041-5.2-09 5041-5.2-10 */
Test(rdmap_rx, empty_tagged_messages_name_nothing)
{
	struct vector v = vector_get("V09");
	struct pair_msg m = {.sid = FAKE_SID, .ppid = 16, .len = (uint32_t)v.len};

	memcpy(m.b, v.b, v.len);
	be_put16(m.b, 1);
	memset(m.b + 4, 0xff, 12);
	fake_push(m);
	fake_expect_nothing_sent();
	fake_expect_open();
}

/* rows: 5041-4.1-11 5041-7.2-01 5040-4.1-07 5040-7.2-01 5040-7.2-03 4296-3.2-01 */
Test(rdmap_rx, versions_are_checked_before_all_else)
{
	for (unsigned dv = 0; dv < 4; dv++) {
		for (unsigned tagged = 0; tagged < 2; tagged++) {
			struct wire_ddp h = {.tagged = tagged,
					     .last = true,
					     .dv = (uint8_t)dv,
					     .rv = 2,
					     .opcode = 0xf,
					     .qn = 9};

			fake_teardown();
			fake_setup();
			fake_push(pair_segment(FAKE_SID, 1, &h, NULL, 0));
			if (dv != 1)
				fake_expect_terminate(tagged ? PERR_TAGGED_VERSION
							     : PERR_UNTAGGED_VERSION);
			else
				fake_expect_terminate(tagged ? PERR_RDMAP_VERSION : PERR_QN);
		}
	}
	for (uint8_t rv = 0; rv < 4; rv++) {
		struct wire_ddp h = fake_header(WIRE_OP_WRITE);

		fake_teardown();
		fake_setup();
		h.tagged = true;
		h.rv = rv;
		fake_push(pair_segment(FAKE_SID, 1, &h, NULL, 0));
		if (rv > 1)
			fake_expect_terminate(PERR_RDMAP_VERSION);
		else
			fake_expect_nothing_sent();
	}
}

static enum perr want_for(unsigned opcode, bool tagged, uint32_t qn)
{
	static const int right_qn[] = {-1, 1, -1, 0, 0, 0, 0, 2, 0, 0, 1, 3}; /* -1: tagged */

	if (!tagged && qn > 3)
		return PERR_QN;
	if (opcode > 11 || (right_qn[opcode] < 0) != tagged ||
	    (!tagged && right_qn[opcode] != (int)qn))
		return PERR_OPCODE;
	return PERR_NONE;
}

/* RFC 5040 figure 4, RFC 7306 4.1. */
/* rows: 5041-7.1-01 5041-7.2-01 5040-7.2-01 5040-7.2-02 4296-3.2-01 */
Test(rdmap_rx, opcodes_belong_to_their_kind_of_segment_and_queue)
{
	for (unsigned i = 0; i < 16 * 6; i++) {
		struct wire_ddp h = fake_header((uint8_t)(i / 6));
		enum perr want;

		h.tagged = i % 6 == 5;
		h.qn = i % 6;
		h.msn = 1;
		want = want_for(h.opcode, h.tagged, h.qn);
		if (want == PERR_NONE)
			continue; /* legal: other tests */
		fake_teardown();
		fake_setup();
		fake_post_recvs(1, 100);
		fake_push(pair_segment(FAKE_SID, 1, &h, NULL, 0));
		fake_expect_terminate(want);
	}
}

/* ---- queue 0 ---- */

/* rows: 5041-7.1-02 5041-7.1-03 5041-7.1-04 5041-7.1-05 5041-7.2-01 5040-5.3-04 5040-5.3-07 */
/* rows: 5040-7.2-01 4296-3.2-01 */
Test(rdmap_rx, untagged_segments_are_checked_against_their_buffer)
{
	static const struct {
		uint32_t msn, mo;
		bool last;
		enum perr want;
	} row[] = {
		{1, 0, true, PERR_NONE},          {1, 4, false, PERR_NONE},
		{1, 5, false, PERR_TOO_LONG},     {1, 8, false, PERR_TOO_LONG},
		{1, 9, false, PERR_MO},           {1, UINT32_MAX, false, PERR_MO},
		{0, 0, true, PERR_MSN_RANGE},     {2, 0, false, PERR_NONE},
		{2, 0, true, PERR_MSN_RANGE}, /* the message before it was not finished */
		{3, 0, true, PERR_NO_BUFFER},     {32768, 0, true, PERR_NO_BUFFER},
		{32769, 0, true, PERR_MSN_RANGE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		fake_teardown();
		fake_setup();
		fake_post_recvs(2, 8);
		fake_push(fake_send(1, row[i].msn, row[i].mo, row[i].last, "four"));
		if (row[i].want)
			fake_expect_terminate(row[i].want);
		else
			fake_expect_nothing_sent();
	}
}

/* rows: 5041-7.1-02 5041-7.1-08 5040-5.3-02 5040-5.3-11 */
Test(rdmap_rx, empty_send_takes_a_buffer)
{
	fake_post_recvs(1, 8);
	fake_push(fake_send(1, 1, 0, true, ""));
	fake_expect_done(0, RDMAP_SUCCESS, 0);
	fake_push(fake_send(2, 2, 0, true, ""));
	fake_expect_terminate(PERR_NO_BUFFER);
}

Test(rdmap_rx, opcode_does_not_change_within_a_message)
{
	struct pair_msg m = fake_send(2, 1, 4, true, "four");

	fake_post_recvs(1, 8);
	m.b[3] = 0x45;
	fake_push(fake_send(1, 1, 0, false, "four"));
	fake_push(m);
	fake_expect_terminate(PERR_OPCODE);
}

/* rows: 5041-7.1-05 */
Test(rdmap_rx, segment_of_a_message_that_is_over_is_refused)
{
	fake_post_recvs(2, 8);
	fake_push(fake_send(2, 1, 0, true, "bad"));
	fake_push(fake_send(1, 1, 0, true, "one"));
	fake_expect_terminate(PERR_MSN_RANGE);
	fake_expect_done(0, RDMAP_SUCCESS, 3);
}

Test(rdmap_rx, receives_are_taken_no_earlier_than_needed)
{
	fake_post_recvs(5, 8);
	fake_expect_open();
	cr_expect_eq(fake.qp->recv_taken, 0);
	fake_push(fake_send(2, 3, 0, false, "two"));
	cr_expect_eq(fake.qp->recv_taken, 3);
}

Test(rdmap_rx, more_open_receives_than_the_window_has_are_not_taken)
{
	fake_post_recvs(PAIR_DEPTH + 1, 8);
	fake_push(fake_send(1, PAIR_DEPTH + 1, 0, false, "x"));
	fake_expect_terminate(PERR_NO_BUFFER);
	cr_expect_eq(fake.qp->recv_taken, PAIR_DEPTH);
	for (unsigned i = 0; i < PAIR_DEPTH; i++)
		fake_expect_done(i, RDMAP_FLUSH_ERR, 0);
}

static struct pair_msg invalidate_msg(uint16_t ssn, uint32_t msn, uint32_t stag)
{
	struct wire_ddp h = fake_header(WIRE_OP_SEND_INV);

	h.msn = msn;
	h.inv_stag = stag;
	return pair_segment(FAKE_SID, ssn, &h, "done", 4);
}

/* rows: 5041-7.1-11 5040-5.3-14 */
Test(rdmap_rx, stag_is_invalid_from_delivery_on)
{
	struct pair_msg m = fake_write(3, FAKE_BASE, "late");

	pair_region(&fake.node, SCOPED, FAKE_BASE, 64, FAKE_ALL, fake.qp->scope);
	fake_post_recvs(1, 8);
	be_put32(m.b + 4, SCOPED);
	fake_push(invalidate_msg(2, 1, SCOPED));
	cr_expect(stag_find(fake.node.stags, SCOPED)->valid, "not out of order");
	fake_push(fake_write(1, FAKE_BASE, "one"));
	cr_expect_not(stag_find(fake.node.stags, SCOPED)->valid);
	cr_expect_eq(fake.qp->done[0].inv_stag, SCOPED);
	fake_push(m);
	fake_expect_terminate(PERR_TAGGED_STAG);
}

/* rows: 5040-4.1-11 */
Test(rdmap_rx, invalidate_field_of_a_plain_send_means_nothing)
{
	struct pair_msg m = fake_send(1, 1, 0, true, "plain");

	pair_region(&fake.node, SCOPED, FAKE_BASE, 64, FAKE_ALL, fake.qp->scope);
	fake_post_recvs(1, 8);
	be_put32(m.b + 4, SCOPED);
	fake_push(m);
	cr_expect(stag_find(fake.node.stags, SCOPED)->valid);
	cr_expect_not(pair_done(fake.qp).invalidated);
}

/* ---- queue 2 ---- */

/* rows: 5040-3.2-10 5040-5.4-05 */
Test(rdmap_rx, terminate_is_not_answered_with_a_terminate)
{
	static uint8_t body[200];
	static const uint32_t len[] = {4, 6, 20, 24, 52, 53, 200};

	be_put32(body, 0x1101c000);
	be_put16(body + 4, 0x16);
	body[6] = 0xc1;
	body[7] = 0x40;
	be_put32(body + 8, 0x99);
	be_put64(body + 12, 0x5000);
	for (unsigned i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		struct assoc_event ev;

		fake_teardown();
		fake_setup();
		fake_post_recvs(1, 8);
		fake_push(fake_send(1, 1, 0, false, "half"));
		fake_push(fake_rdmap_terminate(2, body, len[i]));
		fake_expect_done(0, RDMAP_FLUSH_ERR, 0);
		fake_expect_end(1);
		fake_push(fake_end(3));
		cr_assert(pair_event(&fake.node, &ev));
		cr_expect_eq(ev.reason, ASSOC_REASON_REMOTE);
		cr_expect_eq(ev.at.perr, PERR_TAGGED_BOUNDS);
		cr_expect_eq(ev.at.term, 0x1101);
		cr_expect_eq(ev.at.stag, len[i] >= 20 ? 0x99 : 0, "%u bytes", len[i]);
		cr_expect_eq(ev.at.to, len[i] >= 20 ? 0x5000 : 0);
		cr_expect_eq(ev.at.len, len[i] >= 20 ? 8 : 0);
	}
}

/* rows: 5040-5.4-03 5040-5.4-06 */
Test(rdmap_rx, malformed_terminate_is_not_answered_with_a_terminate)
{
	for (unsigned i = 0; i < 2; i++) {
		struct pair_msg m = fake_rdmap_terminate(1, "\x11\x01\x00", i ? 4 : 3);

		fake_teardown();
		fake_setup();
		be_put32(m.b + 12, i ? 2 : 1);
		fake_push(m);
		fake_expect_end(1);
		fake_push(fake_end(2));
		fake_expect_closed(ASSOC_REASON_ERROR, i ? PERR_NO_BUFFER : PERR_RDMAP_LENGTH);
	}
}

/* rows: 5040-4.8-05 5040-5.4-04 */
Test(rdmap_rx, unknown_terminate_code_is_passed_on)
{
	struct assoc_event ev;

	fake_push(fake_rdmap_terminate(1, "\x2f\x42\x1f\xff", 4));
	fake_push(fake_end(2));
	fake_expect_end(1);
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.reason, ASSOC_REASON_REMOTE);
	cr_expect_eq(ev.at.perr, PERR_NONE);
	cr_expect_eq(ev.at.term, 0x2f42);
}

Test(rdmap_rx, terminate_that_overtakes_a_segment_waits_for_it)
{
	fake_post_recvs(1, 8);
	fake_push(fake_end(3));
	fake_push(fake_rdmap_terminate(2, "\0\0\0\0", 4));
	fake_expect_nothing_sent();
	fake_push(fake_send(1, 1, 0, true, "first"));
	fake_expect_done(0, RDMAP_SUCCESS, 5);
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_REMOTE, PERR_CATASTROPHIC);
}

Test(rdmap_rx, error_after_our_close_is_not_reported)
{
	struct pair_msg m;

	fake_push(fake_write(1, FAKE_BASE, "proof"));
	assoc_close(fake.node.assoc, fake.qp->ep);
	cr_assert(pair_pull(&fake.node, &m));
	fake_push(fake_write(2, FAKE_BASE + FAKE_MEM, "bad"));
	fake_expect_nothing_sent();
	fake_push(fake_end(3));
	fake_expect_closed(ASSOC_REASON_LOCAL, PERR_NONE);
	fake_expect_nothing_sent();
}
