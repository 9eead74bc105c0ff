/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 7306: what atomics and Immediate Data do at both ends, as bytes on the wire and as
 * bytes in memory. `two` is a session between two of our endpoints, `fake` one of ours
 * and a peer that the test plays.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "proto/rdmap_atomic.h"
#include "proto/rdmap_ep.h"
#include "tests/lib/fake.h"
#include "tests/lib/two.h"
#include "tests/lib/vector.h"
#include "util/be.h"

TestSuite(atomic, .init = two_setup, .fini = two_teardown);
TestSuite(atomic_rx, .init = fake_setup, .fini = fake_teardown);

/* ---- what an atomic does: the table of docs/choices.md, made from 5.1 ---- */

struct effect {
	uint8_t aop;
	uint64_t old, data, mask, compare, compare_mask, want;
};

#define ALL UINT64_MAX
#define TOPS UINT64_C(0x8000000080000000)

static const struct effect effects[] = {
	{WIRE_FETCH_ADD, 0x10, 5, 0, 0, 0, 0x15},
	{WIRE_FETCH_ADD, ALL, 1, 0, 0, 0, 0},
	{WIRE_FETCH_ADD, ALL, 1, UINT64_C(1) << 63, 0, 0, 0},
	{WIRE_FETCH_ADD, 0xffffffff, 1, TOPS, 0, 0, 0},
	{WIRE_FETCH_ADD, ALL, 0x100000001, TOPS, 0, 0, 0},
	{WIRE_FETCH_ADD, 0x00ff00ff00ff00ff, 0x0001000100010001, 0x8080808080808080, 0, 0, 0},
	{WIRE_FETCH_ADD, 0x1234, 0, 0, 0, 0, 0x1234},
	{WIRE_CMP_SWAP, 0x15, 0x99, ALL, 0x15, ALL, 0x99},
	{WIRE_CMP_SWAP, 0x16, 0x99, ALL, 0x15, ALL, 0x16},
	{WIRE_CMP_SWAP, 0xaabb, 0x11, 0xff, 0xaa00, 0xff00, 0xaa11},
	{WIRE_CMP_SWAP, 7, 1, 0xf, 0xff, 0, 1},
};

static struct wire_atomic_req request_of(const struct effect *e)
{
	return (struct wire_atomic_req){.aop = e->aop,
					.data = e->data,
					.mask = e->mask,
					.compare = e->compare,
					.compare_mask = e->compare_mask};
}

/* rows: 7306-5.1.1-05 7306-5.1.2-01 7306-5-03 */
Test(atomic, masks_cut_carries_and_choose_bits)
{
	for (unsigned i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		struct wire_atomic_req r = request_of(&effects[i]);
		uint64_t cell = effects[i].old, old = 0;

		cr_expect(rdmap_atomic_apply(&cell, &r, 1, &old));
		cr_expect_eq(cell, effects[i].want, "row %u: %lx", i, (unsigned long)cell);
		cr_expect_eq(old, effects[i].old);
	}
}

/* The pseudocode of RFC 7306 5.1.1, bit by bit. */
static uint64_t ripple(uint64_t a, uint64_t b, uint64_t mask)
{
	uint64_t sum = 0;
	unsigned carry = 0;

	for (unsigned i = 0; i < 64; i++) {
		unsigned bits = (a >> i & 1) + (b >> i & 1) + carry;

		sum |= (uint64_t)(bits & 1) << i;
		carry = mask >> i & 1 ? 0 : bits >> 1;
	}
	return sum;
}

/* rows: 7306-5.1.1-05 */
Test(atomic, any_mask_adds_as_a_ripple_adder_does)
{
	uint64_t x = 88172645463325252u;

	for (unsigned i = 0; i < 20000; i++) {
		struct wire_atomic_req r = {.aop = WIRE_FETCH_ADD};
		uint64_t v[3], cell, old;

		for (unsigned k = 0; k < 3; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			v[k] = x;
		}
		cell = v[0];
		r.data = v[1];
		r.mask = i % 3 ? v[2] : v[2] & v[1];
		cr_assert(rdmap_atomic_apply(&cell, &r, 1, &old));
		cr_assert_eq(cell, ripple(v[0], v[1], r.mask));
	}
}

