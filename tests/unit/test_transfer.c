/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests between two endpoints: the data, the messages on the wire, and the order of
 * completions.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "tests/lib/two.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum { OWN_B = 0x0badcafe }; /* a region of b's endpoint alone */

TestSuite(transfer, .init = two_setup, .fini = two_teardown);

/* ---- Sends ---- */

/* rows: 5041-3-08 5041-4.1-02 5041-4.3-03 5041-5.4-04 5040-3.2-01 5040-3.2-02 5040-5.3-03 */
/* rows: 4296-2.1.2-03 4296-2.1.2-15 */
Test(transfer, sends_of_all_four_kinds)
{
	for (unsigned i = 0; i < 4; i++) {
		struct rdmap_wr wr = two_request(i & 1 ? RDMAP_SEND_INV : RDMAP_SEND, i, 0, 100);
		struct rdmap_done d;

		wr.inv_stag = OWN_B + (i << 8);
		pair_region(&two.b, OWN_B + (i << 8), TWO_TO, 64, TWO_ALL, two.qb->scope);
		if (i & 2)
			wr.flags |= RDMAP_SOLICITED;
		pair_post_recv(two.qb, 70 + i, TWO_STAG_B, TWO_TO + 1000 * i, 200);
		two_post(two.qa, wr);
		pair_pump(&two.a, &two.b);
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
		d = pair_done(two.qb);
		cr_expect_eq(d.cookie, 70 + i);
		cr_expect_eq(d.op, RDMAP_RECV);
		cr_expect_eq(d.status, RDMAP_SUCCESS);
		cr_expect(d.signaled);
		cr_expect_eq(d.len, 100);
		cr_expect_eq(d.solicited, (i & 2) != 0);
		cr_expect_eq(d.invalidated, (i & 1) != 0);
		cr_expect_eq(d.inv_stag, i & 1 ? OWN_B + (i << 8) : 0);
		cr_expect_eq(stag_find(two.b.stags, OWN_B + (i << 8))->valid, (i & 1) == 0);
		cr_expect_arr_eq(two.mb + 1000 * i, two.ma, 100);
	}
}

/* The messages of the golden vectors, from work requests. */
/* rows: 5043-5.2.2-01 5041-4.3-01 5041-4.3-07 5040-3.1-04 5040-4.1-01 5040-4.1-02 5040-4.1-04 */
/* rows: 5040-4.1-05 5040-4.1-10 5040-4.4-01 5040-5.2.1-06 5040-5.2.1-12 5040-5.3-01 5040-5.3-08 */
/* rows: 5040-5.3-10 5040-5.3-12 4296-2.2.1-01 */
Test(transfer, segments_are_the_golden_ones)
{
	static const char *const id[] = {"V10", "V11", "V12", "V13", "V14", "V16"};
	struct rdmap_wr wr[6] = {
		{.op = RDMAP_SEND, .flags = RDMAP_INLINE, .len = 5, .inl = "hello"},
		{.op = RDMAP_SEND_INV, .flags = RDMAP_INLINE, .len = 4, .inl = "done"},
		{.op = RDMAP_SEND, .flags = RDMAP_SOLICITED},
		{.op = RDMAP_SEND_INV,
		 .flags = RDMAP_INLINE | RDMAP_SOLICITED,
		 .len = 1,
		 .inl = "x"},
		{.op = RDMAP_READ,
		 .nsge = 1,
		 .sge = {{TWO_TO, 6, TWO_STAG_A}},
		 .rstag = TWO_STAG_B,
		 .rto = TWO_TO},
		{.op = RDMAP_READ, .nsge = 1, .rstag = UINT32_MAX, .rto = UINT64_MAX},
	};

	pair_region(&two.a, 0x77, 0x100, 64, TWO_ALL, 0);
	wr[4].sge[0] = (struct sgl_elem){0x100, 6, 0x77};
	wr[1].inv_stag = wr[3].inv_stag = OWN_B;
	for (unsigned i = 0; i < 6; i++) {
		struct vector v = vector_get(id[i]);
		struct pair_msg m;

		be_put16(v.b, (uint16_t)(i + 1));
		if (i == 4)
			be_put32(v.b + 20, 0x77); /* the local side chooses the STag of the sink */
		two_post(two.qa, wr[i]);
		cr_assert(pair_pull(&two.a, &m));
		cr_expect_eq(m.len, v.len, "%s", id[i]);
		cr_expect_arr_eq(m.b, v.b, v.len, "%s", id[i]);
	}
}

