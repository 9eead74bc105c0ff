/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared receive queue of b, with two sessions. */
#include <errno.h>
#include <string.h>

#include "tests/lib/row.h"
#include "tests/system/whole.h"

enum { SLOT = 256, RECEIVES = 8, LIMIT = 3 };

static void post(struct end *b, struct ddp_srq *srq, unsigned slot)
{
	struct ddp_sge sge = end_sge(b, (size_t)slot * SLOT, SLOT);
	struct ddp_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};

	MUST(ddp_post_srq_recv(srq, &wr, NULL));
}

static struct ddp_srq_state state_of(struct ddp_srq *srq)
{
	struct ddp_srq_state st = DDP_INIT(ddp_srq_state);

	MUST(ddp_query_srq(srq, &st));
	return st;
}

static struct ddp_qp_attr part_of(const struct session *s)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(s->qp[1], &attr));
	return attr;
}

static struct ddp_srq *open_two(struct whole *w, struct session s[2], uint32_t limit,
				uint32_t max_per_qp)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct how how = {0};
	struct ddp_srq *srq;

	attr.max_wr = RECEIVES;
	attr.limit = limit;
	attr.max_per_qp = max_per_qp;
	attr.user = s;
	MUST(ddp_create_srq(w->b.pd, &attr, &srq));
	how.init[1].srq = srq;
	for (int i = 0; i < 2; i++)
		session_open(&s[i], &w->a, &w->b, w->address, &how);
	return srq;
}

/* Sends a message on that session; returns the receive that it took. */
static uint64_t send_one(struct session *s, unsigned seed)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct ddp_wc wc;

	end_fill(s->end[0], 0, SLOT, seed);
	session_send(s, 0, wr, 0, SLOT);
	end_done(s->end[0], DDP_WC_SEND, DDP_WC_SUCCESS);
	wc = end_done(s->end[1], DDP_WC_RECV, DDP_WC_SUCCESS);
	is("the session of a shared receive", wc.qp_num, ddp_qp_num(s->qp[1]));
	same("its bytes", end_at(s->end[1], wc.wr_id * SLOT), end_at(s->end[0], 0), SLOT);
	return wc.wr_id;
}

/* The event of the limit comes exactly once. */
static void expect_limit_event(struct end *b, struct ddp_srq *srq, const void *user)
{
	struct ddp_cm_event *ev = end_event(b, DDP_CM_SRQ_LIMIT);

	is("the limit's event names the queue", (uintptr_t)ev->srq_user, (uintptr_t)user);
	is("and no session", (uintptr_t)ev->id, 0);
	ddp_ack_cm_event(ev);
	is("the limit is not armed any more", state_of(srq).limit, 0);
}

static void no_event(struct end *e)
{
	struct ddp_cm_event *ev;
	int r = ddp_get_cm_event(e->ctx, &ev, 0);

	if (r == 0)
		fail("%s: no event was expected, %s came", e->name, ddp_event_str(ev->type));
	is("no further event", (uint64_t)-r, EAGAIN);
}

void whole_srq(struct whole *w)
{
	struct ddp_srq_attr again = DDP_INIT(ddp_srq_attr);
	struct session s[2];
	struct ddp_srq *srq = open_two(w, s, LIMIT, 0);
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};

	for (unsigned i = 0; i < 4; i++)
		post(&w->b, srq, i);
	is("receives posted", state_of(srq).posted, 4);
	is("sessions that share it", state_of(srq).qps, 2);
	is("the oldest receive, by the second session", send_one(&s[1], 1), 0);
	no_event(&w->b);
	is("the next one, by the first session", send_one(&s[0], 2), 1);
	expect_limit_event(&w->b, srq, s);
	is("the third", send_one(&s[1], 3), 2);
	no_event(&w->b);
	again.limit = 1;
	MUST(ddp_modify_srq(srq, &again, DDP_SRQ_LIMIT));
	is("the new limit", state_of(srq).limit, 1);
	is("the last", send_one(&s[0], 4), 3);
	expect_limit_event(&w->b, srq, s);
	is("what the first session took", part_of(&s[0]).srq_taken, 2);
	is("what the second session took", part_of(&s[1]).srq_taken, 2);
	is("what both took", state_of(srq).taken, 4);
	/* A receive that one session has used is not available to the other. */
	post(&w->b, srq, 0);
	send_one(&s[1], 5);
	session_send(&s[0], 0, wr, 0, SLOT);
	session_broken(&s[0], 1, 0x1202);
	post(&w->b, srq, 0);
	send_one(&s[1], 6);
	ok("a session without a receive has ended, the other one continues");
	REFUSED("destroying a shared queue in use", ddp_destroy_srq(srq), EBUSY);
	session_close(&s[1], 0);
	MUST(ddp_destroy_srq(srq));
	row("4296-2.1.2-05", "a posted receive serves whichever session gets a message, once");
}

/* Several messages in flight on both, never more on one than its share. */
void whole_srq_share(struct whole *w)
{
	struct session s[2];
	struct ddp_srq *srq = open_two(w, s, 0, RECEIVES / 2);
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND};
	struct ddp_srq_attr more = DDP_INIT(ddp_srq_attr);

	is("the share of a session", state_of(srq).max_per_qp, RECEIVES / 2);
	for (int round = 0; round < 10; round++) {
		for (unsigned i = 0; i < RECEIVES; i++)
			post(&w->b, srq, i);
		for (unsigned i = 0; i < RECEIVES; i++)
			session_send(&s[i % 2], 0, wr, 0, SLOT);
		for (unsigned i = 0; i < RECEIVES; i++) {
			end_done(&w->a, DDP_WC_SEND, DDP_WC_SUCCESS);
			end_done(&w->b, DDP_WC_RECV, DDP_WC_SUCCESS);
		}
	}
	for (int i = 0; i < 2; i++) {
		is("what a session took of the queue", part_of(&s[i]).srq_taken, 5 * RECEIVES);
		is("what it holds when nothing is in flight", part_of(&s[i]).srq_held, 0);
	}
	is("what is held of the queue", state_of(srq).held, 0);
	is("what was taken of it", state_of(srq).taken, 10 * RECEIVES);
	more.max_per_qp = 1;
	MUST(ddp_modify_srq(srq, &more, DDP_SRQ_MAX_PER_QP));
	is("the new share", state_of(srq).max_per_qp, 1);
	session_close(&s[0], 0);
	session_close(&s[1], 1);
	MUST(ddp_destroy_srq(srq));
}
