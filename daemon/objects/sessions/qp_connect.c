/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_connect.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/net/association.h"
#include "daemon/net/association_index.h"
#include "daemon/net/handshakes.h"
#include "daemon/net/peer_access.h"
#include "daemon/net/peers.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/conn_params.h"
#include "daemon/objects/sessions/connecting.h"
#include "daemon/objects/sessions/port.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_access.h"
#include "util/addr.h"

/* A peer may shut an idle association down at the wrong moment, but not time and again. Each
 * attempt takes only a few round trips, and a connect may take minutes. */
enum { MAX_CROSSED = 16 };

static struct conn_params params_of(const struct msg_connect *req)
{
	return (struct conn_params){
		.what = "connect",
		.known = CONN_PARAMS_CONNECT,
		.private_len = req->private_len,
		.flags = req->flags,
		.ird = req->ird,
		.ord = req->ord,
	};
}

static int check_connect(const struct qp *qp, const struct conn_params *params, struct reply *rep)
{
	uint32_t room = conn_params_room(qp, params->flags & MSG_CONN_NEGOTIATE);
	int r;

	if (qp->state != QP_IDLE || qp->datagram)
		return reply_refuse(rep, qp->datagram ? EOPNOTSUPP : EISCONN,
				    "queue pair %u: connect while it is %s%s", qp->num,
				    qp_state_str(qp_state(qp)),
				    qp->datagram ? ": it has no sessions" : "");
	if (qp->client->daemon->stopping)
		return reply_refuse(rep, ECONNREFUSED,
				    "queue pair %u: connect: this daemon is stopping", qp->num);
	if (qp->client->daemon->draining)
		return reply_refuse(rep, ECONNREFUSED, "queue pair %u: connect: " DRAINED, qp->num);
	r = conn_params_check(qp->client->daemon, qp, params, rep);
	if (r)
		return r;
	return params->private_len > room ? conn_params_too_long(params, room, rep) : 0;
}

/* A new association is charged to the user who opens it, and its descriptor, where it is one. */
static int charge_assoc(const struct qp *qp, const struct endpoint_addrs *addrs,
			struct association_charges *ret, char reason[ACCT_REASON_MAX])
{
	struct client *c = qp->client;
	struct acct *a = c->daemon->acct;
	struct worker *w = c->worker;
	int r;

	if (association_index_find(w, addrs))
		return 0;
	acct_set_total(a, ACCT_ASSOCS, peers_leave_associations(w));
	r = acct_charge(a, c->uid, ACCT_ASSOCS, 1, &ret->opened, reason, ACCT_REASON_MAX);
	if (r || !w->max_conns || endpoint_addrs_transport(w, &addrs->peer) != w->net)
		return r;
	r = acct_charge(a, c->uid, ACCT_DESCRIPTORS, 1, &ret->socket, reason, ACCT_REASON_MAX);
	if (r)
		acct_release(&ret->opened);
	return r;
}

/* 0; -errno; or ACCT_E_LIMIT with a sentence. -EACCES: with a sentence, too, or with an empty one.
 */
static int get_assoc(struct qp *qp, const struct endpoint_addrs *addrs, struct association **ret,
		     char reason[ACCT_REASON_MAX])
{
	struct association_charges charges = {0};
	struct worker *w = qp->client->worker;
	int r = charge_assoc(qp, addrs, &charges, reason);

	if (r)
		return r;
	r = association_get(w, addrs, &charges, ret);
	_Static_assert((int)ACCT_REASON_MAX >= (int)PEER_ACCESS_REASON, "both sentences fit");
	if (r == -EACCES)
		(void)peer_access_explain_lack(w, &addrs->peer.a[0], reason);
	if (r != -EDQUOT)
		return r;
	handshakes_explain(w, qp->client->uid, reason, ACCT_REASON_MAX);
	return ACCT_E_LIMIT;
}

/* A user who guesses STags at a network gets one session a second there; the peer would count the
 * guesses of all users of this host together. */
static int check_guesses(const struct qp *qp, const struct endpoint_addrs *addrs, struct reply *rep)
{
	struct worker *w = qp->client->worker;
	const struct sockaddr_storage *peer = &addrs->peer.a[0];
	char text[ADDR_TEXT_MAX];

	if (peers_user_may_ask(w, qp->client->uid, peer))
		return 0;
	return reply_refuse(rep, EAGAIN,
			    "queue pair %u: connect: uid %u named memory at the network of %s that "
			    "it may not use, more than %u times: one session a second",
			    qp->num, (unsigned)qp->client->uid, addr_host_text(peer, text),
			    GUESSES_FREE);
}

/* Reads the addresses and finds or opens the association. */
static int open_assoc(struct qp *qp, const struct msg_connect *req, struct association **ret,
		      struct reply *rep)
{
	struct worker *w = qp->client->worker;
	char what[48], reason[ACCT_REASON_MAX];
	struct endpoint_addrs addrs;
	int r;