struct adder {
	uint64_t *cell;
	bool local;
};

enum { ADDS = 20000 };

static void *add(void *arg)
{
	const struct wire_atomic_req one = {.aop = WIRE_FETCH_ADD, .data = 1};
	struct adder *a = arg;
	uint64_t old;

	for (unsigned i = 0; i < ADDS; i++) {
		if (a->local)
			__atomic_fetch_add(a->cell, 1, __ATOMIC_RELAXED);
		else if (!rdmap_atomic_apply(a->cell, &one, RDMAP_ATOMIC_TRIES, &old))
			return a;
	}
	return NULL;
}

/* rows: 7306-5-01 7306-5-02 7306-5.3-01 */
Test(atomic, adds_of_many_threads_and_of_local_programs_sum_exactly)
{
	uint64_t cell = 0;
	struct adder remote = {&cell, false}, local = {&cell, true};
	pthread_t t[4];
	void *failed;

	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, add, i % 2 ? &remote : &local), 0);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(t[i], &failed), 0);
		cr_expect_null(failed);
	}
	cr_expect_eq(cell, 4 * ADDS);
}

/* ---- two of ours ---- */

static uint64_t get_cell(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void set_cell(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* An atomic on b's first cell; the old value goes to a's region at `off`. */
static struct rdmap_wr atomic_request(enum rdmap_op op, uint64_t cookie, uint64_t off)
{
	return two_request(op, cookie, off, 8);
}

/* rows: 7306-5.2.1-10 7306-5.2.1-05 7306-5.2.1-06 7306-5.2.2-04 7306-5.1.1-06 7306-5.2.1-01 */
Test(atomic, old_value_comes_back_and_the_new_one_is_there)
{
	struct rdmap_wr add = atomic_request(RDMAP_FETCH_ADD, 1, 0);
	struct rdmap_wr swap = atomic_request(RDMAP_CMP_SWAP, 2, 8);
	struct rdmap_done d;

	set_cell(two.mb, 0x0102030405060708);
	add.atomic.data = 0x10;
	swap.atomic.compare = 0x0102030405060718;
	swap.atomic.data = 42;
	swap.atomic.mask = swap.atomic.compare_mask = ALL;
	swap.nsge = 0; /* the completion has it anyway */
	two_post(two.qa, add);
	two_post(two.qa, swap);
	pair_pump(&two.a, &two.b);
	d = pair_done(two.qa);
	cr_expect_eq(d.status, RDMAP_SUCCESS);
	cr_expect_eq(d.imm, 0x0102030405060708);
	cr_expect_eq(get_cell(two.ma), 0x0102030405060708);
	d = pair_done(two.qa);
	cr_expect_eq(d.status, RDMAP_SUCCESS);
	cr_expect_eq(d.imm, 0x0102030405060718);
	cr_expect_eq(get_cell(two.mb), 42);
	two_expect_none(two.qb);
}

/* rows: 7306-5.4-01 7306-5.4-06 7306-5.2.2-02 7306-5.2.2-03 5040-6.1-04 5040-5.5-11 */
Test(atomic, counts_with_reads_and_completes_only_with_its_response)
{
	unsigned sent = 0;

	for (unsigned i = 0; i < 4; i++)
		two_post(two.qa, atomic_request(i % 2 ? RDMAP_READ : RDMAP_FETCH_ADD, i, 64 * i));
	while (two_move(&two.a, &two.b))
		sent++;
	cr_expect_eq(sent, PAIR_READS, "no more may be out than ORD, atomics and Reads together");
	two_expect_none(two.qa);
	while (two_move(&two.b, &two.a))
		;
	two_expect_done(two.qa, 0, RDMAP_SUCCESS);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
	two_expect_done(two.qa, 3, RDMAP_SUCCESS);
}

/* rows: 5040-5.5-08 */
Test(atomic, fence_waits_for_it)
{
	struct rdmap_wr fenced = two_request(RDMAP_WRITE, 2, 512, 8);

	fenced.flags |= RDMAP_FENCE;
	two_post(two.qa, atomic_request(RDMAP_FETCH_ADD, 1, 0));
	two_post(two.qa, fenced);
	cr_expect(two_move(&two.a, &two.b));
	cr_expect_not(two_move(&two.a, &two.b));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 2, RDMAP_SUCCESS);
}

/* The next message of a is the golden one, and b gets it. */
static void push_vector(const char *id, uint16_t ssn)
{
	struct vector v = vector_get(id);
	struct pair_msg m;

	be_put16(v.b, ssn);
	cr_assert(pair_pull(&two.a, &m));
	cr_assert_eq(m.len, v.len);
	cr_expect_arr_eq(m.b, v.b, v.len);
	pair_push(&two.b, &m);
}

/* rows: 7306-4.1-01 7306-4.1-02 7306-4.1-03 7306-5.2-01 7306-5.2.1-03 7306-5.2.1-08 7306-5-05 */
/* rows: 7306-4.2-01 7306-5.2.2-01 */
Test(atomic, messages_are_the_golden_ones)
{
	struct rdmap_wr add = atomic_request(RDMAP_FETCH_ADD, 1, 0), swap = add;

	add.rto = swap.rto = 0x4008;
	add.atomic.data = 5;
	swap.op = RDMAP_CMP_SWAP;
	swap.atomic.data = 0x99;
	swap.atomic.compare = 0x15;
	swap.atomic.mask = swap.atomic.compare_mask = ALL;
	set_cell(two.mb + 8, 0x10);
	/* Identifiers count requests; the golden ones are 7 and 8, their message numbers 3 and 4.
	 */
	for (uint64_t i = 0; i < 7; i++)
		two_post(two.qa, two_request(RDMAP_WRITE, 100 + i, 0, 0));
	pair_pump(&two.a, &two.b);
	assoc_test_preset_msn(two.qa->ep, 1, 3, 1);
	assoc_test_preset_msn(two.qb->ep, 1, 1, 3);
	two_post(two.qa, add);
	two_post(two.qa, swap);
	push_vector("V29", 8);
	two_expect_vector(&two.a, "V31", 9);
	two_expect_vector(&two.b, "V30", 1);
	cr_expect_eq(get_cell(two.mb + 8), 0x15);
}

/* rows: 7306-6.3-01 7306-6.3-02 7306-6.3-03 7306-6.3-04 7306-6.3-05 7306-6.4-01 */
Test(atomic, immediate_data_arrives_in_order_with_sends)
{
	struct rdmap_wr imm = {.cookie = 2, .op = RDMAP_IMM, .imm = 0x1122334455667788};
	struct rdmap_done d;

	for (unsigned i = 0; i < 3; i++)
		pair_post_recv(two.qb, i, TWO_STAG_B, TWO_TO + 4096 + 64 * i, 64);
	two_post(two.qa, two_request(RDMAP_WRITE, 0, 0, 16));
	two_post(two.qa, two_request(RDMAP_SEND, 1, 0, 5));
	two_post(two.qa, imm);
	imm.cookie = 3;
	imm.flags = RDMAP_SOLICITED;
	imm.imm = 7;
	two_post(two.qa, imm);
	pair_pump(&two.a, &two.b);
	d = pair_done(two.qb);
	cr_expect(!d.immediate && d.len == 5);
	d = pair_done(two.qb);
	cr_expect(d.immediate && !d.solicited);
	cr_expect_eq(d.cookie, 1);
	cr_expect_eq(d.imm, 0x1122334455667788);
	cr_expect_eq(d.len, 0);
	cr_expect_eq(two.mb[4096 + 64], 0, "the buffer is left alone");
	cr_expect_arr_eq(two.mb, two.ma, 16, "what was written before is there");
	d = pair_done(two.qb);
	cr_expect(d.immediate && d.solicited && d.imm == 7);
}

/* rows: 7306-4.1-02 7306-6.3-04 */
Test(atomic, immediate_data_is_the_golden_message)
{
	struct rdmap_wr imm = {.op = RDMAP_IMM, .imm = 0x1122334455667788};

	assoc_test_preset_msn(two.qa->ep, 0, 3, 1);
	two_post(two.qa, imm);
	two_expect_vector(&two.a, "V27", 1);
	imm.flags = RDMAP_SOLICITED;
	two_post(two.qa, imm);
	two_expect_vector(&two.a, "V28", 2);
}

/* rows: 7306-5.4-02 7306-5.4-04 */
Test(atomic, sees_what_was_written_before_even_if_that_arrives_later)
{
	struct rdmap_wr write = two_request(RDMAP_WRITE, 1, 0, 8);
	struct pair_msg first, second;

	set_cell(two.ma, 1000);
	two_post(two.qa, write);
	two_post(two.qa, atomic_request(RDMAP_FETCH_ADD, 2, 8));
	cr_assert(pair_pull(&two.a, &first));
	cr_assert(pair_pull(&two.a, &second));
	pair_push(&two.b, &second);
	cr_expect_not(two_move(&two.b, &two.a), "not before it is delivered");
	pair_push(&two.b, &first);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	cr_expect_eq(pair_done(two.qa).imm, 1000);
}

/* rows: 7306-5.2.1-09 7306-5.2.2-06 7306-5.4-07 7306-7-01 7306-7-03 */
Test(atomic, dependent_ones_run_in_the_order_sent)
{
	struct rdmap_wr swap[2] = {atomic_request(RDMAP_CMP_SWAP, 1, 0),
				   atomic_request(RDMAP_CMP_SWAP, 2, 8)};
	struct rdmap_info info;
	struct pair_msg m[2];

	for (unsigned i = 0; i < 2; i++) {
		swap[i].atomic.compare = i;
		swap[i].atomic.data = i + 1;
		swap[i].atomic.mask = swap[i].atomic.compare_mask = ALL;
		two_post(two.qa, swap[i]);
	}
	cr_assert(pair_pull(&two.a, &m[0]));
	cr_assert(pair_pull(&two.a, &m[1]));
	pair_push(&two.b, &m[1]); /* in the wrong order */
	pair_push(&two.b, &m[0]);
	rdmap_query(two.qb->ep, &info);
	cr_expect_eq(info.reads_in, 2);
	cr_expect_eq(get_cell(two.mb), 0, "done when its answer is made");
	cr_assert(two_move(&two.b, &two.a));
	cr_expect_eq(get_cell(two.mb), 1, "the second only after the first was answered");
	pair_pump(&two.a, &two.b);
	cr_expect_eq(get_cell(two.mb), 2);
	cr_expect_eq(pair_done(two.qa).imm, 0);
	cr_expect_eq(pair_done(two.qa).imm, 1);
}

/* An answer that the transport refuses is made again; the atomic is not. */
/* rows: 7306-5-01 */
Test(atomic, runs_once_however_often_its_answer_is_made)
{
	struct rdmap_wr add = atomic_request(RDMAP_FETCH_ADD, 1, 0);
	struct assoc_seg seg;

	add.atomic.data = 1;
	two_post(two.qa, add);
	while (two_move(&two.a, &two.b))
		;
	for (unsigned i = 0; i < 5; i++)
		cr_assert(assoc_tx_next(two.b.assoc, two.b.mulpdu, &seg));
	cr_expect_eq(get_cell(two.mb), 1);
	pair_pump(&two.a, &two.b);
	cr_expect_eq(get_cell(two.mb), 1);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
}

/* rows: 7306-8.1-01 */
Test(atomic, error_of_our_own_copies_no_header)
{
	struct wire_term t;
	struct pair_msg m;

	two.qb->ep->tries = 0; /* a local program that never lets us */
	two_post(two.qa, atomic_request(RDMAP_FETCH_ADD, 1, 0));
	while (two_move(&two.a, &two.b))
		;
	cr_assert(pair_pull(&two.b, &m));
	cr_expect_eq(m.len, 2 + 18 + 4);
	cr_assert(wire_term_get(m.b + 20, m.len - 20, &t));
	cr_expect_eq(WIRE_TERM_WORD(t.layer, t.etype, t.code), perr_term(PERR_CATASTROPHIC));
	pair_push(&two.a, &m);
	two_expect_done(two.qa, 1, RDMAP_FLUSH_ERR);
}

/* What rdma_recv() of RFC 4296 gives: messages, the end of a Write, an error. */
/* rows: 4296-2.2.1-05 */
Test(atomic, receives_tell_of_messages_of_writes_and_of_errors)
{
	struct rdmap_wr write = two_request(RDMAP_WRITE, 1, 0, 16);
	struct rdmap_wr imm = {.cookie = 2, .op = RDMAP_IMM, .imm = 0xabc};
	struct rdmap_done d;

	for (unsigned i = 0; i < 3; i++)
		pair_post_recv(two.qb, i, TWO_STAG_B, TWO_TO + 4096 + 64 * i, 64);
	two_post(two.qa, two_request(RDMAP_SEND, 0, 0, 5));
	two_post(two.qa, write);
	two_post(two.qa, imm);
	write.rto = 0;
	two_post(two.qa, write);
	pair_pump(&two.a, &two.b);
	d = pair_done(two.qb);
	cr_expect(d.status == RDMAP_SUCCESS && !d.immediate && d.len == 5);
	d = pair_done(two.qb);
	cr_expect(d.status == RDMAP_SUCCESS && d.immediate && d.imm == 0xabc);
	cr_expect_arr_eq(two.mb, two.ma, 16);
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, PERR_TAGGED_BOUNDS);
}

