/* SPDX-License-Identifier: BSD-2-Clause */
/* A sender waits instead of being farther ahead of receives than both ends agreed on. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdmap/credit.h"
#include "proto/rdmap/hold.h"
#include "tests/lib/two.h"
#include "util/be.h"

enum {
	HOLD = 16384,
	WINDOW = 6000,
	WAIT_MS = 1000,
	LEN = 400,  /* of a message */
	MANY = 60,  /* messages: several windows of them */
	ROOM = 432, /* of the segment of one, hold_room(2 + 18 + LEN) rounded up */
	SEGMENT = 1200,
};

static struct two t;

static void begin_node(struct pair_node *n, struct pair_qp **qp, uint32_t stag, uint32_t window)
{
	const struct rdmap_cfg like = {.ord = PAIR_READS, .ird = PAIR_READS};
	struct assoc_cfg cfg = pair_cfg(n == &t.a);

	pair_init(n, &cfg);
	n->mulpdu = SEGMENT;
	*qp = pair_qp_as(n, &like);
	pair_hold(*qp, HOLD, WAIT_MS, false);
	if (window != UINT32_MAX)
		pair_credits(*qp, window);
	pair_region(n, stag, TWO_TO, TWO_MEM, TWO_ALL, 0);
}

/* Windows of both ends; UINT32_MAX: that end has no credits. */
static void begin(uint32_t a, uint32_t b)
{
	begin_node(&t.a, &t.qa, TWO_STAG_A, a);
	begin_node(&t.b, &t.qb, TWO_STAG_B, b);
	t.sid = pair_connect(&t.a, t.qa, &t.b, t.qb);
	assoc_tx_acked(t.a.assoc);
	assoc_tx_acked(t.b.assoc);
}

static void setup(void)
{
	begin(WINDOW, WINDOW);
}

static void teardown(void)
{
	pair_deinit(&t.a);
	pair_deinit(&t.b);
}

TestSuite(credit, .init = setup, .fini = teardown);
TestSuite(credit_agree, .fini = teardown);

static void post_sends(struct pair_qp *qp, uint32_t stag, unsigned n, uint32_t len)
{
	for (unsigned i = 0; i < n; i++) {
		struct rdmap_wr wr = {
			.cookie = i,
			.op = RDMAP_SEND,
			.flags = RDMAP_SIGNALED,
			.nsge = 1,
			.sge = {{.to = TWO_TO, .len = len, .stag = stag}},
		};

		pair_post(qp, &wr);
	}
}

static void pump(void)
{
	pair_pump(&t.a, &t.b);
}

static struct rdmap_info info(const struct pair_qp *qp)
{
	struct rdmap_info i;

	rdmap_query(qp->ep, &i);
	return i;
}

/* Receives one by one, as a slow program posts them. Returns how many completed in order. */
static unsigned receive(struct pair_qp *qp, uint32_t stag, unsigned n)
{
	unsigned got = 0;

	for (unsigned i = 0; i < n; i++) {
		struct rdmap_done d;

		pair_post_recv(qp, 1000 + i, stag, TWO_TO, TWO_MEM);
		pair_wake(qp);
		pump();
		cr_expect_leq(info(qp).held_bytes, WINDOW);
		while ((d = pair_done(qp)).status != RDMAP_STATUS_COUNT)
			got += d.op == RDMAP_RECV && d.status == RDMAP_SUCCESS;
	}
	return got;
}

static const struct assoc_counters *count(const struct pair_node *n)
{
	return assoc_counters(n->assoc);
}

static bool is_open(struct pair_node *n)
{
	struct assoc_stream_info i;
	uint32_t pos = t.sid;

	return assoc_stream_next(n->assoc, &pos, &i) && strcmp(i.state, "open") == 0;
}

/* ---- waiting ---- */

