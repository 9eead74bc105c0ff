/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests between two endpoints: what is moved, what is on the wire, in which order
 * requests complete, and how they end when their memory is not what they say.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/assoc_test.h"
#include "tests/lib/pair.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum {
	STAG_A = 0x00c0ffee,
	STAG_B = 0x12345678,
	OWN_B = 0x0badcafe, /* of b's endpoint alone */
	MEM = 16384,
	ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
};

#define TO UINT64_C(0x4000)

static struct pair_node a, b;
static struct pair_qp *qa, *qb;
static uint8_t *ma, *mb;
static uint16_t sid;

static void setup(void)
{
	struct assoc_cfg opener = pair_cfg(true), acceptor = pair_cfg(false);

	pair_init(&a, &opener);
	pair_init(&b, &acceptor);
	qa = pair_qp(&a);
	qb = pair_qp(&b);
	ma = pair_region(&a, STAG_A, TO, MEM, ALL, 0);
	mb = pair_region(&b, STAG_B, TO, MEM, ALL, 0);
	for (unsigned i = 0; i < MEM; i++)
		ma[i] = (uint8_t)(i * 7 + i / 251);
	sid = pair_connect(&a, qa, &b, qb);
}

static void teardown(void)
{
	pair_deinit(&a);
	pair_deinit(&b);
}

TestSuite(transfer, .init = setup, .fini = teardown);

static struct rdmap_wr request(enum rdmap_op op, uint64_t cookie, uint64_t off, uint32_t len)
{
	return (struct rdmap_wr){
		.cookie = cookie,
		.op = (uint8_t)op,
		.flags = RDMAP_SIGNALED,
		.nsge = 1,
		.rstag = STAG_B,
		.rto = TO,
		.sge = {{.to = TO + off, .len = len, .stag = STAG_A}},
	};
}

static void post(struct pair_qp *qp, struct rdmap_wr wr)
{
	pair_post(qp, &wr);
}

static void expect_done(struct pair_qp *qp, uint64_t cookie, enum rdmap_status status)
{
	struct rdmap_done d = pair_done(qp);

	cr_expect_eq(d.status, status, "cookie %u: %s", (unsigned)d.cookie,
		     rdmap_status_str(d.status));
	cr_expect_eq(d.cookie, cookie, "cookie %u, not %u", (unsigned)d.cookie, (unsigned)cookie);
}

static void expect_none(struct pair_qp *qp)
{
	struct rdmap_done d = pair_done(qp);

	cr_expect_eq(d.status, RDMAP_STATUS_COUNT, "cookie %u: %s", (unsigned)d.cookie,
		     rdmap_status_str(d.status));
}

/* Header of the next message of a node, which the peer does not get. */
static struct wire_ddp pull_header(struct pair_node *n, uint32_t *ret_payload)
{
	struct wire_ddp h = {0};
	struct pair_msg m;

	cr_assert(pair_pull(n, &m));
	cr_assert_eq(m.ppid, WIRE_PPID_SEGMENT);
	*ret_payload = m.len - 2 - (uint32_t)wire_ddp_get(m.b + 2, m.len - 2, &h);
	return h;
}

static bool move(struct pair_node *from, struct pair_node *to)
{
	struct pair_msg m;

	if (!pair_pull(from, &m))
		return false;
	pair_push(to, &m);
	return true;
}

/* ---- Sends ---- */

Test(transfer, sends_of_all_four_kinds)
{
	for (unsigned i = 0; i < 4; i++) {
		struct rdmap_wr wr = request(i & 1 ? RDMAP_SEND_INV : RDMAP_SEND, i, 0, 100);
		struct rdmap_done d;

		wr.inv_stag = OWN_B + i;
		pair_region(&b, OWN_B + i, TO, 64, ALL, qb->scope);
		if (i & 2)
			wr.flags |= RDMAP_SOLICITED;
		pair_post_recv(qb, 70 + i, STAG_B, TO + 1000 * i, 200);
		post(qa, wr);
		pair_pump(&a, &b);
		expect_done(qa, i, RDMAP_OK);
		d = pair_done(qb);
		cr_expect_eq(d.cookie, 70 + i);
		cr_expect_eq(d.op, RDMAP_RECV);
		cr_expect_eq(d.status, RDMAP_OK);
		cr_expect(d.signaled);
		cr_expect_eq(d.len, 100);
		cr_expect_eq(d.solicited, (i & 2) != 0);
		cr_expect_eq(d.invalidated, (i & 1) != 0);
		cr_expect_eq(d.inv_stag, i & 1 ? OWN_B + i : 0);
		cr_expect_eq(stag_find(b.stags, OWN_B + i)->valid, (i & 1) == 0);
		cr_expect_arr_eq(mb + 1000 * i, ma, 100);
	}
}

