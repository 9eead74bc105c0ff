/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair's session, from connect or accept to its end, and its events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/queue.h"
#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/conn_params.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/sessions/port.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_access.h"
#include "daemon/objects/sessions/session_log.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/sessions/wr.h"

/* A peer may shut an idle association down at the wrong moment, but not time and again. Each
 * attempt takes only a few round trips, and a connect may take minutes. */
enum { MAX_CROSSED = 16 };

const char *qp_state_str(enum qp_state s)
{
	static const char *const names[] = {"idle", "connecting", "rts", "closing", "error"};

	return names[s];
}

/* ---- work ---- */

/* True if the endpoint may be bound to a stream. */
static bool bound(const struct qp *qp)
{
	return qp->assoc && qp->assoc->ddp && !list_linked(&qp->waiting);
}

/* Messages may wait for receives that the client has posted. */
static void wake_receiver(struct qp *qp)
{
	ring_awake(qp->srq ? &qp->srq->ring : &qp->rq);
	assoc_rx_wake(qp->assoc->ddp, qp->ep);
}

void qp_wake(struct qp *qp)
{
	if (!list_linked(&qp->posted))
		list_add_tail(&qp->client->posted, &qp->posted);
	if (qp->state == QP_RTS) {
		if (qp->hold.mem)
			wake_receiver(qp);
		wr_flush_pending(qp);
		assoc_tx_wake(qp->assoc->ddp, qp->ep);
		association_activate(qp->assoc);
	} else if (qp->state == QP_CLOSING && bound(qp)) {
		if (qp->hold.mem)
			wake_receiver(qp);
		assoc_tx_wake(qp->assoc->ddp, qp->ep); /* requests from before the end wait */
		association_activate(qp->assoc);
	} else if (qp->state == QP_ERROR) {
		wr_flush(qp);
	}
}

/* ---- association and stream ---- */

static void unbind(struct qp *qp)
{
	if (bound(qp))
		assoc_unbind(association_ddp(qp->assoc), qp->ep);
}

static void drop_private_data(struct qp *qp)
{
	free(qp->private_data);
	qp->private_data = NULL;
	qp->private_len = 0;
}

static void detach(struct qp *qp)
{
	drop_private_data(qp);
	list_del(&qp->waiting);
	timer_cancel(&qp->client->worker->timers, &qp->deadline);
	agent_forget(&qp->call);
	if (qp->assoc)
		association_activate(qp->assoc);
	qp->assoc = NULL;
}

void qp_abandon(struct qp *qp)
{
	session_log_abandon(qp);
	unbind(qp);
	detach(qp);
}

/* ---- events ---- */

/* The headers of the faulty message, and the length of its segment. */
static void put_headers(const struct wire_term *t, struct msg_event *ret)
{
	_Static_assert(WIRE_UNTAGGED_LEN + WIRE_READ_REQ_LEN == MSG_TERM_MAX, "both always fit");

	if (t->has_len)
		ret->seg_len = t->seg_len;
	if (t->has_ddp) {
		memcpy(ret->header, t->ddp, t->ddp_len);
		ret->header_len = t->ddp_len;
	}
	if (t->has_ddp && t->has_read) {
		memcpy(ret->header + ret->header_len, t->read, sizeof(t->read));
		ret->header_len += sizeof(t->read);
	}
}

static enum qp_event place_of(enum msg_event_type type)
{
	switch (type) {
	case MSG_EV_PATH:
		return QP_EVENT_PATH;
	case MSG_EV_ERROR:
		return QP_EVENT_ERROR;
	case MSG_EV_HALF_CLOSED:
		return QP_EVENT_HALF_CLOSED;
	case MSG_EV_DISCONNECTED:
		return QP_EVENT_END;
	default:
		return QP_EVENT_BEGIN;
	}
}

static void send_event(struct qp *qp, enum msg_event_type type, const struct session_event *event)
{
	struct msg_event ev = {
		.type = type,
		.cookie = qp->cookie,
		.qp = qp->handle,
		.err = event->err,
		.term = event->term,
		.private_len = (uint16_t)event->private_len,
	};

	if (qp->assoc) {
		ev.assoc = qp->assoc->id;
		ev.stream = qp->sid;
		ev.peer = qp->assoc->remote;
	}
	if (event->reason)
		snprintf(ev.reason, sizeof(ev.reason), "%s", event->reason);
	if (event->private_len > 0)
		memcpy(ev.private_data, event->private_data, event->private_len);
	if (event->blamed)
		put_headers(event->blamed, &ev);
	if (event->path)
		ev.path = *event->path;
	conn_params_to_event(event->enh, &ev);
	client_event(qp->client, &qp->events[place_of(type)], &ev);
}

