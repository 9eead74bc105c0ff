/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/session_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/net/association.h"
#include "daemon/objects/client.h"
#include "daemon/objects/qp.h"
#include "proto/rdmap.h"

static void put_client(struct ctl_event *ev, const struct client *c)
{
	ev->client = c->id;
	ev->pid = (uint32_t)c->pid;
	ev->uid = c->uid;
	memcpy(ev->comm, c->comm, sizeof(ev->comm));
}

static void put_assoc(struct ctl_event *ev, const struct association *assoc, uint16_t sid)
{
	ev->assoc = assoc->id;
	ev->stream = sid;
	ev->remote = assoc->remote;
}

static struct ctl_event event_of(const struct qp *qp, int err, const char *reason)
{
	struct ctl_event ev = {.qp_num = qp->num, .err = err};

	put_client(&ev, qp->client);
	if (qp->assoc)
		put_assoc(&ev, qp->assoc, qp->sid);
	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	return ev;
}

static void add(const struct qp *qp, enum ctl_event_kind kind, struct ctl_event *ev)
{
	struct worker *w = qp->client->worker;

	journal_add(&w->journal, w->now_ms, kind, ev);
}

void session_log_begin(struct qp *qp)
{
	struct ctl_event ev = event_of(qp, 0, "");

	qp->since_ms = qp->client->worker->now_ms;
	add(qp, CTL_EVENT_SESSION_BEGIN, &ev);
}

void session_log_end(const struct qp *qp, int err, const char *reason)
{
	struct ctl_event ev = event_of(qp, err, *reason ? reason : "ended by this side");
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	ev.duration_ms = qp->client->worker->now_ms - qp->since_ms;
	ev.tx_bytes = info.tx_bytes;
	ev.rx_bytes = info.rx_bytes;
	add(qp, CTL_EVENT_SESSION_END, &ev);
}

void session_log_error(const struct qp *qp, int err, const char *reason)
{
	struct ctl_event ev = event_of(qp, err, reason);

	add(qp, CTL_EVENT_SESSION_ERROR, &ev);
}

void session_log_fail(const struct qp *qp, int err, const char *reason)
{
	struct ctl_event ev = event_of(qp, err, reason);

	add(qp, CTL_EVENT_SESSION_FAIL, &ev);
}

void session_log_abandon(const struct qp *qp)
{
	const char *reason = qp->client->leaving ? "the program is gone"
						 : "the program destroyed the queue pair";

	if (qp->state == QP_RTS || qp->state == QP_CLOSING)
		session_log_end(qp, 0, reason);
	else if (qp->state == QP_CONNECTING)
		session_log_fail(qp, ECANCELED, reason);
}

void session_log_refuse(const struct association *assoc, uint16_t sid, const struct client *c,
			const char *reason)
{
	struct worker *w = assoc->worker;
	struct ctl_event ev = {.err = ECONNREFUSED};

	put_assoc(&ev, assoc, sid);
	if (c)
		put_client(&ev, c);
	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	journal_add(&w->journal, w->now_ms, CTL_EVENT_SESSION_REFUSE, &ev);
}
