/* SPDX-License-Identifier: BSD-2-Clause */
/* A received Initiate, from its event for the listener's client to the answer. */
#ifndef DAEMON_OBJECTS_SESSION_REQUEST_H
#define DAEMON_OBJECTS_SESSION_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/outq.h"
#include "daemon/base/reply.h"
#include "proto/ddp/wire.h"
#include "util/list.h"

struct association;
struct assoc_event;
struct client;
struct listener;
struct port;

struct session_request {
	struct client *client;
	uint32_t handle;
	struct listener *listener; /* closing it refuses the session request */
	struct association *assoc;
	struct list link;        /* in association.requests */
	struct list asking;      /* in listener.asking */
	struct outq_place event; /* MSG_EV_REQUEST, then MSG_EV_WITHDRAWN */
	uint16_t sid;
	bool enhanced;       /* the Initiate was an enhanced one (RFC 6581) ... */
	struct wire_enh enh; /* ... with these parameters */
};

/* An Initiate was received. Asks the client that listens on the port with the Initiate's service
 * key; or refuses with a Terminate (RFC 5043 6.4): without a port (NULL) or such a listener, beyond
 * its backlog or the part of it for one peer, and while association or daemon are ending. If the
 * port of an accepted association is closed, the request first waits session.relisten_ms for its
 * next listener; if the peer's network guesses STags, it waits for its turn. */
void session_request_new(struct port *p, struct association *assoc, const struct assoc_event *ev);

/* The port has a listener again: in the next turn it gets the requests that wait for one. */
void session_request_listening(struct port *p);

/* The session request on this stream is void. Its client gets an event; if it has not read the
 * request's first event, that event is taken back instead. */
void session_request_withdrawn(struct association *assoc, uint16_t sid);

/* All session requests of the association are void. */
void session_request_withdraw_all(struct association *assoc);

/* Refuses all of them, also those that wait for a listener; programs that were asked get an event.
 */
void session_request_refuse_all(struct association *assoc, const char *reason);

/* The addresses of a session request. 0 or a refusal: -ECONNABORTED if it is gone. */
int session_request_query(struct client *c, const struct msg_handle *req,
			  struct msg_request_state *ret, struct reply *rep);

/* Answers of the client. 0 or a refusal. */
int session_request_accept(struct client *c, const struct msg_accept *req, struct reply *rep);
int session_request_reject(struct client *c, const struct msg_reject *req, struct reply *rep);

/* Refuses the session request with a Terminate and frees it. NULL is fine; returns NULL. */
struct session_request *session_request_free(struct session_request *r);

#endif
