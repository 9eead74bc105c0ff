/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/session_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/state.h"
#include "daemon/net/association.h"
#include "daemon/net/association_network.h"
#include "daemon/net/peer_access.h"
#include "daemon/net/peers.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/sessions/conn_params.h"
#include "daemon/objects/sessions/listener.h"
#include "daemon/objects/sessions/port.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_access.h"
#include "daemon/objects/sessions/session_log.h"
#include "util/addr.h"
#include "util/service_key.h"

enum {
	EARLY_BUDGET = 256, /* early segments that are processed with the accept itself */
	PEER_SHARE = 4,     /* one peer may have a quarter of a listener's backlog wait, ... */
	PEER_LEAST = 16,    /* ... or so many: a program with many sessions is no flood */
};

/* Why a request is withdrawn that is not refused. */
#define GONE "the request was not answered in time, or its peer is gone"

/* ---- making and freeing ---- */

static struct session_request *make_request(struct listener *l, struct association *assoc,
					    const struct assoc_event *ev, struct reply *rep)
{
	struct session_request *r;

	if (client_reserve_events(l->client, 1, rep))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r) {
		outq_release(&l->client->io.events, 1);
		reply_refuse(rep, ENOMEM, "out of memory");
		return NULL;
	}
	r->client = l->client;
	r->listener = l;
	r->assoc = assoc;
	r->sid = ev->sid;
	r->enhanced = ev->enhanced;
	r->enh = ev->enh;
	if (idtab_add(&l->client->handles.requests, r, &r->handle)) {
		outq_release(&l->client->io.events, 1);
		free(r);
		reply_refuse(rep, ENOSPC, "the program has too many requests");
		return NULL;
	}
	list_add_tail(&assoc->requests, &r->link);
	list_add_tail(&l->asking, &r->asking);
	l->waiting++;
	l->requests++;
	return r;
}

/* Frees a request that was answered or is void. If an event still waits, it reports the withdrawal.
 */
static void drop_session_request(struct session_request *r)
{
	struct outq *events = &r->client->io.events;

	outq_release(events, outq_leave(events, &r->event) ? 0 : 1);
	r->listener->waiting--;
	list_del(&r->link);
	list_del(&r->asking);
	idtab_del(&r->client->handles.requests, r->handle);
	list_assert_out(&r->link);
	list_assert_out(&r->asking);
	free(r);
}

/* The client has answered, perhaps without having read the event. */
static void drop_answered(struct session_request *r)
{
	client_event_take_back(r->client, &r->event);
	drop_session_request(r);
}

/* c: the program that was asked, or NULL. */
static void refuse_session(struct association *assoc, uint16_t sid, const struct client *c,
			   const char *reason)
{
	session_log_refuse(assoc, sid, c, reason);
	assoc_refuse(association_ddp(assoc), sid);
	association_activate(assoc);
}

/* ---- requests that wait: for the next listener of a port, or because the peer guesses STags ----
 */

/* A copy of the Initiate's event. */
struct unclaimed {
	struct association *assoc;
	struct list link;   /* in association.unclaimed */
	struct timer timer; /* when it is decided */
	bool slow;          /* a listener makes no difference to it */
	struct assoc_event ev;
	uint8_t priv[];
};

static void drop_unclaimed(struct unclaimed *u)
{
	u->assoc->worker->unclaimed--;
	timer_cancel(&u->assoc->worker->timers, &u->timer);
	list_del(&u->link);
	timer_assert_out(&u->timer);
	list_assert_out(&u->link);
	free(u);
}

static void offer_request(struct port *p, struct association *assoc, const struct assoc_event *ev);

static void offer_unclaimed(struct timer *t)
{
	struct unclaimed *u = list_entry(t, struct unclaimed, timer);

	offer_request(port_of(u->assoc), u->assoc, &u->ev);
	drop_unclaimed(u);
}

/* The copy has as many bytes as the peer sent, and session.pending_max bounds their number, of all
 * associations together. */
static bool keep_unclaimed(struct association *assoc, const struct assoc_event *ev, uint32_t ms,
			   bool slow)
{
	struct worker *w = assoc->worker;
	struct unclaimed *u = NULL;

	if (assoc->state == ASSOCIATION_UP && !w->daemon->stopping &&
	    w->unclaimed < w->daemon->cfg.session.pending_max)
		u = calloc(1, sizeof(*u) + ev->priv_len);
	if (!u)
		return false;
	w->unclaimed++;
	u->assoc = assoc;
	u->slow = slow;
	u->ev = *ev;
	u->ev.priv = u->priv;
	if (ev->priv_len > 0)
		memcpy(u->priv, ev->priv, ev->priv_len);
	list_init(&u->link);
	list_add_tail(&assoc->unclaimed, &u->link);
	timer_init(&u->timer, offer_unclaimed);
	timer_set(&w->timers, &u->timer, w->now_ms + ms);
	return true;
}

