/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw DDP mode: RFC 5041 for a ULP other than RDMAP. Its queue numbers and RsvdULP arrive
 * unchanged; an error is reported, and then the ULP ends the stream; one half of a stream may end
 * before the other.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/rdmap/rdmap_fsm.h"
#include "tests/lib/fake.h"
#include "tests/lib/names.h"
#include "tests/lib/two.h"
#include "util/be.h"

enum { QUEUES = 4, NOTIFY = 0x80 };

static const struct rdmap_cfg raw = {.raw = true, .queues = QUEUES, .notify_mask = NOTIFY};

static void setup_two(void)
{
	two_setup_as(&raw);
}

static void setup_fake(void)
{
	fake_setup_as(&raw);
}

TestSuite(raw, .init = setup_two, .fini = two_teardown);
TestSuite(raw_rx, .init = setup_fake, .fini = fake_teardown);

static void post_recv(struct pair_qp *qp, uint64_t cookie, uint8_t qn, uint32_t stag, uint32_t len)
{
	struct rdmap_recv *r = &qp->recv[qp->recv_posted++];

	*r = (struct rdmap_recv){.cookie = cookie, .qn = qn, .nsge = len > 0};
	r->sge[0] = (struct sgl_elem){.to = TWO_TO + 1024 * cookie, .len = len, .stag = stag};
}

static struct rdmap_wr untagged(uint64_t cookie, uint32_t qn, uint64_t rsvd, uint32_t len)
{
	struct rdmap_wr wr = two_request(RDMAP_SEND, cookie, 0, len);

	wr.raw.qn = qn;
	wr.raw.rsvd = rsvd;
	return wr;
}

static struct rdmap_wr tagged(uint64_t cookie, uint8_t rsvd, uint32_t len)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, cookie, 0, len);

	wr.raw.rsvd = rsvd;
	return wr;
}

/* rows: 4296-2.1.2-01 5041-4.3-02 5041-4.3-03 5041-4.3-05 5041-4.3-06 5041-5.4-03 5041-5.4-04 */
Test(raw, untagged_messages_go_to_the_ulps_queue_with_its_octets)
{
	for (uint8_t qn = 0; qn < QUEUES; qn++)
		post_recv(two.qb, qn, qn, TWO_STAG_B, 512);
	for (uint32_t qn = QUEUES; qn-- > 0;) /* in reverse order of posting */
		two_post(two.qa, untagged(qn, qn, 0xa5deadbe00 + qn, 10 + qn));
	pair_pump(&two.a, &two.b);
	for (uint32_t qn = QUEUES; qn-- > 0;) {
		struct rdmap_done d = pair_done(two.qb);

		cr_expect_eq(d.status, RDMAP_SUCCESS);
		cr_expect_eq(d.op, RDMAP_RECV);
		cr_expect_eq(d.cookie, qn);
		cr_expect_eq(d.qn, qn);
		cr_expect_eq(d.len, 10 + qn);
		cr_expect_eq(d.imm, 0xa5deadbe00 + qn, "%lx", (unsigned long)d.imm);
		cr_expect_arr_eq(two.mb + 1024 * qn, two.ma, 10 + qn);
	}
}

/* rows: 5041-4.3-07 5041-4.3-06 5041-4.3-10 */
Test(raw, every_queue_counts_its_messages_from_1)
{
	static const uint32_t qn[] = {0, 3, 0, 3, 1}, msn[] = {1, 1, 2, 2, 1};

	for (unsigned i = 0; i < 5; i++)
		two_post(two.qa, untagged(i, qn[i], 0xff, 1));
	for (unsigned i = 0; i < 5; i++) {
		uint32_t len;
		struct wire_ddp h = two_pull_header(&two.a, &len);

		cr_expect_eq(h.qn, qn[i]);
		cr_expect_eq(h.msn, msn[i]);
		cr_expect_eq(h.mo, 0);
	}
}