Test(credit, a_sender_waits_for_receives)
{
	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	pump();
	cr_expect_gt(t.qa->taken, 5);
	cr_expect_lt(t.qa->taken, MANY, "its requests stay in the ring");
	cr_expect_gt(info(t.qb).held_bytes, WINDOW - 2 * ROOM);
	cr_expect_leq(info(t.qb).held_bytes, WINDOW);
	cr_expect_eq(receive(t.qb, TWO_STAG_B, MANY), MANY);
	cr_expect_eq(t.qa->ndone, MANY);
	cr_expect(is_open(&t.a) && is_open(&t.b));
	cr_expect_geq(count(&t.b)->tx_credits, MANY * LEN / WINDOW);
	cr_expect_leq(count(&t.b)->tx_credits, MANY * ROOM / (WINDOW / 2), "one for half a window");
	cr_expect_eq(count(&t.a)->rx_credits, count(&t.b)->tx_credits);
}

Test(credit, both_ends_wait_and_neither_waits_for_the_other)
{
	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	post_sends(t.qb, TWO_STAG_B, MANY, LEN);
	pump();
	cr_expect_lt(t.qa->taken, MANY);
	cr_expect_lt(t.qb->taken, MANY);
	cr_expect_eq(receive(t.qb, TWO_STAG_B, MANY), MANY, "a itself posts no receive");
	cr_expect_lt(t.qb->taken, MANY);
	cr_expect_eq(receive(t.qa, TWO_STAG_A, MANY), MANY);
	cr_expect(is_open(&t.a) && is_open(&t.b));
}

Test(credit, a_message_that_is_longer_than_the_window_waits_in_its_middle)
{
	post_sends(t.qa, TWO_STAG_A, 3, 2 * WINDOW);
	pump();
	cr_expect_leq(info(t.qb).held_bytes, WINDOW);
	cr_expect(is_open(&t.b));
	cr_expect_eq(receive(t.qb, TWO_STAG_B, 3), 3);
	cr_expect_eq(t.qa->ndone, 3);
}

Test(credit, what_follows_a_message_that_waits_waits_as_well)
{
	struct rdmap_wr wr = {
		.op = RDMAP_WRITE,
		.nsge = 1,
		.sge = {{.to = TWO_TO, .len = 4000, .stag = TWO_STAG_A}},
		.rstag = TWO_STAG_B,
		.rto = TWO_TO,
	};

	post_sends(t.qa, TWO_STAG_A, 1, LEN);
	for (unsigned i = 0; i < 10; i++)
		pair_post(t.qa, &wr);
	pump();
	cr_expect_lt(t.qa->taken, 11);
	cr_expect_leq(info(t.qb).held_bytes, WINDOW);
	cr_expect_eq(receive(t.qb, TWO_STAG_B, 1), 1);
	pump();
	cr_expect_eq(t.qa->taken, 11);
	cr_expect(is_open(&t.b));
}

Test(credit, without_messages_that_take_receives_there_are_no_credits)
{
	struct rdmap_wr wr = {
		.op = RDMAP_WRITE,
		.nsge = 1,
		.sge = {{.to = TWO_TO, .len = 8000, .stag = TWO_STAG_A}},
		.rstag = TWO_STAG_B,
		.rto = TWO_TO,
	};

	for (unsigned i = 0; i < MANY; i++)
		pair_post(t.qa, &wr);
	pump();
	cr_expect_eq(t.qa->taken, MANY);
	cr_expect_eq(count(&t.b)->tx_credits, 0);
}

Test(credit, messages_without_bytes_and_immediate_data_count)
{
	struct rdmap_wr imm = {.op = RDMAP_IMM, .imm = 7};

	post_sends(t.qa, TWO_STAG_A, MANY, 0);
	for (unsigned i = 0; i < MANY; i++)
		pair_post(t.qa, &imm);
	pump();
	cr_expect_leq(info(t.qb).held_bytes, WINDOW);
	cr_expect(is_open(&t.b));
	cr_expect_eq(receive(t.qb, TWO_STAG_B, 2 * MANY), 2 * MANY);
}

