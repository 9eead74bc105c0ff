/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 7306: what atomics and Immediate Data do at both ends, as bytes on the wire and in memory.
 * `two` is a session between two endpoints, `fake` an endpoint and a peer that the test simulates.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "proto/rdmap/rdmap_atomic.h"
#include "proto/rdmap/rdmap_ep.h"
#include "tests/lib/fake.h"
#include "tests/lib/two.h"
#include "tests/lib/vector.h"
#include "util/be.h"

TestSuite(atomic, .init = two_setup, .fini = two_teardown);

/* ---- the effect of an atomic: the table of docs/choices.md, from section 5.1 ---- */

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

/* ---- two endpoints ---- */

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
Test(atomic, old_value_is_returned_and_the_new_one_is_stored)
{
	struct rdmap_wr add = atomic_request(RDMAP_FETCH_ADD, 1, 0);
	struct rdmap_wr swap = atomic_request(RDMAP_CMP_SWAP, 2, 8);
	struct rdmap_done d;

	set_cell(two.mb, 0x0102030405060708);
	add.atomic.data = 0x10;
	swap.atomic.compare = 0x0102030405060718;
	swap.atomic.data = 42;
	swap.atomic.mask = swap.atomic.compare_mask = ALL;
	swap.nsge = 0; /* the completion has it in any case */
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
Test(atomic, atomic_counts_with_reads_and_completes_with_its_response)
{
	unsigned sent = 0;

	for (unsigned i = 0; i < 4; i++)
		two_post(two.qa, atomic_request(i % 2 ? RDMAP_READ : RDMAP_FETCH_ADD, i, 64 * i));
	while (two_move(&two.a, &two.b))
		sent++;
	cr_expect_eq(sent, PAIR_READS, "at most ORD are outstanding, atomics and Reads together");
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
Test(atomic, fence_waits_for_an_atomic)
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
	cr_expect_eq(two.mb[4096 + 64], 0, "the buffer is unchanged");
	cr_expect_arr_eq(two.mb, two.ma, 16, "data that was written before is placed");
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
Test(atomic, atomic_sees_earlier_writes_even_if_they_arrive_later)
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
Test(atomic, dependent_atomics_run_in_the_order_sent)
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
	cr_expect_eq(get_cell(two.mb), 0, "executed when its response is built");
	cr_assert(two_move(&two.b, &two.a));
	cr_expect_eq(get_cell(two.mb), 1, "the second only after the response to the first");
	pair_pump(&two.a, &two.b);
	cr_expect_eq(get_cell(two.mb), 2);
	cr_expect_eq(pair_done(two.qa).imm, 0);
	cr_expect_eq(pair_done(two.qa).imm, 1);
}

/* A response that the transport refuses is built again; the atomic is not executed again. */
/* rows: 7306-5-01 */
Test(atomic, atomic_runs_once_although_its_answer_is_built_again)
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

	two.qb->ep->tries = 0; /* a local program that holds the lock without end */
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

/* The results of rdma_recv() of RFC 4296: messages, the end of a Write, an error. */
/* rows: 4296-2.2.1-05 */
Test(atomic, receives_report_messages_the_end_of_writes_and_errors)
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

/* The numbers of QN 1 and QN 3 wrap independently. */
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

Test(atomic, bad_requests_complete_in_order)
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