/* QN 1 and QN 3 wrap each in its own place. */
/* rows: 5041-4.3-08 */
Test(atomic, message_numbers_wrap)
{
	assoc_test_preset_msn(two.qa->ep, 1, UINT32_MAX, 1);
	assoc_test_preset_msn(two.qb->ep, 1, 1, UINT32_MAX);
	assoc_test_preset_msn(two.qa->ep, 3, 1, UINT32_MAX);
	assoc_test_preset_msn(two.qb->ep, 3, UINT32_MAX, 1);
	for (unsigned i = 0; i < 5; i++)
		two_post(two.qa, atomic_request(i % 2 ? RDMAP_READ : RDMAP_FETCH_ADD, i, 8 * i));
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < 5; i++)
		two_expect_done(two.qa, i, RDMAP_SUCCESS);
}

Test(atomic, bad_requests_complete_in_their_turn)
{
	struct rdmap_wr wr[6];
	static const enum rdmap_status want[6] = {RDMAP_SUCCESS,     RDMAP_LOC_SGE_ERR,
						  RDMAP_LOC_LEN_ERR, RDMAP_LOC_OP_ERR,
						  RDMAP_LOC_SGE_ERR, RDMAP_LOC_KEY_ERR};

	for (unsigned i = 0; i < 6; i++)
		wr[i] = atomic_request(RDMAP_FETCH_ADD, i, 8 * i);
	wr[1].nsge = 2;
	wr[2].sge[0].len = 4;
	wr[3].flags |= RDMAP_INLINE;
	wr[4].op = RDMAP_IMM;
	wr[5].sge[0].stag = 0x9900;
	for (unsigned i = 0; i < 6; i++)
		two_post(two.qa, wr[i]);
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < 6; i++)
		two_expect_done(two.qa, i, want[i]);
}

