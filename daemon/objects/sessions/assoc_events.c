/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/assoc_events.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/base/log.h"
#include "daemon/base/state.h"
#include "daemon/net/listening.h"
#include "daemon/net/path.h"
#include "daemon/net/peers.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/sessions/connecting.h"
#include "daemon/objects/sessions/port.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_connect.h"
#include "daemon/objects/sessions/reason.h"
#include "daemon/objects/sessions/session_request.h"
#include "util/addr.h"

static void initiate(struct association *assoc, struct list *waiter)
{
	(void)assoc;
	qp_initiate(connecting_qp(waiter));
}

/* An association that was up and ended in order is no failure: its sessions are over. */
static void connect_failed(struct association *assoc, struct list *waiter, int err,
			   const char *reason)
{
	struct qp *qp = connecting_qp(waiter);

	if (assoc->state == ASSOCIATION_DOWN && assoc->ddp && assoc->lost_err == 0)
		qp_initiate_again(qp);
	else
		qp_failed(qp, MSG_EV_FAILED, &(struct session_event){.err = err, .reason = reason});
}

static void connect_refused(struct association *assoc, struct list *waiter)
{
	(void)assoc;
	qp_refused_finally(connecting_qp(waiter));
}

/* ---- sessions ---- */

/* Programs of this host have no network to be slowed. */
static void count_guess(struct association *assoc, const struct perr_at *at)
{
	struct worker *w = assoc->worker;
	struct ctl_event ev = {.assoc = assoc->id, .remote = assoc->remote};

	if (!guesses_is_one(at->perr) || listening_has(&w->own, &assoc->remote) ||
	    !peers_guessed(w, assoc->network))
		return;
	snprintf(ev.reason, sizeof(ev.reason),
		 "more than %u requests in %u s named memory that they may not use", GUESSES_FREE,
		 GUESSES_FREE);
	journal_add(&w->journal, w->now_ms, CTL_EVENT_GUESSES, &ev);
}

/* The peer refused a message of a program here: its user pays, not this host. */
static void charge_guess(struct association *assoc, const struct assoc_event *ev)
{
	struct worker *w = assoc->worker;
	const struct qp *qp = rdmap_user(ev->ep);
	uid_t uid = qp->client->uid;
	char text[ADDR_TEXT_MAX];

	if (!guesses_is_one(ev->at.perr))
		return;
	acct_add_guess(&qp->charge);
	if (!listening_has(&w->own, &assoc->remote) && peers_user_guessed(w, uid, &assoc->remote))
		log_limited(&w->client_log, w->now_ms, LOG_LEVEL_WARN,
			    "uid %u: its new sessions to the network of %s are slow: more than %u "
			    "requests in %u s named memory there that they may not use",
			    (unsigned)uid, addr_host_text(&assoc->remote, text), GUESSES_FREE,
			    GUESSES_FREE);
}

/* The peer shut the association down while our Initiate was on its way: it did not see the
 * Initiate, or will not answer it any more. */
static bool crossed_shutdown(const struct association *assoc, const struct qp *qp,
			     const struct assoc_event *ev)
{
	return qp->state == QP_CONNECTING && ev->reason == ASSOC_REASON_LOST &&
	       assoc->lost_err == 0;
}

/* Only this side learns it. */
static void name_limit(const struct qp *qp, const struct assoc_event *ev,
		       struct session_event *event)
{
	if (ev->reason != ASSOC_REASON_ERROR || ev->at.perr != PERR_MEMORY)
		return;
	event->err = EDQUOT;
	event->reason = qp->client->regions.unfilled;
}

static void session_closed(struct association *assoc, const struct assoc_event *ev)
{
	struct qp *qp = rdmap_user(ev->ep);
	char reason[MSG_REASON_MAX];
	struct session_event event = {
		.err = reason_closed(assoc, ev, reason, sizeof(reason)),
		.reason = reason,
		.term = ev->at.term,
		.blamed = ev->term,
	};

	name_limit(qp, ev, &event);
	if (crossed_shutdown(assoc, qp, ev)) {
		qp_initiate_again(qp);
		return;
	}
	if (qp->state != QP_CONNECTING) {
		qp_closed(qp, &event);
		return;
	}
	if (!event.err)
		event.err = ECONNRESET;
	qp_failed(qp, MSG_EV_FAILED, &event);
}