/* The messages of the golden vectors, as a client would have them sent. */
Test(transfer, segments_are_the_golden_ones)
{
	static const char *const id[] = {"V10", "V11", "V12", "V13", "V14", "V16"};
	struct rdmap_wr wr[6] = {
		{.op = RDMAP_SEND, .flags = RDMAP_INLINE, .len = 5, .inl = "hello"},
		{.op = RDMAP_SEND_INV, .flags = RDMAP_INLINE, .len = 4, .inl = "done"},
		{.op = RDMAP_SEND, .flags = RDMAP_SOLICITED},
		{.op = RDMAP_SEND_INV,
		 .flags = RDMAP_INLINE | RDMAP_SOLICITED,
		 .len = 1,
		 .inl = "x"},
		{.op = RDMAP_READ, .nsge = 1, .sge = {{TO, 6, STAG_A}}, .rstag = STAG_B, .rto = TO},
		{.op = RDMAP_READ, .nsge = 1, .rstag = UINT32_MAX, .rto = UINT64_MAX},
	};

	pair_region(&a, 0x77, 0x100, 64, ALL, 0);
	wr[4].sge[0] = (struct sgl_elem){0x100, 6, 0x77};
	wr[1].inv_stag = wr[3].inv_stag = OWN_B;
	for (unsigned i = 0; i < 6; i++) {
		struct vector v = vector_get(id[i]);
		struct pair_msg m;

		be_put16(v.b, (uint16_t)(i + 1));
		if (i == 4)
			be_put32(v.b + 20, 0x77); /* the sink's STag is ours to choose */
		post(qa, wr[i]);
		cr_assert(pair_pull(&a, &m));
		cr_expect_eq(m.len, v.len, "%s", id[i]);
		cr_expect_arr_eq(m.b, v.b, v.len, "%s", id[i]);
	}
}

Test(transfer, long_messages_are_cut_into_equal_segments)
{
	uint32_t off = 0, len;
	struct wire_ddp h;

	a.mulpdu = 1018; /* room for 1000 bytes in an untagged segment */
	post(qa, request(RDMAP_SEND, 1, 0, 2500));
	for (unsigned i = 0; i < 3; i++, off += len) {
		expect_none(qa);
		h = pull_header(&a, &len);
		cr_expect_eq(len, i < 2 ? 836 : 828, "2500 / 3, to a multiple of 4: %u", len);
		cr_expect_eq(h.mo, off);
		cr_expect_eq(h.msn, 1);
		cr_expect_eq(h.last, i == 2);
	}
	cr_expect_eq(off, 2500);
	expect_done(qa, 1, RDMAP_OK);
	a.mulpdu = 1014;
	post(qa, request(RDMAP_WRITE, 2, 0, 2500));
	for (off = 0; off < 2500; off += len) {
		h = pull_header(&a, &len);
		cr_expect(h.tagged);
		cr_expect_eq(h.stag, STAG_B);
		cr_expect_eq(h.to, TO + off);
		cr_expect_leq(len, 1000);
	}
}

/* RFC 5041 3 items 1, 2: only what is not cut yet follows a new limit. */
Test(transfer, limit_that_shrinks_in_a_message_holds_for_its_rest)
{
	uint32_t sum = 0, len;
	struct wire_ddp h;

	a.mulpdu = 2014;
	post(qa, request(RDMAP_WRITE, 1, 0, 8000));
	h = pull_header(&a, &len);
	cr_expect_eq(len, 2000);
	a.mulpdu = 714;
	for (sum = len; sum < 8000; sum += len) {
		h = pull_header(&a, &len);
		cr_expect_leq(len, 700);
		cr_expect_eq(h.to, TO + sum);
	}
	cr_expect(h.last);
	expect_done(qa, 1, RDMAP_OK);
}

Test(transfer, segment_that_was_not_taken_is_made_anew)
{
	struct assoc_seg one, two;

	post(qa, request(RDMAP_SEND, 1, 0, 100));
	cr_assert(assoc_tx_next(a.assoc, 1450, &one));
	cr_assert(assoc_tx_next(a.assoc, 1450, &two));
	cr_expect_eq(one.head_len, two.head_len);
	cr_expect_arr_eq(one.head, two.head, one.head_len);
	cr_assert(assoc_tx_next(a.assoc, 516, &two));
	cr_expect_arr_eq(one.head, two.head, one.head_len);
	expect_none(qa);
	assoc_tx_accepted(a.assoc);
	expect_done(qa, 1, RDMAP_OK);
}

Test(transfer, payload_is_gathered_and_scattered)
{
	struct rdmap_wr wr = request(RDMAP_SEND, 1, 0, 0);

	wr.nsge = SGL_MAX;
	for (unsigned i = 0; i < SGL_MAX; i++)
		wr.sge[i] = (struct sgl_elem){TO + 512U * i, i * 20, STAG_A};
	qb->recv[qb->recv_posted++] = (struct rdmap_recv){
		.cookie = 2,
		.nsge = 2,
		.sge = {{TO + 100, 777, STAG_B}, {TO + 2000, 3000, STAG_B}},
	};
	a.mulpdu = 600;
	post(qa, wr);
	pair_pump(&a, &b);
	cr_expect_eq(pair_done(qb).len, 20 * 120);
	for (unsigned i = 0, at = 0; i < SGL_MAX; i++)
		for (unsigned j = 0; j < 20 * i; j++, at++)
			cr_assert_eq(at < 777 ? mb[100 + at] : mb[2000 + at - 777],
				     ma[512 * i + j]);
}

