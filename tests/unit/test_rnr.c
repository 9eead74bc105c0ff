/* SPDX-License-Identifier: BSD-2-Clause */
/* A message without a receive waits as long as its sender lets it, if both ends have RDMAP_RNR. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/two.h"

enum {
	HOLD = 16384,
	WINDOW = 6000,
	WAIT_MS = 1000, /* of ends that do not have it */
	LONG_MS = 10 * 86400 * 1000,
	LEN = 400,
	TIMER_MS = 50, /* of the peer */
	SEGMENT = 1200,
	NONE = 99, /* this end has it not */
};

static struct two t;
static uint64_t now;

static void begin_node(struct pair_node *n, struct pair_qp **qp, uint32_t stag, unsigned retry)
{
	const struct rdmap_cfg like = {.ord = PAIR_READS, .ird = PAIR_READS};
	struct assoc_cfg cfg = pair_cfg(n == &t.a);

	pair_init(n, &cfg);
	n->mulpdu = SEGMENT;
	*qp = pair_qp_as(n, &like);
	pair_hold(*qp, HOLD, WAIT_MS, false);
	pair_credits(*qp, WINDOW);
	if (retry != NONE)
		pair_rnr(*qp, retry, TIMER_MS);
	pair_region(n, stag, TWO_TO, TWO_MEM, TWO_ALL, 0);
}

/* a sends, b has no receives. */
static void begin(unsigned a, unsigned b)
{
	now = 0;
	begin_node(&t.a, &t.qa, TWO_STAG_A, a);
	begin_node(&t.b, &t.qb, TWO_STAG_B, b);
	t.sid = pair_connect(&t.a, t.qa, &t.b, t.qb);
}

static void teardown(void)
{
	pair_deinit(&t.a);
	pair_deinit(&t.b);
}

TestSuite(rnr, .fini = teardown);

static void post(struct pair_qp *qp, uint32_t stag, uint8_t op, uint64_t cookie)
{
	const bool write = op == RDMAP_WRITE;
	struct rdmap_wr wr = {
		.cookie = cookie,
		.op = op,
		.flags = RDMAP_SIGNALED,
		.nsge = 1,
		.sge = {{.to = TWO_TO, .len = LEN, .stag = stag}},
		.rstag = write ? (qp == t.qa ? TWO_STAG_B : TWO_STAG_A) : 0,
		.rto = write ? TWO_TO : 0,
	};

	pair_post(qp, &wr);
	pair_pump(&t.a, &t.b);
}

static void send(uint64_t cookie)
{
	post(t.qa, TWO_STAG_A, RDMAP_SEND, cookie);
}

static void pass(uint64_t ms)
{
	now += ms;
	pair_tick(&t.a, now);
	pair_tick(&t.b, now);
	pair_pump(&t.a, &t.b);
}

static void receive(struct pair_qp *qp, uint64_t cookie)
{
	pair_post_recv(qp, cookie, qp == t.qb ? TWO_STAG_B : TWO_STAG_A, TWO_TO, TWO_MEM);
	pair_wake(qp);
	pair_pump(&t.a, &t.b);
}

static bool is_open(struct pair_node *n)
{
	struct assoc_stream_info i;
	uint32_t pos = t.sid;

	return assoc_stream_next(n->assoc, &pos, &i) && strcmp(i.state, "open") == 0;
}

static struct rdmap_info info(const struct pair_qp *qp)
{
	struct rdmap_info i;

	rdmap_query(qp->ep, &i);
	return i;
}

/* The status of the completion of this request; RDMAP_STATUS_COUNT: it has none. */
static unsigned status_of(const struct pair_qp *qp, uint64_t cookie)
{
	for (unsigned i = 0; i < qp->ndone; i++)
		if (qp->done[i].cookie == cookie)
			return qp->done[i].status;
	return RDMAP_STATUS_COUNT;
}

/* ---- 7: without end ---- */

