/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is not at hand: responses and requests wait for it, the rest of the session does not,
 * and the parts that are read and written may be apart.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "tests/lib/fake.h"
#include "tests/lib/names.h"
#include "util/be.h"

enum { PART = STAG_APART, APART = 0x700 };

static struct rdmap_reach asked;
static unsigned times;
static int outcome;

/* Answers with `outcome`, and permits 100 bytes at a time. */
static int reach(struct rdmap_reach *r)
{
	asked = *r;
	times++;
	r->ret_len = r->len < 100 ? r->len : 100;
	r->ret_old = 4711;
	return outcome;
}

static void start(void)
{
	fake_setup();
	fake.qp->reach = reach;
	outcome = RDMAP_NOT_YET;
	times = 0;
}

TestSuite(reach, .init = start, .fini = fake_teardown, .timeout = 60);

static void wake(void)
{
	assoc_tx_wake(fake.node.assoc, fake.qp->ep);
}

/* The payload of the next segment, which must be a part of a response. */
static uint32_t response(uint64_t to)
{
	struct wire_ddp h;
	struct pair_msg m;

	cr_assert(pair_pull(&fake.node, &m));
	cr_assert_eq(wire_ddp_get(m.b + WIRE_SSN_LEN, m.len - WIRE_SSN_LEN, &h), WIRE_TAGGED_LEN);
	cr_expect_eq(h.opcode, WIRE_OP_READ_RESP);
	cr_expect_eq(h.to, to);
	return m.len - WIRE_SSN_LEN - WIRE_TAGGED_LEN;
}

/* Where fake_read() wants its response. */
static uint64_t sink(void)
{
	struct wire_read_req req;
	struct pair_msg m = fake_read(1, 1, FAKE_STAG, FAKE_BASE, 8);

	wire_read_req_get(m.b + WIRE_SSN_LEN + WIRE_UNTAGGED_LEN, &req);
	return req.sink_to;
}

Test(reach, response_waits_for_its_memory)
{
	fake_push(fake_read(1, 1, FAKE_STAG, FAKE_BASE + 16, 50));
	fake_expect_nothing_sent();
	cr_expect_eq(times, 1);
	cr_expect_eq(asked.stag, FAKE_STAG);
	cr_expect_eq(asked.to, FAKE_BASE + 16);
	cr_expect_eq(asked.len, 50);
	cr_expect_null(asked.atomic);
	fake_expect_nothing_sent();
	wake();
	fake_expect_nothing_sent();
	outcome = RDMAP_REACHED;
	fake_expect_nothing_sent();
	wake();
	cr_expect_eq(response(sink()), 50);
	fake_expect_nothing_sent();
	fake_expect_open();
}

Test(reach, long_response_asks_again_for_its_rest)
{
	uint64_t got = 0;

	outcome = RDMAP_REACHED;
	fake.node.mulpdu = WIRE_TAGGED_LEN + 60;
	fake_push(fake_read(1, 1, FAKE_STAG, FAKE_BASE, 1000));
	while (got < 1000) {
		got += response(sink() + got);
		cr_assert_leq(asked.to + asked.len, FAKE_BASE + 1000);
		cr_assert_geq(asked.to + 100, FAKE_BASE + got, "no byte that was not permitted");
	}
	cr_expect_eq(got, 1000);
	cr_expect_gt(times, 9);
	times = 0;
	outcome = RDMAP_AT_HAND;
	fake_push(fake_read(2, 2, FAKE_STAG, FAKE_BASE, 1000));
	for (got = 0; got < 1000;)
		got += response(sink() + got);
	cr_expect_eq(times, 1, "all of it is at hand");
}

Test(reach, empty_read_waits_too)
{
	fake_push(fake_read(1, 1, 99, 0, 0));
	fake_expect_nothing_sent();
	outcome = RDMAP_AT_HAND;
	wake();
	cr_expect_eq(response(sink()), 0);
}

Test(reach, what_arrives_meanwhile_is_delivered)
{
	fake_post_recvs(1, 100);
	fake_push(fake_read(1, 1, FAKE_STAG, FAKE_BASE, 50));
	fake_push(fake_send(2, 1, 0, true, "hello"));
	fake_expect_done(0, RDMAP_SUCCESS, 5);
	fake_expect_nothing_sent();
}

