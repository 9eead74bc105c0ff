/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMAP_STRICT_SENDS: a request that fails at its own end ends the session. Those before it
 * complete first, those after it are flushed, and nothing of it or of them is sent.
 */
#include <criterion/criterion.h>

#include "tests/lib/two.h"

enum { FAILED = 50, AFTER = 51, LARGE = 4000 };

static void setup(void)
{
	two_setup_with(RDMAP_STRICT_SENDS, true, PAIR_READS);
}

TestSuite(strict_sends, .init = setup, .fini = two_teardown);

static void post_failing(void)
{
	struct rdmap_wr wr = two_request(RDMAP_WRITE, FAILED, 0, 8);

	wr.sge[0].stag = 77;
	two_post(two.qa, wr);
	two_post(two.qa, two_request(RDMAP_SEND, AFTER, 0, 8));
}

/* a sends its two Terminates and nothing else. */
static void expect_end(void)
{
	uint32_t len;

	cr_expect_eq(two_pull_header(&two.a, &len).opcode, WIRE_OP_TERMINATE);
	cr_expect(two_move(&two.a, &two.b), "the end of the session");
	cr_expect_not(two_move(&two.a, &two.b));
}

static const struct {
	const char *what;
	struct rdmap_wr wr;
	enum rdmap_status status;
} failing[] = {
	{"a small Write with a wrong key",
	 {.op = RDMAP_WRITE, .nsge = 1, .sge = {{TWO_TO, 8, 77}}},
	 RDMAP_LOC_KEY_ERR},
	{"a large Write with a wrong key",
	 {.op = RDMAP_WRITE, .nsge = 1, .sge = {{TWO_TO, LARGE, 77}}},
	 RDMAP_LOC_KEY_ERR},
	{"a Send outside of its region",
	 {.op = RDMAP_SEND, .nsge = 1, .sge = {{TWO_TO, TWO_MEM + 1, TWO_STAG_A}}},
	 RDMAP_LOC_BOUNDS_ERR},
	{"a Read with a wrong key",
	 {.op = RDMAP_READ, .nsge = 1, .sge = {{TWO_TO, 8, 77}}},
	 RDMAP_LOC_KEY_ERR},
	{"Immediate Data with memory",
	 {.op = RDMAP_IMM, .nsge = 1, .sge = {{TWO_TO, 8, TWO_STAG_A}}},
	 RDMAP_LOC_SGE_ERR},
	{"a request that its taker found bad",
	 {.op = RDMAP_SEND, .status = RDMAP_LOC_OP_ERR},
	 RDMAP_LOC_OP_ERR},
	{"a bind of no region",
	 {.op = RDMAP_BIND, .rstag = 0x100, .bind = {.region = 0x200, .len = 8}},
	 RDMAP_MW_BIND_ERR},
	{"an invalidation of no key", {.op = RDMAP_LOCAL_INV, .inv_stag = 77}, RDMAP_LOC_KEY_ERR},
};

Test(strict_sends, each_failure_ends_the_session_and_flushes_what_follows)
{
	for (unsigned i = 0; i < sizeof(failing) / sizeof(failing[0]); i++) {
		struct rdmap_wr wr = failing[i].wr;
		struct rdmap_done d;

		two_teardown();
		setup();
		wr.cookie = FAILED; /* failure is always reported */
		two_post(two.qa, wr);
		two_post(two.qa, two_request(RDMAP_SEND, AFTER, 0, 8));
		expect_end();
		d = pair_done(two.qa);
		cr_expect_eq(d.cookie, FAILED, "%s", failing[i].what);
		cr_expect_eq(d.status, failing[i].status, "%s: %d", failing[i].what, d.status);
		two_expect_none(two.qa); /* what was not taken is its owner's to flush */
		cr_expect_eq(two.qa->taken, 1, "%s", failing[i].what);
	}
}

Test(strict_sends, the_session_ends_with_the_reason)
{
	post_failing();
	pair_pump(&two.a, &two.b);
	two_expect_closed(&two.a, ASSOC_REASON_ERROR, PERR_REQUEST);
	two_expect_closed(&two.b, ASSOC_REASON_REMOTE, PERR_CATASTROPHIC);
}

Test(strict_sends, requests_before_it_complete_first)
{
	two_teardown();
	two_setup_with(RDMAP_STRICT_SENDS | RDMAP_ACKED, true, PAIR_READS);
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 8));
	post_failing();
	cr_expect(two_move(&two.a, &two.b), "the Write");
	cr_expect_not(two_move(&two.a, &two.b), "nothing before it is acknowledged");
	two_expect_none(two.qa);
	assoc_tx_acked(two.a.assoc);
	expect_end();
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, FAILED, RDMAP_LOC_KEY_ERR);
}

