/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMAP_ACKED: requests without a response complete when the peer has acknowledged their segments,
 * in order; on a transport that does not tell, with the response to a Read of no bytes.
 */
#include <criterion/criterion.h>

#include "tests/lib/two.h"

static void setup(void)
{
	two_setup_acked(true, PAIR_READS);
}

TestSuite(acked, .init = setup, .fini = two_teardown);
TestSuite(acked_only_all, .fini = two_teardown);

static void progress(unsigned unacked)
{
	if (unacked > 0)
		assoc_tx_progress(two.a.assoc, unacked);
	else
		assoc_tx_acked(two.a.assoc);
	assoc_tx_report(two.a.assoc);
}

static unsigned send_all(void)
{
	unsigned n = 0;

	while (two_move(&two.a, &two.b))
		n++;
	return n;
}

Test(acked, requests_complete_as_far_as_they_are_acknowledged)
{
	static const enum rdmap_op op[] = {RDMAP_WRITE, RDMAP_SEND, RDMAP_IMM, RDMAP_WRITE};

	for (unsigned i = 0; i < 4; i++) {
		struct rdmap_wr wr = two_request(op[i], i, 0, 10);

		wr.nsge = op[i] != RDMAP_IMM;
		if (i == 2)
			wr.flags = 0;
		pair_post_recv(two.qb, i, TWO_STAG_B, TWO_TO, 10);
		two_post(two.qa, wr);
	}
	cr_expect_eq(send_all(), 4);
	two_expect_none(two.qa);
	progress(4);
	two_expect_none(two.qa);
	progress(3);
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	progress(1);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 3, RDMAP_SUCCESS);
}

Test(acked, the_last_segment_counts)
{
	two.a.mulpdu = 1014;
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 2500));
	cr_expect_eq(send_all(), 3);
	progress(1);
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
}

/* RFC 9260 3.3.1: else it may come 200 ms later. */
Test(acked, the_last_segment_asks_for_it_if_a_program_waits)
{
	struct rdmap_wr quiet = two_request(RDMAP_WRITE, 2, 0, 10);
	static const bool urgent[] = {false, false, true, false};
	struct assoc_seg seg = {.urgent = false};

	quiet.flags = 0;
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 2500));
	two_post(two.qa, quiet);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert(assoc_tx_next(two.a.assoc, 1014, &seg));
		cr_expect_eq(seg.urgent, urgent[i], "segment %u", i);
		assoc_tx_accepted(two.a.assoc);
	}
}

Test(acked, an_acknowledgement_in_the_middle_of_a_message_ends_only_what_is_before_it)
{
	two.a.mulpdu = 1014;
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	two_post(two.qa, two_request(RDMAP_WRITE, 2, 0, 2500));
	cr_expect(two_move(&two.a, &two.b));
	cr_expect(two_move(&two.a, &two.b));
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(send_all(), 2);
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
}

Test(acked, reads_complete_with_their_response_and_in_order)
{
	struct rdmap_wr read = two_request(RDMAP_READ, 2, 100, 10);

	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	two_post(two.qa, read);
	two_post(two.qa, two_request(RDMAP_WRITE, 3, 0, 10));
	pair_pump(&two.a, &two.b);
	two_expect_none(two.qa);
	progress(2);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 3, RDMAP_SUCCESS);
}

Test(acked, what_is_not_acknowledged_fills_the_window)
{
	unsigned sent = 0, n;

	for (unsigned i = 0; i < 20; i++)
		two_post(two.qa, two_request(RDMAP_WRITE, i, 0, 10));
	n = send_all();
	cr_assert_lt(n, 20);
	for (; n > 0; n = send_all()) {
		two_expect_none(two.qa);
		progress(0);
		for (unsigned i = 0; i < n; i++)
			two_expect_done(two.qa, sent++, RDMAP_SUCCESS);
	}
	cr_expect_eq(sent, 20);
}

Test(acked, the_end_of_the_session_waits_for_what_was_sent)
{
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	cr_expect_eq(send_all(), 1);
	assoc_close(two.a.assoc, two.qa->ep);
	cr_expect_eq(send_all(), 0);
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(send_all(), 1, "the Terminate");
}

Test(acked, a_refusal_that_comes_first_is_the_error)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);

	wr.rstag = 0xbad;
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_REM_ACCESS_ERR);
	progress(0);
	two_expect_none(two.qa);
}

/* The acknowledgement of a request and the Terminate that refuses it may be in one packet. */
Test(acked, a_refusal_that_comes_with_the_acknowledgement_is_the_error)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 2, 0, 10);

	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	wr.rstag = 0xbad;
	two_post(two.qa, wr);
	wr.cookie = 3;
	two_post(two.qa, wr);
	cr_expect_eq(send_all(), 3);
	assoc_tx_progress(two.a.assoc, 0);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	assoc_tx_report(two.a.assoc);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_REM_ACCESS_ERR);
	two_expect_done(two.qa, 3, RDMAP_FLUSH_ERR);
	two_expect_none(two.qa);
}

Test(acked, what_was_never_acknowledged_is_flushed)
{
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	cr_expect_eq(send_all(), 1);
	assoc_lost(two.a.assoc);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
}