/* The session is over or was not established: all posted and later work is flushed. */
static void enter_error(struct qp *qp)
{
	detach(qp);
	qp->state = QP_ERROR;
	mw_release(qp->client, &qp->scope);
	if (!qp->srq)
		ring_sleep(&qp->rq, RING_SLEEPS); /* from now on posted receives ring, too */
	wr_flush(qp);
}

/* ---- beginning ---- */

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

	if (qp->state != QP_IDLE)
		return reply_refuse(rep, EISCONN, "queue pair %u: connect while it is %s", qp->num,
				    qp_state_str(qp->state));
	if (qp->client->daemon->draining)
		return reply_refuse(rep, ECONNREFUSED,
				    "queue pair %u: connect: the administrator drains this daemon",
				    qp->num);
	r = conn_params_check(qp->client->daemon, qp, params, rep);
	if (r)
		return r;
	return params->private_len > room ? conn_params_too_long(params, room, rep) : 0;
}

/* Reads the addresses and finds or opens the association. */
static int open_assoc(struct qp *qp, const struct msg_connect *req, struct association **ret,
		      struct reply *rep)
{
	struct worker *w = qp->client->worker;
	struct endpoint_addrs addrs;
	char what[48];
	int r;

	snprintf(what, sizeof(what), "queue pair %u: connect", qp->num);
	r = endpoint_addrs_read(w, what, req, &addrs, rep);
	if (r)
		return r;
	addrs.own_port = port_to_connect(qp->client, &addrs);
	qp->any_local = addrs.local.n == 0;
	r = association_get(w, &addrs, ret);
	return r ? endpoint_addrs_refuse(w, what, &addrs, r, rep) : 0;
}

static int keep_private_data(struct qp *qp, const struct msg_connect *req, struct reply *rep)
{
	if (req->private_len == 0)
		return 0;
	qp->private_data = malloc(req->private_len);
	if (!qp->private_data)
		return reply_refuse(rep, ENOMEM, "queue pair %u: connect: out of memory", qp->num);
	qp->private_len = req->private_len;
	memcpy(qp->private_data, req->private_data, req->private_len);
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
		r = open_assoc(qp, req, &assoc, rep);
	if (!r)
		r = keep_private_data(qp, req, rep);
	if (r)
		return r;
	qp->cookie = req->cookie;
	qp->enhanced = conn_params_to_wire(&params, &qp->enh);
	qp_access_set_no_reads(qp, conn_params_no_reads(&params));
	qp->retry_plain = req->flags & MSG_CONN_RETRY_PLAIN;
	qp->crossed = 0;
	qp->state = QP_CONNECTING;
	timer_set(&w->timers, &qp->deadline,
		  w->now_ms + (req->timeout_ms ? req->timeout_ms : cfg->connect_ms));
	qp->assoc = assoc;
	association_wait(assoc, &qp->waiting);
	return 0;
}

/* The addresses of the association serve for another one. */
void qp_initiate_elsewhere(struct qp *qp)
{
	struct endpoint_addrs addrs;
	struct association *assoc;
	int r;

	endpoint_addrs_unpack(qp->assoc->addrs, &addrs);
	if (qp->any_local)
		addrs.local.n = 0;
	addrs.own_port = port_to_connect(qp->client, &addrs);
	r = association_get(qp->client->worker, &addrs, &assoc);
	if (r) {
		qp_failed(qp, MSG_EV_FAILED,
			  &(struct session_event){.err = -r,
						  .reason = "cannot open another association"});
		return;
	}
	qp->assoc = assoc;
	association_wait(assoc, &qp->waiting);
}

void qp_initiate_again(struct qp *qp)
{
	struct session_event event = {
		.err = ECONNABORTED,
		.reason = "the peer's daemon shut the association down whenever a session was "
			  "requested",
	};

	if (++qp->crossed > MAX_CROSSED)
		qp_failed(qp, MSG_EV_FAILED, &event);
	else
		qp_initiate_elsewhere(qp);
}

void qp_initiate(struct qp *qp)
{
	struct association *assoc = qp->assoc;
	struct assoc_params params = {
		.priv = qp->private_data,
		.len = qp->private_len,
		.enh = qp->enhanced ? &qp->enh : NULL,
	};

	if (assoc_connect(association_ddp(assoc), qp->ep, &params, &qp->sid))
		qp_initiate_elsewhere(qp);
	else
		association_activate(assoc);
}

void qp_established(struct qp *qp, const struct session_event *event)
{
	timer_cancel(&qp->client->worker->timers, &qp->deadline);
	drop_private_data(qp);
	qp->state = QP_RTS;
	if (qp->options & MSG_QP_ACKED)
		association_report_acks(qp->assoc);
	if (event->enh) {
		qp->peer_ird = conn_params_depth(event->enh->ird);
		qp->peer_ord = conn_params_depth(event->enh->ord);
	}
	session_log_begin(qp);
	send_event(qp, MSG_EV_ESTABLISHED, event);
	qp_wake(qp);
}

