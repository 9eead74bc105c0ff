/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 6581 on an association: the order of messages, the events of both programs, the begin of
 * sessions, and the ready-to-receive message. The arithmetic of the params is in test_enh.c.
 */

#include "tests/unit/enhanced_rig.h"

TestSuite(enhanced, .init = setup, .fini = teardown);

/* ---- depths ---- */

/* rows: 6581-7-01 6581-7-04 6581-7-05 6581-7-08 6581-7-09 6581-9-01 6581-9-02 6581-10-01 */
/* rows: 6581-9.1-01 6581-9.1-07 6581-9.1-09 6581-7-12 6581-9.1-04 */
Test(enhanced, both_sides_agree_on_depths_and_see_the_parameters_of_the_other)
{
	const struct wire_enh params = {.ird = 3, .ord = 5}, wish = {.ird = 4, .ord = 8};
	struct assoc_event ev;
	struct pair_msg m;
	uint16_t sid;

	ev = initiate(&params, "hi", &sid);
	cr_expect(ev.enhanced);
	cr_expect_eq(ev.enh.ird, 3);
	cr_expect_eq(ev.enh.ord, 5);
	cr_expect_eq(ev.priv_len, 2);
	cr_expect_arr_eq(b.priv, "hi", 2);
	answer(sid, &wish);
	expect_depths(qb, 4, 3);
	m = pull(&b);
	cr_expect_eq(m.len, 8);
	cr_expect_eq(be_get32(m.b), WIRE_ENH_ACCEPT);
	cr_expect_eq(be_get16(m.b + 4), 4);
	cr_expect_eq(be_get16(m.b + 6), 3, "at most what the initiator can take");
	pair_push(&a, &m);
	ev = expect_event(&a, ASSOC_EV_ACCEPTED);
	cr_expect(ev.enhanced);
	cr_expect_eq(ev.enh.ird, 4);
	cr_expect_eq(ev.enh.ord, 3);
	expect_depths(qa, 3, 4);
}

/* rows: 6581-9.1-07 5040-6.1-02 5040-6.1-03 5040-6.1-04 5040-6.1-05 */
Test(enhanced, agreed_depths_bound_what_is_sent_and_what_is_taken)
{
	const struct wire_enh params = {.ird = 8, .ord = 3};
	struct wire_ddp h = {.last = true, .dv = 1, .rv = 1, .opcode = WIRE_OP_READ_REQ, .qn = 1};
	static const uint8_t nothing[WIRE_READ_REQ_LEN];
	struct pair_msg m;
	unsigned out = 0;
	uint16_t sid;

	initiate(&params, "", &sid);
	answer(sid, &(struct wire_enh){.ird = 3, .ord = 8});
	pair_pump(&a, &b);
	for (uint64_t i = 0; i < 6; i++) {
		struct rdmap_wr wr = request(RDMAP_READ, i);

		pair_post(qa, &wr);
	}
	while (pair_pull(&a, &m)) {
		out++;
		pair_push(&b, &m);
	}
	cr_expect_eq(out, 3, "%u Reads are out", out);
	h.msn = 4; /* one more than b agreed to hold, all of them unanswered */
	m = pair_segment(sid, 4, &h, nothing, sizeof(nothing));
	pair_push(&b, &m);
	while (pair_pull(&b, &m) && opcode_of(&m) != WIRE_OP_TERMINATE)
		;
	cr_expect_eq(be_get16(m.b + 20), 0x1202, "no buffer for it, not %04x", be_get16(m.b + 20));
}

/* rows: 6581-7-01 6581-9.1-10 6581-9.1-11 6581-9.1-12 6581-9.1-13 */
Test(enhanced, depths_that_are_not_negotiated_are_unchanged)
{
	uint16_t sid;

	initiate(&unchanged, "", &sid);
	answer(sid, NULL);
	pair_pump(&a, &b);
	expect_event(&a, ASSOC_EV_ACCEPTED);
	expect_depths(qa, CAP, CAP);
	expect_depths(qb, CAP, CAP);
}