	snprintf(what, sizeof(what), "queue pair %u: connect", qp->num);
	r = endpoint_addrs_read(w, what, req, &addrs, rep);
	if (!r)
		r = check_guesses(qp, &addrs, rep);
	if (r)
		return r;
	if (peer_access_refuses_connect(w, &addrs, reason))
		return reply_refuse(rep, EACCES, "%s: %s", what, reason);
	addrs.own_port = port_to_connect(qp->client, &addrs);
	qp->connecting->any_local = addrs.local.n == 0;
	r = get_assoc(qp, &addrs, ret, reason);
	if (r > 0 || (r == -EACCES && *reason))
		return reply_refuse(rep, r > 0 ? EDQUOT : EACCES, "%s: %s", what, reason);
	return r ? endpoint_addrs_refuse(w, what, &addrs, r, rep) : 0;
}

static const char *why_late(const struct qp *qp)
{
	if (qp_is_bound(qp))
		return "timed out: the peer's program neither accepted nor rejected";
	if (qp->assoc->ddp)
		return "timed out: the peer's program has too many requests to answer";
	return "timed out: the association with the peer's daemon was not established";
}

static void connect_timed_out(struct timer *t)
{
	struct qp *qp = list_entry(t, struct connecting, deadline)->qp;

	qp_cancel(qp, ETIMEDOUT, why_late(qp));
}

/* Makes the attempt and finds its association. On refusal the queue pair is unchanged. */
static int begin_attempt(struct qp *qp, const struct msg_connect *req,
			 const struct conn_params *params, struct association **ret,
			 struct reply *rep)
{
	int r = connecting_make(qp, req, connect_timed_out, rep);

	if (r)
		return r;
	r = open_assoc(qp, req, ret, rep);
	if (r) {
		connecting_free(qp);
		return r;
	}
	qp->connecting->enhanced = conn_params_to_wire(params, &qp->connecting->enh);
	qp->connecting->retry_plain = req->flags & MSG_CONN_RETRY_PLAIN;
	return 0;
}

int qp_connect(struct qp *qp, const struct msg_connect *req, struct reply *rep)
{
	struct worker *w = qp->client->worker;
	const struct config_session *cfg = &w->daemon->cfg.session;
	struct conn_params params = params_of(req);
	struct association *assoc;
	int r = check_connect(qp, &params, rep);

	if (!r)
		r = begin_attempt(qp, req, &params, &assoc, rep);
	if (r)
		return r;
	qp->session.cookie = req->cookie;
	qp_access_set_no_reads(qp, conn_params_no_reads(&params));
	qp->state = QP_CONNECTING;
	timer_set(&w->timers, &qp->connecting->deadline,
		  w->now_ms + (req->timeout_ms ? req->timeout_ms : cfg->connect_ms));
	qp->assoc = assoc;
	association_wait(assoc, &qp->connecting->waiting);
	return 0;
}

/* The association at hand is full or gone: uses its addresses for another one, within the same time
 * limit. */
static void try_another(struct qp *qp)
{
	struct endpoint_addrs addrs;
	char reason[ACCT_REASON_MAX] = "cannot open another association";
	struct association *assoc;
	int r;

	endpoint_addrs_unpack(qp->assoc->addrs, &addrs);
	if (qp->connecting->any_local)
		addrs.local.n = 0;
	addrs.own_port = port_to_connect(qp->client, &addrs);
	r = get_assoc(qp, &addrs, &assoc, reason);
	if (r) {
		qp_failed(qp, MSG_EV_FAILED,
			  &(struct session_event){.err = r > 0 ? EDQUOT : -r, .reason = reason});
		return;
	}
	qp->assoc = assoc;
	association_wait(assoc, &qp->connecting->waiting);
}

void qp_initiate_again(struct qp *qp)
{
	struct session_event event = {
		.err = ECONNABORTED,
		.reason = "the peer's daemon shut the association down whenever a session was "
			  "requested",
	};

	connecting_asked(qp);
	if (++qp->connecting->crossed > MAX_CROSSED)
		qp_failed(qp, MSG_EV_FAILED, &event);
	else
		try_another(qp);
}

void qp_initiate(struct qp *qp)
{
	struct association *assoc = qp->assoc;
	struct assoc_params params = {
		.priv = qp->connecting->private_data,
		.len = qp->connecting->private_len,
		.enh = qp->connecting->enhanced ? &qp->connecting->enh : NULL,
	};

	if (assoc_connect(association_ddp(assoc), qp->ep, &params, &qp->sid)) {
		try_another(qp);
		return;
	}
	connecting_ask(qp);
	association_activate(assoc);
}

void qp_refused(struct qp *qp)
{
	if (!connecting_refused(qp))
		qp_refused_finally(qp);
}

void qp_refused_finally(struct qp *qp)
{
	struct session_event event = {
		.err = ECONNREFUSED,
		.reason = qp->connecting->enhanced
				  ? "the peer's daemon refused: no program listens, its backlog is "
				    "full, or it does not negotiate (RFC 6581)"
				  : "the peer's daemon refused: no program listens, or its backlog "
				    "is full",
	};

	/* One more try, within the same time limit. */
	if (qp->connecting->enhanced && qp->connecting->retry_plain) {
		qp->connecting->enhanced = false;
		qp_initiate(qp);
	} else {
		qp_failed(qp, MSG_EV_FAILED, &event);
	}
}
