/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests that are wrong, that lose their memory in flight, or that the peer refuses: how
 * they end, and what the other side receives.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/two.h"
#include "util/be.h"

enum { OWN_B = 0x0badcafe };

TestSuite(transfer_errors, .init = two_setup, .fini = two_teardown);

/* ---- bad requests ---- */

Test(transfer_errors, bad_requests_complete_in_order_and_send_nothing)
{
	struct rdmap_wr wr[10];
	static const enum rdmap_status want[10] = {
		RDMAP_SUCCESS,     RDMAP_LOC_OP_ERR,  RDMAP_LOC_LEN_ERR,    RDMAP_LOC_SGE_ERR,
		RDMAP_LOC_SGE_ERR, RDMAP_LOC_KEY_ERR, RDMAP_LOC_BOUNDS_ERR, RDMAP_LOC_ACCESS_ERR,
		RDMAP_LOC_PD_ERR,  RDMAP_SUCCESS,
	};
	unsigned sent = 0;

	pair_region(&two.a, 0x100, TWO_TO, 64, 0, 0);
	pair_region(&two.a, 0x200, TWO_TO, 64, TWO_ALL, 999);
	for (unsigned i = 0; i < 10; i++) {
		wr[i] = two_request(RDMAP_WRITE, i, 0, 8);
		wr[i].flags = 0; /* failure is always reported */
	}
	wr[1].op = RDMAP_RECV;
	wr[2].flags = RDMAP_INLINE;
	wr[2].len = RDMAP_INLINE_MAX + 1;
	wr[3].nsge = SGL_MAX + 1;
	wr[4].op = RDMAP_IMM;
	wr[5].sge[0].stag = 77;
	wr[6].sge[0].len = TWO_MEM + 1;
	wr[7].op = RDMAP_READ;
	wr[7].sge[0].stag = 0x100;
	wr[8].sge[0].stag = 0x200;
	for (unsigned i = 0; i < 10; i++)
		two_post(two.qa, wr[i]);
	while (two_move(&two.a, &two.b) ||
	       two_move(&two.a, &two.b)) /* that many may take two calls */
		sent++;
	cr_expect_eq(sent, 2);
	for (unsigned i = 0; i < 10; i++)
		two_expect_done(two.qa, i, want[i]);
	cr_expect_eq(two.qa->done[6].at.stag, TWO_STAG_A);
	cr_expect_eq(two.qa->done[6].at.len, TWO_MEM + 1);
}

Test(transfer_errors, request_that_its_taker_found_bad_completes_with_its_status)
{
	struct rdmap_wr wr = two_request(RDMAP_SEND, 2, 0, 8);

	wr.status = RDMAP_LOC_OP_ERR;
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 8));
	two_post(two.qa, wr);
	while (two_move(&two.a, &two.b))
		;
	two_expect_none(two.qa);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_LOC_OP_ERR);
}

/* rows: 5041-5.2-02 */
Test(transfer_errors, more_than_4_gigabytes_are_refused)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, UINT32_MAX);

	wr.nsge = 2;
	wr.sge[1] = (struct sgl_elem){TWO_TO, 1, TWO_STAG_A};
	two_post(two.qa, wr);
	cr_expect_not(two_move(&two.a, &two.b));
	two_expect_done(two.qa, 1, RDMAP_LOC_LEN_ERR);
}

Test(transfer_errors, owner_full_of_bad_requests_does_not_hold_up_other_streams)
{
	struct pair_qp *qc = pair_qp(&two.a), *qd = pair_qp(&two.b);
	struct rdmap_wr bad = two_request(RDMAP_RECV, 0, 0, 8);
	uint16_t other = pair_connect(&two.a, qc, &two.b, qd);
	struct pair_msg m;

	for (unsigned i = 0; i < 5 * PAIR_DEPTH; i++)
		two_post(two.qa, bad);
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 8));
	two_post(qc, two_request(RDMAP_WRITE, 1, 0, 8));
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(m.sid, other);
	cr_expect_lt(two.qa->taken, two.qa->posted);
	cr_expect_eq(assoc_expiry(two.a.assoc), 0, "another turn is requested");
	cr_expect_not(pair_pull(&two.a, &m), "it has used its share");
	for (unsigned i = 0; i < 6 && two.qa->taken < two.qa->posted; i++) {
		assoc_tick(two.a.assoc, 0);
		if (pair_pull(&two.a, &m))
			cr_expect_eq(m.sid, two.sid);
	}
	cr_expect_eq(two.qa->taken, two.qa->posted, "each turn takes some more");
	cr_expect_not(pair_pull(&two.a, &m));
	cr_expect_eq(assoc_expiry(two.a.assoc), UINT64_MAX);
}