/* rows: 5043-5.2.2-01 5041-4.1-03 5041-4.1-04 5041-4.1-05 5041-4.1-06 5041-4.2-06 5041-4.3-09 */
/* rows: 5041-4.3-10 5041-5.2-01 5041-5.4-01 5040-5.5-10 */
Test(transfer, long_messages_are_cut_into_equal_segments)
{
	uint32_t off = 0, len;
	struct wire_ddp h;

	two.a.mulpdu = 1018; /* room for 1000 bytes in an untagged segment */
	two_post(two.qa, two_request(RDMAP_SEND, 1, 0, 2500));
	for (unsigned i = 0; i < 3; i++, off += len) {
		two_expect_none(two.qa);
		h = two_pull_header(&two.a, &len);
		cr_expect_eq(len, i < 2 ? 836 : 828, "2500 / 3, to a multiple of 4: %u", len);
		cr_expect_eq(h.mo, off);
		cr_expect_eq(h.msn, 1);
		cr_expect_eq(h.last, i == 2);
	}
	cr_expect_eq(off, 2500);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two.a.mulpdu = 1014;
	two_post(two.qa, two_request(RDMAP_WRITE, 2, 0, 2500));
	for (off = 0; off < 2500; off += len) {
		h = two_pull_header(&two.a, &len);
		cr_expect(h.tagged);
		cr_expect_eq(h.stag, TWO_STAG_B);
		cr_expect_eq(h.to, TWO_TO + off);
		cr_expect_leq(len, 1000);
	}
}

/* ---- RDMAP_PLACED: complete when the peer has delivered it ---- */

Test(transfer, placed_requests_complete_with_the_response_to_a_read_of_no_bytes)
{
	static const enum rdmap_op op[] = {RDMAP_WRITE, RDMAP_SEND, RDMAP_IMM};

	for (unsigned i = 0; i < 3; i++) {
		struct rdmap_wr wr = two_request(op[i], i, 0, 100);
		struct wire_ddp h;
		struct pair_msg m;

		wr.nsge = op[i] != RDMAP_IMM;
		wr.flags |= RDMAP_PLACED;
		pair_post_recv(two.qb, 70, TWO_STAG_B, TWO_TO + 1000, 200);
		two_post(two.qa, wr);
		cr_assert(two_move(&two.a, &two.b));
		two_expect_none(two.qa);
		cr_assert(pair_pull(&two.a, &m));
		wire_ddp_get(m.b + 2, m.len - 2, &h);
		cr_expect_eq(h.opcode, WIRE_OP_READ_REQ);
		pair_push(&two.b, &m);
		cr_expect_not(two_move(&two.a, &two.b), "nothing else follows");
		two_expect_none(two.qa);
		cr_assert(two_move(&two.b, &two.a));
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
		two_expect_none(two.qa);
	}
	cr_expect_arr_eq(two.mb, two.ma, 100);
}

Test(transfer, placed_requests_wait_for_their_read_and_keep_their_order)
{
	for (unsigned i = 0; i < 6; i++) {
		struct rdmap_wr wr = two_request(RDMAP_WRITE, i, 0, 10);

		if (i != 3)
			wr.flags |= RDMAP_PLACED;
		two_post(two.qa, wr);
	}
	while (two_move(&two.a, &two.b))
		;
	two_expect_none(two.qa);
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < 6; i++)
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
}

/* The receiver has all that it wants and leaves, before their Reads arrive. */
Test(transfer, paced_requests_need_no_read_when_the_peer_ends_in_order)
{
	for (unsigned i = 0; i < 3; i++) {
		struct rdmap_wr wr = two_request(RDMAP_WRITE, i, 0, 10);

		wr.flags |= i == 2 ? RDMAP_PLACED : RDMAP_PACED;
		two_post(two.qa, wr);
	}
	cr_assert(two_move(&two.a, &two.b));
	assoc_close(two.b.assoc, two.qb->ep);
	while (two_move(&two.a, &two.b))
		;
	two_expect_none(two.qa);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 2, RDMAP_FLUSH_ERR);
}

