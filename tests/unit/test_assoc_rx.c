/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one side makes of the messages of a peer that the test plays: any order, wrong
 * numbers, wrong headers, wrong times. The node accepts sessions; errors are answered with
 * the golden Terminates.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/assoc_test.h"
#include "proto/ssn.h"
#include "tests/lib/pair.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum {
	STAG = 0x12345678,
	SCOPED = 0x0badcafe, /* of the endpoint alone */
	SID = 2,
	BASE = 0x4000,
	MEM = 4096,
	ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
};

static struct pair_node n;
static struct pair_qp *qp;
static uint8_t *mem;

static void setup(void)
{
	struct assoc_cfg cfg = pair_cfg(false);

	pair_init(&n, &cfg);
	qp = pair_qp(&n);
	mem = pair_region(&n, STAG, BASE, MEM, ALL, 0);
	pair_fake_connect(&n, qp, SID);
	assoc_tx_acked(n.assoc); /* the Accept has arrived */
}

static void teardown(void)
{
	pair_deinit(&n);
}

TestSuite(assoc_rx, .init = setup, .fini = teardown);

/* ---- what the peer says ---- */

static struct wire_ddp header(uint8_t opcode)
{
	return (struct wire_ddp){.last = true, .dv = 1, .rv = 1, .opcode = opcode};
}

static struct pair_msg send_msg(uint16_t ssn, uint32_t msn, uint32_t mo, bool last,
				const char *text)
{
	struct wire_ddp h = header(WIRE_OP_SEND);

	h.msn = msn;
	h.mo = mo;
	h.last = last;
	return pair_segment(SID, ssn, &h, text, (uint32_t)strlen(text));
}

static struct pair_msg write_msg(uint16_t ssn, uint64_t to, const char *text)
{
	struct wire_ddp h = header(WIRE_OP_WRITE);

	h.tagged = true;
	h.stag = STAG;
	h.to = to;
	return pair_segment(SID, ssn, &h, text, (uint32_t)strlen(text));
}

static struct pair_msg read_msg(uint16_t ssn, uint32_t msn, uint32_t src, uint64_t to,
				uint32_t size)
{
	const struct wire_read_req req = {0x00c0ffee, 0x100, size, src, to};
	struct wire_ddp h = header(WIRE_OP_READ_REQ);
	uint8_t body[WIRE_READ_REQ_LEN];

	h.qn = WIRE_QN_READ_REQ;
	h.msn = msn;
	wire_read_req_put(body, &req);
	return pair_segment(SID, ssn, &h, body, sizeof(body));
}

static struct pair_msg response_msg(uint16_t ssn, uint32_t stag, uint64_t to, bool last,
				    const char *text)
{
	struct wire_ddp h = header(WIRE_OP_READ_RESP);

	h.tagged = true;
	h.last = last;
	h.stag = stag;
	h.to = to;
	return pair_segment(SID, ssn, &h, text, (uint32_t)strlen(text));
}

static struct pair_msg terminate_msg(uint16_t ssn, const void *body, uint32_t len)
{
	struct wire_ddp h = header(WIRE_OP_TERMINATE);

	h.qn = WIRE_QN_TERMINATE;
	h.msn = 1;
	return pair_segment(SID, ssn, &h, body, len);
}

static struct pair_msg end_msg(uint16_t ssn)
{
	return pair_control(SID, ssn, WIRE_TERMINATE, NULL, 0);
}

static void push(struct pair_msg m)
{
	pair_push(&n, &m);
}

/* ---- what the node says ---- */

static void post_recvs(unsigned count, uint32_t len)
{
	for (unsigned i = 0; i < count; i++)
		pair_post_recv(qp, i, STAG, BASE + len * i, len);
}

static void expect_done(uint64_t cookie, enum rdmap_status status, uint32_t len)
{
	struct rdmap_done d = pair_done(qp);

	cr_expect_eq(d.status, status, "cookie %u: %s", (unsigned)d.cookie,
		     rdmap_status_str(d.status));
	cr_expect_eq(d.cookie, cookie);
	cr_expect_eq(d.len, len);
}

static void expect_none(void)
{
	struct rdmap_done d = pair_done(qp);

	cr_expect_eq(d.status, RDMAP_STATUS_COUNT, "cookie %u: %s", (unsigned)d.cookie,
		     rdmap_status_str(d.status));
}

static void expect_silence(void)
{
	struct pair_msg m;

	cr_expect_not(pair_pull(&n, &m), "ppid %u ssn %u", m.ppid, be_get16(m.b));
}