Test(transfer_errors, bad_receives_complete_in_order_and_the_next_is_used)
{
	pair_region(&two.b, 0x100, TWO_TO, 64, STAG_REMOTE_WRITE, 0);
	pair_post_recv(two.qb, 1, 77, TWO_TO, 64);
	pair_post_recv(two.qb, 2, TWO_STAG_B, TWO_TO, 64);
	pair_post_recv(two.qb, 3, TWO_STAG_B, TWO_TO, TWO_MEM + 1);
	two.qb->recv[two.qb->recv_posted++] = (struct rdmap_recv){.cookie = 4, .nsge = 3};
	pair_post_recv(two.qb, 5, 0x100, TWO_TO, 64);
	pair_post_recv(two.qb, 6, TWO_STAG_B, TWO_TO + 64, 64);
	two_post(two.qa, two_request(RDMAP_SEND, 1, 0, 20));
	two_post(two.qa, two_request(RDMAP_SEND, 2, 20, 20));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qb, 1, RDMAP_LOC_KEY_ERR);
	two_expect_done(two.qb, 2, RDMAP_SUCCESS);
	two_expect_done(two.qb, 3, RDMAP_LOC_BOUNDS_ERR);
	two_expect_done(two.qb, 4, RDMAP_LOC_SGE_ERR);
	two_expect_done(two.qb, 5, RDMAP_LOC_ACCESS_ERR);
	two_expect_done(two.qb, 6, RDMAP_SUCCESS);
	cr_expect_arr_eq(two.mb + 64, two.ma + 20, 20);
}

/* ---- memory that is revoked ---- */

/* rows: 5040-4.8-03 5040-4.8-08 5040-7.1-02 */
Test(transfer_errors, memory_revoked_during_a_message_ends_the_stream)
{
	struct pair_msg m;

	pair_region(&two.a, 5, TWO_TO, TWO_MEM, TWO_ALL, 0);
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 8));
	two_post(two.qa,
		 (struct rdmap_wr){
			 .cookie = 2, .op = RDMAP_SEND, .nsge = 1, .sge = {{TWO_TO, 4000, 5}}});
	two_post(two.qa, two_request(RDMAP_WRITE, 3, 0, 8));
	cr_assert(pair_pull(&two.a, &m));
	cr_assert(pair_pull(&two.a, &m));
	stag_remove(two.a.stags, 5);
	two_expect_vector(&two.a, "V22", 3);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 2, RDMAP_LOC_KEY_ERR);
	two_expect_none(two.qa);
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(be_get16(m.b), 4);
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	m = pair_control(two.sid, 1, WIRE_TERMINATE, NULL, 0);
	pair_push(&two.a, &m);
	two_expect_closed(&two.a, ASSOC_REASON_ERROR, PERR_CATASTROPHIC);
}

Test(transfer_errors, memory_revoked_before_the_first_byte_fails_only_its_request)
{
	struct assoc_seg seg;

	pair_region(&two.a, 5, TWO_TO, TWO_MEM, TWO_ALL, 0);
	two_post(two.qa,
		 (struct rdmap_wr){
			 .cookie = 2, .op = RDMAP_WRITE, .nsge = 1, .sge = {{TWO_TO, 4000, 5}}});
	two_post(two.qa, two_request(RDMAP_WRITE, 3, 0, 8));
	cr_assert(assoc_tx_next(two.a.assoc, 1450, &seg));
	stag_remove(two.a.stags, 5);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 2, RDMAP_LOC_KEY_ERR);
	two_expect_done(two.qa, 3, RDMAP_SUCCESS);
}

/* RFC 5040 4.8: the Read Request comes back advanced by what was sent. */
/* rows: 5040-3.2-08 5040-4.8-10 */
Test(transfer_errors, terminate_names_the_offset_where_the_source_was_revoked)
{
	struct wire_read_req req;
	struct wire_term t;
	struct pair_msg m;

	two.b.mulpdu = 1014;
	two_post(two.qa, two_request(RDMAP_READ, 1, 100, 3000));
	cr_expect(two_move(&two.a, &two.b));
	cr_expect(two_move(&two.b, &two.a));
	stag_remove(two.b.stags, TWO_STAG_B);
	cr_assert(pair_pull(&two.b, &m));
	cr_assert(wire_term_get(m.b + 20, m.len - 20, &t));
	cr_expect_eq(WIRE_TERM_WORD(t.layer, t.etype, t.code), perr_term(PERR_ACCESS_STAG));
	cr_assert(t.has_len && t.has_ddp && t.has_read);
	cr_expect_eq(t.seg_len, 46);
	wire_read_req_get(t.read, &req);
	cr_expect_eq(req.sink_to, TWO_TO + 100 + 1000);
	cr_expect_eq(req.src_to, TWO_TO + 1000);
	cr_expect_eq(req.size, 2000);
	pair_push(&two.a, &m);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_REM_ACCESS_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, PERR_ACCESS_STAG);
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, PERR_ACCESS_STAG);
}