/* rows: 5041-4.2-02 5041-4.2-03 5041-4.2-04 5041-4.2-06 5041-4.2-07 4296-2.1.2-02 4296-2.1.2-13 */
Test(raw, tagged_messages_are_reported_only_if_their_octet_asks_for_it)
{
	struct rdmap_done d;
	struct pair_msg m;

	two.a.mulpdu = WIRE_MULPDU_MIN;
	post_recv(two.qb, 7, RDMAP_QN_TAGGED, 0, 0);
	two_post(two.qa, tagged(1, 0x7f, 100));
	two_post(two.qa, tagged(2, 0xb6, 2000));
	while (pair_pull(&two.a, &m)) {
		cr_expect_eq(m.b[3], m.len < 200 ? 0x7f : 0xb6, "the same octet in all segments");
		cr_expect_eq(be_get32(m.b + 4), TWO_STAG_B);
		pair_push(&two.b, &m);
	}
	d = pair_done(two.qb);
	cr_expect_eq(d.cookie, 7);
	cr_expect_eq(d.op, RDMAP_RECV_TAGGED);
	cr_expect_eq(d.imm, 0xb6);
	cr_expect_eq(d.inv_stag, TWO_STAG_B);
	cr_expect_eq(d.len, 2000);
	cr_expect_eq(pair_done(two.qb).status, RDMAP_STATUS_COUNT);
	cr_expect_arr_eq(two.mb, two.ma, 2000);
}

/* rows: 4296-2.1.2-06 5041-5.3-06 */
Test(raw, messages_and_notifications_are_reported_in_the_order_sent)
{
	post_recv(two.qb, 0, RDMAP_QN_TAGGED, 0, 0);
	post_recv(two.qb, 1, 0, TWO_STAG_B, 64);
	post_recv(two.qb, 2, RDMAP_QN_TAGGED, 0, 0);
	two_post(two.qa, tagged(1, NOTIFY | 1, 0));
	two_post(two.qa, untagged(2, 0, 0, 4));
	two_post(two.qa, tagged(3, NOTIFY | 2, 8));
	pair_pump(&two.a, &two.b);
	for (uint64_t i = 0; i < 3; i++)
		cr_expect_eq(pair_done(two.qb).cookie, i);
}

/* rows: 5041-5.2-06 */
Test(raw, only_sends_and_writes_and_what_the_header_has_room_for)
{
	struct rdmap_wr bad[] = {
		two_request(RDMAP_READ, 0, 0, 8),     untagged(1, RDMAP_RAW_QUEUES, 0, 8),
		untagged(2, 0, UINT64_C(1) << 40, 8), tagged(3, 0, 8),
		two_request(RDMAP_SEND_INV, 4, 0, 8), untagged(5, 0, 0, 8),
	};

	bad[3].raw.rsvd = 0x100;
	bad[5].flags |= RDMAP_SOLICITED;
	for (unsigned i = 0; i < 6; i++)
		two_post(two.qa, bad[i]);
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < 6; i++)
		two_expect_done(two.qa, i, RDMAP_LOC_OP_ERR);
}

Test(raw, receives_of_queues_that_do_not_exist_are_bad_ones)
{
	post_recv(two.qb, 0, QUEUES, TWO_STAG_B, 64);
	post_recv(two.qb, 1, 2, TWO_STAG_B, 64);
	two_post(two.qa, untagged(1, 2, 0, 4));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qb, 0, RDMAP_LOC_OP_ERR);
	two_expect_done(two.qb, 1, RDMAP_SUCCESS);
}

/* RsvdULP is taken from the last segment; earlier ones are not compared with it. */
Test(raw_rx, octets_may_differ_between_segments)
{
	struct wire_ddp h = {.dv = 1, .rv = 2, .rsv = 1, .opcode = 5, .inv_stag = 1, .msn = 1};
	struct rdmap_done d;

	post_recv(fake.qp, 0, 0, FAKE_STAG, 64);
	fake_push(pair_segment(FAKE_SID, 1, &h, "four", 4));
	h = (struct wire_ddp){.last = true, .dv = 1, .rv = 3, .rsv = 3, .opcode = 15, .msn = 1};
	h.mo = 4;
	h.inv_stag = UINT32_MAX;
	fake_push(pair_segment(FAKE_SID, 2, &h, "more", 4));
	d = pair_done(fake.qp);
	cr_expect_eq(d.len, 8);
	cr_expect_eq(d.imm, UINT64_C(0xffffffffff));
}

/* ---- errors ---- */

static void expect_error(enum perr perr, struct assoc_event *ret)
{
	cr_assert(pair_event(&fake.node, ret), "%s is reported", names_perr(perr));
	cr_expect_eq(ret->type, ASSOC_EV_ERROR);
	cr_expect_eq(ret->at.perr, perr, "%s, not %s", names_perr(ret->at.perr), names_perr(perr));
	cr_expect_eq(ret->ep, fake.qp->ep);
}