Test(transfer, zero_length_messages_are_one_segment_each)
{
	struct rdmap_wr read = request(RDMAP_READ, 3, 0, 0);

	pair_post_recv(qb, 9, STAG_B, TO, 0);
	post(qa, (struct rdmap_wr){.cookie = 1, .op = RDMAP_SEND, .flags = RDMAP_SIGNALED});
	/* RFC 5041 5.2, RFC 5040 5.2.1: nobody looks at what names no bytes. */
	post(qa, (struct rdmap_wr){.cookie = 2, .op = RDMAP_WRITE, .rstag = 1, .rto = UINT64_MAX});
	read.sge[0].stag = 0;
	read.rstag = 0;
	read.rto = UINT64_MAX;
	post(qa, read);
	for (unsigned i = 0; i < 3; i++)
		cr_expect(move(&a, &b));
	cr_expect_not(move(&a, &b));
	cr_expect(move(&b, &a));
	cr_expect_not(move(&b, &a));
	expect_done(qb, 9, RDMAP_OK);
	for (unsigned i = 1; i <= 3; i++)
		expect_done(qa, i, RDMAP_OK);
}

/* ---- Write and Read ---- */

Test(transfer, write_is_placed_and_silent)
{
	post(qa, request(RDMAP_WRITE, 1, 100, 10000));
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_OK);
	expect_none(qb);
	cr_expect_arr_eq(mb, ma + 100, 10000);
	cr_expect_eq(mb[10000], 0);
}

Test(transfer, read_brings_what_was_written_before_it)
{
	struct rdmap_done d;

	post(qa, request(RDMAP_WRITE, 1, 0, 5000));
	post(qa, request(RDMAP_READ, 2, 8000, 5000));
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_OK);
	d = pair_done(qa);
	cr_expect_eq(d.cookie, 2);
	cr_expect_eq(d.len, 5000);
	expect_none(qb);
	cr_expect_arr_eq(ma + 8000, ma, 5000);
}

/* RFC 5040 4.4: the sink is named to the responder, and means nothing there. */
Test(transfer, read_needs_no_remote_right_to_its_sink)
{
	uint8_t *sink = pair_region(&a, STAG_B, 0, 16, STAG_LOCAL_WRITE, 0);
	struct rdmap_wr wr = request(RDMAP_READ, 1, 0, 16);

	memset(mb, 0x77, 16);
	wr.sge[0] = (struct sgl_elem){0, 16, STAG_B};
	post(qa, wr);
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_OK);
	cr_expect_eq(sink[15], 0x77);
}

Test(transfer, outstanding_reads_are_limited_and_hold_back_what_is_behind_them)
{
	struct rdmap_info info;

	for (unsigned i = 0; i < 4; i++)
		post(qa, request(RDMAP_READ, i, 1000 * i, 10));
	post(qa, request(RDMAP_WRITE, 4, 0, 10));
	while (move(&a, &b))
		;
	rdmap_query(qa->ep, &info);
	cr_expect_eq(info.reads_out, PAIR_READS);
	rdmap_query(qb->ep, &info);
	cr_expect_eq(info.reads_in, PAIR_READS);
	cr_expect(move(&b, &a));
	expect_done(qa, 0, RDMAP_OK);
	cr_expect(move(&a, &b), "one more Read");
	cr_expect_not(move(&a, &b));
	pair_pump(&a, &b);
	for (unsigned i = 1; i <= 4; i++)
		expect_done(qa, i, RDMAP_OK);
}

Test(transfer, completions_keep_the_order_of_submission)
{
	struct rdmap_wr quiet = request(RDMAP_WRITE, 2, 0, 10);

	quiet.flags = 0;
	pair_post_recv(qb, 9, STAG_B, TO, 64);
	post(qa, request(RDMAP_READ, 1, 0, 10));
	post(qa, quiet);
	post(qa, request(RDMAP_SEND, 3, 0, 10));
	while (move(&a, &b))
		;
	expect_none(qa); /* the Read is first, and not answered */
	expect_done(qb, 9, RDMAP_OK);
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_OK);
	cr_expect_not(qa->done[1].signaled, "told to the owner, who tells nobody");
	expect_done(qa, 2, RDMAP_OK);
	expect_done(qa, 3, RDMAP_OK);
}

Test(transfer, fence_waits_for_the_reads_before_it)
{
	struct rdmap_wr wr = request(RDMAP_WRITE, 2, 5000, 10);

	memset(mb, 0x11, 10);
	wr.flags |= RDMAP_FENCE;
	post(qa, request(RDMAP_READ, 1, 100, 10));
	post(qa, wr);
	cr_expect(move(&a, &b));
	cr_expect_not(move(&a, &b));
	pair_pump(&a, &b);
	cr_expect_eq(ma[100], 0x11, "old contents");
	cr_expect_eq(mb[0], ma[5000], "then new ones");
}

Test(transfer, window_that_is_full_leaves_work_in_the_ring)
{
	for (unsigned i = 0; i < PAIR_DEPTH + 3; i++)
		post(qa, request(i ? RDMAP_WRITE : RDMAP_READ, i, 0, 4));
	while (move(&a, &b))
		;
	cr_expect_eq(qa->taken, PAIR_DEPTH);
	pair_pump(&a, &b);
	for (unsigned i = 0; i < PAIR_DEPTH + 3; i++)
		expect_done(qa, i, RDMAP_OK);
}

