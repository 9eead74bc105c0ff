/* SPDX-License-Identifier: BSD-2-Clause */
/* Journal entries about sessions: their begin, their end, and attempts that failed. */
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

/* The queue pair leaves its association without an event for its program: logs an end or a failed
 * connect, if there was a session or an attempt. */
void session_log_abandon(const struct qp *qp);

/* A session request of the peer was refused here, or withdrawn. c: the program that was asked, or
 * NULL. Entries of an association are limited to a few a second; the next entry counts those that
 * were left out. */
void session_log_refuse(struct association *assoc, uint16_t sid, const struct client *c,
			const char *reason);

/* The association ends: reports the entries that were left out since the last one. */
void session_log_refused(struct association *assoc);

#endif
