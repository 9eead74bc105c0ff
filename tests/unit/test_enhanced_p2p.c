/* SPDX-License-Identifier: BSD-2-Clause */
/* Peer-to-peer sessions (RFC 6581 9.2): the ready-to-receive message, and messages that overtake
 * it. */
#include "tests/unit/enhanced_rig.h"

TestSuite(enhanced_p2p, .init = setup, .fini = teardown);

static uint16_t open_p2p(uint8_t rtr, uint16_t ord)
{
	const struct wire_enh params = {.p2p = true, .rtr = rtr, .ird = 2, .ord = ord};
	uint16_t sid;

	initiate(&params, "", &sid);
	answer(sid, NULL);
	return sid;
}

/* rows: 6581-9.2-09 6581-5-01 6581-9.2-01 6581-9.2-02 6581-9.2-04 6581-9.2-05 6581-9.2-06 */
Test(enhanced_p2p, first_message_is_the_agreed_one_and_no_client_sees_it)
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
		expect_nothing_sent(&b);
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
Test(enhanced_p2p, messages_that_overtake_the_first_one_wait_for_it)
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
Test(enhanced_p2p, first_message_may_come_before_the_program_accepts)
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

Test(enhanced_p2p, messages_after_a_wrong_first_message_are_delivered)
{
	accept_p2p(2);
	push_send(2, 2, 0, 1, "two");
	push_send(2, 3, 0, 2, "three");
	push_end(2, 4);
	push_send(2, 1, 9, 1, "no such queue");
	expect_free();
}

Test(enhanced_p2p, session_whose_endpoint_is_released_while_it_waits_ends_like_others)
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
Test(enhanced_p2p, messages_without_a_receive_do_not_wait_for_the_first_message)
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
Test(enhanced_p2p, read_as_first_message_works_where_no_reads_are_wanted)
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
Test(enhanced_p2p, responder_names_its_kinds_if_the_initiator_names_none)
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
Test(enhanced_p2p, flags_mean_nothing_without_the_peer_to_peer_model)
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