Test(reach, session_ends_only_behind_a_response_that_was_begun)
{
	uint64_t got;

	outcome = RDMAP_REACHED;
	fake.node.mulpdu = WIRE_TAGGED_LEN + 80;
	fake_push(fake_read(1, 1, FAKE_STAG, FAKE_BASE, 200));
	got = response(sink());
	outcome = RDMAP_NOT_YET;
	assoc_close(fake.node.assoc, fake.qp->ep);
	fake_expect_nothing_sent();
	outcome = RDMAP_REACHED;
	wake();
	while (got < 200)
		got += response(sink() + got);
	fake_expect_end(4);
}

Test(reach, unreachable_memory_ends_the_session)
{
	struct wire_term t;

	outcome = RDMAP_UNREACHABLE;
	fake_push(fake_read(1, 1, FAKE_STAG, FAKE_BASE, 50));
	t = fake_expect_terminate(PERR_AGENT);
	cr_expect(!t.has_ddp, "the error is ours");
}

/* ---- our own requests ---- */

/* A Write of 250 bytes from two elements, of which the first is of 120. */
static void post_write(uint8_t flags)
{
	struct rdmap_wr wr = {
		.cookie = 2,
		.op = RDMAP_WRITE,
		.flags = (uint8_t)(RDMAP_SIGNALED | flags),
		.fetch = true,
		.nsge = 3,
		.sge = {{FAKE_BASE, 120, FAKE_STAG},
			{FAKE_BASE, 0, FAKE_STAG},
			{FAKE_BASE + 500, 130, FAKE_STAG}},
	};

	pair_post(fake.qp, &wr);
}

/* The payload of the next segment, which must be a part of a Write. */
static uint32_t sent(uint64_t to)
{
	struct wire_ddp h;
	struct pair_msg m;

	cr_assert(pair_pull(&fake.node, &m));
	cr_assert_eq(wire_ddp_get(m.b + WIRE_SSN_LEN, m.len - WIRE_SSN_LEN, &h), WIRE_TAGGED_LEN);
	cr_expect_eq(h.opcode, WIRE_OP_WRITE);
	cr_expect_eq(h.to, to);
	return m.len - WIRE_SSN_LEN - WIRE_TAGGED_LEN;
}

Test(reach, request_is_fetched_when_its_fence_is_over)
{
	fake_post_read(1, 0, 5);
	post_write(RDMAP_FENCE);
	fake_expect_nothing_sent();
	cr_expect_eq(times, 0, "the Read may still change the memory");
	fake_push(fake_response(1, FAKE_STAG, FAKE_BASE, true, "fresh"));
	fake_expect_done(1, RDMAP_SUCCESS, 5);
	fake_expect_nothing_sent();
	cr_expect_eq(times, 1);
	cr_expect(asked.own);
	cr_expect_eq(asked.to, FAKE_BASE);
	cr_expect_eq(asked.len, 120);
	outcome = RDMAP_REACHED;
	wake();
	cr_expect_eq(sent(0), 250);
	cr_expect_eq(times, 5, "100, 20, 100 and 30 bytes");
	fake_expect_done(2, RDMAP_SUCCESS, 0);
}

Test(reach, response_waits_behind_a_request_that_was_begun)
{
	post_write(0);
	fake_expect_nothing_sent();
	fake_push(fake_read(1, 1, FAKE_STAG, FAKE_BASE, 50));
	fake_expect_nothing_sent();
	cr_expect(asked.own, "one question at a time");
	outcome = RDMAP_AT_HAND;
	wake();
	cr_expect_eq(sent(0), 250);
	cr_expect_eq(response(sink()), 50);
	cr_expect_not(asked.own);
}

Test(reach, segments_are_fetched_one_by_one)
{
	uint64_t got = 0;

	outcome = RDMAP_REACHED;
	fake.node.mulpdu = WIRE_TAGGED_LEN + 60;
	post_write(0);
	while (got < 250) {
		got += sent(got);
		cr_expect_leq(times, got / 50 + 2, "no earlier than needed");
	}
	fake_expect_done(2, RDMAP_SUCCESS, 0);
}

Test(reach, unreachable_payload_ends_the_session)
{
	outcome = RDMAP_UNREACHABLE;
	post_write(0);
	fake_expect_terminate(PERR_AGENT);
	fake_expect_done(2, RDMAP_LOC_BOUNDS_ERR, 0);
}

