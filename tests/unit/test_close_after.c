/* SPDX-License-Identifier: BSD-2-Clause */
/* assoc_close_after(): what was posted before the end of a session is sent before the Terminate. */
#include <criterion/criterion.h>

#include "tests/lib/two.h"

static void setup_acked(void)
{
	two_setup_acked(true, PAIR_READS);
}

static void setup_raw(void)
{
	const struct rdmap_cfg raw = {.raw = true, .queues = 1};

	two_setup_as(&raw);
}

TestSuite(close_after, .init = two_setup, .fini = two_teardown);
TestSuite(close_after_acked, .init = setup_acked, .fini = two_teardown);
TestSuite(close_after_raw, .init = setup_raw, .fini = two_teardown);

static unsigned send_all(struct pair_node *from, struct pair_node *to)
{
	unsigned n = 0;

	while (two_move(from, to))
		n++;
	return n;
}

static void post_writes(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		two_post(two.qa, two_request(RDMAP_WRITE, i, 0, 10));
}

static struct rdmap_wr send_of_b(uint64_t cookie)
{
	return (struct rdmap_wr){
		.cookie = cookie,
		.op = RDMAP_SEND,
		.flags = RDMAP_SIGNALED,
		.nsge = 1,
		.sge = {{.to = TWO_TO, .len = 10, .stag = TWO_STAG_B}},
	};
}

/* rows: 5041-6.2.1-01 */
Test(close_after, the_next_requests_are_sent_and_later_ones_are_not)
{
	post_writes(5);
	assoc_close_after(two.a.assoc, two.qa->ep, 3);
	cr_expect_eq(send_all(&two.a, &two.b), 4, "three Writes and the Terminate");
	for (unsigned i = 0; i < 3; i++)
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	cr_expect_eq(two.qa->taken, 3);
	pair_pump(&two.a, &two.b);
	two_expect_closed(&two.a, ASSOC_REASON_LOCAL, PERR_NONE);
	two_expect_closed(&two.b, ASSOC_REASON_PEER, PERR_NONE);
}

Test(close_after, without_requests_it_is_a_close)
{
	post_writes(1);
	assoc_close_after(two.a.assoc, two.qa->ep, 0);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
	cr_expect_eq(two.qa->taken, 0);
}

Test(close_after, responses_come_before_the_terminate)
{
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 10));
	assoc_close_after(two.a.assoc, two.qa->ep, 1);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Read Request alone");
	cr_expect_eq(send_all(&two.b, &two.a), 1, "the response");
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
}

/* A Read that was taken before counts as well. */
Test(close_after, a_response_that_is_due_already_comes_first)
{
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 10));
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Read Request");
	assoc_close_after(two.a.assoc, two.qa->ep, 0);
	cr_expect_eq(send_all(&two.a, &two.b), 0);
	cr_expect_eq(send_all(&two.b, &two.a), 1, "the response");
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
}

Test(close_after, a_fence_holds_back_what_follows)
{
	struct rdmap_wr fenced = two_request(RDMAP_WRITE, 2, 0, 10);

	fenced.flags |= RDMAP_FENCE;
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 10));
	two_post(two.qa, fenced);
	assoc_close_after(two.a.assoc, two.qa->ep, 2);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
	two_expect_closed(&two.a, ASSOC_REASON_LOCAL, PERR_NONE);
}

/* The peer does not answer any more. */
Test(close_after, it_does_not_wait_for_a_peer_that_has_ended)
{
	struct rdmap_wr fenced = two_request(RDMAP_WRITE, 3, 0, 10);

	fenced.flags |= RDMAP_FENCE;
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 10));
	two_post(two.qa, two_request(RDMAP_READ, 2, 0, 10));
	two_post(two.qa, fenced);
	assoc_close_after(two.a.assoc, two.qa->ep, 3);
	assoc_close(two.b.assoc, two.qb->ep);
	assoc_tx_acked(two.b.assoc); /* its Accept has arrived */
	cr_expect_eq(send_all(&two.b, &two.a), 1, "the peer's Terminate");
	cr_expect_eq(send_all(&two.a, &two.b), 2, "a Write and the Terminate");
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_FLUSH_ERR);
	two_expect_none(two.qa);
	two_expect_closed(&two.a, ASSOC_REASON_LOCAL, PERR_NONE);
}

Test(close_after, both_sides_send_what_they_have)
{
	post_writes(1);
	two_post(two.qb, (struct rdmap_wr){.cookie = 9,
					   .op = RDMAP_WRITE,
					   .flags = RDMAP_SIGNALED,
					   .nsge = 1,
					   .rstag = TWO_STAG_A,
					   .rto = TWO_TO,
					   .sge = {{.to = TWO_TO, .len = 10, .stag = TWO_STAG_B}}});
	assoc_close_after(two.a.assoc, two.qa->ep, 1);
	assoc_close_after(two.b.assoc, two.qb->ep, 1);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	two_expect_done(two.qb, 9, RDMAP_SUCCESS);
}