Test(transfer, paced_requests_are_flushed_when_the_association_is_lost)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);

	wr.flags |= RDMAP_PACED;
	two_post(two.qa, wr);
	cr_assert(two_move(&two.a, &two.b));
	assoc_lost(two.a.assoc);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
}

/* The peer refuses the Write itself: that is the error of the request. */
Test(transfer, a_placed_write_that_is_refused_fails)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);

	wr.flags = RDMAP_PLACED;
	wr.rstag = 0xbad;
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_REM_ACCESS_ERR);
}

Test(transfer, only_what_has_no_response_can_be_placed)
{
	static const enum rdmap_op op[] = {RDMAP_READ, RDMAP_FETCH_ADD, RDMAP_LOCAL_INV};

	for (unsigned i = 0; i < 3; i++) {
		struct rdmap_wr wr = two_request(op[i], i, 0, 8);

		wr.flags |= RDMAP_PLACED;
		wr.nsge = op[i] == RDMAP_READ;
		two_post(two.qa, wr);
		pair_pump(&two.a, &two.b);
		two_expect_done(two.qa, i, RDMAP_LOC_OP_ERR);
	}
}

/* RFC 5041 3 items 1, 2: only what is not cut yet follows a new limit. */
/* rows: 5041-3-01 5041-3-02 */
Test(transfer, limit_that_shrinks_in_a_message_holds_for_its_rest)
{
	uint32_t sum = 0, len;
	struct wire_ddp h;

	two.a.mulpdu = 2014;
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 8000));
	h = two_pull_header(&two.a, &len);
	cr_expect_eq(len, 2000);
	two.a.mulpdu = 714;
	for (sum = len; sum < 8000; sum += len) {
		h = two_pull_header(&two.a, &len);
		cr_expect_leq(len, 700);
		cr_expect_eq(h.to, TWO_TO + sum);
	}
	cr_expect(h.last);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
}

/* rows: 5041-5.4-01 5040-5.5-10 */
Test(transfer, segment_that_was_not_accepted_is_made_again)
{
	struct assoc_seg first, second;

	two_post(two.qa, two_request(RDMAP_SEND, 1, 0, 100));
	cr_assert(assoc_tx_next(two.a.assoc, 1450, &first));
	cr_assert(assoc_tx_next(two.a.assoc, 1450, &second));
	cr_expect_eq(first.head_len, second.head_len);
	cr_expect_arr_eq(first.head, second.head, first.head_len);
	cr_assert(assoc_tx_next(two.a.assoc, 516, &second));
	cr_expect_arr_eq(first.head, second.head, first.head_len);
	two_expect_none(two.qa);
	assoc_tx_accepted(two.a.assoc);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
}

Test(transfer, payload_is_gathered_and_scattered)
{
	struct rdmap_wr wr = two_request(RDMAP_SEND, 1, 0, 0);

	wr.nsge = SGL_MAX;
	for (unsigned i = 0; i < SGL_MAX; i++)
		wr.sge[i] = (struct sgl_elem){TWO_TO + 512U * i, i * 20, TWO_STAG_A};
	two.qb->recv[two.qb->recv_posted++] = (struct rdmap_recv){
		.cookie = 2,
		.nsge = 2,
		.sge = {{TWO_TO + 100, 777, TWO_STAG_B}, {TWO_TO + 2000, 3000, TWO_STAG_B}},
	};
	two.a.mulpdu = 600;
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	cr_expect_eq(pair_done(two.qb).len, 20 * 120);
	for (unsigned i = 0, at = 0; i < SGL_MAX; i++)
		for (unsigned j = 0; j < 20 * i; j++, at++)
			cr_assert_eq(at < 777 ? two.mb[100 + at] : two.mb[2000 + at - 777],
				     two.ma[512 * i + j]);
}