static struct unclaimed *first_unclaimed(const struct association *assoc)
{
	return list_entry(assoc->unclaimed.next, struct unclaimed, link);
}

static bool withdraw_unclaimed(struct association *assoc, uint16_t sid)
{
	list_foreach (l, &assoc->unclaimed) {
		struct unclaimed *u = list_entry(l, struct unclaimed, link);

		if (u->ev.sid == sid) {
			drop_unclaimed(u);
			return true;
		}
	}
	return false;
}

void session_request_listening(struct port *p)
{
	struct worker *w = p->accepts.worker;
	struct association *assoc;
	uint32_t pos = 0;

	while ((assoc = idtab_next(&w->assocs, &pos))) {
		if (list_empty(&assoc->unclaimed) || port_of(assoc) != p)
			continue;
		list_foreach (l, &assoc->unclaimed) {
			struct unclaimed *u = list_entry(l, struct unclaimed, link);

			if (!u->slow)
				timer_set(&w->timers, &u->timer, w->now_ms);
		}
	}
}

/* ---- from the Initiate to the client ---- */

struct session_request *session_request_free(struct session_request *r)
{
	if (!r)
		return NULL;
	refuse_session(r->assoc, r->sid, r->client, "the program stopped listening");
	drop_answered(r);
	return NULL;
}

/* Programs on one host share it, whatever their associations. */
static bool is_flooding(const struct listener *l, const struct association *assoc)
{
	uint32_t n = 0, most = l->backlog / PEER_SHARE;

	if (most < PEER_LEAST)
		most = PEER_LEAST;
	if (l->waiting < most)
		return false;
	list_foreach (it, &l->asking) {
		const struct session_request *r = list_entry(it, struct session_request, asking);

		n += addr_same_host(&r->assoc->remote, &assoc->remote);
	}
	return n >= most;
}

/* Why the program cannot be asked, or NULL. */
static const char *reason_to_refuse(const struct port *p, const struct listener *l,
				    const struct association *assoc)
{
	if (assoc->worker->daemon->stopping)
		return "this daemon is stopping";
	if (assoc->worker->daemon->draining)
		return DRAINED;
	if (!p)
		return "no program listens on that port";
	if (!l)
		return "no program listens with that service key";
	if (assoc->state != ASSOCIATION_UP)
		return "the association is ending";
	if (l->waiting >= l->backlog)
		return "the program's backlog is full";
	if (is_flooding(l, assoc))
		return "this peer's share of the program's backlog is full";
	if (!client_reads_events(l->client))
		return "the program does not read its events";
	return peer_access_lacks(assoc, l->demands);
}

/* The listener that the Initiate names. ret_skip: bytes of the private data that are not for its
 * program. */
static struct listener *listener_named(const struct port *p, const struct assoc_event *ev,
				       uint16_t *ret_skip)
{
	uint64_t key = 0;
	int e = service_key_get(ev->priv, ev->priv_len, &key);

	*ret_skip = e == SERVICE_KEY_E_OK ? SERVICE_KEY_LEN : 0;
	return p && e != SERVICE_KEY_E_BAD ? port_find(p, key) : NULL;
}

static void offer_request(struct port *p, struct association *assoc, const struct assoc_event *ev)
{
	uint16_t skip;
	struct listener *l = listener_named(p, ev, &skip);
	struct msg_event out = {.type = MSG_EV_REQUEST, .private_len = ev->priv_len - skip};
	const char *reason = reason_to_refuse(p, l, assoc);
	struct reply rep = {.nfds = 0};
	struct session_request *r = NULL;

	if (!reason && l->accept && l->accept(assoc, ev, &reason))
		return;
	if (!reason)
		r = make_request(l, assoc, ev, &rep);
	if (!r) {
		refuse_session(assoc, ev->sid, l ? l->client : NULL, reason ? reason : rep.reason);
		return;
	}
	out.cookie = l->cookie;
	out.request = r->handle;
	out.assoc = assoc->id;
	out.stream = ev->sid;
	out.peer = assoc->remote;
	conn_params_to_event(ev->enhanced ? &ev->enh : NULL, &out);
	if (out.private_len > 0)
		memcpy(out.private_data, ev->priv + skip, out.private_len);
	client_event(l->client, &r->event, &out);
}

