/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/stop.h"

#include <errno.h>

#include "daemon/base/queue.h"
#include "daemon/base/state.h"
#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/carriers.h"
#include "daemon/objects/sessions/qp.h"

enum {
	LOOK_MS = 20, /* between two checks */
	QUIET = 10,   /* looks in a row without any: a program may answer one by the next */
};

/* ---- requests in progress ---- */

/* Adds up the bytes of the session. True if a request of either side is in progress. */
static bool is_working(const struct qp *qp, uint64_t *moved)
{
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	*moved += info.tx_msgs + info.rx_msgs + info.tx_bytes + info.rx_bytes;
	return qp->state == QP_CLOSING || info.in_flight > 0 || info.reads_in > 0 ||
	       queue_waiting(&qp->wq.sq) > 0;
}

static bool has_session(const struct qp *qp)
{
	return qp->state == QP_RTS || qp->state == QP_CLOSING;
}

/* A message of a peer may be on its way, with pauses: then the sum changes. */
static bool any_works(const struct daemon *d, uint64_t *moved)
{
	uint32_t cpos = 0;
	bool any = false;
	struct client *c;

	while ((c = idtab_next(&d->clients, &cpos))) {
		uint32_t pos = 0;
		struct qp *qp;

		while ((qp = idtab_next(&c->handles.qps, &pos)))
			if (has_session(qp))
				any |= is_working(qp, moved);
	}
	return any;
}

static bool any_unacked(const struct worker *w)
{
	const struct association *assoc;
	uint32_t pos = 0;

	while ((assoc = idtab_next(&w->assocs, &pos))) {
		uint32_t n = assoc->state == ASSOCIATION_UP ? llp_unacked(assoc->conn) : 0;

		if (n > 0 && n != LLP_UNACKED_UNKNOWN)
			return true;
	}
	return false;
}

/* ---- the end ---- */

static void abort_sessions(struct daemon *d)
{
	struct association *assoc;
	uint32_t pos = 0;

	while ((assoc = idtab_next(&d->worker.assocs, &pos)))
		if (assoc->state == ASSOCIATION_UP && !assoc_idle(assoc->ddp))
			association_abort(assoc, ECONNABORTED, d->stop.reason);
}

static void end_sessions(struct daemon *d)
{
	abort_sessions(d);
	if (!d->stopping)
		return;
	association_stop_all(&d->worker);
	timer_set(&d->worker.timers, &d->stop.by, d->worker.now_ms + d->cfg.session.close_ms);
}

static void look(struct timer *t)
{
	struct daemon *d = list_entry(t, struct daemon, stop.look);
	struct worker *w = &d->worker;
	uint64_t moved = 0;
	bool works = any_works(d, &moved) || any_unacked(w) || moved != d->stop.moved;

	d->stop.moved = moved;
	d->stop.quiet = works ? 0 : d->stop.quiet + 1;
	if (d->stop.quiet >= QUIET || w->now_ms >= d->stop.work_until)
		end_sessions(d);
	else
		timer_set(&w->timers, t, w->now_ms + LOOK_MS);
}

static void stop_loop(struct timer *t)
{
	struct daemon *d = list_entry(t, struct daemon, stop.by);

	event_loop_stop(d->worker.loop);
}

static void cancel_connects(struct daemon *d)
{
	uint32_t cpos = 0;
	struct client *c;

	carriers_stop_all(&d->worker);
	while ((c = idtab_next(&d->clients, &cpos))) {
		uint32_t pos = 0;
		struct qp *qp;

		while ((qp = idtab_next(&c->handles.qps, &pos)))
			if (qp->state == QP_CONNECTING)
				qp_cancel(qp, ECANCELED, d->stop.reason);
	}
}

void stop_init(struct daemon *d)
{
	timer_init(&d->stop.look, look);
	timer_init(&d->stop.by, stop_loop);
}

static void finish_work(struct daemon *d, const char *reason)
{
	struct worker *w = &d->worker;
	uint64_t now = event_loop_now_ms(w->loop);

	d->stop.reason = reason;
	d->stop.work_until = now + d->cfg.session.stop_ms;
	d->stop.quiet = 0;
	timer_set(&w->timers, &d->stop.look, now);
	cancel_connects(d);
}

void stop_begin(struct daemon *d)
{
	d->stopping = true;
	finish_work(d, "ddpsctpd is stopping");
	association_stop_all(&d->worker);
}

/* ---- without an end of the daemon ---- */

void stop_drain(struct daemon *d, enum ctl_drain how)
{
	if (d->stopping)
		return;
	d->draining = how != CTL_DRAIN_OFF;
	if (how == CTL_DRAIN_END)
		finish_work(d, DRAINED);
	else
		timer_cancel(&d->worker.timers, &d->stop.look);
}
