/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that wrap, and the limit of unacknowledged messages on a stream (RFC 5043 10). */
#include <criterion/criterion.h>

#include "tests/lib/assoc_test.h"
#include "tests/lib/two.h"
#include "util/be.h"

TestSuite(transfer_limits, .init = two_setup, .fini = two_teardown);

/* rows: 5041-4.3-08 */
Test(transfer_limits, numbers_wrap)
{
	struct rdmap_wr wr = two_request(RDMAP_SEND, 0, 0, 3);

	assoc_test_preset(two.a.assoc, two.sid, 65530, 65530);
	assoc_test_preset(two.b.assoc, two.sid, 65530, 65530);
	for (unsigned qn = 0; qn < 2; qn++) {
		assoc_test_preset_msn(two.qa->ep, qn, UINT32_MAX - 2, UINT32_MAX - 2);
		assoc_test_preset_msn(two.qb->ep, qn, UINT32_MAX - 2, UINT32_MAX - 2);
	}
	for (unsigned i = 0; i < 20; i++) {
		wr.cookie = i;
		pair_post_recv(two.qb, i, TWO_STAG_B, TWO_TO + 8 * i, 8);
		two_post(two.qa, wr);
		two_post(two.qa, two_request(RDMAP_READ, 100 + i, 100, 5));
	}
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < 20; i++) {
		two_expect_done(two.qb, i, RDMAP_SUCCESS);
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
		two_expect_done(two.qa, 100 + i, RDMAP_SUCCESS);
	}
}

/* RFC 5043 10: at most 32767 chunks of a stream are unacknowledged, including its end. */
/* rows: 5043-10-03 5043-10-04 */
Test(transfer_limits, sender_stops_at_the_limit_of_unacknowledged_chunks)
{
	struct assoc_stream_info info;
	uint32_t pos = 0, n = 0;
	struct pair_msg m;

	assoc_tx_acked(two.a.assoc);
	do {
		two.qa->posted = two.qa->taken = two.qa->ndone = 0;
		two_post(two.qa, (struct rdmap_wr){.op = RDMAP_WRITE});
		n++;
	} while (n <= 40000 && pair_pull(&two.a, &m));
	cr_assert(assoc_stream_next(two.a.assoc, &pos, &info));
	cr_expect_eq(info.unacked, 32765);
	cr_expect_eq(n, 32766);
	assoc_close(two.a.assoc, two.qa->ep);
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
}

Test(transfer_limits, sender_goes_on_when_all_is_acknowledged)
{
	uint32_t n = 0;
	struct pair_msg m;

	assoc_tx_acked(two.a.assoc);
	for (; n < 32765; n++) {
		two.qa->posted = two.qa->taken = two.qa->ndone = 0;
		two_post(two.qa, (struct rdmap_wr){.op = RDMAP_WRITE});
		cr_assert(pair_pull(&two.a, &m));
	}
	two.qa->posted = two.qa->taken = two.qa->ndone = 0;
	two_post(two.qa, (struct rdmap_wr){.op = RDMAP_WRITE});
	cr_expect_not(pair_pull(&two.a, &m));
	assoc_tx_acked(two.a.assoc);
	cr_expect(pair_pull(&two.a, &m));
}

/* Posts Writes until the stream's window is full; returns how many left. */
static uint32_t fill_window(void)
{
	struct pair_msg m;

	for (uint32_t n = 0;; n++) {
		two.qa->posted = two.qa->taken = two.qa->ndone = 0;
		two_post(two.qa, (struct rdmap_wr){.op = RDMAP_WRITE});
		if (n > 40000 || !pair_pull(&two.a, &m))
			return n;
	}
}

/* Bulk data never let everything be acknowledged. */
Test(transfer_limits, sender_goes_on_as_far_as_messages_are_acknowledged)
{
	assoc_tx_acked(two.a.assoc);
	fill_window();
	cr_expect(assoc_tx_full(two.a.assoc));
	assoc_tx_check(two.a.assoc, 30000);
	cr_expect_not(assoc_tx_full(two.a.assoc));
	cr_expect_eq(fill_window(), 2765, "those that are not acknowledged count");
	assoc_tx_progress(two.a.assoc, 1000);
	cr_expect_eq(fill_window(), 31765);
}

/* Uses the whole window except for the reserve for the ends. */
static void spend_window(void)
{
	struct pair_msg m;

	assoc_tx_acked(two.a.assoc);
	for (unsigned i = 0; i < 32764; i++) {
		two.qa->posted = two.qa->taken = two.qa->ndone = 0;
		two_post(two.qa, (struct rdmap_wr){.op = RDMAP_WRITE});
		cr_assert(pair_pull(&two.a, &m));
	}
	two.qa->posted = two.qa->taken = two.qa->ndone = 0;
}

Test(transfer_limits, error_at_the_limit_is_still_reported)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1, .stag = 99};
	struct pair_msg m;

	spend_window();
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 4000));
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_not(pair_pull(&two.a, &m));
	m = pair_segment(two.sid, 1, &h, "bad", 3);
	pair_push(&two.a, &m);
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(m.b[3], 0x47);
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
}

Test(transfer_limits, message_in_progress_at_the_limit_is_finished_before_the_end)
{
	struct pair_msg m;

	spend_window();
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 4000));
	cr_assert(pair_pull(&two.a, &m));
	assoc_close(two.a.assoc, two.qa->ep);
	cr_expect_not(pair_pull(&two.a, &m));
	assoc_tx_acked(two.a.assoc);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert(pair_pull(&two.a, &m));
		cr_expect_eq(m.ppid, WIRE_PPID_SEGMENT);
	}
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
}

Test(transfer_limits, message_in_progress_at_the_limit_is_cut_off_by_unbinding)
{
	struct pair_msg m;

	spend_window();
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 4000));
	cr_assert(pair_pull(&two.a, &m));
	assoc_close(two.a.assoc, two.qa->ep);
	cr_expect_not(pair_pull(&two.a, &m));
	assoc_unbind(two.a.assoc, two.qa->ep);
	cr_assert(pair_pull(&two.a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	two_expect_none(two.qa);
}
