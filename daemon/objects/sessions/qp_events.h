/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of a queue pair for its client. Each kind of event has a place, where it waits until
 * the client reads it.
 */
#ifndef DAEMON_OBJECTS_QP_EVENTS_H
#define DAEMON_OBJECTS_QP_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base/outq.h"
#include "daemon/base/reply.h"
#include "daemon/objects/client/async.h"

struct qp;
struct wire_enh;
struct wire_term;

enum qp_event {
	QP_EVENT_BEGIN, /* established, rejected or failed */
	QP_EVENT_PATH,
	QP_EVENT_ERROR,
	QP_EVENT_HALF_CLOSED,
	QP_EVENT_END,
	QP_EVENTS,
};

struct qp_events {
	struct async async;
	struct outq_place places[QP_EVENTS];
	unsigned reserved; /* places that may be in use at the same time */
};

/* The contents of a session's event. Members that do not apply are 0 or NULL. */
struct session_event {
	int err;            /* errno value; 0: no error */
	const char *reason; /* a sentence */
	uint16_t term;
	const struct wire_term *blamed; /* with the headers of the faulty message */
	const struct wire_enh *enh;     /* the peer's parameters in an enhanced message */
	const void *private_data;
	size_t private_len;
	const struct msg_path *path;
};

/* Reserves places for a new queue pair. 0 or a refusal. */
int qp_events_reserve(struct qp *qp, struct reply *rep);

/* The queue pair ends: gives the places back. */
void qp_events_release(struct qp *qp);

/* Queues an event for the client, with the addresses of the association. */
void qp_event(struct qp *qp, enum msg_event_type type, const struct session_event *event);

/* An established session has failed: posts the asynchronous event. */
void qp_event_fatal(struct qp *qp, const struct session_event *event);

#endif