/* ---- a peer that the test plays: the responder ---- */

static struct pair_msg atomic_message(uint16_t ssn, uint32_t msn, const struct wire_atomic_req *r)
{
	struct wire_ddp h = fake_header(WIRE_OP_ATOMIC_REQ);
	uint8_t body[WIRE_ATOMIC_REQ_LEN];

	h.qn = WIRE_QN_READ_REQ;
	h.msn = msn;
	wire_atomic_req_put(body, r);
	return pair_segment(FAKE_SID, ssn, &h, body, sizeof(body));
}

/* rows: 7306-5.1.1-01 7306-5.1.1-02 7306-5.1.1-03 7306-5.1.1-04 7306-5.1.2-02 7306-5.1.2-03 */
/* rows: 7306-5.1.2-04 7306-8.2-02 7306-8.1-02 7306-5.2.1-07 7306-8.2-01 */
Test(atomic_rx, target_is_checked)
{
	static const struct {
		uint8_t aop;
		uint32_t stag;
		uint64_t to;
		enum perr want;
	} row[] = {
		{0, FAKE_STAG, FAKE_BASE, PERR_NONE},
		{2, FAKE_STAG, FAKE_BASE + FAKE_MEM - 8, PERR_NONE},
		{0, FAKE_STAG, FAKE_BASE + FAKE_MEM - 7, PERR_ACCESS_BOUNDS},
		{0, FAKE_STAG, FAKE_BASE - 8, PERR_ACCESS_BOUNDS},
		{0, FAKE_STAG, UINT64_MAX - 3, PERR_ACCESS_WRAP},
		{0, 0x9900, FAKE_BASE, PERR_ACCESS_STAG},
		{0, 0x500, FAKE_BASE, PERR_ACCESS_RIGHTS},
		{0, 0x600, FAKE_BASE, PERR_ACCESS_SCOPE},
		{0, FAKE_STAG, FAKE_BASE + 4, PERR_STREAM_CATASTROPHIC},
		{2, FAKE_STAG, FAKE_BASE + 1, PERR_STREAM_CATASTROPHIC},
		{1, FAKE_STAG, FAKE_BASE, PERR_OPCODE},
		{3, FAKE_STAG, FAKE_BASE, PERR_OPCODE},
		{15, FAKE_STAG, FAKE_BASE, PERR_OPCODE},
		{0, 0x700, 3, PERR_NONE}, /* memory is aligned, its offset is not */
		{0, 0x700, 8, PERR_STREAM_CATASTROPHIC},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct wire_atomic_req r = {.aop = row[i].aop,
					    .id = 7,
					    .stag = row[i].stag,
					    .to = row[i].to,
					    .data = 1,
					    .mask = ALL,
					    .compare_mask = ALL};
		struct pair_msg m = atomic_message(1, 1, &r);
		struct wire_term t;

		fake_teardown();
		fake_setup();
		pair_region(&fake.node, 0x500, FAKE_BASE, 64,
			    STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ, 0);
		pair_region(&fake.node, 0x600, FAKE_BASE, 64, FAKE_ALL, 999);
		pair_region(&fake.node, 0x700, 3, 64, FAKE_ALL, 0);
		fake_push(m);
		if (row[i].want == PERR_NONE) {
			cr_assert(pair_pull(&fake.node, &m), "row %u", i);
			cr_expect_eq(m.len, 2 + 18 + 12);
			cr_expect_eq(be_get32(m.b + 20), 7);
			continue;
		}
		t = fake_expect_terminate(row[i].want);
		cr_expect(t.has_len && t.has_ddp && !t.has_read, "row %u", i);
		cr_expect_eq(t.seg_len, 18 + 52);
		for (unsigned k = 0; k < FAKE_MEM; k++)
			cr_assert_eq(fake.mem[k], 0, "memory is as it was");
	}
}