Test(credit, receives_that_were_announced_need_no_window)
{
	for (unsigned i = 0; i < MANY; i++)
		pair_post_recv(t.qb, i, TWO_STAG_B, TWO_TO, TWO_MEM);
	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	for (unsigned i = 0; i < WINDOW / ROOM; i++)
		cr_assert(two_move(&t.a, &t.b));
	cr_assert_not(two_move(&t.a, &t.b), "none was announced yet");
	pump();
	cr_expect_eq(t.qa->ndone, MANY);
	cr_expect_leq(count(&t.b)->tx_credits, MANY * ROOM / (WINDOW / 2));
}

/* ---- the end ---- */

Test(credit, a_session_that_is_closed_does_not_wait)
{
	struct assoc_event ev;

	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	pump();
	assoc_close(t.a.assoc, t.qa->ep);
	pump();
	cr_expect_eq(receive(t.qb, TWO_STAG_B, MANY), t.qa->taken - 1, "one was taken and waits");
	cr_assert(pair_event(&t.a, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.reason, ASSOC_REASON_LOCAL);
	cr_expect_lt(t.qa->taken, MANY);
}

Test(credit, in_a_message_that_waits_the_time_to_close_ends_the_session)
{
	struct assoc_event ev;

	post_sends(t.qa, TWO_STAG_A, 1, 2 * WINDOW);
	pump();
	assoc_close(t.a.assoc, t.qa->ep);
	pump();
	cr_expect_not(pair_event(&t.a, &ev), "the rest of the message is due");
	pair_tick(&t.a, 10 * PAIR_CLOSE_MS);
	cr_assert(pair_event(&t.a, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(t.qa->done[t.qa->ndone - 1].status, RDMAP_FLUSH_ERR);
}

Test(credit, what_was_posted_before_the_end_waits_for_receives)
{
	struct assoc_event ev;

	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	assoc_close_after(t.a.assoc, t.qa->ep, MANY);
	pump();
	cr_expect_lt(t.qa->taken, MANY);
	cr_expect_eq(receive(t.qb, TWO_STAG_B, MANY), MANY);
	cr_expect_eq(t.qa->ndone, MANY);
	cr_assert(pair_event(&t.a, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.reason, ASSOC_REASON_LOCAL);
}

/* The peer has ended as well: it gives no credit, and nobody there posts receives. */
Test(credit, what_was_posted_before_the_end_of_both_waits_for_nothing)
{
	struct assoc_event ev;

	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	assoc_close_after(t.a.assoc, t.qa->ep, MANY);
	pump();
	assoc_close(t.b.assoc, t.qb->ep);
	pump();
	cr_expect_lt(t.qa->taken, MANY);
	cr_assert(pair_event(&t.a, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.reason, ASSOC_REASON_LOCAL);
}

/* ---- the agreement ---- */

/* Sends more than a window without a receive. True if the sender waits. */
static bool waits(void)
{
	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	pump();
	return t.qa->taken < MANY && is_open(&t.b);
}

Test(credit_agree, an_end_without_credits_is_served_as_before)
{
	begin(WINDOW, UINT32_MAX);
	cr_expect_not(waits());
	cr_expect_not(is_open(&t.b));
	cr_expect_eq(count(&t.a)->tx_credits + count(&t.b)->tx_credits, 0);
}

Test(credit_agree, an_end_that_did_not_ask_gets_none)
{
	begin(UINT32_MAX, WINDOW);
	cr_expect_not(waits());
	cr_expect_eq(count(&t.a)->tx_credits + count(&t.b)->tx_credits, 0);
}

Test(credit_agree, a_window_of_zero_lets_the_peer_go_on)
{
	begin(WINDOW, 0);
	cr_expect_not(waits());
}

Test(credit_agree, private_data_is_what_the_program_sent)
{
	struct assoc_event ev;
	uint16_t sid;

	begin_node(&t.a, &t.qa, TWO_STAG_A, WINDOW);
	begin_node(&t.b, &t.qb, TWO_STAG_B, WINDOW);
	cr_assert_eq(pair_plain_connect(t.a.assoc, t.qa->ep, "hello", 5, &sid), ASSOC_E_OK);
	pump();
	cr_assert(pair_event(&t.b, &ev));
	cr_expect_eq(ev.priv_len, 5);
	cr_expect_arr_eq(ev.priv, "hello", 5);
	cr_expect_eq(pair_plain_accept(t.b.assoc, sid, t.qb->ep, t.a.priv, 493), ASSOC_E_LEN);
	cr_assert_eq(pair_plain_accept(t.b.assoc, sid, t.qb->ep, t.a.priv, 492), ASSOC_E_OK);
	pump();
	cr_assert(pair_event(&t.a, &ev));
	cr_expect_eq(ev.priv_len, 492);
}

/* ---- a peer that does otherwise ---- */

/* The test plays the peer of t.a, which asked for credits. Returns what t.a offered. */
static struct wire_offer fake_peer(bool answers)
{
	const struct wire_offer own = {.tag = 77, .window = WINDOW, .receives = 3};
	struct wire_offer offer = {0};
	struct pair_msg m;
	uint8_t priv[WIRE_OFFER_LEN];

	begin_node(&t.b, &t.qb, TWO_STAG_B, WINDOW); /* not used */
	begin_node(&t.a, &t.qa, TWO_STAG_A, WINDOW);
	cr_assert_eq(pair_plain_connect(t.a.assoc, t.qa->ep, NULL, 0, &t.sid), ASSOC_E_OK);
	cr_assert(pair_pull(&t.a, &m));
	cr_assert_eq(m.len, WIRE_CONTROL_LEN + WIRE_OFFER_LEN);
	cr_assert(wire_offer_get(m.b + WIRE_CONTROL_LEN, WIRE_OFFER_LEN, false, &offer));
	wire_offer_put(priv, answers, &own);
	m = pair_control(t.sid, 0, WIRE_ACCEPT, priv, sizeof(priv));
	pair_push(&t.a, &m);
	return offer;
}

static void push_credit(uint32_t tag, uint32_t limit, uint64_t pos)
{
	const struct wire_credit c = {.tag = tag, .limit = limit, .pos = pos};
	struct pair_msg m = {.sid = t.sid, .ppid = WIRE_PPID_CREDIT, .len = WIRE_CREDIT_LEN};

	wire_credit_put(m.b, &c);
	pair_push(&t.a, &m);
}

/* Segments that t.a sends now. */
static unsigned sends(void)
{
	struct pair_msg m;
	unsigned n = 0;

	while (pair_pull(&t.a, &m))
		n += m.ppid == WIRE_PPID_SEGMENT;
	return n;
}

/* The stream has given its memory back; the association still knows what the message is. */
Test(credit_agree, a_credit_after_the_end_of_its_session_is_no_violation)
{
	struct wire_offer offer = fake_peer(true);
	struct pair_msg m = pair_control(t.sid, 1, WIRE_TERMINATE, NULL, 0);
	struct assoc_event ev;

	pair_push(&t.a, &m);
	sends();
	assoc_tx_acked(t.a.assoc);
	while (pair_event(&t.a, &ev))
		;
	cr_assert(assoc_idle(t.a.assoc));
	push_credit(offer.tag, 5, 0);
	cr_expect_eq(count(&t.a)->rx_violations, 0);
	cr_expect_eq(count(&t.a)->rx_dropped, 1);
}

Test(credit_agree, what_cannot_be_is_ignored)
{
	struct wire_offer offer = fake_peer(true);
	unsigned first;

	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	first = sends();
	cr_expect_eq(first, 3 + WINDOW / ROOM, "three receives and a window");
	push_credit(offer.tag + 1, 100, ROOM);
	push_credit(offer.tag, 3, (first + 1) * ROOM);
	push_credit(offer.tag, 3, UINT64_MAX);
	push_credit(offer.tag, 3, 0);
	push_credit(offer.tag, UINT32_MAX, 3 * ROOM);
	cr_expect_eq(sends(), 0);
	push_credit(offer.tag, 5, 5 * ROOM);
	cr_expect_eq(sends(), 2);
	push_credit(offer.tag, 4, 4 * ROOM);
	cr_expect_eq(sends(), 0, "it is older");
	push_credit(offer.tag, 1000, 5 * ROOM);
	cr_expect_eq(first + 2 + sends(), MANY, "as many as it likes");
	cr_expect(is_open(&t.a));
}

Test(credit_agree, a_peer_that_returns_what_it_got_announces_nothing)
{
	fake_peer(false);
	post_sends(t.qa, TWO_STAG_A, MANY, LEN);
	cr_expect_eq(sends(), MANY);
}

Test(credit_agree, a_credit_without_agreement_ends_the_session)
{
	struct assoc_event ev;

	fake_peer(false);
	cr_assert(pair_event(&t.a, &ev));
	push_credit(1, 1, 0);
	cr_expect_not(is_open(&t.a));
}

Test(credit_agree, a_credit_of_another_length_ends_the_session)
{
	struct pair_msg m = {.ppid = WIRE_PPID_CREDIT, .len = WIRE_CREDIT_LEN + 1};

	fake_peer(true);
	m.sid = t.sid;
	pair_push(&t.a, &m);
	cr_expect_not(is_open(&t.a));
}

/* A credit that was late finds the next session on its stream, which has none. */
Test(credit_agree, a_credit_of_an_old_session_is_dropped)
{
	uint64_t dropped;
	struct wire_offer offer = fake_peer(true);
	struct assoc_event ev;
	struct pair_msg m;

	assoc_close(t.a.assoc, t.qa->ep);
	while (pair_pull(&t.a, &m))
		;
	m = pair_control(t.sid, 1, WIRE_TERMINATE, NULL, 0);
	pair_push(&t.a, &m);
	assoc_tx_acked(t.a.assoc);
	while (pair_event(&t.a, &ev))
		;
	rdmap_set_options(t.qa->ep, 0);
	pair_fake_connect(&t.a, t.qa, t.sid);
	dropped = count(&t.a)->rx_dropped;
	push_credit(offer.tag, 1, 0);
	cr_expect(is_open(&t.a));
	cr_expect_eq(count(&t.a)->rx_dropped, dropped + 1);
}

/* ---- bytes ---- */

Test(credit_bytes, offers_and_credits_have_the_documented_form)
{
	static const uint8_t offer[] = {0x8b, 'D', 'D', 'P', 'c',  'r',  'd',  1,    1, 2,
					3,    4,   0,   15,  0x42, 0x40, 0x00, 0x00, 0, 9};
	static const uint8_t credit[] = {1,    2,    3,    4,    0,    0,    0,    9,
					 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
	static const uint8_t wait[] = {0, 0, 1, 2};
	struct wire_credit c = {0x01020304, 9, UINT64_C(0x1122334455667788), 0}, back;
	const struct wire_offer o = {0x01020304, 1000000, 9};
	struct wire_offer got;
	uint8_t b[WIRE_OFFER_LEN];

	wire_offer_put(b, false, &o);
	cr_expect_arr_eq(b, offer, sizeof(offer));
	cr_expect(wire_offer_get(b, sizeof(b), false, &got));
	cr_expect_eq(got.tag, o.tag);
	cr_expect_eq(got.window, o.window);
	cr_expect_eq(got.receives, o.receives);
	cr_expect_not(wire_offer_get(b, sizeof(b), true, &got), "it is no answer");
	cr_expect_not(wire_offer_get(b + 1, sizeof(b) - 1, false, &got));
	b[0] = 'x';
	cr_expect_not(wire_offer_get(b, sizeof(b), false, &got));
	cr_expect_eq(wire_credit_put(b, &c), sizeof(credit));
	cr_expect_arr_eq(b, credit, sizeof(credit));
	c.wait_ms = 258;
	cr_expect_eq(wire_credit_put(b, &c), sizeof(credit) + sizeof(wait));
	cr_expect_arr_eq(b, credit, sizeof(credit));
	cr_expect_arr_eq(b + sizeof(credit), wait, sizeof(wait));
	cr_expect(wire_credit_get(b, sizeof(credit) + sizeof(wait), &back));
	cr_expect_eq(back.wait_ms, 258);
	cr_expect(wire_credit_get(b, sizeof(credit), &back));
	cr_expect_eq(back.wait_ms, 0);
	for (uint32_t len = 0; len < 24; len++)
		cr_expect(len == 16 || len == 20 || !wire_credit_get(b, len, &back));
}

/* ---- numbers ---- */

Test(credit_numbers, a_window_fits_into_its_hold_twice)
{
	uint32_t longest = hold_room(2 + WIRE_MULPDU_MAX);

	cr_expect_eq(credit_window(0), 0);
	cr_expect_eq(credit_hold_min(), 393360, "ddp.h and ddp_create_qp(3) say so");
	cr_expect_eq(credit_window(credit_hold_min() - 2), 0);
	cr_expect_eq(credit_window(credit_hold_min()), 2 * longest);
	cr_expect_eq(credit_window(1 << 20), (1 << 19) - longest);
	cr_expect_eq(credit_window(16 << 20), CREDIT_WINDOW_MAX);
	cr_expect_eq(credit_window(UINT32_MAX), CREDIT_WINDOW_MAX);
}

Test(credit_numbers, message_numbers_wrap)
{
	struct credit_tx c;

	credit_tx_begin(&c, 1000, UINT32_MAX - 1);
	cr_expect(credit_tx_may(&c, 2000, true, UINT32_MAX - 1));
	credit_tx_sent(&c, 2000, true, UINT32_MAX - 1);
	cr_expect_not(c.beyond);
	credit_tx_sent(&c, 600, true, 3);
	cr_expect(c.beyond);
	cr_expect_not(credit_tx_may(&c, 600, true, 4));
	cr_expect_not(credit_tx_may(&c, 600, false, 0));
	cr_expect(credit_tx_update(&c, 2000, 3));
	cr_expect_not(c.beyond);
	cr_expect(credit_tx_may(&c, 5000, true, 3));
}

/* Whatever the sizes, the order of news and the receives: who waits hears of it once all is
 * delivered. */
Test(credit_numbers, no_one_waits_for_ever)
{
	enum { W = 1 << 17, LONGEST = W / 2 };

	srand(1);
	for (unsigned round = 0; round < 200; round++) {
		uint32_t msn = 0, limit = 0;
		struct credit_tx tx;
		struct credit_rx rx;

		credit_tx_begin(&tx, W, 0);
		credit_rx_begin(&rx, W);
		for (unsigned i = 0; i < 500; i++) {
			uint32_t room = 64 + (uint32_t)rand() % (rand() % 2 ? LONGEST - 64 : 500);
			bool takes = rand() % 3 != 0;

			if (!credit_tx_may(&tx, room, takes, msn + takes)) {
				cr_assert(rx.due, "round %u: it waits, and no report is due",
					  round);
				cr_assert(credit_tx_update(&tx, rx.got, limit));
				credit_rx_reported(&rx, rx.got);
			}
			cr_assert(credit_tx_may(&tx, room, takes, msn + takes));
			msn += takes;
			credit_tx_sent(&tx, room, takes, msn);
			credit_rx_add(&rx, room, takes);
			limit = msn + (rand() % 4 == 0 ? (uint32_t)rand() % 8 : 0);
			cr_assert(!tx.beyond || tx.sent - tx.base <= W || room > W);
		}
	}
}