/* rows: 5040-7.1-02 */
Test(transfer_errors, receive_revoked_during_a_message_ends_the_stream)
{
	pair_region(&two.b, 5, TWO_TO, TWO_MEM, TWO_ALL, 0);
	pair_post_recv(two.qb, 1, 5, TWO_TO, 4000);
	pair_post_recv(two.qb, 2, 5, TWO_TO, 4000);
	two_post(two.qa, two_request(RDMAP_SEND, 1, 0, 4000));
	cr_expect(two_move(&two.a, &two.b));
	stag_remove(two.b.stags, 5);
	cr_expect(two_move(&two.a, &two.b));
	two_expect_vector(&two.b, "V22", 1);
	two_expect_done(two.qb, 1, RDMAP_LOC_KEY_ERR);
	two_expect_none(two.qb);
}

/* ---- errors that the peer finds ---- */

/* rows: 5041-6.2.2-04 5040-3.2-05 5040-5.4-09 5040-6.2.1-02 */
Test(transfer_errors, write_that_the_peer_refuses_is_named)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 2, 0, 8);

	wr.rto = TWO_TO + TWO_MEM - 4;
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 8));
	two_post(two.qa, wr);
	two_post(two.qa, two_request(RDMAP_WRITE, 3, 0, 8));
	while (two_move(&two.a, &two.b))
		;
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 2, RDMAP_REM_ACCESS_ERR);
	two_expect_done(two.qa, 3, RDMAP_FLUSH_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, PERR_TAGGED_BOUNDS);
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, PERR_TAGGED_BOUNDS);
}

Test(transfer_errors, send_without_a_receive_is_named)
{
	pair_post_recv(two.qb, 9, TWO_STAG_B, TWO_TO, 8);
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 8));
	two_post(two.qa, two_request(RDMAP_SEND, 2, 0, 8));
	two_post(two.qa, two_request(RDMAP_SEND, 3, 0, 8));
	while (two_move(&two.a, &two.b))
		;
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 2, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 3, RDMAP_REM_OP_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, PERR_NO_BUFFER);
}

/* rows: 5041-7.1-04 5041-7.1-15 5040-3.2-03 5040-5.3-04 5040-5.3-07 */
Test(transfer_errors, send_longer_than_its_receive_fails_both)
{
	pair_post_recv(two.qb, 7, TWO_STAG_B, TWO_TO, 99);
	pair_post_recv(two.qb, 8, TWO_STAG_B, TWO_TO, 99);
	two_post(two.qa, two_request(RDMAP_SEND, 1, 0, 100));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qb, 7, RDMAP_LOC_LEN_ERR);
	two_expect_none(two.qb);
	cr_expect_eq(two.mb[0], 0, "nothing of the bad segment is placed");
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, PERR_TOO_LONG);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, PERR_TOO_LONG);
}

/* rows: 5040-5.3-13 5040-5.3-15 5040-7.2-04 5040-7.2-05 5040-8.1.1-01 */
Test(transfer_errors, invalidating_an_stag_not_scoped_to_the_stream_fails)
{
	static const uint32_t stag[] = {TWO_STAG_B, 99, OWN_B};
	static const enum perr want[] = {PERR_INV_SCOPE, PERR_INV_STAG, PERR_INV_SCOPE};

	for (unsigned i = 0; i < 3; i++) {
		struct rdmap_wr wr = two_request(RDMAP_SEND_INV, 1, 0, 8);

		two_teardown();
		two_setup();
		pair_region(&two.b, OWN_B, TWO_TO, 64, TWO_ALL, 555);
		wr.inv_stag = stag[i];
		pair_post_recv(two.qb, 7, TWO_STAG_B, TWO_TO, 99);
		two_post(two.qa, wr);
		pair_pump(&two.a, &two.b);
		two_expect_done(two.qb, 7, RDMAP_FLUSH_ERR);
		two_expect_closed(&two.b, ASSOC_REASON_ERROR, want[i]);
		cr_expect(stag_find(two.b.stags, TWO_STAG_B)->valid);
		cr_expect(stag_find(two.b.stags, OWN_B)->valid);
	}
}

