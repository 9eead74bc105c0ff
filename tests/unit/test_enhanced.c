/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 6581 on an association: the order of messages, the events of both programs, the begin of
 * sessions, and the ready-to-receive message. The arithmetic of the params is in test_enh.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/pair.h"
#include "util/be.h"

enum { STAG_A = 0xa00, STAG_B = 0xb00, TO = 0x4000, CAP = 8 };

static struct pair_node a, b;
static struct pair_qp *qa, *qb;
static uint8_t *mb;

static void setup(void)
{
	struct assoc_cfg opener = pair_cfg(true), acceptor = pair_cfg(false);
	const struct rdmap_cfg like = {.ord = CAP, .ird = CAP};
	const uint32_t all = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ;

	pair_init(&a, &opener);
	pair_init(&b, &acceptor);
	qa = pair_qp_as(&a, &like);
	qb = pair_qp_as(&b, &like);
	pair_region(&a, STAG_A, TO, 4096, all, 0);
	mb = pair_region(&b, STAG_B, TO, 4096, all, 0);
}

static void teardown(void)
{
	pair_deinit(&a);
	pair_deinit(&b);
}

TestSuite(enhanced, .init = setup, .fini = teardown);

static const struct wire_enh unchanged = {.ird = WIRE_ENH_UNCHANGED, .ord = WIRE_ENH_UNCHANGED};

static struct assoc_event expect_event(struct pair_node *n, enum assoc_ev_type type)
{
	struct assoc_event ev = {0};

	cr_assert(pair_event(n, &ev), "an event of type %d", type);
	cr_assert_eq(ev.type, type, "an event of type %d, not %d", type, ev.type);
	return ev;
}

/* Node a sends the request and b receives it. Returns the event of b. */
static struct assoc_event initiate(const struct wire_enh *params, const char *priv,
				   uint16_t *ret_sid)
{
	struct assoc_params o = {.priv = priv, .len = strlen(priv), .enh = params};

	cr_assert_eq(assoc_connect(a.assoc, qa->ep, &o, ret_sid), ASSOC_E_OK);
	pair_pump(&a, &b);
	return expect_event(&b, ASSOC_EV_REQUEST);
}

static void answer(uint16_t sid, const struct wire_enh *wish)
{
	struct assoc_params o = {.enh = wish};

	cr_assert_eq(assoc_accept(b.assoc, sid, qb->ep, &o), ASSOC_E_OK);
}

static void expect_depths(struct pair_qp *qp, uint16_t ird, uint16_t ord)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	cr_expect_eq(info.ird, ird, "ird %u, not %u", info.ird, ird);
	cr_expect_eq(info.ord, ord, "ord %u, not %u", info.ord, ord);
}

/* The next message of a node, not handed on. */
static struct pair_msg pull(struct pair_node *n)
{
	struct pair_msg m = {0};

	cr_assert(pair_pull(n, &m));
	return m;
}

static void expect_silence(struct pair_node *n)
{
	struct pair_msg m;

	cr_expect_not(pair_pull(n, &m));
}

static unsigned opcode_of(const struct pair_msg *m)
{
	return m->ppid == WIRE_PPID_SEGMENT ? m->b[3] & 0xfU : 0x100U;
}

static struct rdmap_wr request(enum rdmap_op op, uint64_t cookie)
{
	return (struct rdmap_wr){.cookie = cookie,
				 .op = (uint8_t)op,
				 .flags = RDMAP_SIGNALED,
				 .nsge = 1,
				 .sge = {{TO, 8, STAG_A}},
				 .rstag = STAG_B,
				 .rto = TO};
}

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
Test(enhanced, what_is_not_negotiated_stays_as_it_was)
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
Test(enhanced, reject_says_what_would_be_needed)
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
	expect_silence(&b);
	expect_silence(&a);
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
		const struct wire_enh *asked;
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
		sid = requested(row[i].asked);
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

/* ---- peer to peer ---- */

static uint16_t open_p2p(uint8_t rtr, uint16_t ord)
{
	const struct wire_enh params = {.p2p = true, .rtr = rtr, .ird = 2, .ord = ord};
	uint16_t sid;

	initiate(&params, "", &sid);
	answer(sid, NULL);
	return sid;
}

