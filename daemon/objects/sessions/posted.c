/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/posted.h"

#include "daemon/base/queue.h"
#include "daemon/net/sending.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"

enum {
	ROUNDS_SENT = 4, /* for one record: each sends as much as a turn does */
	ROUNDS = 128,    /* the same, including rounds that send no segment */
};

/* Datagrams have no session, and were sent with the bells. */
static bool may_begin(const struct qp *qp)
{
	return (qp->state == QP_RTS || qp->state == QP_CLOSING) && queue_waiting(&qp->wq.sq) > 0;
}

/* Wakes the queue pairs that have entries and forgets the others. Returns how many entries. */
static uint64_t wake_posted(struct client *c)
{
	uint64_t n = 0;

	list_foreach_safe (l, &c->bells.posted) {
		struct qp *qp = list_entry(l, struct qp, posted);

		if (may_begin(qp)) {
			n += queue_waiting(&qp->wq.sq);
			qp_wake(qp);
		} else {
			list_del(l);
		}
	}
	return n;
}

bool posted_take(struct client *c)
{
	uint64_t before = UINT64_MAX, n;
	unsigned sent = 0, i;

	if (!c->bells.page)
		return false; /* it did not say hello */
	for (i = 0; i < ROUNDS && sent < ROUNDS_SENT && (n = wake_posted(c)) > 0 && n < before;
	     i++) {
		before = n;
		sent += sending_run(c->worker) > 0;
	}
	return i > 0;
}