Test(rnr, a_message_waits_without_end)
{
	begin(7, 7);
	send(1);
	pass(LONG_MS);
	cr_assert(is_open(&t.a) && is_open(&t.b));
	cr_expect_eq(info(t.qa).not_ready, 1, "reported once");
	receive(t.qb, 100);
	cr_expect_eq(status_of(t.qb, 100), RDMAP_SUCCESS);
	cr_expect_eq(status_of(t.qa, 1), RDMAP_SUCCESS);
	cr_expect_eq(assoc_expiry(t.a.assoc), UINT64_MAX);
	cr_expect_eq(assoc_expiry(t.b.assoc), UINT64_MAX);
}

Test(rnr, the_other_direction_goes_on)
{
	begin(7, 7);
	send(1);
	pass(LONG_MS);
	post(t.qb, TWO_STAG_B, RDMAP_WRITE, 2);
	receive(t.qa, 101);
	post(t.qb, TWO_STAG_B, RDMAP_SEND, 3);
	cr_expect_eq(status_of(t.qb, 2), RDMAP_SUCCESS);
	cr_expect_eq(status_of(t.qb, 3), RDMAP_SUCCESS);
	cr_expect_eq(status_of(t.qa, 101), RDMAP_SUCCESS);
}

Test(rnr, both_ends_may_wait_at_the_same_time)
{
	begin(7, 7);
	for (unsigned i = 0; i < 30; i++) {
		post(t.qa, TWO_STAG_A, RDMAP_SEND, i);
		post(t.qb, TWO_STAG_B, RDMAP_SEND, i);
	}
	pass(LONG_MS);
	cr_expect_leq(info(t.qa).held_bytes, WINDOW);
	cr_expect_leq(info(t.qb).held_bytes, WINDOW);
	for (unsigned i = 0; i < 30; i++) {
		receive(t.qa, 100 + i);
		receive(t.qb, 100 + i);
		pass(LONG_MS);
	}
	for (unsigned i = 0; i < 30; i++) {
		cr_expect_eq(status_of(t.qa, 100 + i), RDMAP_SUCCESS);
		cr_expect_eq(status_of(t.qb, 100 + i), RDMAP_SUCCESS);
	}
	cr_expect(is_open(&t.a) && is_open(&t.b));
}

/* ---- fewer ---- */

Test(rnr, each_time_of_the_timer_of_the_peer_takes_a_retry)
{
	for (unsigned retry = 0; retry < 7; retry++) {
		begin(retry, 7);
		send(1);
		send(2);
		pass((retry + 1) * TIMER_MS - 1);
		cr_expect(is_open(&t.a), "%u", retry);
		cr_expect_eq(status_of(t.qa, 1), RDMAP_STATUS_COUNT);
		pass(1);
		cr_expect_not(is_open(&t.a), "%u", retry);
		pass(WAIT_MS - 1);
		cr_expect(is_open(&t.b), "%u", retry);
		pass(1);
		cr_expect_not(is_open(&t.b), "the end of its peer waits no longer after it");
		cr_expect_eq(status_of(t.qa, 1), RDMAP_RNR_RETRY_EXC_ERR, "%u", retry);
		cr_expect_eq(status_of(t.qa, 2), RDMAP_FLUSH_ERR, "%u", retry);
		if (retry < 6)
			teardown();
	}
}

Test(rnr, a_receive_in_time_ends_the_wait)
{
	begin(1, 7);
	for (unsigned i = 0; i < 20; i++) {
		send(i);
		pass(2 * TIMER_MS - 1);
		receive(t.qb, 100 + i);
		cr_expect_eq(status_of(t.qa, i), RDMAP_SUCCESS, "%u", i);
	}
	cr_expect(is_open(&t.a) && is_open(&t.b));
	cr_expect_eq(info(t.qa).not_ready, 20);
	pass(LONG_MS);
	cr_expect(is_open(&t.a) && is_open(&t.b));
}