/* rows: 6581-9.2-09 6581-5-01 6581-9.2-01 6581-9.2-02 6581-9.2-04 6581-9.2-05 6581-9.2-06 */
Test(enhanced, first_message_is_the_agreed_one_and_no_client_sees_it)
{
	static const struct {
		uint8_t rtr;
		unsigned opcode;
	} row[] = {
		{WIRE_RTR_SEND, WIRE_OP_SEND},
		{WIRE_RTR_WRITE, WIRE_OP_WRITE},
		{WIRE_RTR_READ, WIRE_OP_READ_REQ},
		{WIRE_RTR_SEND | WIRE_RTR_WRITE | WIRE_RTR_READ, WIRE_OP_WRITE},
	};

	for (unsigned i = 0; i < 4; i++) {
		struct rdmap_wr send = request(RDMAP_SEND, 1), back = request(RDMAP_SEND, 2);
		struct pair_msg m;

		teardown();
		setup();
		pair_post_recv(qa, 10, STAG_A, TO + 512, 64);
		pair_post_recv(qb, 20, STAG_B, TO + 512, 64);
		back.sge[0].stag = STAG_B;
		open_p2p(row[i].rtr, 2);
		pair_post(qa, &send);
		pair_post(qb, &back);
		m = pull(&b); /* the Accept */
		cr_expect_eq(m.b[4] & 0x80, 0x80, "A is echoed");
		expect_silence(&b);
		pair_push(&a, &m);
		m = pull(&a);
		cr_expect_eq(opcode_of(&m), row[i].opcode, "row %u", i);
		cr_expect_eq(m.len, row[i].opcode == WIRE_OP_READ_REQ ? 48
				    : row[i].opcode == WIRE_OP_WRITE  ? 16
								      : 20);
		pair_push(&b, &m);
		pair_pump(&a, &b);
		cr_expect_eq(qa->ndone, 2, "its Send and what it received");
		cr_expect_eq(qb->ndone, 2);
		for (unsigned k = 0; k < 2; k++) {
			cr_expect_eq(qa->done[k].status, RDMAP_SUCCESS);
			cr_expect_eq(qb->done[k].status, RDMAP_SUCCESS);
		}
	}
}

/* rows: 6581-5-01 */
Test(enhanced, messages_that_overtake_the_first_one_wait_for_it)
{
	for (unsigned i = 0; i < 3; i++) {
		struct rdmap_wr wr[2] = {request(RDMAP_SEND, 1), request(RDMAP_SEND, 2)};
		struct pair_msg m[3], accept;

		teardown();
		setup();
		pair_post_recv(qb, 20, STAG_B, TO, 8);
		pair_post_recv(qb, 21, STAG_B, TO + 8, 8);
		open_p2p((uint8_t)(1 << i), 2);
		accept = pull(&b);
		pair_push(&a, &accept);
		pair_post(qa, &wr[0]);
		pair_post(qa, &wr[1]);
		for (unsigned k = 0; k < 3; k++)
			m[k] = pull(&a);
		pair_push(&b, &m[2]);
		pair_push(&b, &m[1]);
		cr_expect_eq(qb->ndone, 0);
		pair_push(&b, &m[0]);
		cr_expect_eq(qb->ndone, 2, "kind %u", i);
		cr_expect_eq(qb->done[0].cookie, 20);
		cr_expect_eq(qb->done[1].cookie, 21);
		cr_expect_eq(qb->done[1].len, 8);
	}
}

/* The initiator sends before our program gets the event of the Accept: all comes early. */
Test(enhanced, first_message_may_come_before_the_program_accepts)
{
	const struct wire_enh params = {.p2p = true, .rtr = WIRE_RTR_SEND, .ird = 2, .ord = 2};
	struct wire_ddp h = {.last = true, .dv = 1, .rv = 1, .opcode = WIRE_OP_SEND, .msn = 2};
	struct assoc_params none = {0};
	uint8_t w[WIRE_ENH_LEN];
	struct pair_msg m;
	struct assoc_msg in;

	wire_enh_put(w, &params);
	m = pair_control(2, 0, WIRE_ENH_INITIATE, w, sizeof(w));
	pair_push(&b, &m);
	pair_post_recv(qb, 20, STAG_B, TO, 8);
	m = pair_segment(2, 2, &h, "after", 5);
	pair_push(&b, &m);
	h.msn = 1;
	m = pair_segment(2, 1, &h, NULL, 0);
	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	cr_assert_eq(assoc_accept(b.assoc, 2, qb->ep, &none), ASSOC_E_OK);
	while (assoc_rx_early(b.assoc, &in)) {
		struct pair_msg again = {.sid = in.sid, .ppid = in.ppid, .len = in.len};

		memcpy(again.b, in.head, in.len);
		pair_push(&b, &again);
	}
	cr_expect_eq(qb->ndone, 1);
	cr_expect_eq(qb->done[0].len, 5);
	cr_expect_arr_eq(mb, "after", 5);
}

/* b has accepted a peer that the test plays, and waits for its first message. */
static void accept_p2p(uint16_t sid)
{
	struct pair_msg m = pair_control(sid, 0, WIRE_ENH_INITIATE, "\xc0\x04\xc0\x04", 4);

	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	answer(sid, NULL);
	pull(&b);
	assoc_tx_acked(b.assoc);
}

static void push_send(uint16_t sid, uint16_t ssn, uint32_t qn, uint32_t msn, const char *text)
{
	struct wire_ddp h = {.last = true, .dv = 1, .rv = 1, .opcode = WIRE_OP_SEND, .qn = qn};
	struct pair_msg m;

	h.msn = msn;
	m = pair_segment(sid, ssn, &h, text, (uint32_t)strlen(text));
	pair_push(&b, &m);
}