/* rows: 5041-5.2-08 5040-5.1-09 5040-5.2.1-12 5040-5.3-10 5040-5.5-18 */
Test(transfer, zero_length_messages_are_one_segment_each)
{
	struct rdmap_wr read = two_request(RDMAP_READ, 3, 0, 0);

	pair_post_recv(two.qb, 9, TWO_STAG_B, TWO_TO, 0);
	two_post(two.qa, (struct rdmap_wr){.cookie = 1, .op = RDMAP_SEND, .flags = RDMAP_SIGNALED});
	/* RFC 5041 5.2, RFC 5040 5.2.1: STag and offset of zero bytes are not checked. */
	two_post(two.qa,
		 (struct rdmap_wr){.cookie = 2, .op = RDMAP_WRITE, .rstag = 1, .rto = UINT64_MAX});
	read.sge[0].stag = 0;
	read.rstag = 0;
	read.rto = UINT64_MAX;
	two_post(two.qa, read);
	for (unsigned i = 0; i < 3; i++)
		cr_expect(two_move(&two.a, &two.b));
	cr_expect_not(two_move(&two.a, &two.b));
	cr_expect(two_move(&two.b, &two.a));
	cr_expect_not(two_move(&two.b, &two.a));
	two_expect_done(two.qb, 9, RDMAP_SUCCESS);
	for (unsigned i = 1; i <= 3; i++)
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
}

/* ---- Write and Read ---- */

/* rows: 5041-4.1-01 5040-3.2-04 5040-5.1-02 5040-5.1-04 5040-5.1-05 */
Test(transfer, write_is_placed_without_an_event)
{
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 100, 10000));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_none(two.qb);
	cr_expect_arr_eq(two.mb, two.ma + 100, 10000);
	cr_expect_eq(two.mb[10000], 0);
}

/* rows: 5040-3.2-06 5040-3.2-07 5040-5.2.1-04 5040-5.2.1-10 5040-5.2.2-03 4296-2.2.1-03 */
Test(transfer, read_brings_what_was_written_before_it)
{
	struct rdmap_done d;

	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 5000));
	two_post(two.qa, two_request(RDMAP_READ, 2, 8000, 5000));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	d = pair_done(two.qa);
	cr_expect_eq(d.cookie, 2);
	cr_expect_eq(d.len, 5000);
	two_expect_none(two.qb);
	cr_expect_arr_eq(two.ma + 8000, two.ma, 5000);
}

/* RFC 5040 4.4: the sink is named to the responder, and means nothing there. */
Test(transfer, read_needs_no_remote_right_to_its_sink)
{
	uint8_t *sink = pair_region(&two.a, TWO_STAG_B, 0, 16, STAG_LOCAL_WRITE, 0);
	struct rdmap_wr wr = two_request(RDMAP_READ, 1, 0, 16);

	memset(two.mb, 0x77, 16);
	wr.sge[0] = (struct sgl_elem){0, 16, TWO_STAG_B};
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(sink[15], 0x77);
}

/* rows: 5040-5.2.2-02 5040-6.1-04 */
Test(transfer, outstanding_reads_are_limited_and_hold_back_what_follows_them)
{
	struct rdmap_info info;

	for (unsigned i = 0; i < 4; i++)
		two_post(two.qa, two_request(RDMAP_READ, i, 1000 * i, 10));
	two_post(two.qa, two_request(RDMAP_WRITE, 4, 0, 10));
	while (two_move(&two.a, &two.b))
		;
	rdmap_query(two.qa->ep, &info);
	cr_expect_eq(info.reads_out, PAIR_READS);
	rdmap_query(two.qb->ep, &info);
	cr_expect_eq(info.reads_in, PAIR_READS);
	cr_expect(two_move(&two.b, &two.a));
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	cr_expect(two_move(&two.a, &two.b), "one more Read");
	cr_expect_not(two_move(&two.a, &two.b));
	pair_pump(&two.a, &two.b);
	for (unsigned i = 1; i <= 4; i++)
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
}

/* rows: 5040-5.5-07 5040-5.5-11 5040-5.5-14 4296-2.2.1-10 */
Test(transfer, completions_keep_the_order_of_submission)
{
	struct rdmap_wr quiet = two_request(RDMAP_WRITE, 2, 0, 10);

	quiet.flags = 0;
	pair_post_recv(two.qb, 9, TWO_STAG_B, TWO_TO, 64);
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 10));
	two_post(two.qa, quiet);
	two_post(two.qa, two_request(RDMAP_SEND, 3, 0, 10));
	while (two_move(&two.a, &two.b))
		;
	two_expect_none(two.qa); /* the Read is first, and has no response yet */
	two_expect_done(two.qb, 9, RDMAP_SUCCESS);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_not(two.qa->done[1].signaled, "reported to the owner, not to the client");
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
	two_expect_done(two.qa, 3, RDMAP_SUCCESS);
}