Test(transfer, owner_without_room_to_complete_is_asked_again_when_woken)
{
	qa->no_room = true;
	post(qa, request(RDMAP_WRITE, 1, 0, 4));
	cr_expect_not(move(&a, &b));
	qa->no_room = false;
	cr_expect_not(move(&a, &b));
	assoc_tx_wake(a.assoc, qa->ep);
	cr_expect(move(&a, &b));
}

/* Four responses at most while work of our own waits. */
Test(transfer, responses_and_own_requests_take_turns)
{
	char order[16] = "";
	unsigned n = 0;
	struct pair_msg m;

	for (unsigned i = 0; i < 10; i++)
		post(qa, request(RDMAP_READ, i, 0, 4));
	for (unsigned i = 0; i < 3; i++)
		post(qb, (struct rdmap_wr){.cookie = i, .op = RDMAP_WRITE});
	while (n < 13) {
		while (move(&a, &b))
			; /* as many Reads as may be outstanding */
		cr_assert(pair_pull(&b, &m));
		order[n++] = (m.b[3] & 0xf) == WIRE_OP_WRITE ? 'w' : 'r';
		pair_push(&a, &m);
	}
	cr_expect_str_eq(order, "rrrrwrrrrwrrw");
}

Test(transfer, messages_of_a_stream_are_not_interleaved_and_streams_are)
{
	struct pair_qp *qc = pair_qp(&a), *qd = pair_qp(&b);
	uint16_t other = pair_connect(&a, qc, &b, qd);
	uint16_t last = other;
	struct pair_msg m;

	a.mulpdu = 614;
	for (unsigned i = 0; i < 2; i++) {
		post(qa, request(RDMAP_WRITE, i, 0, 3000));
		post(qc, request(RDMAP_WRITE, i, 0, 3000));
	}
	for (unsigned i = 0; i < 20; i++) {
		cr_assert(pair_pull(&a, &m));
		cr_expect_neq(m.sid, last, "each stream has its turn");
		last = m.sid;
		cr_expect_eq(be_get64(m.b + 8), TO + 600 * (i / 2 % 5));
	}
}

/* ---- requests that are no good ---- */

Test(transfer, bad_requests_complete_in_their_turn_and_send_nothing)
{
	struct rdmap_wr wr[10];
	static const enum rdmap_status want[10] = {
		RDMAP_OK,       RDMAP_LOC_OP,     RDMAP_LOC_LEN,    RDMAP_LOC_SGE,   RDMAP_LOC_SGE,
		RDMAP_LOC_STAG, RDMAP_LOC_BOUNDS, RDMAP_LOC_RIGHTS, RDMAP_LOC_SCOPE, RDMAP_OK,
	};
	unsigned sent = 0;

	pair_region(&a, 1, TO, 64, 0, 0);
	pair_region(&a, 2, TO, 64, ALL, 999);
	for (unsigned i = 0; i < 10; i++) {
		wr[i] = request(RDMAP_WRITE, i, 0, 8);
		wr[i].flags = 0; /* failure is always reported */
	}
	wr[1].op = RDMAP_RECV;
	wr[2].flags = RDMAP_INLINE;
	wr[2].len = RDMAP_INLINE_MAX + 1;
	wr[3].nsge = SGL_MAX + 1;
	wr[4].op = RDMAP_READ;
	wr[4].nsge = 0;
	wr[5].sge[0].stag = 77;
	wr[6].sge[0].len = MEM + 1;
	wr[7].op = RDMAP_READ;
	wr[7].sge[0].stag = 1;
	wr[8].sge[0].stag = 2;
	for (unsigned i = 0; i < 10; i++)
		post(qa, wr[i]);
	while (move(&a, &b) || move(&a, &b)) /* it may take two questions to get past so many */
		sent++;
	cr_expect_eq(sent, 2);
	for (unsigned i = 0; i < 10; i++)
		expect_done(qa, i, want[i]);
	cr_expect_eq(qa->done[6].at.stag, STAG_A);
	cr_expect_eq(qa->done[6].at.len, MEM + 1);
}

Test(transfer, taker_that_found_a_request_bad_has_its_status_reported)
{
	struct rdmap_wr wr = request(RDMAP_SEND, 2, 0, 8);

	wr.status = RDMAP_LOC_OP;
	post(qa, request(RDMAP_READ, 1, 0, 8));
	post(qa, wr);
	while (move(&a, &b))
		;
	expect_none(qa);
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_OK);
	expect_done(qa, 2, RDMAP_LOC_OP);
}

Test(transfer, more_than_4_gigabytes_are_refused)
{
	struct rdmap_wr wr = request(RDMAP_WRITE, 1, 0, UINT32_MAX);

	wr.nsge = 2;
	wr.sge[1] = (struct sgl_elem){TO, 1, STAG_A};
	post(qa, wr);
	cr_expect_not(move(&a, &b));
	expect_done(qa, 1, RDMAP_LOC_LEN);
}

