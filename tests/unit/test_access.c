/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an endpoint permits its peer: a Write, a Read or an atomic needs the right of the endpoint
 * and that of the region or window. A refused one changes no memory, and ends the session with
 * the Terminate of an STag without the right.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/two.h"

enum {
	REGION = 0x0d0e0f00,
	WINDOW = 0x11223300,
	LEN = 64,
	OPS = 3,
	SETS = 8, /* of the three rights */
};

TestSuite(access, .init = two_setup, .fini = two_teardown);

static const struct {
	enum rdmap_op op;
	uint32_t right;
	enum perr refused;
} ops[OPS] = {
	{RDMAP_WRITE, STAG_REMOTE_WRITE, PERR_TAGGED_STAG},
	{RDMAP_READ, STAG_REMOTE_READ, PERR_ACCESS_RIGHTS},
	{RDMAP_FETCH_ADD, STAG_REMOTE_ATOMIC, PERR_ACCESS_RIGHTS},
};

static uint32_t rights(unsigned set)
{
	return (set & 1 ? STAG_REMOTE_WRITE : 0U) | (set & 2 ? STAG_REMOTE_READ : 0U) |
	       (set & 4 ? STAG_REMOTE_ATOMIC : 0U);
}

static struct rdmap_wr request(unsigned i, uint32_t stag, uint32_t len)
{
	struct rdmap_wr wr = two_request(ops[i].op, 1, 0, len);

	wr.rstag = stag;
	if (ops[i].op == RDMAP_FETCH_ADD) {
		wr.atomic.data = 1;
		wr.atomic.compare_mask = UINT64_MAX;
		wr.nsge = 0;
	}
	return wr;
}

/* Tries the operation on b's memory, which has the STag. */
static void expect_outcome(unsigned i, uint32_t stag, const uint8_t *mem, bool allowed)
{
	uint8_t before[LEN];

	memcpy(before, mem, LEN);
	two_post(two.qa, request(i, stag, 8));
	pair_pump(&two.a, &two.b);
	if (allowed) {
		two_expect_done(two.qa, 1, RDMAP_SUCCESS);
		cr_expect_eq(memcmp(before, mem, LEN) != 0, ops[i].op != RDMAP_READ);
		return;
	}
	cr_expect_arr_eq(mem, before, LEN, "refused and not executed");
	if (ops[i].op != RDMAP_WRITE)
		two_expect_done(two.qa, 1, RDMAP_REM_ACCESS_ERR);
	two_expect_closed(&two.a, ASSOC_REASON_REMOTE, ops[i].refused);
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, ops[i].refused);
}

static void restart(void)
{
	two_teardown();
	two_setup();
}

/* ---- three operations, eight sets of rights ---- */

Test(access, of_the_queue_pair)
{
	for (unsigned i = 0; i < OPS; i++) {
		for (unsigned set = 0; set < SETS; set++) {
			restart();
			rdmap_set_access(two.qb->ep, rights(set));
			expect_outcome(i, TWO_STAG_B, two.mb, rights(set) & ops[i].right);
		}
	}
}

Test(access, of_the_region)
{
	for (unsigned i = 0; i < OPS; i++) {
		for (unsigned set = 0; set < SETS; set++) {
			const uint8_t *mem;

			restart();
			mem = pair_region(&two.b, REGION, TWO_TO, LEN, rights(set), 0);
			expect_outcome(i, REGION, mem, rights(set) & ops[i].right);
		}
	}
}

Test(access, of_the_window)
{
	for (unsigned i = 0; i < OPS; i++) {
		for (unsigned set = 0; set < SETS; set++) {
			struct stag_region w = {
				.stag = WINDOW, .pd = PAIR_PD, .kind = STAG_WINDOW_STREAM};
			struct stag_bind bind = {WINDOW, TWO_STAG_B, rights(set), TWO_TO, LEN};
			struct stag_accessor owner = {.pd = PAIR_PD, .scope = two.qb->scope};

			restart();
			owner.scope = two.qb->scope;
			cr_assert_eq(stag_add(two.b.stags, &w), STAG_ADD_OK);
			cr_assert_eq(stag_bind(two.b.stags, &bind, &owner), STAG_BIND_OK);
			expect_outcome(i, WINDOW, two.mb, rights(set) & ops[i].right);
			stag_invalidate(two.b.stags, WINDOW, &owner);
		}
	}
}