/* rows: 5040-5.5-08 */
Test(transfer, fence_waits_for_the_reads_before_it)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 2, 5000, 10);

	memset(two.mb, 0x11, 10);
	wr.flags |= RDMAP_FENCE;
	two_post(two.qa, two_request(RDMAP_READ, 1, 100, 10));
	two_post(two.qa, wr);
	cr_expect(two_move(&two.a, &two.b));
	cr_expect_not(two_move(&two.a, &two.b));
	pair_pump(&two.a, &two.b);
	cr_expect_eq(two.ma[100], 0x11, "old contents");
	cr_expect_eq(two.mb[0], two.ma[5000], "then new ones");
}

Test(transfer, window_that_is_full_leaves_work_in_the_ring)
{
	for (unsigned i = 0; i < PAIR_DEPTH + 3; i++)
		two_post(two.qa, two_request(i ? RDMAP_WRITE : RDMAP_READ, i, 0, 4));
	while (two_move(&two.a, &two.b))
		;
	cr_expect_eq(two.qa->taken, PAIR_DEPTH);
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < PAIR_DEPTH + 3; i++)
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
}

Test(transfer, owner_without_completion_room_is_called_again_when_woken)
{
	two.qa->no_room = true;
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 4));
	cr_expect_not(two_move(&two.a, &two.b));
	two.qa->no_room = false;
	cr_expect_not(two_move(&two.a, &two.b));
	assoc_tx_wake(two.a.assoc, two.qa->ep);
	cr_expect(two_move(&two.a, &two.b));
}

/* Four responses at most while work of our own waits. */
Test(transfer, responses_and_own_requests_take_turns)
{
	char order[16] = "";
	unsigned n = 0;
	struct pair_msg m;

	for (unsigned i = 0; i < 10; i++)
		two_post(two.qa, two_request(RDMAP_READ, i, 0, 4));
	for (unsigned i = 0; i < 3; i++)
		two_post(two.qb, (struct rdmap_wr){.cookie = i, .op = RDMAP_WRITE});
	while (n < 13) {
		while (two_move(&two.a, &two.b))
			; /* as many Reads as may be outstanding */
		cr_assert(pair_pull(&two.b, &m));
		order[n++] = (m.b[3] & 0xf) == WIRE_OP_WRITE ? 'w' : 'r';
		pair_push(&two.a, &m);
	}
	cr_expect_str_eq(order, "rrrrwrrrrwrrw");
}

Test(transfer, messages_of_a_stream_are_not_interleaved_and_streams_are)
{
	struct pair_qp *qc = pair_qp(&two.a), *qd = pair_qp(&two.b);
	uint16_t other = pair_connect(&two.a, qc, &two.b, qd);
	uint16_t last = other;
	struct pair_msg m;

	two.a.mulpdu = 614;
	for (unsigned i = 0; i < 2; i++) {
		two_post(two.qa, two_request(RDMAP_WRITE, i, 0, 3000));
		two_post(qc, two_request(RDMAP_WRITE, i, 0, 3000));
	}
	for (unsigned i = 0; i < 20; i++) {
		cr_assert(pair_pull(&two.a, &m));
		cr_expect_neq(m.sid, last, "the streams alternate");
		last = m.sid;
		cr_expect_eq(be_get64(m.b + 8), TWO_TO + 600 * (i / 2 % 5));
	}
}

/* ---- what is at the edges ---- */

Test(transfer, messages_are_numbered_once_each_however_many_segments_they_have)
{
	for (unsigned i = 0; i < 3; i++) {
		pair_post_recv(two.qb, i, TWO_STAG_B, TWO_TO + 4000 * i, 4000);
		two_post(two.qa, two_request(RDMAP_SEND, i, 0, 4000));
	}
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < 3; i++) {
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
		two_expect_done(two.qb, i, RDMAP_SUCCESS);
	}
}