Test(transfer, owner_full_of_bad_requests_does_not_hold_up_other_streams)
{
	struct pair_qp *qc = pair_qp(&a), *qd = pair_qp(&b);
	struct rdmap_wr bad = request(RDMAP_RECV, 0, 0, 8);
	uint16_t other = pair_connect(&a, qc, &b, qd);
	struct pair_msg m;

	for (unsigned i = 0; i < 5 * PAIR_DEPTH; i++)
		post(qa, bad);
	post(qa, request(RDMAP_WRITE, 1, 0, 8));
	post(qc, request(RDMAP_WRITE, 1, 0, 8));
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(m.sid, other);
	cr_expect_leq(qa->taken, PAIR_DEPTH);
	cr_expect_eq(assoc_expiry(a.assoc), 0, "another turn is asked for");
	for (unsigned i = 0; i < 6 && qa->taken < qa->posted; i++)
		if (pair_pull(&a, &m))
			cr_expect_eq(m.sid, sid);
	cr_expect_eq(qa->taken, qa->posted, "each question takes some more");
	cr_expect_not(pair_pull(&a, &m));
	cr_expect_eq(assoc_expiry(a.assoc), UINT64_MAX);
}

Test(transfer, bad_receives_complete_in_their_turn_and_the_next_is_used)
{
	pair_region(&b, 1, TO, 64, STAG_REMOTE_WRITE, 0);
	pair_post_recv(qb, 1, 77, TO, 64);
	pair_post_recv(qb, 2, STAG_B, TO, 64);
	pair_post_recv(qb, 3, STAG_B, TO, MEM + 1);
	qb->recv[qb->recv_posted++] = (struct rdmap_recv){.cookie = 4, .nsge = 3};
	pair_post_recv(qb, 5, 1, TO, 64);
	pair_post_recv(qb, 6, STAG_B, TO + 64, 64);
	post(qa, request(RDMAP_SEND, 1, 0, 20));
	post(qa, request(RDMAP_SEND, 2, 20, 20));
	pair_pump(&a, &b);
	expect_done(qb, 1, RDMAP_LOC_STAG);
	expect_done(qb, 2, RDMAP_OK);
	expect_done(qb, 3, RDMAP_LOC_BOUNDS);
	expect_done(qb, 4, RDMAP_LOC_SGE);
	expect_done(qb, 5, RDMAP_LOC_RIGHTS);
	expect_done(qb, 6, RDMAP_OK);
	cr_expect_arr_eq(mb + 64, ma + 20, 20);
}

/* ---- memory that vanishes ---- */

static void expect_closed(struct pair_node *n, enum assoc_why why, enum perr perr)
{
	struct assoc_event ev;

	cr_assert(pair_event(n, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.why, why, "why %d", ev.why);
	cr_expect_eq(ev.at.perr, perr, "%s", perr_name(ev.at.perr));
	cr_expect_eq(ev.at.term, perr_term(perr));
}

static void expect_vector(struct pair_node *n, const char *id, uint16_t ssn)
{
	struct vector v = vector_get(id);
	struct pair_msg m;

	be_put16(v.b, ssn);
	cr_assert(pair_pull(n, &m), "%s is sent", id);
	cr_assert_eq(m.len, v.len, "%s: %u bytes", id, m.len);
	cr_expect_arr_eq(m.b, v.b, v.len, "%s", id);
}

Test(transfer, memory_that_vanishes_under_a_message_ends_the_stream)
{
	struct pair_msg m;

	pair_region(&a, 5, TO, MEM, ALL, 0);
	post(qa, request(RDMAP_READ, 1, 0, 8));
	post(qa,
	     (struct rdmap_wr){.cookie = 2, .op = RDMAP_SEND, .nsge = 1, .sge = {{TO, 4000, 5}}});
	post(qa, request(RDMAP_WRITE, 3, 0, 8));
	cr_assert(pair_pull(&a, &m));
	cr_assert(pair_pull(&a, &m));
	stag_remove(a.stags, 5);
	expect_vector(&a, "V22", 3);
	expect_done(qa, 1, RDMAP_FLUSHED);
	expect_done(qa, 2, RDMAP_LOC_STAG);
	expect_none(qa);
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(be_get16(m.b), 4);
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	m = pair_control(sid, 1, WIRE_TERMINATE, NULL, 0);
	pair_push(&a, &m);
	expect_closed(&a, ASSOC_WHY_ERROR, PERR_CATASTROPHIC);
}

Test(transfer, memory_that_vanishes_before_the_first_byte_hurts_one_request_alone)
{
	struct assoc_seg seg;

	pair_region(&a, 5, TO, MEM, ALL, 0);
	post(qa,
	     (struct rdmap_wr){.cookie = 2, .op = RDMAP_WRITE, .nsge = 1, .sge = {{TO, 4000, 5}}});
	post(qa, request(RDMAP_WRITE, 3, 0, 8));
	cr_assert(assoc_tx_next(a.assoc, 1450, &seg));
	stag_remove(a.stags, 5);
	pair_pump(&a, &b);
	expect_done(qa, 2, RDMAP_LOC_STAG);
	expect_done(qa, 3, RDMAP_OK);
}

/* RFC 5040 4.8: the Read Request comes back advanced by what was sent. */
Test(transfer, source_that_vanishes_under_a_response_is_told_from_where_on)
{
	struct wire_read_req req;
	struct wire_term t;
	struct pair_msg m;

	b.mulpdu = 1014;
	post(qa, request(RDMAP_READ, 1, 100, 3000));
	cr_expect(move(&a, &b));
	cr_expect(move(&b, &a));
	stag_remove(b.stags, STAG_B);
	cr_assert(pair_pull(&b, &m));
	cr_assert(wire_term_get(m.b + 20, m.len - 20, &t));
	cr_expect_eq(WIRE_TERM_WORD(t.layer, t.etype, t.code), perr_term(PERR_READ_STAG));
	cr_assert(t.has_len && t.has_ddp && t.has_read);
	cr_expect_eq(t.seg_len, 46);
	wire_read_req_get(t.read, &req);
	cr_expect_eq(req.sink_to, TO + 100 + 1000);
	cr_expect_eq(req.src_to, TO + 1000);
	cr_expect_eq(req.size, 2000);
	pair_push(&a, &m);
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_REM_ACCESS);
	expect_closed(&a, ASSOC_WHY_REMOTE, PERR_READ_STAG);
	expect_closed(&b, ASSOC_WHY_ERROR, PERR_READ_STAG);
}

