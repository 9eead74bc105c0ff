/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/qp_events.h"

#include <stdio.h>
#include <string.h>

#include "daemon/net/association.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/conn_params.h"
#include "daemon/objects/sessions/qp.h"

/* How many of its events may wait at the same time: the end takes those of paths, and that the peer
 * has ended its direction, back. Only raw queue pairs have more than a beginning and one of those.
 */
int qp_events_reserve(struct qp *qp, struct reply *rep)
{
	unsigned n = qp->attr.raw ? 4 : 2;
	int r = client_reserve_events(qp->client, n, rep);

	if (!r)
		qp->events.reserved = n;
	return r;
}

void qp_events_release(struct qp *qp)
{
	async_drop(&qp->events.async);
	client_release_events(qp->client, qp->events.places, QP_EVENTS, qp->events.reserved);
}

/* The headers of the faulty message, and the length of its segment. */
static void put_faulty_headers(const struct wire_term *t, struct msg_event *ret)
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

static enum qp_event place_of_event(enum msg_event_type type)
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

void qp_event(struct qp *qp, enum msg_event_type type, const struct session_event *event)
{
	struct msg_event ev = {
		.type = type,
		.cookie = qp->session.cookie,
		.qp = qp->handle,
		.err = event->err,
		.term = event->term,
		.private_len = (uint16_t)event->private_len,
	};

	if (qp->carrier)
		return; /* its program does not know it */
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
		put_faulty_headers(event->blamed, &ev);
	if (event->path)
		ev.path = *event->path;
	conn_params_to_event(event->enh, &ev);
	client_event(qp->client, &qp->events.places[place_of_event(type)], &ev);
}

void qp_event_fatal(struct qp *qp, const struct session_event *event)
{
	if (qp->carrier)
		return;
	qp->events.async.err = event->err;
	qp->events.async.term = event->term;
	async_post(qp->client, &qp->events.async, MSG_ASYNC_QP_FATAL, qp->handle);
}