/* An association that the peer opened had a listener when it was established. */
static uint32_t relisten_ms(const struct port *p, const struct association *assoc)
{
	return p || assoc->opener ? 0 : assoc->worker->daemon->cfg.session.relisten_ms;
}

void session_request_new(struct port *p, struct association *assoc, const struct assoc_event *ev)
{
	char rule[PEER_ACCESS_REASON];
	const char *over = peer_access_refuses(assoc->worker, assoc->conn, PEER_ACCEPT, rule)
				   ? rule
				   : association_network_refuses(assoc);
	uint32_t slow_ms = over ? 0 : peers_wait(assoc->worker, assoc->network);
	uint32_t ms = slow_ms ? slow_ms : relisten_ms(p, assoc);

	if (over) {
		refuse_session(assoc, ev->sid, NULL, over);
		return;
	}
	if (slow_ms != GUESSES_NEVER && ms && keep_unclaimed(assoc, ev, ms, slow_ms > 0))
		return;
	if (slow_ms)
		refuse_session(assoc, ev->sid, NULL, "the peer's network guesses STags");
	else
		offer_request(p, assoc, ev);
}

static void withdraw_request(struct session_request *r, const char *reason)
{
	struct msg_event out = {
		.type = MSG_EV_WITHDRAWN,
		.cookie = r->listener->cookie,
		.request = r->handle,
		.err = ECONNABORTED,
	};

	snprintf(out.reason, sizeof(out.reason), "%s", reason);
	session_log_refuse(r->assoc, r->sid, r->client, reason);
	if (!client_event_take_back(r->client, &r->event))
		client_event(r->client, &r->event, &out);
	drop_session_request(r);
}

static struct session_request *first_request(const struct association *assoc)
{
	return list_entry(assoc->requests.next, struct session_request, link);
}

void session_request_withdrawn(struct association *assoc, uint16_t sid)
{
	if (withdraw_unclaimed(assoc, sid))
		return;
	list_foreach (l, &assoc->requests) {
		struct session_request *r = list_entry(l, struct session_request, link);

		if (r->sid == sid) {
			withdraw_request(r, GONE);
			return;
		}
	}
}

void session_request_withdraw_all(struct association *assoc)
{
	while (!list_empty(&assoc->requests))
		withdraw_request(first_request(assoc), GONE);
	while (!list_empty(&assoc->unclaimed))
		drop_unclaimed(first_unclaimed(assoc));
	session_log_refused(assoc);
}

void session_request_refuse_all(struct association *assoc, const char *reason)
{
	while (!list_empty(&assoc->requests)) {
		struct session_request *r = first_request(assoc);

		assoc_refuse(association_ddp(assoc), r->sid);
		withdraw_request(r, reason);
	}
	while (!list_empty(&assoc->unclaimed)) {
		struct unclaimed *u = first_unclaimed(assoc);

		refuse_session(assoc, u->ev.sid, NULL, reason);
		drop_unclaimed(u);
	}
	association_activate(assoc);
}

int session_request_query(struct client *c, const struct msg_handle *req,
			  struct msg_request_state *ret, struct reply *rep)
{
	const struct session_request *r = idtab_get(&c->handles.requests, req->handle);
	struct llp_info info;

	if (!r)
		return reply_refuse(rep, ECONNABORTED, "query: the session request has ended");
	llp_info(r->assoc->conn, &info);
	ret->local = info.local;
	ret->remote = r->assoc->remote;
	ret->assoc = r->assoc->id;
	ret->stream = r->sid;
	peer_access_tell(r->assoc, &ret->peer);
	return 0;
}

/* ---- answers ---- */

static int refuse_gone(const struct conn_params *params, struct reply *rep)
{
	return reply_refuse(
		rep, ECONNABORTED,
		"%s: the request is gone: it was not answered in time, or its peer gave up",
		params->what);
}

/*
 * Looks up the session request for an answer by this queue pair, or NULL to reject. A session
 * request may become void while its answer is on the way; that is no violation.
 */
static int find_for_answer(struct client *c, uint32_t handle, const struct qp *qp,
			   const struct conn_params *params, struct reply *rep,
			   struct session_request **ret)
{
	int r = conn_params_check(c->daemon, qp, params, rep);