Test(transfer_errors, everything_outstanding_is_flushed_once_and_in_order)
{
	struct rdmap_wr bad = two_request(RDMAP_WRITE, 3, 0, 8);

	bad.sge[0].stag = TWO_STAG_B;
	bad.rstag = 99;
	for (unsigned i = 0; i < 3; i++) {
		two_post(two.qa, two_request(RDMAP_READ, i, 0, 8));
		pair_post_recv(two.qa, 70 + i, TWO_STAG_A, TWO_TO, 8);
	}
	two_post(two.qb, (struct rdmap_wr){.op = RDMAP_SEND});
	two_post(two.qb, (struct rdmap_wr){.op = RDMAP_SEND});
	two_post(two.qb, bad);
	pair_pump(&two.b, &two.a);
	two_expect_done(two.qa, 70, RDMAP_SUCCESS);
	two_expect_done(two.qa, 71, RDMAP_SUCCESS);
	two_expect_closed(&two.a, ASSOC_REASON_ERROR, PERR_TAGGED_STAG);
	cr_expect_eq(two.qa->taken, 0);
	cr_expect_eq(two.qa->recv_taken, 2);
	two_expect_none(two.qa);
}

Test(transfer_errors, unknown_flags_and_impossible_reads_are_refused)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 4);
	struct pair_qp *qc = pair_qp_reads(&two.a, 0, 1), *qd = pair_qp(&two.b);

	pair_connect(&two.a, qc, &two.b, qd);
	wr.flags |= 0x80;
	two_post(two.qa, wr);
	two_post(qc, two_request(RDMAP_READ, 2, 0, 4));
	cr_expect_not(two_move(&two.a, &two.b));
	two_expect_done(two.qa, 1, RDMAP_LOC_OP_ERR);
	two_expect_done(qc, 2, RDMAP_LOC_OP_ERR);
}

/* rows: 5040-8.1.1-06 */
Test(transfer_errors, endpoint_that_holds_no_reads_refuses_them)
{
	struct pair_qp *qc = pair_qp(&two.a), *qd = pair_qp_reads(&two.b, 1, 0);

	pair_connect(&two.a, qc, &two.b, qd);
	two_post(qc, two_request(RDMAP_READ, 2, 0, 0));
	pair_pump(&two.a, &two.b);
	two_expect_done(qc, 2, RDMAP_REM_OP_ERR);
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, PERR_NO_BUFFER);
}

Test(transfer_errors, terminate_names_one_request_among_several)
{
	struct rdmap_wr bad = two_request(RDMAP_READ, 2, 0, 8);

	bad.rto = TWO_TO + TWO_MEM;
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 8));
	two_post(two.qa, bad);
	while (two_move(&two.a, &two.b))
		;
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 2, RDMAP_REM_ACCESS_ERR);
}

Test(transfer_errors, terminate_names_the_write_to_that_stag)
{
	struct rdmap_wr bad = two_request(RDMAP_WRITE, 3, 0, 8);

	bad.rstag = 99;
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 8));
	two_post(two.qa, two_request(RDMAP_WRITE, 2, 0, 8));
	two_post(two.qa, bad);
	while (two_move(&two.a, &two.b))
		;
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 2, RDMAP_FLUSH_ERR);
	two_expect_done(two.qa, 3, RDMAP_REM_ACCESS_ERR);
}

/* A transport may deliver messages while it takes a segment. */
Test(transfer_errors, stream_may_end_while_the_transport_takes_a_segment)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1, .stag = 99};
	struct pair_msg bad = pair_segment(two.sid, 1, &h, "bad", 3);

	for (unsigned unbind = 0; unbind < 2; unbind++) {
		struct assoc_seg seg;
		struct pair_msg m;

		two_teardown();
		two_setup();
		two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 4000));
		cr_assert(assoc_tx_next(two.a.assoc, 1450, &seg));
		if (unbind)
			assoc_unbind(two.a.assoc, two.qa->ep);
		else
			pair_push(&two.a, &bad);
		assoc_tx_accepted(two.a.assoc);
		if (!unbind) {
			two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
			cr_assert(pair_pull(&two.a, &m));
			cr_expect_eq(m.b[3], 0x47);
		}
		two_expect_none(two.qa);
		cr_assert(pair_pull(&two.a, &m));
		cr_expect_eq(be_get16(m.b), unbind ? 2 : 3);
		cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	}
}