/* ---- atomics ---- */

static void push_atomic(void)
{
	const struct wire_atomic_req r = {.id = 7, .stag = FAKE_STAG, .to = FAKE_BASE, .data = 5};
	struct wire_ddp h = fake_header(WIRE_OP_ATOMIC_REQ);
	uint8_t body[WIRE_ATOMIC_REQ_LEN];

	h.qn = WIRE_QN_READ_REQ;
	h.msn = 1;
	wire_atomic_req_put(body, &r);
	fake_push(pair_segment(FAKE_SID, 1, &h, body, sizeof(body)));
}

Test(reach, atomic_is_executed_by_the_owner_of_the_endpoint)
{
	struct wire_atomic_resp resp;
	struct pair_msg m;

	push_atomic();
	fake_expect_nothing_sent();
	cr_expect_eq(asked.to, FAKE_BASE);
	outcome = RDMAP_REACHED;
	wake();
	cr_assert(pair_pull(&fake.node, &m));
	wire_atomic_resp_get(m.b + WIRE_SSN_LEN + WIRE_UNTAGGED_LEN, &resp);
	cr_expect_eq(resp.id, 7);
	cr_expect_eq(resp.value, 4711);
	cr_expect_eq(fake.mem[0], 0, "not here");
	cr_expect_eq(times, 2, "once");
	fake_expect_nothing_sent();
}

Test(reach, atomic_at_hand_is_executed_here)
{
	struct pair_msg m;

	outcome = RDMAP_AT_HAND;
	push_atomic();
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(fake.mem[0], 5);
}

Test(reach, unreachable_cell_ends_the_session)
{
	struct wire_term t;

	outcome = RDMAP_UNREACHABLE;
	push_atomic();
	t = fake_expect_terminate(PERR_AGENT);
	cr_expect(!t.has_ddp);
	cr_expect_eq(fake.mem[0], 0);
}

/* ---- parts ---- */

Test(reach, bytes_are_written_apart_from_those_that_are_read)
{
	static uint8_t mem[2 * PART];
	const struct stag_region r = {
		.stag = APART,
		.rights = FAKE_ALL | STAG_BIND_WINDOWS,
		.pd = PAIR_PD,
		.to = 1000,
		.len = PART,
		.base = mem,
		.apart = 1,
	};
	const struct stag_region window = {.stag = 0x800, .pd = PAIR_PD, .kind = STAG_WINDOW_PD};
	const struct stag_bind bind = {.window = 0x801,
				       .region = APART,
				       .rights = STAG_REMOTE_WRITE | STAG_REMOTE_READ,
				       .to = 1500,
				       .len = 10};
	const struct stag_accessor accessor = {.pd = PAIR_PD, .scope = fake.qp->scope};
	const struct stag_accessor domain = {.pd = PAIR_PD};
	uint8_t *p;

	cr_assert_eq(stag_add(fake.node.stags, &r), STAG_ADD_OK);
	cr_assert_eq(stag_check(fake.node.stags, APART, &accessor, 0, 1500, 1, &p), STAG_E_OK);
	cr_expect_eq(p, mem + 500);
	stag_check(fake.node.stags, APART, &accessor, STAG_REMOTE_READ, 1500, 1, &p);
	cr_expect_eq(p, mem + 500);
	stag_check(fake.node.stags, APART, &accessor, STAG_REMOTE_WRITE, 1500, 1, &p);
	cr_expect_eq(p, mem + PART + 500);
	stag_check(fake.node.stags, APART, &accessor, STAG_LOCAL_WRITE, 1500, 1, &p);
	cr_expect_eq(p, mem + PART + 500);
	cr_assert_eq(stag_add(fake.node.stags, &window), STAG_ADD_OK);
	cr_assert_eq(stag_bind(fake.node.stags, &bind, &domain), STAG_BIND_OK);
	stag_check(fake.node.stags, 0x801, &accessor, STAG_REMOTE_WRITE, 1501, 1, &p);
	cr_expect_eq(p, mem + PART + 501, "through a window");
	stag_check(fake.node.stags, 0x801, &accessor, STAG_REMOTE_READ, 1501, 1, &p);
	cr_expect_eq(p, mem + 501, "through a window");
}