/* Both have to permit it. */
Test(access, of_queue_pair_and_region_together)
{
	for (unsigned i = 0; i < OPS; i++) {
		for (unsigned sets = 0; sets < SETS * SETS; sets++) {
			uint32_t qp = rights(sets / SETS), region = rights(sets % SETS);
			const uint8_t *mem;

			restart();
			mem = pair_region(&two.b, REGION, TWO_TO, LEN, region, 0);
			rdmap_set_access(two.qb->ep, qp);
			expect_outcome(i, REGION, mem, qp & region & ops[i].right);
		}
	}
}

/* ---- what needs no right ---- */

/* They touch no memory: this is how a sender learns of the delivery. */
Test(access, operations_of_no_bytes_need_none)
{
	struct rdmap_wr placed = two_request(RDMAP_SEND, 3, 0, 8);

	rdmap_set_access(two.qb->ep, 0);
	pair_post_recv(two.qb, 9, TWO_STAG_B, TWO_TO, 8);
	placed.flags |= RDMAP_PLACED;
	two_post(two.qa, request(0, TWO_STAG_B, 0));
	two_post(two.qa, request(1, TWO_STAG_B, 0));
	two_post(two.qa, placed);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 3, RDMAP_SUCCESS);
	two_expect_done(two.qb, 9, RDMAP_SUCCESS);
}

/* The rights are those of the peer: responses to requests of our own need none. */
Test(access, requests_of_its_own_need_none)
{
	rdmap_set_access(two.qa->ep, 0);
	for (unsigned i = 0; i < OPS; i++)
		expect_outcome(i, TWO_STAG_B, two.mb, true);
}

/* ---- changes ---- */

Test(access, it_changes_during_a_session)
{
	rdmap_set_access(two.qb->ep, STAG_REMOTE_WRITE);
	expect_outcome(0, TWO_STAG_B, two.mb, true);
	rdmap_set_access(two.qb->ep, STAG_REMOTE_ALL);
	expect_outcome(2, TWO_STAG_B, two.mb, true);
	rdmap_set_access(two.qb->ep, STAG_REMOTE_READ);
	expect_outcome(1, TWO_STAG_B, two.mb, true);
	rdmap_set_access(two.qb->ep, STAG_REMOTE_WRITE);
	expect_outcome(1, TWO_STAG_B, two.mb, false);
}

/* Each segment of an answer is checked. */
Test(access, a_right_that_is_withdrawn_ends_an_answer)
{
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 4000));
	cr_assert(two_move(&two.a, &two.b));
	cr_assert(two_move(&two.b, &two.a));
	rdmap_set_access(two.qb->ep, STAG_REMOTE_WRITE);
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_REM_ACCESS_ERR);
	two_expect_closed(&two.b, ASSOC_REASON_ERROR, PERR_ACCESS_RIGHTS);
}

Test(access, an_atomic_that_waits_is_refused_when_its_turn_comes)
{
	uint64_t cell;

	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 4000));
	two_post(two.qa, request(2, TWO_STAG_B, 0));
	while (two_move(&two.a, &two.b))
		;
	rdmap_set_access(two.qb->ep, STAG_REMOTE_READ);
	pair_pump(&two.a, &two.b);
	memcpy(&cell, two.mb, sizeof(cell));
	cr_expect_eq(cell, 0);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, 1, RDMAP_REM_ACCESS_ERR);
}

/* ---- raw ---- */

Test(access, raw_tagged_messages_are_writes)
{
	const struct rdmap_cfg cfg = {.raw = true, .queues = 1};

	for (unsigned set = 0; set < 2; set++) {
		struct assoc_event ev;

		two_teardown();
		two_setup_as(&cfg);
		rdmap_set_access(two.qb->ep, set ? STAG_REMOTE_WRITE : 0);
		two_post(two.qa, request(0, TWO_STAG_B, 8));
		pair_pump(&two.a, &two.b);
		cr_expect_eq(memcmp(two.mb, two.ma, 8) == 0, set == 1);
		cr_expect_eq(pair_event(&two.b, &ev), set == 0);
		if (set == 0) {
			cr_expect_eq(ev.type, ASSOC_EV_ERROR);
			cr_expect_eq(ev.at.perr, PERR_TAGGED_STAG);
		}
	}
}