/* rows: 7306-4.1-04 */
Test(atomic_rx, reserved_bits_and_invalidate_stag_mean_nothing)
{
	const struct wire_atomic_req r = {.id = 9, .stag = FAKE_STAG, .to = FAKE_BASE, .data = 1};
	struct pair_msg m = atomic_message(1, 1, &r);

	memset(m.b + 4, 0xee, 4);  /* Invalidate STag */
	memset(m.b + 20, 0xff, 3); /* reserved, in front of the atomic opcode */
	m.b[23] |= 0xf0;
	fake_push(m);
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(fake.mem[0], 1);
	cr_expect(stag_find(fake.node.stags, FAKE_STAG)->valid);
}

/* rows: 7306-6.3-06 7306-8.1-02 7306-8.2-01 7306-6.3-02 */
Test(atomic_rx, immediate_data_has_8_bytes_and_a_receive)
{
	static const uint8_t bytes[16];

	for (uint32_t len = 0; len <= 10; len++) {
		struct wire_ddp h = fake_header(WIRE_OP_IMM);

		h.msn = 1;
		fake_teardown();
		fake_setup();
		fake_post_recvs(1, 100);
		fake_push(pair_segment(FAKE_SID, 1, &h, bytes, len));
		if (len == 8)
			fake_expect_done(0, RDMAP_SUCCESS, 0);
		else
			cr_expect_not(fake_expect_terminate(PERR_RDMAP_LENGTH).has_read);
	}
	{
		struct wire_ddp h = fake_header(WIRE_OP_IMM);

		h.msn = 1;
		fake_teardown();
		fake_setup();
		fake_push(pair_segment(FAKE_SID, 1, &h, bytes, 8));
		fake_expect_terminate(PERR_NO_BUFFER);
	}
}