/* rows: 5040-4.1-10 */
Test(transfer, invalidate_field_is_zero_in_plain_sends)
{
	struct rdmap_wr wr = two_request(RDMAP_SEND, 1, 0, 4);
	uint32_t len;

	wr.inv_stag = 99;
	two_post(two.qa, wr);
	cr_expect_eq(two_pull_header(&two.a, &len).inv_stag, 0);
}

Test(transfer, segment_that_was_offered_and_not_taken_does_not_delay_the_end)
{
	struct assoc_seg seg;
	struct pair_msg m;

	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 8));
	cr_assert(assoc_tx_next(two.a.assoc, 1450, &seg));
	assoc_close(two.a.assoc, two.qa->ep);
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	m = pair_control(two.sid, 1, WIRE_TERMINATE, NULL, 0);
	pair_push(&two.a, &m);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
}

Test(transfer, stream_that_is_woken_again_and_again_keeps_its_place)
{
	struct pair_qp *qc = pair_qp(&two.a), *qd = pair_qp(&two.b);
	uint16_t other = pair_connect(&two.a, qc, &two.b, qd);
	unsigned ours = 0;
	struct pair_msg m;

	two.a.mulpdu = 614;
	two_post(qc, two_request(RDMAP_WRITE, 1, 0, 6000));
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 6000));
	for (unsigned i = 0; i < 10; i++) {
		assoc_tx_wake(two.a.assoc, two.qa->ep);
		cr_assert(pair_pull(&two.a, &m));
		ours += m.sid != other;
	}
	cr_expect_eq(ours, 5);
}

/* No completion waits for a SACK, and one for each message would halve the message rate. */
Test(transfer, segments_are_not_urgent)
{
	struct pair_msg m;

	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 3000));
	for (unsigned i = 0; i < 3; i++) {
		cr_assert(pair_pull(&two.a, &m));
		cr_expect_not(m.urgent);
	}
}

/* Nothing of the old session is left: numbers, slots, errors. */
/* rows: 5040-6.2.1-04 */
Test(transfer, endpoint_serves_one_session_after_the_other)
{
	struct assoc_event ev;

	for (unsigned i = 0; i < 4; i++) {
		struct rdmap_wr bad = two_request(RDMAP_WRITE, 3, 0, 8);

		pair_post_recv(two.qb, 9, TWO_STAG_B, TWO_TO, 8);
		two_post(two.qa, two_request(RDMAP_SEND, 1, 0, 8));
		two_post(two.qa, two_request(RDMAP_READ, 2, 0, 8));
		pair_pump(&two.a, &two.b);
		two_expect_done(two.qa, 1, RDMAP_SUCCESS);
		two_expect_done(two.qa, 2, RDMAP_SUCCESS);
		two_expect_done(two.qb, 9, RDMAP_SUCCESS);
		bad.rstag = 99;
		if (i & 1)
			assoc_close(two.a.assoc, two.qa->ep);
		else
			two_post(two.qa, bad);
		pair_pump(&two.a, &two.b);
		if (!(i & 1))
			two_expect_done(two.qa, 3,
					RDMAP_SUCCESS); /* the stream has ended in order */
		cr_assert(pair_event(&two.a, &ev));
		cr_expect_eq(ev.reason, i & 1 ? ASSOC_REASON_LOCAL : ASSOC_REASON_REMOTE);
		cr_expect_eq(ev.at.perr, i & 1 ? PERR_NONE : PERR_TAGGED_STAG);
		cr_assert(pair_event(&two.b, &ev));
		cr_expect_eq(ev.reason, i & 1 ? ASSOC_REASON_PEER : ASSOC_REASON_ERROR);
		assoc_tx_acked(two.a.assoc);
		pair_connect(&two.a, two.qa, &two.b, two.qb);
	}
}

Test(transfer, association_may_be_lost_while_the_transport_takes_a_segment)
{
	struct assoc_seg seg;

	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 8));
	cr_assert(assoc_tx_next(two.a.assoc, 1450, &seg));
	assoc_lost(two.a.assoc);
	assoc_tx_accepted(two.a.assoc);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	two_expect_none(two.qa);
}
