/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/queue.h"
#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/sessions/conn_params.h"
#include "daemon/objects/sessions/connecting.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/session_log.h"

/* ---- work ---- */

bool qp_is_bound(const struct qp *qp)
{
	return qp->assoc && qp->assoc->ddp && !connecting_waits(qp);
}

/* Messages may wait for receives that the client has posted. Those of other queue pairs with the
 * same queue still wait, so it stays asleep for them. */
static void wake_receiver(struct qp *qp)
{
	if (qp->wq.srq)
		srq_wait_end(qp->wq.srq, &qp->wq.srq_waits);
	else
		ring_awake(&qp->wq.rq);
	assoc_rx_wake(qp->assoc->ddp, qp->ep);
}

/* Others wait until those of other queue pairs were sent, too. */
static unsigned send_datagrams(struct qp *qp)
{
	bool more;
	unsigned n = datagram_send(qp->datagram, &more);

	if (more)
		client_ring(qp->client, qp->handle);
	return n * QP_FLUSHED;
}

unsigned qp_wake(struct qp *qp)
{
	if (qp->carrier) {
		qp->carrier->ready(qp);
		return 0;
	}
	if (!list_linked(&qp->posted))
		list_add_tail(&qp->client->bells.posted, &qp->posted);
	if (qp->state == QP_RTS) {
		unsigned flushed = wr_flush_pending(qp);

		if (qp->hold.mem)
			wake_receiver(qp);
		assoc_tx_wake(qp->assoc->ddp, qp->ep);
		association_activate(qp->assoc);
		return flushed;
	} else if (qp->state == QP_CLOSING && qp_is_bound(qp)) {
		if (qp->hold.mem)
			wake_receiver(qp);
		assoc_tx_wake(qp->assoc->ddp, qp->ep); /* requests from before the end wait */
		association_activate(qp->assoc);
	} else if (qp->state == QP_ERROR) {
		return wr_flush(qp);
	} else if (qp->datagram) {
		return send_datagrams(qp);
	}
	return 0;
}

/* ---- association and stream ---- */

static void unbind(struct qp *qp)
{
	if (qp_is_bound(qp))
		assoc_unbind(association_ddp(qp->assoc), qp->ep);
}

/* An order without memory for its words. */
static char no_words[] = "ended by this daemon";

static void set_order(struct qp *qp, const char *reason)
{
	char *copy = reason ? strdup(reason) : NULL;

	if (qp->session.order != no_words)
		free(qp->session.order);
	qp->session.order = reason && !copy ? no_words : copy;
}

static void detach(struct qp *qp)
{
	connecting_free(qp);
	set_order(qp, NULL);
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

/* The session is over or was not established: all posted and later work is flushed. */
static void enter_error(struct qp *qp)
{
	detach(qp);
	qp->state = QP_ERROR;
	if (qp->carrier) {
		qp->carrier->over(qp);
		return;
	}
	mw_release(qp->client, &qp->scope);
	if (qp->wq.srq)
		srq_wait_end(qp->wq.srq, &qp->wq.srq_waits);
	else
		ring_sleep(&qp->wq.rq, RING_SLEEPS); /* from now on posted receives ring, too */
	wr_flush_first(qp);
}

void qp_established(struct qp *qp, const struct session_event *event)
{
	connecting_free(qp);
	qp->state = QP_RTS;
	if (qp->options & MSG_QP_ACKED)
		association_report_acks(qp->assoc);
	if (event->enh) {
		qp->session.peer_ird = conn_params_depth(event->enh->ird);
		qp->session.peer_ord = conn_params_depth(event->enh->ord);
	}
	qp->assoc->last_user = (uint64_t)qp->client->uid + 1;
	session_log_begin(qp);
	qp_event(qp, MSG_EV_ESTABLISHED, event);
	qp_wake(qp);
}

void qp_failed(struct qp *qp, enum msg_event_type type, const struct session_event *event)
{
	session_log_fail(qp, event->err, event->reason);
	qp_event(qp, type, event);
	enter_error(qp);
}

/* ---- ending ---- */

void qp_cancel(struct qp *qp, int err, const char *reason)
{
	unbind(qp);
	qp_failed(qp, MSG_EV_FAILED, &(struct session_event){.err = err, .reason = reason});
}

/* Requests in the send ring, without the oldest entries that only wait to be flushed. */
static uint32_t posted_sends(const struct qp *qp)
{
	uint32_t n;

	if (qp->carrier)
		return qp->carrier->waiting(qp);
	n = queue_waiting(&qp->wq.sq);
	return n > qp->wq.flush_pending ? n - qp->wq.flush_pending : 0;
}

void qp_disconnect(struct qp *qp)
{
	if (qp->state == QP_CONNECTING) {
		qp_cancel(qp, ECANCELED, "canceled by this program");
	} else if (qp->state == QP_RTS) {
		qp->state = QP_CLOSING;
		assoc_close_after(association_ddp(qp->assoc), qp->ep, posted_sends(qp));
		association_activate(qp->assoc);
	} else if (qp->state == QP_ERROR && rdmap_keeps_recvs(qp->ep)) {
		rdmap_flush_recvs(qp->ep);
		wr_flush(qp);
	} else if (qp->state == QP_IDLE && qp->datagram) {
		datagram_stop(qp->datagram);
		enter_error(qp);
	} else if (qp->state == QP_IDLE && qp->options & MSG_QP_KEEP_RECVS) {
		enter_error(qp);
	}
}

/* No request of the send ring is sent before it. */
static void end_by_order(struct qp *qp, const char *reason,
			 void (*end)(struct assoc *, struct rdmap *))
{
	if (qp->state != QP_RTS && qp->state != QP_CLOSING)
		return;
	set_order(qp, reason);
	qp->state = QP_CLOSING;
	end(association_ddp(qp->assoc), qp->ep);
	association_activate(qp->assoc);
}

void qp_terminate(struct qp *qp, const char *reason)
{
	if (qp->state == QP_CONNECTING)
		qp_cancel(qp, ECANCELED, reason);
	else
		end_by_order(qp, reason, assoc_close);
}

void qp_disallow(struct qp *qp, const char *reason)
{
	if (qp->state == QP_CONNECTING)
		qp_cancel(qp, EACCES, reason);
	else
		end_by_order(qp, reason, assoc_abort);
}

void qp_closed(struct qp *qp, const struct session_event *event)
{
	const struct session_event order = {.err = ECONNABORTED, .reason = qp->session.order};

	if (qp->session.order && !event->err)
		event = &order;
	session_log_end(qp, event->err, event->reason);
	if (event->err)
		qp_event_fatal(qp, event);
	client_event_take_back(qp->client, &qp->events.places[QP_EVENT_PATH]);
	client_event_take_back(qp->client, &qp->events.places[QP_EVENT_HALF_CLOSED]);
	qp_event(qp, MSG_EV_DISCONNECTED, event);
	enter_error(qp);
}

void qp_error(struct qp *qp, const struct session_event *event)
{
	session_log_error(qp, event->err, event->reason);
	wr_mark_flush(qp);
	qp_event_fatal(qp, event);
	qp_event(qp, MSG_EV_ERROR, event);
}

void qp_half_closed(struct qp *qp)
{
	qp_event(qp, MSG_EV_HALF_CLOSED,
		 &(struct session_event){.reason = "the peer ended its direction of the stream"});
}

void qp_path(struct qp *qp, const struct msg_path *path, const char *reason)
{
	bool session = qp->state == QP_RTS || qp->state == QP_CLOSING;

	if (session)
		qp_event(qp, MSG_EV_PATH, &(struct session_event){.reason = reason, .path = path});
}