Test(transfer, receive_that_vanishes_under_a_message_ends_the_stream)
{
	pair_region(&b, 5, TO, MEM, ALL, 0);
	pair_post_recv(qb, 1, 5, TO, 4000);
	pair_post_recv(qb, 2, 5, TO, 4000);
	post(qa, request(RDMAP_SEND, 1, 0, 4000));
	cr_expect(move(&a, &b));
	stag_remove(b.stags, 5);
	cr_expect(move(&a, &b));
	expect_vector(&b, "V22", 1);
	expect_done(qb, 1, RDMAP_LOC_STAG);
	expect_none(qb);
}

/* ---- errors that the peer finds ---- */

Test(transfer, write_that_the_peer_refuses_is_named)
{
	struct rdmap_wr wr = request(RDMAP_WRITE, 2, 0, 8);

	wr.rto = TO + MEM - 4;
	post(qa, request(RDMAP_READ, 1, 0, 8));
	post(qa, wr);
	post(qa, request(RDMAP_WRITE, 3, 0, 8));
	while (move(&a, &b))
		;
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_FLUSHED);
	expect_done(qa, 2, RDMAP_REM_ACCESS);
	expect_done(qa, 3, RDMAP_FLUSHED);
	expect_closed(&a, ASSOC_WHY_REMOTE, PERR_TAGGED_BOUNDS);
	expect_closed(&b, ASSOC_WHY_ERROR, PERR_TAGGED_BOUNDS);
}

Test(transfer, send_without_a_receive_is_named)
{
	post(qa, request(RDMAP_READ, 1, 0, 8));
	post(qa, request(RDMAP_SEND, 2, 0, 8));
	while (move(&a, &b))
		;
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_FLUSHED);
	expect_done(qa, 2, RDMAP_REM_OP);
	expect_closed(&a, ASSOC_WHY_REMOTE, PERR_NO_BUFFER);
}

Test(transfer, send_longer_than_its_receive_fails_both)
{
	pair_post_recv(qb, 7, STAG_B, TO, 99);
	pair_post_recv(qb, 8, STAG_B, TO, 99);
	post(qa, request(RDMAP_SEND, 1, 0, 100));
	pair_pump(&a, &b);
	expect_done(qb, 7, RDMAP_LOC_LEN);
	expect_none(qb);
	cr_expect_eq(mb[0], 0, "nothing of the bad segment is placed");
	expect_closed(&b, ASSOC_WHY_ERROR, PERR_TOO_LONG);
	expect_closed(&a, ASSOC_WHY_REMOTE, PERR_TOO_LONG);
}

Test(transfer, invalidating_what_is_not_the_streams_alone_fails)
{
	static const uint32_t stag[] = {STAG_B, 99, OWN_B};
	static const enum perr want[] = {PERR_INV_SCOPE, PERR_INV_STAG, PERR_INV_SCOPE};

	for (unsigned i = 0; i < 3; i++) {
		struct rdmap_wr wr = request(RDMAP_SEND_INV, 1, 0, 8);

		teardown();
		setup();
		pair_region(&b, OWN_B, TO, 64, ALL, 555);
		wr.inv_stag = stag[i];
		pair_post_recv(qb, 7, STAG_B, TO, 99);
		post(qa, wr);
		pair_pump(&a, &b);
		expect_done(qb, 7, RDMAP_FLUSHED);
		expect_closed(&b, ASSOC_WHY_ERROR, want[i]);
		cr_expect(stag_find(b.stags, STAG_B)->valid);
		cr_expect(stag_find(b.stags, OWN_B)->valid);
	}
}