/* rows: 6581-10-02 6581-10-03 6581-10-04 */
Test(enhanced, plain_request_has_a_plain_answer)
{
	const struct assoc_params none = {0};
	struct assoc_event ev;
	struct pair_msg m;
	uint16_t sid;

	cr_assert_eq(assoc_connect(a.assoc, qa->ep, &none, &sid), ASSOC_E_OK);
	m = pull(&a);
	cr_expect_eq(be_get16(m.b + 2), WIRE_INITIATE);
	pair_push(&b, &m);
	ev = expect_event(&b, ASSOC_EV_REQUEST);
	cr_expect_not(ev.enhanced);
	answer(sid, &unchanged);
	m = pull(&b);
	cr_expect_eq(be_get16(m.b + 2), WIRE_ACCEPT);
	cr_expect_eq(m.len, 4);
}

/* rows: 6581-7-06 6581-7-07 6581-7-11 */
Test(enhanced, parameters_count_as_private_data)
{
	static uint8_t priv[WIRE_PRIVATE_MAX];
	struct assoc_params o = {.priv = priv, .len = 508, .enh = &unchanged};
	struct pair_msg m;
	uint16_t sid;

	cr_assert_eq(assoc_connect(a.assoc, qa->ep, &o, &sid), ASSOC_E_OK);
	m = pull(&a);
	cr_expect_eq(m.len, 4 + 512);
	pair_push(&b, &m);
	cr_expect_eq(expect_event(&b, ASSOC_EV_REQUEST).priv_len, 508);
	o.len = 509;
	cr_expect_eq(assoc_accept(b.assoc, sid, qb->ep, &o), ASSOC_E_LEN);
	cr_expect_eq(assoc_reject(b.assoc, sid, &o), ASSOC_E_LEN);
	o.len = 508;
	cr_expect_eq(assoc_accept(b.assoc, sid, qb->ep, &o), ASSOC_E_OK);
	pair_pump(&a, &b);
	cr_expect_eq(expect_event(&a, ASSOC_EV_ACCEPTED).priv_len, 508);
	assoc_close(a.assoc, qa->ep);
	m = pull(&a);
	cr_expect_eq(m.len, 4);
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
}

/* rows: 6581-7-02 6581-9.1-05 6581-9.1-09 6581-7-12 */
Test(enhanced, reject_has_the_required_depths)
{
	const struct wire_enh params = {.ird = 1, .ord = 1};
	const struct wire_enh need = {.ird = WIRE_ENH_UNCHANGED, .ord = 6};
	struct assoc_params o = {.priv = "more", .len = 4, .enh = &need};
	struct assoc_event ev;
	struct pair_msg m;
	uint16_t sid;

	initiate(&params, "", &sid);
	cr_assert_eq(assoc_reject(b.assoc, sid, &o), ASSOC_E_OK);
	m = pull(&b);
	cr_expect_eq(be_get32(m.b), WIRE_ENH_REJECT);
	pair_push(&a, &m);
	expect_nothing_sent(&b);
	expect_nothing_sent(&a);
	ev = expect_event(&a, ASSOC_EV_REJECTED);
	cr_expect(ev.enhanced);
	cr_expect_eq(ev.enh.ord, 6);
	cr_expect_eq(ev.priv_len, 4);
	cr_expect_arr_eq(a.priv, "more", 4);
	cr_expect_eq(assoc_sessions(a.assoc), 0);
}

/* ---- a peer that the test plays ---- */

/* Node a has sent a request with these parameters; the message is discarded. */
static uint16_t requested(const struct wire_enh *params)
{
	struct assoc_params o = {.enh = params};
	uint16_t sid;

	cr_assert_eq(assoc_connect(a.assoc, qa->ep, &o, &sid), ASSOC_E_OK);
	pull(&a);
	return sid;
}

static void reply(uint16_t sid, uint16_t func, const char *body, uint32_t len)
{
	struct pair_msg m = pair_control(sid, 0, func, body, len);

	pair_push(&a, &m);
}

