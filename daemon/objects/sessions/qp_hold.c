/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_hold.h"

#include <errno.h>
#include <sys/mman.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "proto/rdmap/hold.h"
#include "proto/rdmap/rdmap.h"

/* How often a hold that is charged is looked at. */
enum { IDLE_MS = 1000 };

int qp_hold_make(struct qp *qp, uint32_t bytes, uint32_t ms, struct reply *rep)
{
	size_t size = hold_size(bytes);
	struct qp_hold *h = &qp->hold;
	int r = client_charge(qp->client, ACCT_MAPS, 1, &h->maps, rep);
	void *mem;

	if (r)
		return r;
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (mem == MAP_FAILED) {
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

bool qp_hold_keep(struct qp *qp)
{
	struct client *c = qp->client;
	struct qp_hold *h = &qp->hold;
	char reason[ACCT_REASON_MAX];

	if (h->memory.user)
		return true;
	if (acct_charge(c->daemon->acct, c->uid, ACCT_MEMORY, h->size, &h->memory, reason,
			sizeof(reason)))
		return false;
	timer_set(&c->worker->timers, &h->idle, c->worker->now_ms + IDLE_MS);
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
	acct_release(&qp->hold.memory);
}

void qp_hold_free(struct qp *qp)
{
	timer_cancel(&qp->client->worker->timers, &qp->hold.idle);
	if (qp->hold.mem)
		munmap(qp->hold.mem, qp->hold.size);
	qp->hold.mem = NULL;
	acct_release(&qp->hold.maps);
	acct_release(&qp->hold.memory);
}
