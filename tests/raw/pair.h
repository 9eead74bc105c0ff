/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session between the raw peer and the client of the daemon, from begin to end. Nearly every case
 * uses one.
 */
#ifndef TESTS_RAW_PAIR_H
#define TESTS_RAW_PAIR_H

#include "tests/raw/link.h"
#include "tests/raw/raw.h"
#include "tests/raw/client.h"

/* First stream of cases; MARKER is that of pair_marker(). */
enum { PAIR_FIRST = 0, PAIR_MARKER = 254 };

struct pair {
	struct link *l;
	uint16_t sid;
	struct client_end v;
	struct client_opts opts;
	uint32_t msn; /* of our next Send; only pair_send() increments it */
};

/* The client attached to daemon 0 listens, and there is an association to it. */
struct link *pair_listener(int backlog);

/* A session that we begin on the stream and the client accepts. */
struct pair pair_passive(struct link *l, uint16_t sid, const struct client_opts *o);

/* Everything: daemon, listener, association, session on stream 0. o may be NULL. */
struct pair pair_new(const struct client_opts *o);

/* After the end of a session: begins a new one like it on the next stream, or on the same. */
void pair_next(struct pair *p);

/* A session that the client begins and we accept; pair_requested() does not answer. */
struct pair pair_active(const struct client_opts *o);
struct pair pair_requested(const struct client_opts *o);

/* Begins another one on the same association. */
void pair_again(struct pair *p);

/* Sends under the next DDP-SSN. */
void pair_tx(struct pair *p, struct raw_msg m);

/* Sends a few bytes as a Send, and requires that they are received by the next receive. */
void pair_alive(struct pair *p);

/* Both sides end the session in order. */
void pair_end(struct pair *p);

/* The daemon must answer the message with the Terminate of `err` and a Session Terminate, and
 * report it to the client. The rest of the session is then over. */
void pair_refused(struct pair *p, uint16_t err, const struct raw_msg *cause);

/* The same for one out of n errors. */
void pair_refused_any(struct pair *p, const uint16_t *err, unsigned n, const struct raw_msg *cause);

/* The daemon must answer an illegal sequence with only a Session Terminate, and report an error to
 * the client. */
void pair_violated(struct pair *p);

/* Waits for DISCONNECTED with an error (or without) and this Terminate, and flushes. */
void pair_disconnected(struct pair *p, bool error, uint16_t term);

/* Waits until the daemon has handled all earlier messages and sent its answers: a session on
 * another stream is requested and refused. */
void pair_marker(struct link *l);

#endif
