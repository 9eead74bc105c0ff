/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/session_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "proto/rdmap/rdmap.h"

/* Entries about requests without a session, of one association in so long. */
enum { REFUSALS_MAX = 8, REFUSALS_MS = 1000 };

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

static void add_entry(const struct qp *qp, enum ctl_event_kind kind, struct ctl_event *ev)
{
	struct worker *w = qp->client->worker;

	journal_add(&w->journal, w->now_ms, kind, ev);
}

void session_log_begin(struct qp *qp)
{
	struct ctl_event ev = event_of(qp, 0, "");

	qp->session.since_ms = qp->client->worker->now_ms;
	add_entry(qp, CTL_EVENT_SESSION_BEGIN, &ev);
}

void session_log_end(const struct qp *qp, int err, const char *reason)
{
	struct ctl_event ev = event_of(qp, err, *reason ? reason : "ended by this side");
	struct rdmap_info info;

	rdmap_query(qp->ep, &info);
	ev.duration_ms = qp->client->worker->now_ms - qp->session.since_ms;
	ev.tx_bytes = info.tx_bytes;
	ev.rx_bytes = info.rx_bytes;
	add_entry(qp, CTL_EVENT_SESSION_END, &ev);
}

void session_log_error(const struct qp *qp, int err, const char *reason)
{
	struct ctl_event ev = event_of(qp, err, reason);

	add_entry(qp, CTL_EVENT_SESSION_ERROR, &ev);
}

void session_log_fail(const struct qp *qp, int err, const char *reason)
{
	struct ctl_event ev = event_of(qp, err, reason);

	add_entry(qp, CTL_EVENT_SESSION_FAIL, &ev);
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

/* ---- requests without a session ---- */

/* A peer may request as many as it likes, and the journal keeps few entries, of all peers. */
static bool may_add_refusal(struct association *assoc)
{
	uint64_t now = assoc->worker->now_ms;

	if (now - assoc->refusals.since_ms >= REFUSALS_MS) {
		assoc->refusals.since_ms = now;
		assoc->refusals.said = 0;
	}
	if (assoc->refusals.said < REFUSALS_MAX) {
		assoc->refusals.said++;
		return true;
	}
	assoc->refusals.left_out++;
	return false;
}

static void add_refusal(struct association *assoc, struct ctl_event *ev)
{
	struct worker *w = assoc->worker;

	ev->err = ECONNREFUSED;
	journal_add(&w->journal, w->now_ms, CTL_EVENT_SESSION_REFUSE, ev);
}

void session_log_refuse(struct association *assoc, uint16_t sid, const struct client *c,
			const char *reason)
{
	uint32_t more = assoc->refusals.left_out;
	struct ctl_event ev = {.err = ECONNREFUSED};

	if (!may_add_refusal(assoc))
		return;
	put_assoc(&ev, assoc, sid);
	if (c)
		put_client(&ev, c);
	if (more > 0)
		snprintf(ev.reason, sizeof(ev.reason),
			 "%s; %u earlier requests were refused as well", reason, more);
	else
		snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	assoc->refusals.left_out = 0;
	add_refusal(assoc, &ev);
}

void session_log_refused(struct association *assoc)
{
	struct ctl_event ev = {.err = ECONNREFUSED};

	if (assoc->refusals.left_out == 0)
		return;
	put_assoc(&ev, assoc, 0);
	snprintf(ev.reason, sizeof(ev.reason), "%u more session requests of this association",
		 assoc->refusals.left_out);
	assoc->refusals.left_out = 0;
	add_refusal(assoc, &ev);
}
