/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners with sessions in one association, or in several, send the same number of bytes, whatever
 * the number of their sessions.
 */
#include <criterion/criterion.h>

#include "tests/lib/pair.h"
#include "util/drr.h"

enum { ASSOCS = 4, OWNERS = 3, SEGMENTS = 600, MULPDU = 1014 };

static struct drr root, others, owner[OWNERS];
static struct pair_node node[ASSOCS];
static uint64_t sent[OWNERS];

static void start(void)
{
	struct assoc_cfg cfg = pair_cfg(true);

	drr_init(&root, NULL);
	drr_init(&others, &root);
	for (unsigned i = 0; i < OWNERS; i++)
		drr_init(&owner[i], &root);
	cfg.streams = 32;
	cfg.others = &others;
	for (unsigned i = 0; i < ASSOCS; i++) {
		cfg.user = &node[i];
		pair_init(&node[i], &cfg);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < ASSOCS; i++)
		pair_deinit(&node[i]);
}

TestSuite(shares, .init = start, .fini = end);

/* The share whose turn it is by the tree of owners. */
static struct assoc_share *next_share(struct assoc_seg *ret)
{
	struct drr *leaf;

	while ((leaf = drr_next(&root))) {
		struct assoc_share *h = assoc_share_of(leaf);

		if (assoc_tx_next_of(h, MULPDU, ret))
			return h;
	}
	return NULL;
}

static void send_next(void)
{
	struct assoc_seg seg;
	struct assoc_share *h = next_share(&seg);
	const struct drr *of;
	const struct pair_node *n;

	cr_assert_not_null(h);
	of = drr_next(&root)->parent->parent;
	n = assoc_share_user(h);
	if (seg.ppid == WIRE_PPID_SEGMENT)
		sent[of - owner] += seg.len;
	assoc_tx_accepted(n->assoc);
}

/* Opens a session, which always has work. */
static struct pair_qp *open_session(struct pair_node *n, struct drr *of)
{
	const struct rdmap_cfg like = {.owner = of};
	struct pair_qp *q = pair_qp_as(n, &like);
	struct pair_msg accept;
	struct assoc_event ev;
	uint16_t sid;

	cr_assert_eq(pair_plain_connect(n->assoc, q->ep, NULL, 0, &sid), ASSOC_E_OK);
	send_next();
	accept = pair_control(sid, 0, WIRE_ACCEPT, NULL, 0);
	pair_push(n, &accept);
	while (assoc_event(n->assoc, &ev))
		cr_assert_eq(ev.type, ASSOC_EV_ACCEPTED);
	return q;
}

static void keep_busy(struct pair_node *n)
{
	for (unsigned i = 0; i < n->nqps; i++) {
		struct pair_qp *q = n->qp[i];

		if (q->posted > q->taken)
			continue;
		q->posted = q->taken = q->ndone = 0;
		for (unsigned k = 0; k < PAIR_DEPTH; k++)
			pair_post(q, &(struct rdmap_wr){.op = RDMAP_SEND,
							.flags = RDMAP_INLINE,
							.len = RDMAP_INLINE_MAX});
		assoc_tx_wake(n->assoc, q->ep);
	}
}

static void send_many(unsigned segments)
{
	while (segments-- > 0) {
		for (unsigned i = 0; i < ASSOCS; i++)
			keep_busy(&node[i]);
		send_next();
	}
}

static void expect_same(uint64_t a, uint64_t b)
{
	cr_expect_leq(a > b ? a - b : b - a, 2 * MULPDU, "%ju and %ju bytes", (uintmax_t)a,
		      (uintmax_t)b);
}

Test(shares, sessions_of_an_association_count_by_their_owners)
{
	open_session(&node[0], &owner[0]);
	for (unsigned i = 0; i < 8; i++)
		open_session(&node[0], &owner[1]);
	send_many(SEGMENTS);
	cr_expect_gt(sent[0], 0);
	expect_same(sent[0], sent[1]);
}

Test(shares, so_do_those_of_several_associations)
{
	open_session(&node[0], &owner[0]);
	for (unsigned i = 0; i < ASSOCS; i++)
		for (unsigned k = 0; k < 2; k++)
			open_session(&node[i], &owner[1]);
	open_session(&node[2], &owner[2]);
	send_many(SEGMENTS);
	expect_same(sent[0], sent[1]);
	expect_same(sent[2], sent[1]);
}

/* The others go on, and it has its share again afterwards. */
Test(shares, an_association_that_is_full_holds_up_no_other)
{
	struct assoc_seg seg;
	struct assoc_share *h;

	open_session(&node[0], &owner[0]);
	open_session(&node[1], &owner[1]);
	for (unsigned i = 0; i < ASSOCS; i++)
		keep_busy(&node[i]);
	while (assoc_share_user(h = next_share(&seg)) != &node[0])
		send_next();
	assoc_share_hold(h);
	sent[0] = sent[1] = 0;
	send_many(SEGMENTS);
	cr_expect_eq(sent[0], 0);
	cr_expect_gt(sent[1], 0);
	assoc_share_release_all(node[0].assoc);
	sent[0] = sent[1] = 0;
	send_many(SEGMENTS);
	expect_same(sent[0], sent[1]);
}

/* Its owner may go as soon as its endpoints are unbound; Terminates are still sent. */
Test(shares, an_owner_leaves_no_trace)
{
	struct pair_qp *q[3];
	struct assoc_seg seg;
	struct assoc_share *h;

	for (unsigned i = 0; i < 3; i++)
		q[i] = open_session(&node[0], &owner[i % 2]);
	keep_busy(&node[0]);
	for (unsigned i = 0; i < 3; i++)
		assoc_unbind(node[0].assoc, q[i]->ep);
	drr_assert_out(&owner[0]);
	drr_assert_out(&owner[1]);
	for (unsigned i = 0; i < 3; i++) {
		h = next_share(&seg);
		cr_assert_not_null(h);
		cr_expect_eq(seg.ppid, WIRE_PPID_CONTROL);
		assoc_tx_accepted(node[0].assoc);
	}
	cr_expect_null(next_share(&seg));
	drr_assert_out(&root);
	open_session(&node[0], &owner[2]);
	keep_busy(&node[0]);
	cr_expect_not_null(next_share(&seg));
}