/* Its response tells that the Write was delivered, before the transport does. */
Test(strict_sends, requests_before_an_atomic_whose_memory_goes_complete_first)
{
	enum { GONE = 0x100 };
	struct rdmap_wr wr = two_request(RDMAP_FETCH_ADD, FAILED, 0, 8);

	two_teardown();
	two_setup_with(RDMAP_STRICT_SENDS | RDMAP_ACKED, true, PAIR_READS);
	pair_region(&two.a, GONE, TWO_TO, 64, TWO_ALL, 0);
	wr.sge[0].stag = GONE;
	two_post(two.qa, two_request(RDMAP_WRITE, 1, 0, 8));
	two_post(two.qa, wr);
	cr_expect(two_move(&two.a, &two.b), "the Write");
	cr_expect(two_move(&two.a, &two.b), "the request of the atomic");
	stag_remove(two.a.stags, GONE);
	cr_expect(two_move(&two.b, &two.a), "its response");
	expect_end();
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, FAILED, RDMAP_LOC_KEY_ERR);
}

Test(strict_sends, reads_before_it_complete_first)
{
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, 8));
	post_failing();
	cr_expect(two_move(&two.a, &two.b), "the Read Request");
	cr_expect_not(two_move(&two.a, &two.b));
	two_expect_none(two.qa);
	cr_expect(two_move(&two.b, &two.a), "the response");
	expect_end();
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, FAILED, RDMAP_LOC_KEY_ERR);
}

/* The region of the last of three parts goes while two places are taken. */
Test(strict_sends, a_read_ends_with_its_error_when_its_first_parts_have_arrived)
{
	struct rdmap_wr wr = two_request(RDMAP_READ, FAILED, 0, 8);

	pair_region(&two.a, 0x100, TWO_TO, 64, TWO_ALL, 0);
	wr.nsge = 3;
	wr.sge[1] = wr.sge[0];
	wr.sge[2] = (struct sgl_elem){.to = TWO_TO, .len = 8, .stag = 0x100};
	two_post(two.qa, wr);
	cr_expect(two_move(&two.a, &two.b));
	cr_expect(two_move(&two.a, &two.b));
	cr_expect_not(two_move(&two.a, &two.b), "there are two places");
	stag_remove(two.a.stags, 0x100);
	cr_expect(two_move(&two.b, &two.a));
	cr_expect_not(two_move(&two.a, &two.b));
	two_expect_none(two.qa);
	cr_expect(two_move(&two.b, &two.a));
	expect_end();
	two_expect_done(two.qa, FAILED, RDMAP_LOC_KEY_ERR);
	two_expect_none(two.qa);
}

static void read_by_peer(void)
{
	struct rdmap_wr read = {
		.op = RDMAP_READ,
		.nsge = 1,
		.rstag = TWO_STAG_A,
		.rto = TWO_TO,
		.sge = {{.to = TWO_TO, .len = 8, .stag = TWO_STAG_B}},
	};

	two_post(two.qb, read);
	two_move(&two.b, &two.a);
}

static bool sends_terminate(void)
{
	struct wire_ddp h = {0};
	struct pair_msg m;

	cr_assert(pair_pull(&two.a, &m));
	wire_ddp_get(m.b + 2, m.len - 2, &h);
	pair_push(&two.b, &m);
	return h.opcode == WIRE_OP_TERMINATE;
}

Test(strict_sends, a_peer_that_reads_all_the_time_does_not_delay_it)
{
	unsigned answers = 0;

	read_by_peer();
	post_failing();
	for (read_by_peer(); answers < 20 && !sends_terminate(); answers++)
		read_by_peer();
	cr_expect_lt(answers, 6);
	two_expect_done(two.qa, FAILED, RDMAP_LOC_KEY_ERR);
}

Test(strict_sends, without_it_later_requests_are_sent)
{
	two_teardown();
	two_setup();
	pair_post_recv(two.qb, 9, TWO_STAG_B, TWO_TO, 8);
	post_failing();
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, FAILED, RDMAP_LOC_KEY_ERR);
	two_expect_done(two.qa, AFTER, RDMAP_SUCCESS);
	two_expect_done(two.qb, 9, RDMAP_SUCCESS);
}
