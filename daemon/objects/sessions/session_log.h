/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of the journal about sessions: begin, end, and each request that led to none. */
#ifndef DAEMON_OBJECTS_SESSION_LOG_H
#define DAEMON_OBJECTS_SESSION_LOG_H

#include <stdint.h>

struct association;
struct client;
struct qp;

/* The session was established. */
void session_log_begin(struct qp *qp);

/* It ended. err: errno value, 0: in order. reason: a sentence; "": this side ended it. Called while
 * the queue pair still has its association. */
void session_log_end(const struct qp *qp, int err, const char *reason);

/* Raw: it failed and goes on until its end. */
void session_log_error(const struct qp *qp, int err, const char *reason);

/* A connect of the queue pair led to no session. */
void session_log_fail(const struct qp *qp, int err, const char *reason);

/* The queue pair leaves its association without an event for its program: an end, a failed connect,
 * or nothing. */
void session_log_abandon(const struct qp *qp);

/* A session request of the peer was refused here, or withdrawn. c: the program that was asked, or
 * NULL. An association has a few entries a second; the next one counts those that were left out. */
void session_log_refuse(struct association *assoc, uint16_t sid, const struct client *c,
			const char *reason);

/* The association ends: an entry for those that were left out last. */
void session_log_refused(struct association *assoc);

#endif
