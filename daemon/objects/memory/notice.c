/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/notice.h"

#include <errno.h>

#include "daemon/base/worker.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"

enum {
	BUDGET = 512, /* notices, and queues that are looked at, in a turn */
	EACH = 32,    /* of them, of a client in a row */
};

void notice_init(struct notice *n)
{
	*n = (struct notice){0};
	list_init(&n->link);
}

void notice_clear(struct notice *n)
{
	if (!n->cq)
		return;
	list_del(&n->link);
	n->cq->notices.regions--;
	cq_unreserve(n->cq, 1);
	n->cq = NULL;
	n->writes = 0;
}

/* A client that leaves does not read any more. */
static void have_turn(struct client *c)
{
	if (!c->leaving && !list_linked(&c->bells.notices.link))
		list_add_tail(&c->worker->notice_clients, &c->bells.notices.link);
}

static void look_later(struct cq *cq)
{
	list_del(&cq->notices.link);
	list_add_tail(&cq->client->bells.notices.active, &cq->notices.link);
	have_turn(cq->client);
}

/* Its completion is written at the end of the turn. */
static void queue_notice(struct notice *n)
{
	bool first = list_empty(&n->cq->notices.due);

	list_add_tail(&n->cq->notices.due, &n->link);
	if (first)
		look_later(n->cq);
}

int notice_set(struct notice *n, struct cq *cq, uint64_t wr_id)
{
	uint64_t writes = n->writes;

	if (cq && cq != n->cq) {
		if (!cq_reserve_now(cq))
			return -EBUSY;
		cq->notices.regions++;
	}
	if (cq != n->cq) {
		notice_clear(n);
		n->cq = cq;
		n->last = 0;
		n->writes = cq ? writes : 0;
		if (n->writes > 0)
			queue_notice(n);
	}
	n->wr_id = wr_id;
	return 0;
}

void notice_written(struct notice *n, uint32_t qp_num)
{
	n->qp_num = qp_num;
	if (n->writes++ == 0)
		queue_notice(n);
}

/* Uses free room. The entry that is kept for the region stays kept: the next notice may be due as
 * soon as the client has taken this one, and others may have used that room by then. */
static void push_notice(struct notice *n)
{
	n->cq->reserved++;
	*cq_slot(n->cq) = (struct wqe_cqe){
		.wr_id = n->wr_id,
		.qp_num = n->qp_num,
		.opcode = WQE_WRITE_NOTICE,
		.imm = n->writes,
		.inv_rkey = n->stag,
	};
	cq_push(n->cq, false);
	n->last = n->cq->completions;
	n->writes = 0;
}

/* At most so many. Returns how many it handled. */
static unsigned write_due(struct notice_queue *q, unsigned most)
{
	unsigned done = 0;
	struct list *l;

	while (done < most && (l = list_pop(&q->due))) {
		struct notice *n = list_entry(l, struct notice, link);

		if (n->last > q->taken)
			list_add_tail(&q->unread, l);
		else
			push_notice(n);
		done++;
	}
	return done;
}

/* If the client has taken completions: some that wait for that may be due. */
static void search_unread(struct cq *cq)
{
	struct notice_queue *q = &cq->notices;
	uint64_t taken = cq_taken(cq);

	if (taken != q->taken)
		list_splice_tail(&q->due, &q->unread);
	q->taken = taken;
}

/* Writes notices that are due. While others wait for the client, which rings when it takes
 * completions, the queue is not looked at. Returns how many it handled. */
static unsigned write_queue(struct cq *cq, unsigned most)
{
	struct notice_queue *q = &cq->notices;
	unsigned done;

	search_unread(cq);
	done = write_due(q, most);
	if (list_empty(&q->due) && !list_empty(&q->unread)) {
		ring_block(&cq->ring);
		search_unread(cq);
	}
	if (!list_empty(&q->due))
		look_later(cq);
	else if (!list_empty(&q->unread))
		list_add_tail(&cq->client->bells.notices.quiet, &q->link);
	return done;
}

/* Returns the cost. */
static unsigned write_some(struct client *c, unsigned most, bool *any)
{
	unsigned cost = 0;
	struct list *l;

	while (cost < most && (l = list_pop(&c->bells.notices.active))) {
		unsigned done = write_queue(list_entry(l, struct cq, notices.link), most - cost);

		*any |= done > 0;
		cost += done + 1;
	}
	if (!list_empty(&c->bells.notices.active))
		have_turn(c);
	return cost;
}

bool notice_write(struct worker *w)
{
	int left = BUDGET;
	bool any = false;
	struct list *l;

	while (left > 0 && (l = list_pop(&w->notice_clients)))
		left -= (int)write_some(list_entry(l, struct client, bells.notices.link), EACH,
					&any);
	return any || !list_empty(&w->notice_clients);
}

void notice_look_again(struct client *c)
{
	if (list_empty(&c->bells.notices.quiet))
		return;
	list_splice_tail(&c->bells.notices.active, &c->bells.notices.quiet);
	have_turn(c);
}