static void stream_error(const struct assoc_event *ev)
{
	struct qp *qp = rdmap_user(ev->ep);
	char reason[MSG_REASON_MAX];
	struct session_event event = {
		.err = reason_error(ev, reason, sizeof(reason)),
		.reason = reason,
		.term = ev->at.term,
		.blamed = ev->term,
	};

	name_limit(qp, ev, &event);
	qp_error(qp, &event);
}

/* The peer's program answered. */
static void peer_answered(struct qp *qp, const struct assoc_event *ev)
{
	struct session_event event = {
		.enh = ev->enhanced ? &ev->enh : NULL,
		.private_data = ev->priv,
		.private_len = ev->priv_len,
	};

	association_answered(qp->assoc);
	if (ev->type == ASSOC_EV_ACCEPTED) {
		qp_established(qp, &event);
		return;
	}
	event.err = ECONNREFUSED;
	event.reason = "the peer's program rejected the session";
	qp_failed(qp, MSG_EV_REJECTED, &event);
}

static void route_event(struct association *assoc, const struct assoc_event *ev)
{
	switch (ev->type) {
	case ASSOC_EV_REQUEST:
		session_request_new(port_of(assoc), assoc, ev);
		break;
	case ASSOC_EV_WITHDRAWN:
		session_request_withdrawn(assoc, ev->sid);
		break;
	case ASSOC_EV_ACCEPTED:
	case ASSOC_EV_REJECTED:
		peer_answered(rdmap_user(ev->ep), ev);
		break;
	case ASSOC_EV_REFUSED:
		qp_refused(rdmap_user(ev->ep));
		break;
	case ASSOC_EV_CLOSED:
		if (ev->reason == ASSOC_REASON_ERROR)
			count_guess(assoc, &ev->at);
		else if (ev->reason == ASSOC_REASON_REMOTE)
			charge_guess(assoc, ev);
		session_closed(assoc, ev);
		break;
	case ASSOC_EV_ERROR:
		stream_error(ev);
		break;
	case ASSOC_EV_HALF_CLOSED:
		qp_half_closed(rdmap_user(ev->ep));
		break;
	}
}

/* ---- rules that have changed ---- */

static void sessions_disallowed(struct association *assoc, bool theirs, const char *reason)
{
	struct assoc_stream_info info;
	uint32_t pos = 0;

	if (theirs)
		session_request_refuse_all(assoc, reason);
	while (assoc_stream_next(assoc->ddp, &pos, &info))
		if (info.ep && info.by_peer == theirs)
			qp_disallow(rdmap_user(info.ep), reason);
}

/* ---- the association itself ---- */

static void log_path(const struct association *assoc, const struct llp_path *path,
		     const char *reason)
{
	struct worker *w = assoc->worker;
	struct ctl_event ev = {.assoc = assoc->id, .remote = path->remote};

	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	journal_add(&w->journal, w->now_ms, CTL_EVENT_PATH, &ev);
}

static void path_changed(struct association *assoc, const struct llp_path *path, const char *change)
{
	struct msg_path m = path_record(path);
	struct assoc_stream_info info;
	char reason[MSG_REASON_MAX];
	uint32_t pos = 0;

	path_describe(assoc, path, change, reason, sizeof(reason));
	log_path(assoc, path, reason);
	while (assoc->ddp && assoc_stream_next(assoc->ddp, &pos, &info)) {
		struct qp *qp = info.ep ? rdmap_user(info.ep) : NULL;

		if (qp)
			qp_path(qp, &m, reason);
	}
}

static void bytes_placed(struct association *assoc, const struct span *dst, unsigned n)
{
	agent_placed(assoc->worker, dst, n);
}

const struct association_events assoc_events = {
	.initiate = initiate,
	.failed = connect_failed,
	.refused = connect_refused,
	.disallowed = sessions_disallowed,
	.event = route_event,
	.placed = bytes_placed,
	.path = path_changed,
	.gone = session_request_withdraw_all,
};
