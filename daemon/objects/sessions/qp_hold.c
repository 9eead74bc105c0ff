/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_hold.h"

#include <errno.h>
#include <sys/mman.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "proto/rdmap/hold.h"
#include "proto/rdmap/rdmap.h"
#include "util/checked.h"
#include "util/undumped.h"

enum {
	IDLE_MS = 1000,  /* how often a hold that is charged is looked at */
	STEP = 64 << 10, /* bytes that are charged at a time */
};

int qp_hold_make(struct qp *qp, uint32_t bytes, uint32_t ms, struct reply *rep)
{
	size_t size = hold_size(bytes);
	struct qp_hold *h = &qp->hold;
	int r = client_charge(qp->client, ACCT_MAPS, 1, &h->maps, rep);
	void *mem;

	if (r)
		return r;
	mem = undumped_map(size, MAP_NORESERVE);
	if (!mem) {
		acct_release(&h->maps);
		return reply_refuse(rep, ENOMEM, "queue pair %u: no memory for a hold of %u bytes",
				    qp->num, bytes);
	}
	h->mem = mem;
	h->size = size;
	h->bytes = bytes;
	h->ms = ms;
	rdmap_set_hold(qp->ep, mem, bytes, ms);
	return 0;
}

/* The first step is granted, so that no session fails because of the holds of others; then the pool
 * of the user has to have more. */
static bool charge_held(struct qp *qp, uint32_t bytes)
{
	struct client *c = qp->client;
	struct qp_hold *h = &qp->hold;
	char reason[ACCT_REASON_MAX];
	uint64_t slots = h->size - h->bytes;

	if (!h->held.user) {
		if (acct_charge_granted(c->daemon->acct, c->uid, ACCT_HELD, STEP + slots, &h->held))
			return false;
		timer_set(&c->worker->timers, &h->idle, c->worker->now_ms + IDLE_MS);
	}
	return acct_change(c->daemon->acct, &h->held, bytes + slots, reason, sizeof(reason)) == 0;
}

bool qp_hold_keep(struct qp *qp, uint32_t reach)
{
	struct qp_hold *h = &qp->hold;
	uint32_t bytes;

	if (reach <= h->charged)
		return true;
	bytes = (uint32_t)checked_round_up(reach, STEP);
	if (!charge_held(qp, bytes))
		return false;
	h->charged = bytes;
	return true;
}

void qp_hold_idle(struct timer *t)
{
	struct qp *qp = list_entry(t, struct qp, hold.idle);
	struct worker *w = qp->client->worker;
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	if (info.held_bytes > 0) {
		timer_set(&w->timers, t, w->now_ms + IDLE_MS);
		return;
	}
	madvise(qp->hold.mem, qp->hold.size,
		MADV_DONTNEED); /* an empty hold is zero where it is read */
	acct_release(&qp->hold.held);
	qp->hold.charged = 0;
}

void qp_hold_free(struct qp *qp)
{
	timer_cancel(&qp->client->worker->timers, &qp->hold.idle);
	if (qp->hold.mem)
		munmap(qp->hold.mem, qp->hold.size);
	qp->hold.mem = NULL;
	acct_release(&qp->hold.maps);
	acct_release(&qp->hold.held);
}