/* The completion queue has no room, for example. Progress of others gives no more time. */
Test(close_after, its_time_is_limited)
{
	uint64_t at;

	post_writes(2);
	two.qa->no_room = true;
	assoc_close_after(two.a.assoc, two.qa->ep, 2);
	cr_expect_eq(send_all(&two.a, &two.b), 0);
	at = assoc_expiry(two.a.assoc);
	cr_assert_neq(at, UINT64_MAX);
	assoc_tick(two.a.assoc, at - 1);
	two.qa->no_room = false;
	assoc_tx_wake(two.a.assoc, two.qa->ep);
	cr_expect(two_move(&two.a, &two.b), "a Write");
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	two.qa->no_room = true;
	cr_expect_eq(assoc_expiry(two.a.assoc), at);
	assoc_tick(two.a.assoc, at);
	two.qa->no_room = false;
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
	two_expect_none(two.qa);
	cr_expect_eq(two.qa->taken, 1);
}

Test(close_after, an_error_in_between_is_the_reason_of_the_end)
{
	struct rdmap_wr bad = two_request(RDMAP_READ, 1, 0, 10);

	bad.rstag = 0xbad;
	two_post(two.qa, bad);
	assoc_close_after(two.a.assoc, two.qa->ep, 1);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_REM_ACCESS_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, PERR_ACCESS_STAG);
}

Test(close_after, a_close_ends_it_at_once)
{
	post_writes(2);
	two.qa->no_room = true;
	assoc_close_after(two.a.assoc, two.qa->ep, 2);
	assoc_close_after(two.a.assoc, two.qa->ep, 5);
	cr_expect_eq(send_all(&two.a, &two.b), 0);
	two.qa->no_room = false;
	assoc_close(two.a.assoc, two.qa->ep);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
	cr_expect_eq(two.qa->taken, 0);
}

Test(close_after, an_endpoint_that_leaves_ends_it)
{
	post_writes(2);
	assoc_close_after(two.a.assoc, two.qa->ep, 2);
	cr_expect(two_move(&two.a, &two.b), "a Write");
	assoc_unbind(two.a.assoc, two.qa->ep);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
	pair_pump(&two.a, &two.b);
	two_expect_closed(&two.b, ASSOC_REASON_PEER, PERR_NONE);
}

/* What is sent and not acknowledged is flushed by an error: the event has to say so. */
Test(close_after_acked, an_error_before_the_acknowledgment_is_the_reason_of_the_end)
{
	post_writes(1);
	assoc_close_after(two.a.assoc, two.qa->ep, 1);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Write alone");
	two_expect_none(two.qa);
	two_post(two.qb, send_of_b(9)); /* a has no receive for it */
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 0, RDMAP_FLUSH_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_ERROR, PERR_NO_BUFFER);
	two_expect_closed(&two.b, ASSOC_REASON_REMOTE, PERR_NO_BUFFER);
}

Test(close_after_acked, the_terminate_follows_the_acknowledgment)
{
	post_writes(2);
	assoc_close_after(two.a.assoc, two.qa->ep, 2);
	cr_expect_eq(send_all(&two.a, &two.b), 2, "the Writes");
	assoc_tx_progress(two.a.assoc, 1);
	assoc_tx_report(two.a.assoc);
	cr_expect_eq(send_all(&two.a, &two.b), 0);
	assoc_tx_progress(two.a.assoc, 0);
	assoc_tx_report(two.a.assoc);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	pair_pump(&two.a, &two.b);
	two_expect_closed(&two.a, ASSOC_REASON_LOCAL, PERR_NONE);
}

Test(close_after_acked, its_time_is_limited_before_the_acknowledgment_as_well)
{
	post_writes(1);
	assoc_close_after(two.a.assoc, two.qa->ep, 1);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Write");
	cr_expect_eq(assoc_expiry(two.a.assoc), PAIR_CLOSE_MS / 2);
	assoc_tick(two.a.assoc, PAIR_CLOSE_MS / 2);
	cr_expect_eq(assoc_expiry(two.a.assoc), PAIR_CLOSE_MS / 2 + PAIR_CLOSE_MS);
	assoc_tx_acked(two.a.assoc);
	assoc_tx_report(two.a.assoc);
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
}

/* The ULP has closed: it hears of the error by the end alone, and the Terminate leaves at once. */
Test(close_after_raw, an_error_in_between_is_the_reason_of_the_end)
{
	struct rdmap_wr wr = send_of_b(9);

	post_writes(1);
	two.qa->no_room = true;
	assoc_close_after(two.a.assoc, two.qa->ep, 1);
	cr_expect_eq(send_all(&two.a, &two.b), 0);
	two_post(two.qb, wr);
	cr_expect_eq(send_all(&two.b, &two.a), 1, "the Send, and a has no receive for it");
	cr_expect_eq(send_all(&two.a, &two.b), 1, "the Terminate");
	assoc_close(two.b.assoc, two.qb->ep);
	pair_pump(&two.a, &two.b);
	two_expect_closed(&two.a, ASSOC_REASON_ERROR, PERR_NO_BUFFER);
}
