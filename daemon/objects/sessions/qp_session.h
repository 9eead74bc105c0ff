/* SPDX-License-Identifier: BSD-2-Clause */
/* The session of a queue pair, from its establishment to its end. How it begins: qp_connect. */
#ifndef DAEMON_OBJECTS_QP_SESSION_H
#define DAEMON_OBJECTS_QP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/objects/sessions/qp_events.h"

struct qp;

struct qp_session {
	uint32_t cookie;             /* of the client's connect or accept */
	uint16_t peer_ird, peer_ord; /* the peer's values, or MSG_READS_UNCHANGED */
	uint64_t since_ms;           /* when it was established */
	char *order;                 /* why somebody else ended it, a copy; or NULL */
};

enum { QP_FLUSHED = 2 }; /* requests that are flushed for the cost of a bell */

/* The client rang: there is work, a receive that a message waits for, or room for completions.
 * Returns the cost, in flushed entries. */
unsigned qp_wake(struct qp *qp);

/* True if the endpoint may be bound to a stream. */
bool qp_is_bound(const struct qp *qp);

/* The session is established: the peer accepted, or this side did. */
void qp_established(struct qp *qp, const struct session_event *event);

/* The session was not established. type: MSG_EV_FAILED or MSG_EV_REJECTED. */
void qp_failed(struct qp *qp, enum msg_event_type type, const struct session_event *event);

/* Gives up connecting: MSG_EV_FAILED. */
void qp_cancel(struct qp *qp, int err, const char *reason);

/* Begins to end the session, after the requests that its program has posted so far; an event
 * follows if there was a session. */
void qp_disconnect(struct qp *qp);

/* Begins to end the session at once, by order of somebody else, whom the reason names: requests in
 * the send ring are flushed, and its program gets ECONNABORTED. */
void qp_terminate(struct qp *qp, const char *reason);

/* The same against a peer that is not allowed any more: it reaches no memory of the program from
 * now on. A program that still connects gets EACCES. */
void qp_disallow(struct qp *qp, const char *reason);

/* Raw: the stream receives no more. Posted work is flushed; one more message may be sent. */
void qp_error(struct qp *qp, const struct session_event *event);

/* Raw: the peer has ended its direction. */
void qp_half_closed(struct qp *qp);

/* A path of the session's association changed: queues an event, in which the last change counts.
 * reason: a sentence. */
void qp_path(struct qp *qp, const struct msg_path *path, const char *reason);

/* The session is over. */
void qp_closed(struct qp *qp, const struct session_event *event);

/* Leaves association and stream at once, without an event. */
void qp_abandon(struct qp *qp);

#endif