/* rows: 7306-1.1-01 7306-1.1-03 */
Test(atomic_rx, endpoint_without_rfc_7306_answers_as_the_text_says)
{
	const struct rdmap_cfg plain = {.ord = 2, .ird = 2, .plain_rdmap = true};
	static const struct {
		uint8_t opcode, qn;
		enum perr want;
	} row[] = {
		{WIRE_OP_IMM, 0, PERR_OPCODE},
		{WIRE_OP_IMM_SE, 0, PERR_OPCODE},
		{WIRE_OP_ATOMIC_REQ, 1, PERR_OPCODE},
		{WIRE_OP_ATOMIC_RESP, 3, PERR_QN},
	};

	for (unsigned i = 0; i < 4; i++) {
		struct wire_ddp h = fake_header(row[i].opcode);
		static const uint8_t body[52];

		h.qn = row[i].qn;
		h.msn = 1;
		fake_teardown();
		fake_setup_as(&plain);
		fake_post_recvs(1, 100);
		fake_push(pair_segment(FAKE_SID, 1, &h, body, sizeof(body)));
		fake_expect_terminate(row[i].want);
	}
	for (enum rdmap_op op = RDMAP_IMM; op <= RDMAP_CMP_SWAP; op++) {
		struct rdmap_wr wr = {.op = (uint8_t)op};

		fake_teardown();
		fake_setup_as(&plain);
		pair_post(fake.qp, &wr);
		fake_expect_silence();
		fake_expect_done(0, RDMAP_LOC_OP_ERR, 0);
	}
}