Test(transfer, everything_outstanding_is_flushed_once_and_in_order)
{
	struct rdmap_wr bad = request(RDMAP_WRITE, 3, 0, 8);

	bad.sge[0].stag = STAG_B;
	bad.rstag = 99;
	for (unsigned i = 0; i < 3; i++) {
		post(qa, request(RDMAP_READ, i, 0, 8));
		pair_post_recv(qa, 70 + i, STAG_A, TO, 8);
	}
	post(qb, (struct rdmap_wr){.op = RDMAP_SEND});
	post(qb, (struct rdmap_wr){.op = RDMAP_SEND});
	post(qb, bad);
	pair_pump(&b, &a);
	expect_done(qa, 70, RDMAP_OK);
	expect_done(qa, 71, RDMAP_OK);
	expect_closed(&a, ASSOC_WHY_ERROR, PERR_TAGGED_STAG);
	cr_expect_eq(qa->taken, 0);
	cr_expect_eq(qa->recv_taken, 2);
	expect_none(qa);
}

/* ---- long lives ---- */

Test(transfer, numbers_wrap)
{
	struct rdmap_wr wr = request(RDMAP_SEND, 0, 0, 3);

	assoc_test_preset(a.assoc, sid, 65530, 65530);
	assoc_test_preset(b.assoc, sid, 65530, 65530);
	for (unsigned qn = 0; qn < 2; qn++) {
		assoc_test_preset_msn(qa->ep, qn, UINT32_MAX - 2, UINT32_MAX - 2);
		assoc_test_preset_msn(qb->ep, qn, UINT32_MAX - 2, UINT32_MAX - 2);
	}
	for (unsigned i = 0; i < 20; i++) {
		wr.cookie = i;
		pair_post_recv(qb, i, STAG_B, TO + 8 * i, 8);
		post(qa, wr);
		post(qa, request(RDMAP_READ, 100 + i, 100, 5));
	}
	pair_pump(&a, &b);
	for (unsigned i = 0; i < 20; i++) {
		expect_done(qb, i, RDMAP_OK);
		expect_done(qa, i, RDMAP_OK);
		expect_done(qa, 100 + i, RDMAP_OK);
	}
}

/* RFC 5043 10: at most 32767 chunks of a stream are out, and its end must still fit. */
Test(transfer, sender_stops_at_the_limit_of_unacknowledged_chunks)
{
	struct assoc_stream_info info;
	uint32_t pos = 0, n = 0;
	struct pair_msg m;

	assoc_tx_acked(a.assoc);
	do {
		qa->posted = qa->taken = qa->ndone = 0;
		post(qa, (struct rdmap_wr){.op = RDMAP_WRITE});
		n++;
	} while (n <= 40000 && pair_pull(&a, &m));
	cr_assert(assoc_stream_next(a.assoc, &pos, &info));
	cr_expect_eq(info.unacked, 32765);
	cr_expect_eq(n, 32766);
	assoc_close(a.assoc, qa->ep);
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
}

Test(transfer, sender_goes_on_when_all_is_acknowledged)
{
	uint32_t n = 0;
	struct pair_msg m;

	assoc_tx_acked(a.assoc);
	for (; n < 32765; n++) {
		qa->posted = qa->taken = qa->ndone = 0;
		post(qa, (struct rdmap_wr){.op = RDMAP_WRITE});
		cr_assert(pair_pull(&a, &m));
	}
	qa->posted = qa->taken = qa->ndone = 0;
	post(qa, (struct rdmap_wr){.op = RDMAP_WRITE});
	cr_expect_not(pair_pull(&a, &m));
	assoc_tx_acked(a.assoc);
	cr_expect(pair_pull(&a, &m));
}

/* ---- what is at the edges ---- */

Test(transfer, messages_are_numbered_once_each_however_many_segments_they_have)
{
	for (unsigned i = 0; i < 3; i++) {
		pair_post_recv(qb, i, STAG_B, TO + 4000 * i, 4000);
		post(qa, request(RDMAP_SEND, i, 0, 4000));
	}
	pair_pump(&a, &b);
	for (unsigned i = 0; i < 3; i++) {
		expect_done(qa, i, RDMAP_OK);
		expect_done(qb, i, RDMAP_OK);
	}
}

Test(transfer, invalidate_field_is_zero_in_plain_sends)
{
	struct rdmap_wr wr = request(RDMAP_SEND, 1, 0, 4);
	uint32_t len;

	wr.inv_stag = 99;
	post(qa, wr);
	cr_expect_eq(pull_header(&a, &len).inv_stag, 0);
}

Test(transfer, unknown_flags_and_impossible_reads_are_refused)
{
	struct rdmap_wr wr = request(RDMAP_WRITE, 1, 0, 4);
	struct pair_qp *qc = pair_qp_reads(&a, 0, 1), *qd = pair_qp(&b);

	pair_connect(&a, qc, &b, qd);
	wr.flags |= 0x10;
	post(qa, wr);
	post(qc, request(RDMAP_READ, 2, 0, 4));
	cr_expect_not(move(&a, &b));
	expect_done(qa, 1, RDMAP_LOC_OP);
	expect_done(qc, 2, RDMAP_LOC_OP);
}