/* a ends the session with both Terminates, the first of which says why. */
static void expect_refusal(enum perr perr)
{
	struct assoc_event ev;
	struct wire_term t;
	struct pair_msg m;

	cr_expect_not(pair_event(&a, &ev), "it was never established");
	m = pull(&a);
	cr_assert_eq(opcode_of(&m), WIRE_OP_TERMINATE);
	cr_expect_eq(be_get16(m.b), 1);
	cr_expect_eq(m.len, 2 + 18 + 4, "no header is copied");
	cr_assert(wire_term_get(m.b + 20, m.len - 20, &t));
	cr_expect_eq(WIRE_TERM_WORD(t.layer, t.etype, t.code), perr_term(perr));
	m = pull(&a);
	cr_expect_eq(be_get32(m.b), 2 << 16 | WIRE_TERMINATE);
}

/* rows: 6581-9.1-06 6581-9.1-08 6581-9.1-07 */
Test(enhanced, more_inbound_reads_than_there_is_room_for_end_the_session)
{
	const struct wire_enh params = {.ird = 2, .ord = 2};

	reply(requested(&params), WIRE_ENH_ACCEPT, "\x00\x02\x00\x08", 4);
	expect_event(&a, ASSOC_EV_ACCEPTED);
	expect_depths(qa, 8, 2); /* raised: there is room for eight */
	teardown();
	setup();
	reply(requested(&params), WIRE_ENH_ACCEPT, "\x00\x02\x00\x09", 4);
	expect_refusal(PERR_ENH_IRD);
}

/* rows: 6581-9.2-10 6581-9.3-01 */
Test(enhanced, no_common_ready_to_receive_message_ends_the_session)
{
	const struct wire_enh params = {.p2p = true, .rtr = WIRE_RTR_WRITE, .ird = 2, .ord = 2};

	reply(requested(&params), WIRE_ENH_ACCEPT, "\xc0\x02\x00\x02", 4); /* Send alone */
	expect_refusal(PERR_ENH_RTR);
	teardown();
	setup();
	reply(requested(&params), WIRE_ENH_ACCEPT, "\x00\x02\x00\x02", 4); /* another model */
	expect_refusal(PERR_ENH_LOCAL);
}

/* The event for an answer of another kind or without parameters. */
/* rows: 6581-10-01 6581-12-01 5043-6.1-04 */
Test(enhanced, answers_of_another_kind_are_violations)
{
	static const struct {
		const struct wire_enh *init_params;
		uint16_t func;
		uint32_t len;
		int want; /* event, or -1: the session is terminated */
	} row[] = {
		{&unchanged, WIRE_ACCEPT, 0, -1},
		{&unchanged, WIRE_ENH_ACCEPT, 3, -1},
		{&unchanged, WIRE_ENH_ACCEPT, 4, ASSOC_EV_ACCEPTED},
		{&unchanged, WIRE_ENH_REJECT, 4, ASSOC_EV_REJECTED},
		{&unchanged, WIRE_ENH_REJECT, 0, ASSOC_EV_REJECTED}, /* without params */
		{&unchanged, WIRE_REJECT, 4, ASSOC_EV_REJECTED},     /* tolerated */
		{&unchanged, WIRE_TERMINATE, 0, ASSOC_EV_REFUSED},
		{NULL, WIRE_ENH_ACCEPT, 4, -1},
		{NULL, WIRE_ENH_REJECT, 4, -1},
		{NULL, WIRE_ACCEPT, 0, ASSOC_EV_ACCEPTED},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pair_msg m;
		uint16_t sid;

		teardown();
		setup();
		sid = requested(row[i].init_params);
		reply(sid, row[i].func, "\x3f\xff\x3f\xff", row[i].len);
		if (row[i].want >= 0) {
			expect_event(&a, (enum assoc_ev_type)row[i].want);
			continue;
		}
		assoc_tx_acked(a.assoc);
		m = pull(&a);
		cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE, "row %u", i);
	}
}

/* rows: 6581-12-01 */
Test(enhanced, requests_without_parameters_are_refused)
{
	for (uint32_t len = 0; len < 4; len++) {
		struct pair_msg m = pair_control(2, 0, WIRE_ENH_INITIATE, "\x3f\xff\x3f\xff", len);
		struct assoc_event ev;

		teardown();
		setup();
		pair_push(&b, &m);
		cr_expect_not(pair_event(&b, &ev));
		cr_expect_eq(be_get32(pull(&b).b), WIRE_TERMINATE);
	}
}