/* rows: 7306-4.1-01 */
Test(atomic_rx, older_dialect_never_had_these_messages)
{
	struct wire_ddp h = fake_header(WIRE_OP_IMM);

	h.rv = 0;
	h.msn = 1;
	fake_post_recvs(1, 100);
	fake_push(pair_segment(FAKE_SID, 1, &h, "8 bytes!", 8));
	fake_expect_terminate(PERR_RDMAP_VERSION);
}

/* ---- ... the requester ---- */

static void post_atomics(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rdmap_wr wr = {.cookie = i,
				      .op = RDMAP_FETCH_ADD,
				      .flags = RDMAP_SIGNALED,
				      .nsge = 1,
				      .sge = {{FAKE_BASE + 8 * i, 8, FAKE_STAG}}};
		struct pair_msg m;

		pair_post(fake.qp, &wr);
		cr_assert(pair_pull(&fake.node, &m));
		cr_expect_eq(be_get32(m.b + 24), i, "identifiers count");
	}
}

static struct pair_msg atomic_answer(uint16_t ssn, uint32_t msn, uint32_t id, uint64_t value)
{
	const struct wire_atomic_resp r = {id, value};
	struct wire_ddp h = fake_header(WIRE_OP_ATOMIC_RESP);
	uint8_t body[WIRE_ATOMIC_RESP_LEN];

	h.qn = WIRE_QN_ATOMIC_RESP;
	h.msn = msn;
	wire_atomic_resp_put(body, &r);
	return pair_segment(FAKE_SID, ssn, &h, body, sizeof(body));
}

