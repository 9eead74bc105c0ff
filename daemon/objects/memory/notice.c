/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/notice.h"

#include <errno.h>

#include "daemon/base/worker.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"

enum { BUDGET = 256 /* notices of one queue a turn */ };

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

/* Its completion is written at the end of the turn. */
static void queue_notice(struct notice *n)
{
	struct notice_queue *q = &n->cq->notices;

	list_add_tail(&q->due, &n->link);
	if (!list_linked(&q->link))
		list_add_tail(&n->cq->client->worker->notice_cqs, &q->link);
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
	const struct wqe_cqe e = {
		.wr_id = n->wr_id,
		.qp_num = n->qp_num,
		.opcode = WQE_WRITE_NOTICE,
		.imm = n->writes,
		.inv_rkey = n->stag,
	};

	n->cq->reserved++;
	cq_push(n->cq, &e, false);
	n->last = n->cq->completions;
	n->writes = 0;
}

/* Returns how many it handled. */
static unsigned write_due(struct notice_queue *q)
{
	unsigned done = 0;
	struct list *l;

	while (done < BUDGET && (l = list_pop(&q->due))) {
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

/* Writes the notices that are due. If more wait for the client, it rings when it takes completions.
 */
static bool write_queue(struct cq *cq)
{
	struct notice_queue *q = &cq->notices;
	unsigned done;

	search_unread(cq);
	done = write_due(q);
	if (list_empty(&q->due) && list_empty(&q->unread)) {
		list_del(&q->link);
	} else if (done > 0 && list_empty(&q->due)) {
		ring_block(&cq->ring);
		search_unread(cq);
	}
	return done > 0;
}

bool notice_write(struct worker *w)
{
	bool any = false;

	list_foreach_safe (l, &w->notice_cqs)
		any |= write_queue(list_entry(l, struct cq, notices.link));
	return any;
}