static void push_end(uint16_t sid, uint16_t ssn)
{
	struct pair_msg m = pair_control(sid, ssn, WIRE_TERMINATE, NULL, 0);

	pair_push(&b, &m);
}

/* All that b has to say is said and has arrived: its stream is free again. */
static void expect_free(void)
{
	struct assoc_stream_info info;
	uint32_t pos = 0;
	struct pair_msg m;

	while (pair_pull(&b, &m))
		;
	assoc_tx_acked(b.assoc);
	while (pair_pull(&b, &m))
		;
	assoc_tx_acked(b.assoc);
	cr_expect_not(assoc_stream_next(b.assoc, &pos, &info), "it is %s", info.state);
}

Test(enhanced, messages_after_a_wrong_first_message_are_delivered)
{
	accept_p2p(2);
	push_send(2, 2, 0, 1, "two");
	push_send(2, 3, 0, 2, "three");
	push_end(2, 4);
	push_send(2, 1, 9, 1, "no such queue");
	expect_free();
}

Test(enhanced, session_whose_endpoint_goes_while_it_waits_ends_like_any_other)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1};
	struct pair_msg m;

	accept_p2p(2);
	push_send(2, 2, 0, 1, "two");
	push_end(2, 3);
	assoc_close(b.assoc, qb->ep);
	assoc_unbind(b.assoc, qb->ep);
	m = pair_segment(2, 1, &h, NULL, 0);
	pair_push(&b, &m);
	expect_free();
}

/* Only where a Send might be the first message is there doubt, and only about Sends. */
Test(enhanced, what_needs_no_receive_does_not_wait_for_the_first_message)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1, .stag = STAG_B};
	const struct assoc_counters *n = assoc_counters(b.assoc);
	struct pair_msg m;

	accept_p2p(2);
	h.to = TO;
	m = pair_segment(2, 2, &h, "data", 4);
	pair_push(&b, &m);
	cr_expect_arr_eq(mb, "data", 4);
	cr_expect_eq(n->rx_early, 0);
	push_send(2, 3, 0, 1, "doubt");
	cr_expect_eq(n->rx_early, 1);
}

/* rows: 6581-9.1-03 */
Test(enhanced, read_as_first_message_works_where_no_reads_are_wanted)
{
	struct pair_msg m;

	open_p2p(WIRE_RTR_READ, 0);
	m = pull(&b);
	cr_expect_geq(be_get16(m.b + 4) & 0x3fff, 1, "the responder has room for one");
	pair_push(&a, &m);
	m = pull(&a);
	cr_expect_eq(opcode_of(&m), WIRE_OP_READ_REQ);
	pair_push(&b, &m);
	pair_pump(&a, &b);
	expect_depths(qa, 2, 1);
	cr_expect_eq(qa->ndone, 0);
	assoc_close(a.assoc, qa->ep);
	pair_pump(&a, &b);
	expect_event(&a, ASSOC_EV_ACCEPTED);
	cr_expect_eq(expect_event(&a, ASSOC_EV_CLOSED).reason, ASSOC_REASON_LOCAL);
}

/* rows: 6581-9.2-07 6581-9.2-08 */
Test(enhanced, responder_names_what_it_can_if_the_initiator_names_nothing)
{
	struct pair_msg m = pair_control(2, 0, WIRE_ENH_INITIATE, "\x80\x02\x00\x02", 4);

	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	answer(2, NULL);
	m = pull(&b);
	cr_expect_eq(m.b[4] & 0xc0, 0xc0);
	cr_expect_eq(m.b[6] & 0xc0, 0xc0);
}

/* rows: 6581-9.2-11 6581-9.2-12 */
Test(enhanced, flags_mean_nothing_without_the_peer_to_peer_model)
{
	struct pair_msg m = pair_control(2, 0, WIRE_ENH_INITIATE, "\x40\x02\xc0\x02", 4);
	struct rdmap_wr back = request(RDMAP_SEND, 2);

	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	answer(2, NULL);
	m = pull(&b);
	cr_expect_eq(m.b[4] & 0xc0, 0);
	cr_expect_eq(m.b[6] & 0xc0, 0);
	back.sge[0].stag = STAG_B;
	pair_post(qb, &back);
	m = pull(&b);
	cr_expect_eq(opcode_of(&m), WIRE_OP_SEND, "it need not wait");
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

	/* the stream's next session, from number 0; cancelled: nothing before the answer */
	cr_assert_eq(assoc_connect(a.assoc, qa->ep, &o, &sid), ASSOC_E_OK);
	m = pull(&a);
	cr_expect_eq(be_get32(m.b), WIRE_ENH_INITIATE);
	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	assoc_close(a.assoc, qa->ep);
	expect_silence(&a);
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