	if (r)
		return r;
	*ret = idtab_get(&c->handles.requests, handle);
	return *ret ? 0 : refuse_gone(params, rep);
}

/* The association does not take the answer, which has room for so many bytes. */
static int refuse_answer(int outcome, const struct conn_params *params, uint32_t room,
			 struct reply *rep)
{
	return outcome == ASSOC_E_LEN ? conn_params_too_long(params, room, rep)
				      : refuse_gone(params, rep);
}

/* Checks the program's IRD and ORD against an enhanced session request. */
static int check_enhanced(const struct session_request *r, const struct qp *qp,
			  const struct conn_params *params, struct reply *rep)
{
	if (!r->enhanced)
		return 0;
	if (qp->attr.raw)
		return reply_refuse(rep, EOPNOTSUPP,
				    "accept: the request negotiates Reads: queue pair %u is raw",
				    qp->num);
	if (params->flags & MSG_CONN_NEGOTIATE && params->ord != MSG_READS_UNCHANGED &&
	    params->ord > r->enh.ird)
		return reply_refuse(rep, ERANGE, "accept: ord of %u: the peer's ird is %u",
				    params->ord, r->enh.ird);
	return 0;
}

/* The session belongs to this queue pair from now on. */
static void hand_over(struct session_request *r, struct qp *qp, uint32_t cookie)
{
	struct wire_enh enh = r->enh;
	struct session_event event = {.enh = r->enhanced ? &enh : NULL};

	qp->session.cookie = cookie;
	qp->assoc = r->assoc;
	qp->sid = r->sid;
	drop_answered(r);
	qp_established(qp, &event);
	dp_resume(&qp->assoc->dp, EARLY_BUDGET);
}

static int accept_with(struct client *c, struct qp *qp, const struct msg_accept *req,
		       const struct conn_params *params, struct reply *rep)
{
	struct assoc_params answer = {.priv = req->private_data, .len = req->private_len};
	struct wire_enh enh;
	struct session_request *r;
	int e = find_for_answer(c, req->request, qp, params, rep, &r);

	if (!e)
		e = check_enhanced(r, qp, params, rep);
	if (e)
		return e;
	if (conn_params_to_wire(params, &enh))
		answer.enh = &enh;
	qp_access_set_no_reads(qp, conn_params_no_reads(params));
	e = assoc_accept(association_ddp(r->assoc), r->sid, qp->ep, &answer);
	if (e)
		return refuse_answer(e, params, conn_params_room(qp, r->enhanced), rep);
	hand_over(r, qp, req->cookie);
	return 0;
}

int session_request_accept(struct client *c, const struct msg_accept *req, struct reply *rep)
{
	struct qp *qp = handles_qp(c, req->qp, rep);
	const struct conn_params params = {
		.what = "accept",
		.known = CONN_PARAMS_ANSWER,
		.private_len = req->private_len,
		.flags = req->flags,
		.ird = req->ird,
		.ord = req->ord,
	};

	if (!qp)
		return -ENOENT;
	if (qp->state != QP_IDLE || qp->datagram)
		return reply_refuse(rep, qp->datagram ? EOPNOTSUPP : EISCONN,
				    "queue pair %u: accept while it is %s%s", qp->num,
				    qp_state_str(qp_state(qp)),
				    qp->datagram ? ": it has no sessions" : "");
	return accept_with(c, qp, req, &params, rep);
}

int session_request_reject(struct client *c, const struct msg_reject *req, struct reply *rep)
{
	struct assoc_params answer = {.priv = req->private_data, .len = req->private_len};
	const struct conn_params params = {
		.what = "reject",
		.known = CONN_PARAMS_ANSWER,
		.private_len = req->private_len,
		.flags = req->flags,
		.ird = req->ird,
		.ord = req->ord,
	};
	struct wire_enh enh;
	struct session_request *r;
	int e = find_for_answer(c, req->request, NULL, &params, rep, &r);

	if (e)
		return e;
	if (conn_params_to_wire(&params, &enh))
		answer.enh = &enh;
	e = assoc_reject(association_ddp(r->assoc), r->sid, &answer);
	if (e)
		return refuse_answer(e, &params, conn_params_room(NULL, r->enhanced), rep);
	session_log_refuse(r->assoc, r->sid, c, "the program rejected it");
	association_activate(r->assoc);
	drop_answered(r);
	return 0;
}