Test(enhanced, side_without_rfc_6581_refuses)
{
	struct assoc_cfg cfg = pair_cfg(false);
	struct pair_msg m = pair_control(2, 0, WIRE_ENH_INITIATE, "\x3f\xff\x3f\xff", 4);
	struct assoc_event ev;

	pair_deinit(&b);
	cfg.plain_only = true;
	pair_init(&b, &cfg);
	pair_push(&b, &m);
	cr_expect_not(pair_event(&b, &ev));
	cr_expect_eq(be_get32(pull(&b).b), WIRE_TERMINATE);
}

/* A value that no endpoint was made for is capped, not believed. */
/* rows: 6581-12-01 */
Test(enhanced, absurd_depths_are_capped)
{
	struct pair_msg m = pair_control(2, 0, WIRE_ENH_INITIATE, "\x3f\xfe\x3f\xfe", 4);

	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	answer(2, NULL);
	expect_depths(qb, CAP, CAP);
	m = pull(&b);
	cr_expect_eq(be_get16(m.b + 4), CAP);
	cr_expect_eq(be_get16(m.b + 6), CAP);
}

/* ---- the life of a session, as that of a plain one ---- */

/* rows: 6581-7-03 6581-7-11 6581-7-12 */
Test(enhanced, session_follows_the_rules_of_a_plain_one)
{
	struct assoc_params o = {.enh = &unchanged};
	struct pair_msg m;
	uint16_t sid;

	/* refused without the program's order: a Terminate */
	initiate(&unchanged, "", &sid);
	cr_assert_eq(assoc_refuse(b.assoc, sid), ASSOC_E_OK);
	m = pull(&b);
	cr_expect_eq(be_get32(m.b), WIRE_TERMINATE);
	pair_push(&a, &m);
	expect_event(&a, ASSOC_EV_REFUSED);
	assoc_tx_acked(a.assoc);
	assoc_tx_acked(b.assoc);

	/* the stream's next session, from number 0; canceled: nothing before the answer */
	cr_assert_eq(assoc_connect(a.assoc, qa->ep, &o, &sid), ASSOC_E_OK);
	m = pull(&a);
	cr_expect_eq(be_get32(m.b), WIRE_ENH_INITIATE);
	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	assoc_close(a.assoc, qa->ep);
	expect_nothing_sent(&a);
	cr_expect_eq(expect_event(&a, ASSOC_EV_CLOSED).reason, ASSOC_REASON_LOCAL);
	answer(sid, NULL);
	pair_pump(&a, &b);
	assoc_tx_acked(a.assoc);
	assoc_tx_acked(b.assoc);
	pair_pump(&a, &b);
	expect_event(&b, ASSOC_EV_CLOSED);

	/* not answered in time: a Terminate */
	assoc_tx_acked(a.assoc);
	assoc_tx_acked(b.assoc);
	initiate(&unchanged, "", &sid);
	assoc_tick(b.assoc, PAIR_ANSWER_MS);
	m = pull(&b);
	cr_expect_eq(be_get32(m.b), WIRE_TERMINATE);
}

/* rows: 6581-7-03 */
Test(enhanced, requests_beyond_the_limit_are_refused_and_glare_ends_both)
{
	static const char params[] = "\x3f\xff\x3f\xff";
	unsigned asked_for = 0, refused = 0;
	struct assoc_event ev;
	struct pair_msg m;
	uint16_t sid;

	for (uint16_t i = 0; i < pair_cfg(false).pending_max + 2; i++) {
		m = pair_control(i, 0, WIRE_ENH_INITIATE, params, 4);
		pair_push(&b, &m);
	}
	while (pair_event(&b, &ev))
		asked_for++;
	while (pair_pull(&b, &m))
		refused += be_get16(m.b + 2) == WIRE_TERMINATE;
	cr_expect_eq(asked_for, pair_cfg(false).pending_max);
	cr_expect_eq(refused, 2);

	sid = requested(&unchanged);
	m = pair_control(sid, 0, WIRE_ENH_INITIATE, params, 4);
	pair_push(&a, &m);
	assoc_tx_acked(a.assoc);
	cr_expect_eq(be_get16(pull(&a).b + 2), WIRE_TERMINATE);
}