/* rows: 7306-5-06 7306-5.2.2-05 */
Test(atomic_rx, responses_are_matched_by_number_and_identifier)
{
	static const struct {
		uint32_t msn, id;
		enum perr want;
	} row[] = {
		{1, 0, PERR_NONE},      {1, 1, PERR_OPCODE},    {2, 1, PERR_OPCODE},
		{3, 0, PERR_NO_BUFFER}, {0, 0, PERR_MSN_RANGE},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		fake_teardown();
		fake_setup();
		post_atomics(2);
		fake_push(atomic_answer(1, row[i].msn, row[i].id, 77));
		if (row[i].want == PERR_NONE) {
			struct rdmap_done d = pair_done(fake.qp);

			cr_expect_eq(d.status, RDMAP_SUCCESS);
			cr_expect_eq(d.imm, 77);
			cr_expect_eq(get_cell(fake.mem), 77);
		} else {
			fake_expect_terminate(row[i].want);
		}
	}
}

/* rows: 7306-5.2.2-05 */
Test(atomic_rx, unrequested_responses_and_those_of_the_wrong_kind_are_errors)
{
	fake_push(atomic_answer(1, 1, 0, 77));
	fake_expect_terminate(PERR_NO_BUFFER);

	fake_teardown();
	fake_setup();
	fake_post_read(1, 0, 8);
	fake_push(atomic_answer(1, 1, 0, 77));
	fake_expect_terminate(PERR_NO_BUFFER);

	fake_teardown();
	fake_setup();
	post_atomics(1);
	fake_push(fake_response(1, FAKE_STAG, FAKE_BASE, true, "8 bytes!"));
	fake_expect_terminate(PERR_OPCODE);

	/* A Read asked first is answered first. */
	fake_teardown();
	fake_setup();
	fake_post_read(9, 64, 8);
	{
		struct rdmap_wr wr = {.cookie = 1, .op = RDMAP_FETCH_ADD};
		struct pair_msg m;

		pair_post(fake.qp, &wr);
		cr_assert(pair_pull(&fake.node, &m));
	}
	fake_push(atomic_answer(1, 1, 1, 77));
	fake_expect_terminate(PERR_OPCODE);
}

/* rows: 7306-5.2.2-05 */
Test(atomic_rx, responses_have_12_bytes)
{
	for (uint32_t len = 10; len <= 14; len++) {
		struct pair_msg m = atomic_answer(1, 1, 0, 77);

		fake_teardown();
		fake_setup();
		post_atomics(1);
		m.len = 20 + len;
		fake_push(m);
		if (len != 12)
			fake_expect_terminate(PERR_RDMAP_LENGTH);
	}
}

/* rows: 7306-5.2.2-03 */
Test(atomic_rx, responses_may_come_ahead_of_their_turn)
{
	post_atomics(2);
	fake_push(atomic_answer(2, 2, 1, 20));
	fake_expect_none();
	fake_push(atomic_answer(1, 1, 0, 10));
	cr_expect_eq(pair_done(fake.qp).imm, 10);
	cr_expect_eq(pair_done(fake.qp).imm, 20);
	cr_expect_eq(get_cell(fake.mem + 8), 20);
}

/* Revoking the sink of an atomic in flight fails only that request. */
Test(atomic_rx, sink_that_is_gone_fails_its_request_alone)
{
	struct rdmap_done d;

	post_atomics(1);
	cr_assert(stag_remove(fake.node.stags, FAKE_STAG));
	fake_push(atomic_answer(1, 1, 0, 10));
	d = pair_done(fake.qp);
	cr_expect_eq(d.status, RDMAP_LOC_KEY_ERR);
	cr_expect_eq(d.imm, 10);
	fake_expect_open();
}

/* rows: 7306-5.1.1-02 7306-5.1.2-04 */
Test(atomic, error_of_the_peer_names_the_request)
{
	struct rdmap_wr wr = atomic_request(RDMAP_FETCH_ADD, 1, 0);

	wr.rto = TWO_TO + 4;
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_REM_OP_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, PERR_STREAM_CATASTROPHIC);
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, PERR_STREAM_CATASTROPHIC);
}