Test(transfer, endpoint_that_holds_no_reads_refuses_them)
{
	struct pair_qp *qc = pair_qp(&a), *qd = pair_qp_reads(&b, 1, 0);

	pair_connect(&a, qc, &b, qd);
	post(qc, request(RDMAP_READ, 2, 0, 0));
	pair_pump(&a, &b);
	expect_done(qc, 2, RDMAP_REM_OP);
	expect_closed(&b, ASSOC_WHY_ERROR, PERR_NO_BUFFER);
}

Test(transfer, terminate_names_one_request_among_several)
{
	struct rdmap_wr two = request(RDMAP_READ, 2, 0, 8);

	two.rto = TO + MEM;
	post(qa, request(RDMAP_READ, 1, 0, 8));
	post(qa, two);
	while (move(&a, &b))
		;
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_FLUSHED);
	expect_done(qa, 2, RDMAP_REM_ACCESS);
}

Test(transfer, terminate_names_the_write_to_that_stag)
{
	struct rdmap_wr two = request(RDMAP_WRITE, 3, 0, 8);

	two.rstag = 99;
	post(qa, request(RDMAP_READ, 1, 0, 8));
	post(qa, request(RDMAP_WRITE, 2, 0, 8));
	post(qa, two);
	while (move(&a, &b))
		;
	pair_pump(&a, &b);
	expect_done(qa, 1, RDMAP_FLUSHED);
	expect_done(qa, 2, RDMAP_FLUSHED);
	expect_done(qa, 3, RDMAP_REM_ACCESS);
}

Test(transfer, segment_that_was_offered_and_not_taken_does_not_delay_the_end)
{
	struct assoc_seg seg;
	struct pair_msg m;

	post(qa, request(RDMAP_WRITE, 1, 0, 8));
	cr_assert(assoc_tx_next(a.assoc, 1450, &seg));
	assoc_close(a.assoc, qa->ep);
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	m = pair_control(sid, 1, WIRE_TERMINATE, NULL, 0);
	pair_push(&a, &m);
	expect_done(qa, 1, RDMAP_FLUSHED);
}

Test(transfer, stream_that_is_woken_again_and_again_keeps_its_place)
{
	struct pair_qp *qc = pair_qp(&a), *qd = pair_qp(&b);
	uint16_t other = pair_connect(&a, qc, &b, qd);
	unsigned ours = 0;
	struct pair_msg m;

	a.mulpdu = 614;
	post(qc, request(RDMAP_WRITE, 1, 0, 6000));
	post(qa, request(RDMAP_WRITE, 1, 0, 6000));
	for (unsigned i = 0; i < 10; i++) {
		assoc_tx_wake(a.assoc, qa->ep);
		cr_assert(pair_pull(&a, &m));
		ours += m.sid != other;
	}
	cr_expect_eq(ours, 5);
}

Test(transfer, association_may_be_lost_while_the_transport_takes_a_segment)
{
	struct assoc_seg seg;

	post(qa, request(RDMAP_WRITE, 1, 0, 8));
	cr_assert(assoc_tx_next(a.assoc, 1450, &seg));
	assoc_lost(a.assoc);
	assoc_tx_accepted(a.assoc);
	expect_done(qa, 1, RDMAP_FLUSHED);
	expect_none(qa);
}

/* Spends all of the window but what is kept for the ends. */
static void spend_window(void)
{
	struct pair_msg m;

	assoc_tx_acked(a.assoc);
	for (unsigned i = 0; i < 32764; i++) {
		qa->posted = qa->taken = qa->ndone = 0;
		post(qa, (struct rdmap_wr){.op = RDMAP_WRITE});
		cr_assert(pair_pull(&a, &m));
	}
	qa->posted = qa->taken = qa->ndone = 0;
}

Test(transfer, error_at_the_limit_is_told_all_the_same)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1, .stag = 99};
	struct pair_msg m;

	spend_window();
	post(qa, request(RDMAP_WRITE, 1, 0, 4000));
	cr_assert(pair_pull(&a, &m));
	cr_expect_not(pair_pull(&a, &m));
	m = pair_segment(sid, 1, &h, "bad", 3);
	pair_push(&a, &m);
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(m.b[3], 0x47);
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
}

Test(transfer, message_under_way_at_the_limit_is_finished_before_the_end)
{
	struct pair_msg m;

	spend_window();
	post(qa, request(RDMAP_WRITE, 1, 0, 4000));
	cr_assert(pair_pull(&a, &m));
	assoc_close(a.assoc, qa->ep);
	cr_expect_not(pair_pull(&a, &m));
	assoc_tx_acked(a.assoc);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert(pair_pull(&a, &m));
		cr_expect_eq(m.ppid, WIRE_PPID_SEGMENT);
	}
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	expect_done(qa, 1, RDMAP_OK);
}

Test(transfer, message_under_way_at_the_limit_is_cut_off_by_unbinding)
{
	struct pair_msg m;

	spend_window();
	post(qa, request(RDMAP_WRITE, 1, 0, 4000));
	cr_assert(pair_pull(&a, &m));
	assoc_close(a.assoc, qa->ep);
	cr_expect_not(pair_pull(&a, &m));
	assoc_unbind(a.assoc, qa->ep);
	cr_assert(pair_pull(&a, &m));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	expect_none(qa);
}