static void expect_session_terminate(uint16_t ssn)
{
	struct pair_msg m = {0};

	cr_assert(pair_pull(&n, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	cr_expect_eq(be_get16(m.b), ssn, "ssn %u", be_get16(m.b));
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	expect_silence();
}

/* Both Terminates, with consecutive numbers. Returns what the first one says. */
static struct wire_term expect_terminate(enum perr perr)
{
	struct wire_term t = {0};
	struct wire_ddp h;
	struct pair_msg m;

	cr_assert(pair_pull(&n, &m), "%s: a Terminate is sent", perr_name(perr));
	cr_assert_eq(m.ppid, WIRE_PPID_SEGMENT, "%s: a Terminate is sent", perr_name(perr));
	cr_assert_eq(wire_ddp_get(m.b + 2, m.len - 2, &h), WIRE_UNTAGGED_LEN);
	cr_expect_eq(h.opcode, WIRE_OP_TERMINATE);
	cr_expect_eq(h.qn, WIRE_QN_TERMINATE);
	cr_expect_eq(h.msn, 1);
	cr_expect(h.last);
	cr_assert(wire_term_get(m.b + 20, m.len - 20, &t));
	cr_expect_eq(WIRE_TERM_WORD(t.layer, t.etype, t.code), perr_term(perr),
		     "%s, not %x/%x/%02x", perr_name(perr), t.layer, t.etype, t.code);
	expect_session_terminate((uint16_t)(be_get16(m.b) + 1));
	return t;
}

static void expect_closed(enum assoc_why why, enum perr perr)
{
	struct assoc_event ev;

	cr_assert(pair_event(&n, &ev), "the session is closed");
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.ep, qp->ep);
	cr_expect_eq(ev.why, why, "why %d, not %d", ev.why, why);
	cr_expect_eq(ev.at.perr, perr, "%s, not %s", perr_name(ev.at.perr), perr_name(perr));
	cr_expect_not(pair_event(&n, &ev), "once");
}

static void expect_open(void)
{
	struct assoc_stream_info info;
	uint32_t pos = SID;

	cr_assert(assoc_stream_next(n.assoc, &pos, &info));
	cr_expect_str_eq(info.state, "open");
}

/* ---- order ---- */

static void permute(unsigned *order, unsigned count, unsigned number)
{
	for (unsigned i = 0; i < count; i++)
		order[i] = i;
	for (unsigned i = count; i > 1; i--, number /= i + 1) {
		unsigned j = number % i, t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
}

/* RFC 5043 6.1: only the DDP-SSN counts. Write, Send in two parts, Send, Terminate. */
Test(assoc_rx, every_permutation_has_the_outcome_of_the_sorted_order)
{
	for (unsigned number = 0; number < 120; number++) {
		struct pair_msg m[5];
		unsigned order[5];

		teardown();
		setup();
		m[0] = write_msg(1, BASE + 1000, "written");
		m[1] = send_msg(2, 1, 0, false, "hello, ");
		m[2] = send_msg(3, 1, 7, true, "world");
		m[3] = send_msg(4, 2, 0, true, "again");
		m[4] = end_msg(5);
		post_recvs(2, 100);
		permute(order, 5, number);
		for (unsigned i = 0; i < 5; i++)
			push(m[order[i]]);
		expect_done(0, RDMAP_OK, 12);
		expect_done(1, RDMAP_OK, 5);
		cr_expect_arr_eq(mem, "hello, world", 12);
		cr_expect_arr_eq(mem + 100, "again", 5);
		cr_expect_arr_eq(mem + 1000, "written", 7);
		expect_session_terminate(1);
		expect_closed(ASSOC_WHY_PEER, PERR_NONE);
		cr_expect_eq(assoc_counters(n.assoc)->rx_violations, 0);
	}
}

Test(assoc_rx, placed_at_once_delivered_in_turn)
{
	post_recvs(2, 100);
	push(send_msg(3, 2, 0, true, "two"));
	push(write_msg(2, BASE + 1000, "written"));
	cr_expect_arr_eq(mem + 100, "two", 3);
	cr_expect_arr_eq(mem + 1000, "written", 7);
	expect_none();
	push(send_msg(1, 1, 0, true, "one"));
	expect_done(0, RDMAP_OK, 3);
	expect_done(1, RDMAP_OK, 3);
}

Test(assoc_rx, parts_of_a_message_may_come_in_any_order_of_offset)
{
	post_recvs(1, 100);
	push(send_msg(1, 1, 4, false, "cond"));
	push(send_msg(2, 1, 0, false, "firs"));
	push(send_msg(3, 1, 8, true, "t"));
	expect_done(0, RDMAP_OK, 9);
	cr_expect_arr_eq(mem, "firscondt", 9);
}

/* RFC 5041 5.2 lets us trust the sender; a hole would show old memory. */
Test(assoc_rx, message_with_a_hole_is_refused)
{
	post_recvs(1, 100);
	push(send_msg(1, 1, 0, false, "1234"));
	push(send_msg(2, 1, 8, true, "9"));
	expect_terminate(PERR_MO);
	expect_done(0, RDMAP_FLUSHED, 0);
}

Test(assoc_rx, ssn_wraps_with_messages_out_of_order)
{
	assoc_test_preset(n.assoc, SID, 1, 65534);
	post_recvs(4, 100);
	push(send_msg(1, 4, 0, true, "four"));
	push(send_msg(65535, 2, 0, true, "two"));
	push(send_msg(0, 3, 0, true, "three"));
	expect_none();
	push(send_msg(65534, 1, 0, true, "one"));
	expect_done(0, RDMAP_OK, 3);
	expect_done(1, RDMAP_OK, 3);
	expect_done(2, RDMAP_OK, 5);
	expect_done(3, RDMAP_OK, 4);
}

Test(assoc_rx, msn_wraps_to_zero)
{
	assoc_test_preset_msn(qp->ep, WIRE_QN_SEND, 1, UINT32_MAX);
	post_recvs(2, 100);
	push(send_msg(2, 0, 0, true, "two"));
	push(send_msg(1, UINT32_MAX, 0, true, "one"));
	expect_done(0, RDMAP_OK, 3);
	expect_done(1, RDMAP_OK, 3);
}

/* ---- numbers that cannot be (RFC 5043 10) ---- */

static void expect_violation(void)
{
	cr_expect_gt(assoc_counters(n.assoc)->rx_violations, 0);
	expect_session_terminate(1);
}

Test(assoc_rx, duplicate_of_a_delivered_number_ends_the_session)
{
	post_recvs(2, 100);
	push(send_msg(1, 1, 0, true, "one"));
	push(send_msg(1, 2, 0, true, "bad"));
	expect_violation();
	expect_done(0, RDMAP_OK, 3);
	expect_none();
	cr_expect_eq(mem[100], 0);
	push(end_msg(2));
	expect_closed(ASSOC_WHY_VIOLATION, PERR_NONE);
}

Test(assoc_rx, duplicate_of_a_number_ahead_ends_the_session)
{
	push(write_msg(3, BASE, "three"));
	push(write_msg(3, BASE, "again"));
	expect_violation();
	cr_expect_arr_eq(mem, "three", 5);
	push(write_msg(1, BASE, "late"));
	push(write_msg(2, BASE, "late"));
	cr_expect_arr_eq(mem, "three", 5, "nothing is placed any more");
	push(end_msg(4));
	expect_closed(ASSOC_WHY_VIOLATION, PERR_NONE);
}

Test(assoc_rx, number_out_of_the_window_ends_the_session)
{
	push(write_msg(40000, BASE, "far"));
	expect_violation();
	cr_expect_eq(mem[0], 0);
}

Test(assoc_rx, farthest_number_of_the_window_is_kept)
{
	push(write_msg(SSN_WINDOW, BASE, "far"));
	cr_expect_eq(mem[0], 'f');
	expect_open();
}

Test(assoc_rx, full_store_ends_the_session_that_wants_more)
{
	struct pair_qp *other = pair_qp(&n);

	pair_fake_connect(&n, other, 4);
	for (uint16_t i = 0; i < 64; i++)
		push(write_msg((uint16_t)(2 + i), BASE, "ahead"));
	expect_silence();
	push(write_msg(100, BASE, "more"));
	expect_violation();
	expect_none();
	cr_expect_eq(assoc_sessions(n.assoc), 2, "the other one lives");
}

/* ---- messages that are none (RFC 5043 5.1, 6.1) ---- */

Test(assoc_rx, runts_and_foreign_messages_end_the_session)
{
	static const struct {
		uint32_t ppid;
		uint32_t len;
		uint8_t ctrl;
	} bad[] = {
		{16, 0, 0},     {16, 1, 0},     {16, 2, 0},     {16, 3, 0}, {16, 15, 0xc1},
		{16, 16, 0x41}, {16, 19, 0x41}, {17, 0, 0},     {17, 1, 0}, {17, 3, 0},
		{0, 40, 0x41},  {18, 40, 0x41}, {46, 40, 0x41},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pair_msg m = {.sid = SID, .ppid = bad[i].ppid, .len = bad[i].len};

		teardown();
		setup();
		be_put16(m.b, 1);
		m.b[2] = bad[i].ctrl;
		push(m);
		expect_session_terminate(1);
		push(end_msg(1));
		expect_closed(ASSOC_WHY_VIOLATION, PERR_NONE);
	}
}

Test(assoc_rx, control_messages_out_of_place_end_the_session)
{
	static const uint16_t func[] = {0, 1, 2, 3, 5, 6, 7, 8, 0x0100, 0x0104, 0xffff};

	for (unsigned i = 0; i < sizeof(func) / sizeof(func[0]); i++) {
		teardown();
		setup();
		push(pair_control(SID, 1, func[i], NULL, 0));
		expect_session_terminate(1);
		push(end_msg(2));
		expect_closed(ASSOC_WHY_VIOLATION, PERR_NONE);
	}
}

Test(assoc_rx, bytes_behind_a_terminate_are_told_to_nobody)
{
	push(pair_control(SID, 1, WIRE_TERMINATE, "bye", 3));
	expect_session_terminate(1);
	expect_closed(ASSOC_WHY_PEER, PERR_NONE);
}

Test(assoc_rx, stray_messages_on_an_idle_stream_are_dropped)
{
	const uint64_t before = assoc_counters(n.assoc)->rx_violations;
	struct pair_msg m = write_msg(0, BASE, "stray");

	m.sid = 6;
	push(m);
	push(pair_control(6, 0, WIRE_ACCEPT, NULL, 0));
	push(pair_control(6, 0, WIRE_TERMINATE, NULL, 0));
	push(pair_control(6, 0, 0x17, NULL, 0));
	push(pair_control(6, 1, WIRE_INITIATE, NULL, 0));
	push(pair_control(8, 0, WIRE_INITIATE, NULL, 0)); /* no such stream */
	cr_expect_eq(assoc_counters(n.assoc)->rx_violations, before + 6);
	expect_silence();
	cr_expect_eq(mem[0], 0);
	cr_expect_eq(assoc_sessions(n.assoc), 1);
}

Test(assoc_rx, initiates_that_are_not_understood_are_answered_with_terminate)
{
	static uint8_t priv[513];

	push(pair_control(6, 0, WIRE_INITIATE, priv, 513));
	push(pair_control(7, 0, WIRE_ENH_INITIATE, "\xc0\x10\x40\x08", 4));
	for (unsigned i = 0; i < 2; i++) {
		struct assoc_event ev;
		struct pair_msg m;

		cr_expect_not(pair_event(&n, &ev));
		cr_assert(pair_pull(&n, &m));
		cr_expect_eq(m.sid, 6 + i);
		cr_expect_eq(be_get16(m.b), 0);
		cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	}
}

Test(assoc_rx, active_side_that_speaks_before_the_answer_is_refused)
{
	static const uint16_t func[] = {WIRE_INITIATE, WIRE_TERMINATE, 0x99};

	for (unsigned i = 0; i < 3; i++) {
		struct assoc_event ev;
		struct pair_msg m;

		push(pair_control((uint16_t)(4 + i), 0, WIRE_INITIATE, NULL, 0));
		cr_assert(pair_event(&n, &ev));
		push(pair_control((uint16_t)(4 + i), 1, func[i], NULL, 0));
		cr_assert(pair_event(&n, &ev));
		cr_expect_eq(ev.type, ASSOC_EV_WITHDRAWN);
		cr_assert(pair_pull(&n, &m));
		cr_expect_eq(be_get16(m.b), 0);
		cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	}
}

/* RFC 5041 6.2.1: nothing comes behind the end. */
Test(assoc_rx, segment_behind_the_peers_terminate_is_no_orderly_end)
{
	for (unsigned early = 0; early < 2; early++) {
		teardown();
		setup();
		if (early)
			push(write_msg(2, BASE, "late"));
		push(end_msg(1));
		if (!early)
			push(write_msg(2, BASE, "late"));
		expect_session_terminate(1);
		expect_closed(ASSOC_WHY_VIOLATION, PERR_NONE);
		cr_expect_gt(assoc_counters(n.assoc)->rx_violations, 0);
	}
}

Test(assoc_rx, terminate_that_overtakes_waits_for_its_turn)
{
	post_recvs(1, 100);
	push(end_msg(2));
	expect_open();
	push(send_msg(1, 1, 0, true, "last"));
	expect_done(0, RDMAP_OK, 4);
	expect_session_terminate(1);
	expect_closed(ASSOC_WHY_PEER, PERR_NONE);
}

/* ---- before the Accept (RFC 5043 6.2, 6.6) ---- */

static uint16_t begin_connect(struct pair_qp *q)
{
	struct pair_msg m;
	uint16_t sid;

	cr_assert_eq(assoc_connect(n.assoc, q->ep, NULL, 0, &sid), ASSOC_E_OK);
	cr_assert(pair_pull(&n, &m));
	return sid;
}

Test(assoc_rx, what_overtakes_the_accept_waits_for_it)
{
	struct pair_qp *q = pair_qp(&n);
	uint16_t sid = begin_connect(q);
	struct pair_msg m = send_msg(2, 1, 0, true, "two");
	struct assoc_event ev;

	pair_post_recv(q, 5, STAG, BASE, 100);
	m.sid = sid;
	push(m);
	push(pair_control(sid, 3, WIRE_TERMINATE, NULL, 0));
	m = write_msg(1, BASE + 50, "one");
	m.sid = sid;
	push(m);
	cr_expect_eq(mem[0] | mem[50], 0, "no endpoint, no placement");
	cr_expect_eq(assoc_counters(n.assoc)->rx_stashed, 3);
	push(pair_control(sid, 0, WIRE_ACCEPT, "yes", 3));
	cr_assert(pair_event(&n, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_ACCEPTED);
	cr_expect_eq(ev.priv_len, 3);
	cr_expect_eq(q->done[0].cookie, 5);
	cr_expect_eq(q->done[0].len, 3);
	cr_expect_arr_eq(mem, "two", 3);
	cr_expect_arr_eq(mem + 50, "one", 3);
	expect_session_terminate(1);
	cr_assert(pair_event(&n, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.why, ASSOC_WHY_PEER);
}

Test(assoc_rx, what_came_before_a_refusal_is_dropped)
{
	static const uint16_t func[] = {WIRE_REJECT, WIRE_TERMINATE};

	for (unsigned i = 0; i < 2; i++) {
		struct pair_qp *q = pair_qp(&n);
		uint16_t sid = begin_connect(q);
		struct pair_msg m = write_msg(1, BASE, "early");
		uint64_t before = assoc_counters(n.assoc)->rx_violations;
		struct assoc_event ev;

		m.sid = sid;
		push(m);
		push(pair_control(sid, 0, func[i], NULL, 0));
		cr_assert(pair_event(&n, &ev));
		cr_expect_eq(ev.type, i ? ASSOC_EV_REFUSED : ASSOC_EV_REJECTED);
		cr_expect_eq(mem[0], 0);
		cr_expect_eq(assoc_counters(n.assoc)->rx_violations, before + 1);
		expect_silence();
	}
}

Test(assoc_rx, what_the_active_side_sends_early_waits_for_our_accept)
{
	struct pair_qp *q = pair_qp(&n);
	struct pair_msg m = write_msg(1, BASE, "early");
	struct assoc_event ev;
	struct assoc_msg in;

	m.sid = 4;
	push(pair_control(4, 0, WIRE_INITIATE, NULL, 0));
	cr_assert(pair_event(&n, &ev));
	push(m);
	cr_expect_not(pair_event(&n, &ev));
	cr_expect_not(assoc_rx_unstash(n.assoc, &in));
	assoc_accept(n.assoc, 4, q->ep, NULL, 0);
	cr_assert(assoc_rx_unstash(n.assoc, &in));
	cr_expect_eq(in.sid, 4);
	cr_expect_eq(in.len, m.len);
	cr_expect_arr_eq(in.head, m.b, m.len);
}

Test(assoc_rx, full_stash_ends_the_session_that_wants_more)
{
	struct pair_qp *q = pair_qp(&n);
	uint16_t sid = begin_connect(q);
	struct pair_msg m = write_msg(1, BASE, "x");
	uint16_t ssn = 1;

	m.sid = sid;
	m.len = 2000;
	for (; ssn <= 4; ssn++) {
		be_put16(m.b, ssn);
		push(m);
	}
	cr_expect_eq(assoc_counters(n.assoc)->rx_violations, 0);
	be_put16(m.b, ssn);
	push(m);
	cr_expect_eq(assoc_counters(n.assoc)->rx_violations, 1);
	expect_open();
}

/* ---- errors and their Terminates ---- */

static void push_vector(const char *id, uint16_t ssn)
{
	struct vector v = vector_get(id);
	struct pair_msg m = {.sid = SID, .ppid = v.ppid, .len = (uint32_t)v.len};

	memcpy(m.b, v.b, v.len);
	be_put16(m.b, ssn);
	push(m);
}

static void expect_vector(const char *id, uint16_t ssn)
{
	struct vector v = vector_get(id);
	struct pair_msg m;

	be_put16(v.b, ssn);
	cr_assert(pair_pull(&n, &m), "%s is sent", id);
	cr_expect_eq(m.ppid, v.ppid);
	cr_assert_eq(m.len, v.len, "%s: %u bytes", id, m.len);
	cr_expect_arr_eq(m.b, v.b, v.len, "%s", id);
	expect_session_terminate((uint16_t)(ssn + 1));
}

Test(assoc_rx, write_outside_the_region_is_answered_with_v19)
{
	push_vector("V18", 1);
	expect_vector("V19", 1);
	push(end_msg(2));
	expect_closed(ASSOC_WHY_ERROR, PERR_TAGGED_BOUNDS);
}

Test(assoc_rx, read_outside_the_region_is_answered_with_v21)
{
	struct vector v = vector_get("V20");

	assoc_test_preset_msn(qp->ep, WIRE_QN_READ_REQ, 1, 3);
	push_vector("V20", 1);
	(void)v;
	expect_vector("V21", 1);
	push(end_msg(2));
	expect_closed(ASSOC_WHY_ERROR, PERR_READ_BOUNDS);
}

Test(assoc_rx, reserved_bits_are_ignored_and_come_back_in_the_terminate)
{
	struct pair_msg m = write_msg(1, BASE, "fine");
	struct wire_term t;

	m.b[2] |= 0x3c;
	m.b[3] |= 0x30;
	push(m);
	cr_expect_arr_eq(mem, "fine", 4);
	for (unsigned ahead = 0; ahead < 2; ahead++) {
		teardown();
		setup();
		m = write_msg(1 + ahead, BASE - 1, "bad");
		m.b[2] |= 0x3c;
		m.b[3] |= 0x30;
		push(m);
		if (ahead)
			push(write_msg(1, BASE, "good"));
		t = expect_terminate(PERR_TAGGED_BOUNDS);
		cr_expect_eq(t.seg_len, 14 + 3);
		cr_expect_eq(t.ddp_len, 14);
		cr_expect_arr_eq(t.ddp, m.b + 2, 14);
		cr_expect_not(t.has_read);
	}
}

/* RFC 5041 7.1: the first error in sequence counts, and nothing behind it. */
Test(assoc_rx, error_found_early_is_raised_in_its_turn)
{
	post_recvs(2, 100);
	push(write_msg(3, BASE + MEM, "bad"));
	push(send_msg(4, 2, 0, true, "behind"));
	push(write_msg(2, BASE + MEM + 9, "first"));
	expect_silence();
	push(send_msg(1, 1, 0, true, "before"));
	cr_expect_eq(be_get64(expect_terminate(PERR_TAGGED_BOUNDS).ddp + 6), BASE + MEM + 9);
	expect_done(0, RDMAP_OK, 6);
	expect_done(1, RDMAP_FLUSHED, 0);
	push(write_msg(5, BASE + 500, "good"));
	cr_expect_eq(mem[500], 0, "dropped");
	expect_silence();
	push(end_msg(6));
	expect_closed(ASSOC_WHY_ERROR, PERR_TAGGED_BOUNDS);
}

Test(assoc_rx, error_event_tells_the_place)
{
	struct assoc_event ev;

	push(write_msg(1, BASE + MEM - 2, "bad"));
	expect_terminate(PERR_TAGGED_BOUNDS);
	push(end_msg(2));
	cr_assert(pair_event(&n, &ev));
	cr_expect_eq(ev.at.stag, STAG);
	cr_expect_eq(ev.at.to, BASE + MEM - 2);
	cr_expect_eq(ev.at.len, 3);
	cr_expect_eq(ev.at.term, 0x1101);
}

Test(assoc_rx, tagged_placement_is_byte_exact)
{
	static const struct {
		uint32_t stag;
		uint64_t to;
		enum perr want;
	} row[] = {
		{STAG, BASE, PERR_NONE},
		{STAG, BASE + MEM - 8, PERR_NONE},
		{STAG, BASE + MEM - 7, PERR_TAGGED_BOUNDS},
		{STAG, BASE - 1, PERR_TAGGED_BOUNDS},
		{STAG, UINT64_MAX - 7, PERR_TAGGED_WRAP},
		{STAG, UINT64_MAX - 3, PERR_TAGGED_WRAP},
		{STAG, UINT64_MAX - 8, PERR_TAGGED_BOUNDS},
		{99, BASE, PERR_TAGGED_STAG},
		{5, BASE, PERR_TAGGED_STAG},  /* no remote write right */
		{6, BASE, PERR_TAGGED_SCOPE}, /* another endpoint's */
		{SCOPED, BASE, PERR_NONE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pair_msg m;

		teardown();
		setup();
		pair_region(&n, 5, BASE, 64, STAG_LOCAL_WRITE | STAG_REMOTE_READ, 0);
		pair_region(&n, 6, BASE, 64, ALL, 999);
		pair_region(&n, SCOPED, BASE, 64, ALL, qp->scope);
		m = write_msg(1, row[i].to, "8 bytes!");
		be_put32(m.b + 4, row[i].stag);
		push(m);
		if (row[i].want)
			expect_terminate(row[i].want);
		else
			expect_silence();
	}
}

Test(assoc_rx, empty_tagged_messages_name_nothing)
{
	struct vector v = vector_get("V09");
	struct pair_msg m = {.sid = SID, .ppid = 16, .len = (uint32_t)v.len};

	memcpy(m.b, v.b, v.len);
	be_put16(m.b, 1);
	memset(m.b + 4, 0xff, 12);
	push(m);
	expect_silence();
	expect_open();
}

Test(assoc_rx, versions_are_checked_before_all_else)
{
	for (unsigned dv = 0; dv < 4; dv++) {
		for (unsigned tagged = 0; tagged < 2; tagged++) {
			struct wire_ddp h = {.tagged = tagged,
					     .last = true,
					     .dv = (uint8_t)dv,
					     .rv = 2,
					     .opcode = 0xf,
					     .qn = 9};

			teardown();
			setup();
			push(pair_segment(SID, 1, &h, NULL, 0));
			if (dv != 1)
				expect_terminate(tagged ? PERR_TAGGED_VERSION
							: PERR_UNTAGGED_VERSION);
			else
				expect_terminate(tagged ? PERR_RDMAP_VERSION : PERR_QN);
		}
	}
	for (uint8_t rv = 0; rv < 4; rv++) {
		struct wire_ddp h = header(WIRE_OP_WRITE);

		teardown();
		setup();
		h.tagged = true;
		h.rv = rv;
		push(pair_segment(SID, 1, &h, NULL, 0));
		if (rv > 1)
			expect_terminate(PERR_RDMAP_VERSION);
		else
			expect_silence();
	}
}

static enum perr want_for(unsigned opcode, bool tagged, uint32_t qn)
{
	static const int right_qn[] = {-1, 1, -1, 0, 0, 0, 0, 2}; /* -1: tagged */

	if (!tagged && qn > 2)
		return PERR_QN;
	if (opcode > 7 || (right_qn[opcode] < 0) != tagged ||
	    (!tagged && right_qn[opcode] != (int)qn))
		return PERR_OPCODE;
	return PERR_NONE;
}

/* RFC 5040 figure 4; the opcodes of RFC 7306 are not spoken. */
Test(assoc_rx, opcodes_belong_to_their_kind_of_segment_and_queue)
{
	for (unsigned i = 0; i < 16 * 6; i++) {
		struct wire_ddp h = header((uint8_t)(i / 6));
		enum perr want;

		h.tagged = i % 6 == 5;
		h.qn = i % 6;
		h.msn = 1;
		want = want_for(h.opcode, h.tagged, h.qn);
		if (want == PERR_NONE)
			continue; /* legal: other tests */
		teardown();
		setup();
		post_recvs(1, 100);
		push(pair_segment(SID, 1, &h, NULL, 0));
		expect_terminate(want);
	}
}

/* ---- queue 0 ---- */

Test(assoc_rx, untagged_segments_are_checked_against_their_buffer)
{
	static const struct {
		uint32_t msn, mo;
		bool last;
		enum perr want;
	} row[] = {
		{1, 0, true, PERR_NONE},          {1, 4, false, PERR_NONE},
		{1, 5, false, PERR_TOO_LONG},     {1, 8, false, PERR_TOO_LONG},
		{1, 9, false, PERR_MO},           {1, UINT32_MAX, false, PERR_MO},
		{0, 0, true, PERR_MSN_RANGE},     {2, 0, false, PERR_NONE},
		{2, 0, true, PERR_MSN_RANGE}, /* the message before it was not finished */
		{3, 0, true, PERR_NO_BUFFER},     {32768, 0, true, PERR_NO_BUFFER},
		{32769, 0, true, PERR_MSN_RANGE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		teardown();
		setup();
		post_recvs(2, 8);
		push(send_msg(1, row[i].msn, row[i].mo, row[i].last, "four"));
		if (row[i].want)
			expect_terminate(row[i].want);
		else
			expect_silence();
	}
}

Test(assoc_rx, empty_send_takes_a_buffer)
{
	post_recvs(1, 8);
	push(send_msg(1, 1, 0, true, ""));
	expect_done(0, RDMAP_OK, 0);
	push(send_msg(2, 2, 0, true, ""));
	expect_terminate(PERR_NO_BUFFER);
}

Test(assoc_rx, opcode_does_not_change_within_a_message)
{
	struct pair_msg m = send_msg(2, 1, 4, true, "four");

	post_recvs(1, 8);
	m.b[3] = 0x45;
	push(send_msg(1, 1, 0, false, "four"));
	push(m);
	expect_terminate(PERR_OPCODE);
}

Test(assoc_rx, segment_of_a_message_that_is_over_is_refused)
{
	post_recvs(2, 8);
	push(send_msg(2, 1, 0, true, "bad"));
	push(send_msg(1, 1, 0, true, "one"));
	expect_terminate(PERR_MSN_RANGE);
	expect_done(0, RDMAP_OK, 3);
}

Test(assoc_rx, receives_are_taken_no_earlier_than_needed)
{
	post_recvs(5, 8);
	expect_open();
	cr_expect_eq(qp->recv_taken, 0);
	push(send_msg(2, 3, 0, false, "two"));
	cr_expect_eq(qp->recv_taken, 3);
}

Test(assoc_rx, more_open_receives_than_the_window_has_are_not_taken)
{
	post_recvs(PAIR_DEPTH + 1, 8);
	push(send_msg(1, PAIR_DEPTH + 1, 0, false, "x"));
	expect_terminate(PERR_NO_BUFFER);
	cr_expect_eq(qp->recv_taken, PAIR_DEPTH);
	for (unsigned i = 0; i < PAIR_DEPTH; i++)
		expect_done(i, RDMAP_FLUSHED, 0);
}

static struct pair_msg invalidate_msg(uint16_t ssn, uint32_t msn, uint32_t stag)
{
	struct wire_ddp h = header(WIRE_OP_SEND_INV);

	h.msn = msn;
	h.inv_stag = stag;
	return pair_segment(SID, ssn, &h, "done", 4);
}

Test(assoc_rx, stag_is_invalid_from_delivery_on)
{
	struct pair_msg m = write_msg(3, BASE, "late");

	pair_region(&n, SCOPED, BASE, 64, ALL, qp->scope);
	post_recvs(1, 8);
	be_put32(m.b + 4, SCOPED);
	push(invalidate_msg(2, 1, SCOPED));
	cr_expect(stag_find(n.stags, SCOPED)->valid, "not before its turn");
	push(write_msg(1, BASE, "one"));
	cr_expect_not(stag_find(n.stags, SCOPED)->valid);
	cr_expect_eq(qp->done[0].inv_stag, SCOPED);
	push(m);
	expect_terminate(PERR_TAGGED_STAG);
}

Test(assoc_rx, invalidate_field_of_a_plain_send_means_nothing)
{
	struct pair_msg m = send_msg(1, 1, 0, true, "plain");

	pair_region(&n, SCOPED, BASE, 64, ALL, qp->scope);
	post_recvs(1, 8);
	be_put32(m.b + 4, SCOPED);
	push(m);
	cr_expect(stag_find(n.stags, SCOPED)->valid);
	cr_expect_not(pair_done(qp).invalidated);
}

/* ---- queue 1 ---- */

Test(assoc_rx, read_is_answered_with_its_sink_fields_unread)
{
	struct vector v15 = vector_get("V15");
	struct pair_msg m;

	memcpy(mem, "\xa0\xa1\xa2\xa3\xa4\xa5", 6);
	push_vector("V14", 1);
	cr_assert(pair_pull(&n, &m));
	cr_assert_eq(m.len, v15.len);
	cr_expect_arr_eq(m.b, v15.b, v15.len);
	expect_none();
}

Test(assoc_rx, empty_read_is_answered_whatever_its_source)
{
	struct vector v17 = vector_get("V17");
	struct pair_msg m;

	assoc_test_preset_msn(qp->ep, WIRE_QN_READ_REQ, 1, 2);
	assoc_test_preset(n.assoc, SID, 2, 1);
	push_vector("V16", 1);
	cr_assert(pair_pull(&n, &m));
	cr_assert_eq(m.len, v17.len);
	cr_expect_arr_eq(m.b, v17.b, v17.len);
}

Test(assoc_rx, source_of_a_read_is_checked)
{
	static const struct {
		uint32_t stag;
		uint64_t to;
		enum perr want;
	} row[] = {
		{STAG, BASE + MEM - 8, PERR_NONE},  {STAG, BASE + MEM - 7, PERR_READ_BOUNDS},
		{STAG, BASE - 1, PERR_READ_BOUNDS}, {STAG, UINT64_MAX - 7, PERR_READ_WRAP},
		{99, BASE, PERR_READ_STAG},         {5, BASE, PERR_READ_RIGHTS},
		{6, BASE, PERR_READ_SCOPE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pair_msg m = read_msg(1, 1, row[i].stag, row[i].to, 8);
		struct wire_term t;

		teardown();
		setup();
		pair_region(&n, 5, BASE, 64, STAG_LOCAL_WRITE | STAG_REMOTE_WRITE, 0);
		pair_region(&n, 6, BASE, 64, ALL, 999);
		push(m);
		if (row[i].want == PERR_NONE) {
			cr_assert(pair_pull(&n, &m));
			cr_expect_eq(m.len, 16 + 8);
			continue;
		}
		t = expect_terminate(row[i].want);
		cr_expect(t.has_len && t.has_ddp && t.has_read);
		cr_expect_eq(t.seg_len, 46);
		cr_expect_arr_eq(t.ddp, m.b + 2, 18);
		cr_expect_arr_eq(t.read, m.b + 20, 28);
	}
}

Test(assoc_rx, read_requests_have_28_bytes)
{
	for (uint32_t len = 26; len <= 30; len++) {
		struct pair_msg m = read_msg(1, 1, STAG, BASE, 8);

		teardown();
		setup();
		m.len = 20 + len;
		push(m);
		if (len != 28)
			cr_expect_not(expect_terminate(PERR_RDMAP_LENGTH).has_read);
	}
}

Test(assoc_rx, read_request_may_come_in_two_parts)
{
	struct pair_msg whole = read_msg(1, 1, STAG, BASE, 8), one = whole, two = whole;

	mem[7] = 0x77;
	one.len = 20 + 14;
	one.b[2] = 0x01;
	be_put16(two.b, 2);
	be_put32(two.b + 16, 14);
	memmove(two.b + 20, two.b + 34, 14);
	two.len = 20 + 14;
	push(two);
	push(one);
	cr_assert(pair_pull(&n, &whole));
	cr_expect_eq(whole.len, 16 + 8);
	cr_expect_eq(whole.b[16 + 7], 0x77);
}

Test(assoc_rx, more_reads_than_we_hold_are_refused)
{
	for (uint16_t i = 1; i <= PAIR_READS; i++)
		push(read_msg(i, i, STAG, BASE, 8));
	push(read_msg(PAIR_READS + 1, PAIR_READS + 1, STAG, BASE, 8));
	expect_terminate(PERR_NO_BUFFER);
}

Test(assoc_rx, read_waits_for_what_was_sent_before_it)
{
	struct pair_msg m;

	push(read_msg(2, 1, STAG, BASE, 4));
	expect_silence();
	push(write_msg(1, BASE, "new!"));
	cr_assert(pair_pull(&n, &m));
	cr_expect_arr_eq(m.b + 16, "new!", 4);
}

/* ---- Read Responses ---- */

static void post_read(uint64_t cookie, uint64_t off, uint32_t len)
{
	struct rdmap_wr wr = {.cookie = cookie,
			      .op = RDMAP_READ,
			      .flags = RDMAP_SIGNALED,
			      .nsge = 1,
			      .sge = {{BASE + off, len, STAG}},
			      .rstag = 1};
	struct pair_msg m;

	pair_post(qp, &wr);
	cr_assert(pair_pull(&n, &m));
}

Test(assoc_rx, response_that_nobody_asked_for_is_refused)
{
	push(response_msg(1, STAG, BASE, true, "data"));
	expect_terminate(PERR_OPCODE);
	cr_expect_eq(mem[0], 0);
}

Test(assoc_rx, response_must_be_what_was_asked_for)
{
	static const struct {
		uint32_t stag;
		uint64_t to;
		const char *text;
		enum perr want;
	} row[] = {
		{STAG, BASE + 8, "8 bytes!", PERR_NONE},
		{STAG, BASE + 8, "9 bytes !", PERR_TAGGED_BOUNDS},
		{STAG, BASE + 7, "8 bytes!", PERR_TAGGED_BOUNDS},
		{STAG, BASE + 9, "8 bytes!", PERR_TAGGED_BOUNDS},
		{STAG, BASE + 8, "7 bytes", PERR_RDMAP_LENGTH},
		{STAG, BASE + 8, "", PERR_RDMAP_LENGTH},
		{STAG, UINT64_MAX - 3, "8 bytes!", PERR_TAGGED_WRAP},
		{SCOPED, BASE + 8, "8 bytes!", PERR_TAGGED_STAG},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		teardown();
		setup();
		pair_region(&n, SCOPED, BASE, 64, ALL, 0);
		post_read(1, 8, 8);
		push(response_msg(1, row[i].stag, row[i].to, true, row[i].text));
		if (row[i].want) {
			expect_terminate(row[i].want);
			expect_done(1, RDMAP_FLUSHED, 0);
		} else {
			expect_done(1, RDMAP_OK, 8);
		}
	}
}

Test(assoc_rx, responses_come_in_the_order_of_the_requests)
{
	post_read(1, 0, 8);
	post_read(2, 100, 8);
	push(response_msg(1, STAG, BASE + 100, true, "8 bytes!"));
	expect_terminate(PERR_TAGGED_BOUNDS);
}

Test(assoc_rx, response_ahead_of_its_turn_is_placed_for_a_later_read)
{
	post_read(1, 0, 8);
	post_read(2, 100, 8);
	push(response_msg(3, STAG, BASE + 100, true, "8 bytes!"));
	cr_expect_arr_eq(mem + 100, "8 bytes!", 8);
	push(response_msg(2, STAG, BASE + 4, true, "tes!"));
	expect_none();
	push(response_msg(1, STAG, BASE, false, "8 by"));
	expect_done(1, RDMAP_OK, 8);
	expect_done(2, RDMAP_OK, 8);
	cr_expect_arr_eq(mem, "8 bytes!", 8);
}

Test(assoc_rx, response_to_an_empty_read_may_name_anything)
{
	post_read(1, 0, 0);
	push(response_msg(1, 0xdeadbeef, UINT64_MAX, true, ""));
	expect_done(1, RDMAP_OK, 0);
}

Test(assoc_rx, sink_that_vanished_is_not_written)
{
	post_read(1, 0, 8);
	stag_remove(n.stags, STAG);
	push(response_msg(1, STAG, BASE, true, "8 bytes!"));
	expect_terminate(PERR_TAGGED_STAG);
	cr_expect_eq(mem[0], 0);
}

/* ---- queue 2 ---- */

Test(assoc_rx, terminate_is_heard_and_not_answered_with_one)
{
	static uint8_t body[200];
	static const uint32_t len[] = {4, 6, 20, 24, 52, 53, 200};

	be_put32(body, 0x1101c000);
	be_put16(body + 4, 0x16);
	body[6] = 0xc1;
	body[7] = 0x40;
	be_put32(body + 8, 0x99);
	be_put64(body + 12, 0x5000);
	for (unsigned i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		struct assoc_event ev;

		teardown();
		setup();
		post_recvs(1, 8);
		push(send_msg(1, 1, 0, false, "half"));
		push(terminate_msg(2, body, len[i]));
		expect_done(0, RDMAP_FLUSHED, 0);
		expect_session_terminate(1);
		push(end_msg(3));
		cr_assert(pair_event(&n, &ev));
		cr_expect_eq(ev.why, ASSOC_WHY_REMOTE);
		cr_expect_eq(ev.at.perr, PERR_TAGGED_BOUNDS);
		cr_expect_eq(ev.at.term, 0x1101);
		cr_expect_eq(ev.at.stag, len[i] >= 20 ? 0x99 : 0, "%u bytes", len[i]);
		cr_expect_eq(ev.at.to, len[i] >= 20 ? 0x5000 : 0);
		cr_expect_eq(ev.at.len, len[i] >= 20 ? 8 : 0);
	}
}

Test(assoc_rx, terminate_that_is_no_good_is_not_answered_with_one)
{
	for (unsigned i = 0; i < 2; i++) {
		struct pair_msg m = terminate_msg(1, "\x11\x01\x00", i ? 4 : 3);

		teardown();
		setup();
		be_put32(m.b + 12, i ? 2 : 1);
		push(m);
		expect_session_terminate(1);
		push(end_msg(2));
		expect_closed(ASSOC_WHY_ERROR, i ? PERR_NO_BUFFER : PERR_RDMAP_LENGTH);
	}
}

Test(assoc_rx, unknown_terminate_code_is_passed_on)
{
	struct assoc_event ev;

	push(terminate_msg(1, "\x2f\x42\x1f\xff", 4));
	push(end_msg(2));
	expect_session_terminate(1);
	cr_assert(pair_event(&n, &ev));
	cr_expect_eq(ev.why, ASSOC_WHY_REMOTE);
	cr_expect_eq(ev.at.perr, PERR_NONE);
	cr_expect_eq(ev.at.term, 0x2f42);
}

Test(assoc_rx, terminate_that_overtakes_a_segment_waits_for_it)
{
	post_recvs(1, 8);
	push(end_msg(3));
	push(terminate_msg(2, "\0\0\0\0", 4));
	expect_silence();
	push(send_msg(1, 1, 0, true, "first"));
	expect_done(0, RDMAP_OK, 5);
	expect_session_terminate(1);
	expect_closed(ASSOC_WHY_REMOTE, PERR_CATASTROPHIC);
}

Test(assoc_rx, error_behind_our_own_end_is_not_told_any_more)
{
	struct pair_msg m;

	push(write_msg(1, BASE, "proof"));
	assoc_close(n.assoc, qp->ep);
	cr_assert(pair_pull(&n, &m));
	push(write_msg(2, BASE + MEM, "bad"));
	expect_silence();
	push(end_msg(3));
	expect_closed(ASSOC_WHY_LOCAL, PERR_NONE);
	expect_silence();
}