/* Nobody answers a Read any more: the acknowledgment tells enough. */
Test(acked, when_the_peer_ends_paced_requests_wait_for_the_acknowledgement)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);

	wr.flags |= RDMAP_PACED;
	two_post(two.qa, wr);
	cr_expect_eq(send_all(), 2, "a Write and a Read");
	assoc_close(two.b.assoc, two.qb->ep);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	two_expect_none(two.qa);
	cr_expect_eq(send_all(), 0, "no Terminate yet");
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(send_all(), 1, "the Terminate");
}

Test(acked, when_the_peer_ends_what_was_acknowledged_before_completes_at_once)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);

	wr.flags |= RDMAP_PACED;
	two_post(two.qa, wr);
	cr_expect_eq(send_all(), 2, "a Write and a Read");
	progress(0);
	two_expect_none(two.qa);
	assoc_close(two.b.assoc, two.qb->ep);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
}

Test(acked, when_the_peer_ends_requests_that_are_not_reported_yet_complete)
{
	enum { MORE_THAN_A_BLOCK = 9 };
	struct rdmap_wr wr = two_request(RDMAP_WRITE, MORE_THAN_A_BLOCK, 0, 10);

	for (unsigned i = 0; i < MORE_THAN_A_BLOCK; i++) {
		two_post(two.qa, two_request(RDMAP_WRITE, i, 0, 10));
		cr_expect_eq(send_all(), 1);
		assoc_tx_acked(two.a.assoc);
	}
	wr.flags |= RDMAP_PACED;
	two_post(two.qa, wr);
	cr_expect_eq(send_all(), 2, "a Write and a Read");
	two_expect_none(two.qa);
	assoc_close(two.b.assoc, two.qb->ep);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	for (unsigned i = 0; i < MORE_THAN_A_BLOCK; i++)
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, MORE_THAN_A_BLOCK, RDMAP_SUCCESS);
}

Test(acked, when_both_end_paced_requests_wait_for_the_acknowledgement_once)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);

	wr.flags |= RDMAP_PACED;
	two_post(two.qa, wr);
	cr_expect_eq(send_all(), 2, "a Write and a Read");
	two_post(two.qa, two_request(RDMAP_READ, 2, 0, 10));
	assoc_close_after(two.a.assoc, two.qa->ep, 1);
	assoc_close(two.b.assoc, two.qb->ep);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	cr_expect_eq(send_all(), 0, "nobody answers a Read");
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(send_all(), 1, "the Terminate");
}

/* The transport had no room for the Read of a Write, and both ends close. */
Test(acked, when_both_end_a_read_that_was_begun_does_not_leave)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);
	struct assoc_seg seg;
	struct pair_msg m;

	wr.flags |= RDMAP_PACED;
	two_post(two.qa, wr);
	cr_expect(two_move(&two.a, &two.b), "the Write");
	cr_expect(assoc_tx_next(two.a.assoc, two.a.mulpdu, &seg), "the Read");
	assoc_close_after(two.a.assoc, two.qa->ep, 0);
	assoc_close(two.b.assoc, two.qb->ep);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL, "the Terminate of the session");
}

/* Two Writes are sent after the peer's end. They have no Read then. */
static void send_after_the_peers_end(uint32_t flags)
{
	struct rdmap_wr first = two_request(RDMAP_WRITE, 0, 0, 10);
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);
	struct pair_msg m;

	first.flags = 0;
	wr.flags |= flags;
	two_post(two.qa, first);
	two_post(two.qa, wr);
	two_post(two.qa, two_request(RDMAP_WRITE, 2, 0, 10));
	assoc_close_after(two.a.assoc, two.qa->ep, 3);
	cr_expect(two_move(&two.a, &two.b), "a Write");
	progress(0);
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	assoc_close(two.b.assoc, two.qb->ep);
	cr_expect(two_move(&two.b, &two.a), "the Terminate");
	for (unsigned i = 0; i < 2; i++) {
		cr_assert(pair_pull(&two.a, &m));
		cr_expect_eq(m.ppid, WIRE_PPID_SEGMENT, "Write %u", i);
	}
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
}

Test(acked, after_the_peers_end_a_paced_request_waits_for_the_acknowledgement)
{
	send_after_the_peers_end(RDMAP_PACED);
}

/* ---- transports that report only that everything is acknowledged ---- */

Test(acked_only_all, signaled_requests_complete_with_the_response_to_a_read_of_no_bytes)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, 1, 0, 10);

	two_setup_acked(false, PAIR_READS);
	wr.flags = 0;
	two_post(two.qa, wr);
	two_post(two.qa, two_request(RDMAP_WRITE, 2, 0, 10));
	cr_expect_eq(send_all(), 3, "two Writes and a Read");
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	progress(0);
	two_expect_none(two.qa);
	cr_expect(two_move(&two.b, &two.a));
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
}

Test(acked_only_all, the_end_of_the_session_waits_for_that_response)
{
	two_setup_acked(false, PAIR_READS);
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	cr_expect_eq(send_all(), 2, "a Write and a Read");
	assoc_close(two.a.assoc, two.qa->ep);
	cr_expect_eq(send_all(), 0);
	two_expect_none(two.qa);
	cr_expect(two_move(&two.b, &two.a));
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(send_all(), 1, "the Terminate");
}

Test(acked_only_all, after_the_peers_end_requests_wait_until_everything_is_acknowledged)
{
	two_setup_acked(false, PAIR_READS);
	send_after_the_peers_end(0);
}

Test(acked_only_all, without_reads_everything_must_be_acknowledged)
{
	two_setup_acked(false, 0);
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	cr_expect_eq(send_all(), 1);
	two_expect_none(two.qa);
	progress(0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
}