static struct pair_msg bad_write(uint16_t ssn)
{
	struct pair_msg m = fake_write(ssn, FAKE_BASE + FAKE_MEM - 2, "beyond");

	m.b[3] = 0x55;
	return m;
}

/* rows: 5041-6.2-01 5041-6.2.2-03 5041-6.2.2-06 5041-7.1-16 4296-2.1.2-14 5041-3-09 5041-3-10 */
Test(raw_rx, error_is_reported_with_header_and_length_and_the_stream_stays)
{
	struct pair_msg m = bad_write(1);
	struct assoc_event ev;

	fake_push(m);
	expect_error(PERR_TAGGED_BOUNDS, &ev);
	cr_assert_not_null(ev.term);
	cr_expect_eq(ev.term->seg_len, 14 + 6);
	cr_expect_eq(ev.term->ddp_len, 14);
	cr_expect_arr_eq(ev.term->ddp, m.b + 2, 14);
	cr_expect_eq(ev.at.to, FAKE_BASE + FAKE_MEM - 2);
	fake_expect_nothing_sent();
	fake_expect_open();
}

/* rows: 5041-7.1-17 5041-6.2.2-04 5041-7.1-15 */
Test(raw_rx, after_an_error_segments_are_dropped_and_requests_complete)
{
	struct rdmap_wr wr = {.cookie = 9, .op = RDMAP_SEND, .flags = RDMAP_SIGNALED};
	struct assoc_event ev;

	post_recv(fake.qp, 0, 0, FAKE_STAG, 64);
	post_recv(fake.qp, 1, 0, FAKE_STAG, 64);
	fake_push(fake_send(1, 1, 0, false, "half"));
	fake_push(bad_write(2));
	expect_error(PERR_TAGGED_BOUNDS, &ev);
	fake_expect_done(0, RDMAP_FLUSH_ERR, 0);
	fake_push(fake_write(3, FAKE_BASE, "late"));
	fake_push(fake_send(4, 1, 4, true, "rest"));
	fake_push(bad_write(5));
	fake_expect_none();
	cr_expect_neq(fake.mem[0], 'l');
	cr_expect_not(pair_event(&fake.node, &ev), "one report");
	pair_post(fake.qp, &wr);
	fake_expect_none();
}

/* rows: 5041-7.1-18 5041-6.2.2-05 */
Test(raw_rx, one_more_message_may_be_sent_and_no_other)
{
	struct rdmap_wr wr = {.cookie = 1, .op = RDMAP_SEND, .flags = RDMAP_SIGNALED};
	struct assoc_event ev;
	struct pair_msg m;

	fake_push(bad_write(1));
	expect_error(PERR_TAGGED_BOUNDS, &ev);
	pair_post(fake.qp, &wr);
	wr.cookie = 2;
	pair_post(fake.qp, &wr);
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_SEGMENT);
	fake_expect_nothing_sent();
	fake_expect_done(1, RDMAP_SUCCESS, 0);
	assoc_close(fake.node.assoc, fake.qp->ep);
	fake_expect_end(2);
	fake_push(fake_end(2));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_TAGGED_BOUNDS);
}

Test(raw_rx, message_being_sent_at_an_error_is_finished_and_not_counted)
{
	struct rdmap_wr wr = {.cookie = 1,
			      .op = RDMAP_SEND,
			      .flags = RDMAP_SIGNALED,
			      .nsge = 1,
			      .sge = {{FAKE_BASE, 1000, FAKE_STAG}}};
	struct assoc_event ev;
	struct pair_msg m;
	unsigned n = 0;

	fake.node.mulpdu = WIRE_MULPDU_MIN;
	pair_post(fake.qp, &wr);
	cr_assert(pair_pull(&fake.node, &m));
	fake_push(bad_write(1));
	expect_error(PERR_TAGGED_BOUNDS, &ev);
	wr.cookie = 2;
	wr.nsge = 0;
	pair_post(fake.qp, &wr);
	pair_post(fake.qp, &wr);
	while (pair_pull(&fake.node, &m))
		n++;
	cr_expect_eq(n, 3, "%u segments, expected two of the first message and one of the next", n);
	fake_expect_done(1, RDMAP_SUCCESS, 0);
	fake_expect_done(2, RDMAP_SUCCESS, 0);
	fake_expect_none();
}