Test(rnr, each_message_has_its_own_time)
{
	begin(1, 7);
	send(1);
	send(2);
	pass(2 * TIMER_MS - 1);
	receive(t.qb, 100);
	pass(2 * TIMER_MS - 1);
	cr_expect(is_open(&t.a));
	pass(1);
	cr_expect_eq(status_of(t.qa, 1), RDMAP_SUCCESS);
	cr_expect_eq(status_of(t.qa, 2), RDMAP_RNR_RETRY_EXC_ERR);
}

Test(rnr, retries_may_change_during_a_session)
{
	begin(7, 7);
	send(1);
	pass(LONG_MS);
	receive(t.qb, 100);
	rdmap_set_rnr(t.qa->ep, 0, TIMER_MS);
	send(2);
	pass(TIMER_MS);
	cr_expect_eq(status_of(t.qa, 2), RDMAP_RNR_RETRY_EXC_ERR);
}

/* ---- ends that do not have it ---- */

Test(rnr, without_it_at_one_end_the_receiver_decides)
{
	static const unsigned has[][2] = {{7, NONE}, {NONE, 7}, {NONE, NONE}};

	for (unsigned i = 0; i < 3; i++) {
		begin(has[i][0], has[i][1]);
		send(1);
		cr_expect_eq(info(t.qa).not_ready, 0, "%u", i);
		pass(WAIT_MS - 1);
		cr_expect(is_open(&t.a), "%u", i);
		pass(1);
		cr_expect_not(is_open(&t.a), "%u", i);
		if (i < 2)
			teardown();
	}
}

/* ---- the peer's words are not believed ---- */

static void claim(uint64_t pos, uint32_t wait_ms)
{
	const struct wire_credit c = {
		.tag = (t.qa->node == &t.a ? 1U : 0U) | WIRE_TAG_RNR,
		.pos = pos,
		.wait_ms = wait_ms,
	};
	struct pair_msg m = {.sid = t.sid, .ppid = WIRE_PPID_CREDIT};

	m.len = wire_credit_put(m.b, &c);
	pair_push(&t.a, &m);
	pair_pump(&t.a, &t.b);
}

Test(rnr, reports_about_nothing_that_was_sent_have_no_effect)
{
	begin(0, 7);
	claim(0, 1);
	claim(UINT64_MAX, 1);
	pass(LONG_MS);
	cr_expect(is_open(&t.a));
	receive(t.qb, 100);
	receive(t.qb, 101);
	send(1);
	cr_expect_eq(status_of(t.qa, 1), RDMAP_SUCCESS);
	cr_expect(is_open(&t.a));
}

Test(rnr, the_longest_timer_does_not_overflow)
{
	begin(6, 7);
	send(1);
	claim(0, UINT32_MAX);
	pass(TIMER_MS);
	cr_expect(is_open(&t.a), "the first report counts, and it said more");
}

static void close_a(void)
{
	assoc_close(t.a.assoc, t.qa->ep);
	pair_pump(&t.a, &t.b);
}

Test(rnr, messages_before_an_orderly_end_are_delivered_in_time)
{
	begin(7, 7);
	send(1);
	close_a();
	pass(WAIT_MS - 1);
	receive(t.qb, 100);
	cr_expect_eq(status_of(t.qb, 100), RDMAP_SUCCESS);
	cr_expect_not(is_open(&t.b));
}

Test(rnr, the_end_of_the_peer_does_not_wait_without_end)
{
	begin(7, 7);
	send(1);
	close_a();
	pass(WAIT_MS - 1);
	cr_expect(is_open(&t.b));
	pass(1);
	cr_expect_not(is_open(&t.b));
}

Test(rnr, an_endpoint_that_leaves_waits_no_more)
{
	begin(3, 7);
	send(1);
	assoc_unbind(t.a.assoc, t.qa->ep);
	cr_expect_gt(assoc_expiry(t.a.assoc), 3 * TIMER_MS, "its memory may be freed");
	pass(LONG_MS);
}