void qp_failed(struct qp *qp, enum msg_event_type type, const struct session_event *event)
{
	session_log_fail(qp, event->err, event->reason);
	send_event(qp, type, event);
	enter_error(qp);
}

void qp_refused(struct qp *qp)
{
	struct session_event event = {
		.err = ECONNREFUSED,
		.reason = qp->enhanced
				  ? "the peer's daemon refused: no program listens, its backlog is "
				    "full, "
				    "or it does not negotiate (RFC 6581)"
				  : "the peer's daemon refused: no program listens, or its backlog "
				    "is full",
	};

	/* One more try, within the same time limit. */
	if (qp->enhanced && qp->retry_plain) {
		qp->enhanced = false;
		qp_initiate(qp);
	} else {
		qp_failed(qp, MSG_EV_FAILED, &event);
	}
}

void qp_time_out(struct timer *t)
{
	struct qp *qp = list_entry(t, struct qp, deadline);
	const char *reason =
		bound(qp) ? "timed out: the peer's program neither accepted nor rejected"
			  : "timed out: the association with the peer's daemon did not come "
			    "up";

	unbind(qp);
	qp_failed(qp, MSG_EV_FAILED, &(struct session_event){.err = ETIMEDOUT, .reason = reason});
}

/* ---- ending ---- */

static void cancel(struct qp *qp, const char *reason)
{
	unbind(qp);
	qp_failed(qp, MSG_EV_FAILED, &(struct session_event){.err = ECANCELED, .reason = reason});
}

/* Entries of the send ring that are requests; the oldest ones may be there to be flushed. */
static uint32_t posted(const struct qp *qp)
{
	uint32_t n = queue_waiting(&qp->sq);

	return n > qp->flush_pending ? n - qp->flush_pending : 0;
}

void qp_disconnect(struct qp *qp)
{
	if (qp->state == QP_CONNECTING) {
		cancel(qp, "canceled by this program");
	} else if (qp->state == QP_RTS) {
		qp->state = QP_CLOSING;
		assoc_close_after(association_ddp(qp->assoc), qp->ep, posted(qp));
		association_activate(qp->assoc);
	} else if (qp->state == QP_ERROR && rdmap_keeps_recvs(qp->ep)) {
		rdmap_flush_recvs(qp->ep);
		wr_flush(qp);
	}
}

/* The same, but nothing of the ring is sent first. */
static void end(struct qp *qp, const char *reason)
{
	if (qp->state == QP_CONNECTING) {
		cancel(qp, reason);
	} else if (qp->state == QP_RTS || qp->state == QP_CLOSING) {
		qp->state = QP_CLOSING;
		assoc_close(association_ddp(qp->assoc), qp->ep);
		association_activate(qp->assoc);
	}
}

void qp_terminate(struct qp *qp, const char *reason)
{
	qp->order = reason;
	end(qp, reason);
}

void qp_stop(struct qp *qp)
{
	end(qp, "this daemon stops");
}

/* A session that was established has failed. */
static void post_fatal(struct qp *qp, const struct session_event *event)
{
	qp->async.err = event->err;
	qp->async.term = event->term;
	async_post(qp->client, &qp->async, MSG_ASYNC_QP_FATAL, qp->handle);
}

void qp_closed(struct qp *qp, const struct session_event *event)
{
	const struct session_event order = {.err = ECONNABORTED, .reason = qp->order};

	if (qp->order && !event->err)
		event = &order;
	session_log_end(qp, event->err, event->reason);
	if (event->err)
		post_fatal(qp, event);
	client_event_take_back(qp->client, &qp->events[QP_EVENT_PATH]);
	client_event_take_back(qp->client, &qp->events[QP_EVENT_HALF_CLOSED]);
	send_event(qp, MSG_EV_DISCONNECTED, event);
	enter_error(qp);
}

void qp_error(struct qp *qp, const struct session_event *event)
{
	session_log_error(qp, event->err, event->reason);
	wr_mark_flush(qp);
	post_fatal(qp, event);
	send_event(qp, MSG_EV_ERROR, event);
}

void qp_half_closed(struct qp *qp)
{
	send_event(qp, MSG_EV_HALF_CLOSED,
		   &(struct session_event){.reason = "the peer ended its direction of the stream"});
}

void qp_path(struct qp *qp, const struct msg_path *path, const char *reason)
{
	bool session = qp->state == QP_RTS || qp->state == QP_CLOSING;

	if (session)
		send_event(qp, MSG_EV_PATH,
			   &(struct session_event){.reason = reason, .path = path});
}