/* rows: 5041-6.2.2-06 */
Test(raw_rx, ulp_that_does_not_close_after_an_error_is_closed_in_time)
{
	struct assoc_event ev;

	assoc_tick(fake.node.assoc, 1000);
	fake_push(bad_write(1));
	expect_error(PERR_TAGGED_BOUNDS, &ev);
	cr_expect_eq(assoc_expiry(fake.node.assoc), 1000 + PAIR_CLOSE_MS / 2);
	assoc_tick(fake.node.assoc, 1000 + PAIR_CLOSE_MS / 2);
	fake_expect_end(1);
	fake_push(fake_end(2));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_TAGGED_BOUNDS);
}

/* rows: 5041-7.1-01 5041-7.1-02 5041-7.1-04 5041-6.2.2-03 */
Test(raw_rx, each_failure_has_its_code)
{
	static const struct {
		uint32_t qn, msn, mo;
		uint8_t dv;
		enum perr want;
	} row[] = {
		{QUEUES, 1, 0, 1, PERR_QN},
		{9, 1, 0, 1, PERR_QN},
		{1, 1, 0, 1, PERR_NO_BUFFER},
		{0, 0, 0, 1, PERR_MSN_RANGE},
		{0, 1, 70, 1, PERR_MO},
		{0, 1, 62, 1, PERR_TOO_LONG},
		{0, 1, 0, 2, PERR_UNTAGGED_VERSION},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct wire_ddp h = {.last = true, .dv = row[i].dv, .qn = row[i].qn};
		struct assoc_event ev;

		h.msn = row[i].msn;
		h.mo = row[i].mo;
		fake_teardown();
		setup_fake();
		post_recv(fake.qp, 0, 0, FAKE_STAG, 64);
		fake_push(pair_segment(FAKE_SID, 1, &h, "four", 4));
		expect_error(row[i].want, &ev);
		fake_expect_nothing_sent();
	}
}

/* A ULP that has closed gets only the event of the end. */
Test(raw_rx, error_after_our_close_is_no_separate_event)
{
	struct assoc_event ev;

	assoc_close(fake.node.assoc, fake.qp->ep);
	fake_push(bad_write(1));
	cr_expect_not(pair_event(&fake.node, &ev));
	fake_expect_end(1);
	fake_push(fake_end(2));
	fake_expect_closed(ASSOC_REASON_LOCAL, PERR_NONE);
}

/* The time for the last message counts from the last progress. */
Test(raw_rx, close_timer_restarts_while_the_last_message_is_sent)
{
	struct rdmap_wr wr = {.cookie = 1,
			      .op = RDMAP_SEND,
			      .flags = RDMAP_SIGNALED,
			      .nsge = 1,
			      .sge = {{FAKE_BASE, 1000, FAKE_STAG}}};
	struct assoc_event ev;
	struct pair_msg m;

	fake.node.mulpdu = WIRE_MULPDU_MIN;
	assoc_tick(fake.node.assoc, 1000);
	fake_push(fake_end(1));
	cr_assert(pair_event(&fake.node, &ev));
	pair_post(fake.qp, &wr);
	for (unsigned i = 1; i <= 2; i++) {
		assoc_tick(fake.node.assoc, 1000 + i * (PAIR_CLOSE_MS / 2 - 1));
		cr_assert(pair_pull(&fake.node, &m));
		cr_expect_eq(m.ppid, WIRE_PPID_SEGMENT);
	}
	assoc_tick(fake.node.assoc, 1000 + 3 * (PAIR_CLOSE_MS / 2 - 1));
	cr_assert(pair_pull(&fake.node, &m));
	fake_expect_done(1, RDMAP_SUCCESS, 0);
}

Test(raw_rx, notice_without_a_receive_is_a_missing_buffer)
{
	struct pair_msg m = fake_write(1, FAKE_BASE, "tell");
	struct assoc_event ev;

	m.b[3] = NOTIFY;
	fake_push(m);
	expect_error(PERR_NO_BUFFER, &ev);
}

/* ---- the end, half by half ---- */

/* rows: 5041-6.2.1-04 5041-6.2.1-05 5041-3-11 */
Test(raw_rx, peer_ends_its_half_and_the_ulp_may_go_on)
{
	struct rdmap_wr wr = {.cookie = 1, .op = RDMAP_SEND, .flags = RDMAP_SIGNALED};
	struct assoc_event ev;
	struct pair_msg m;

	fake_push(fake_end(1));
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_HALF_CLOSED);
	fake_expect_nothing_sent();
	pair_post(fake.qp, &wr);
	cr_assert(pair_pull(&fake.node, &m));
	fake_expect_done(1, RDMAP_SUCCESS, 0);
	assoc_close(fake.node.assoc, fake.qp->ep);
	fake_expect_end(2);
	fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
}

/* rows: 5041-6.2.1-03 */
Test(raw_rx, data_after_the_end_of_a_half_aborts_the_stream)
{
	struct assoc_event ev;

	fake_push(fake_end(1));
	cr_assert(pair_event(&fake.node, &ev));
	fake_push(fake_write(2, FAKE_BASE, "late"));
	cr_expect_eq(fake.mem[0], 0);
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_VIOLATION, PERR_NONE);
}

/* rows: 5041-6.2.1-04 */
Test(raw_rx, half_closed_stream_is_closed_in_time)
{
	struct assoc_event ev;

	assoc_tick(fake.node.assoc, 1000);
	fake_push(fake_end(1));
	cr_assert(pair_event(&fake.node, &ev));
	assoc_tick(fake.node.assoc, 1000 + PAIR_CLOSE_MS / 2 - 1);
	fake_expect_nothing_sent();
	assoc_tick(fake.node.assoc, 1000 + PAIR_CLOSE_MS / 2);
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
}

/* rows: 5041-6.2.1-06 5041-6.2.1-02 */
Test(raw, own_end_leaves_reception_enabled)
{
	struct assoc_event ev;

	for (unsigned i = 0; i < 2; i++)
		post_recv(two.qb, i, 0, TWO_STAG_B, 64);
	two_post(two.qa, untagged(1, 0, 0, 8));
	assoc_close(two.b.assoc, two.qb->ep);
	two_post(two.qb, untagged(9, 0, 0, 8));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qb, 0, RDMAP_SUCCESS);
	cr_assert(pair_event(&two.a, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_HALF_CLOSED);
	two_post(two.qa, untagged(2, 0, 0, 8));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qb, 1, RDMAP_SUCCESS);
	assoc_close(two.a.assoc, two.qa->ep);
	pair_pump(&two.a, &two.b);
	two_expect_closed(&two.a, ASSOC_REASON_PEER, PERR_NONE);
	two_expect_closed(&two.b, ASSOC_REASON_LOCAL, PERR_NONE);
	cr_expect_eq(two.qb->taken, 0, "nothing is begun after the close");
}

Test(raw_rx, association_that_is_lost_closes_a_half_closed_stream)
{
	struct assoc_event ev;

	fake_push(fake_end(1));
	cr_assert(pair_event(&fake.node, &ev));
	assoc_lost(fake.node.assoc);
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
}

/* ---- the machine of an endpoint, every state with every event ---- */

Test(rdmap_fsm, every_state_with_every_event)
{
	static const enum rdmap_state to[RDMAP_STATE_COUNT][RDMAP_EV_EVENT_COUNT] = {
		[RDMAP_UNBOUND] = {[RDMAP_EV_BIND] = RDMAP_OPEN},
		[RDMAP_OPEN] = {RDMAP_OPEN, RDMAP_STOPPING, RDMAP_FAILED, RDMAP_REPORTED,
				RDMAP_OPEN, RDMAP_UNBOUND},
		[RDMAP_STOPPING] = {RDMAP_STOPPING, RDMAP_STOPPING, RDMAP_FAILED, RDMAP_FAILED,
				    RDMAP_STOPPING, RDMAP_UNBOUND},
		[RDMAP_REPORTED] = {RDMAP_REPORTED, RDMAP_FAILED, RDMAP_FAILED, RDMAP_REPORTED,
				    RDMAP_FAILED, RDMAP_UNBOUND},
		[RDMAP_FAILED] = {RDMAP_FAILED, RDMAP_FAILED, RDMAP_FAILED, RDMAP_FAILED,
				  RDMAP_FAILED, RDMAP_UNBOUND},
	};

	for (int s = 0; s < RDMAP_STATE_COUNT; s++)
		for (int e = 0; e < RDMAP_EV_EVENT_COUNT; e++)
			cr_expect_eq(rdmap_fsm_next(s, e), to[s][e], "state %d, event %d", s, e);
}
