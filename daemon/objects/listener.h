/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waits for sessions at an SCTP port, and the requests that wait for its client's answer.
 */
#ifndef DAEMON_OBJECTS_LISTENER_H
#define DAEMON_OBJECTS_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/net/endpoint_addrs.h"
#include "daemon/base/reply.h"
#include "proto/wire.h"

struct assoc_event;
struct client;
struct daemon;
struct llp_listener;
struct association;
struct qp;

struct listener {
	struct client *client;
	uint32_t handle;
	uint32_t cookie;
	uint32_t backlog;
	uint32_t waiting; /* requests handed to the client and not answered */
	uint16_t port;
	struct addr_set at;              /* empty: all addresses */
	struct llp_listener *net, *self; /* at either transport */
	struct acct_charge charge;
	uint64_t requests;
};

/* An Initiate that the client has to answer. */
struct request {
	struct client *client;
	uint32_t handle;
	struct listener *listener; /* closing it refuses the request */
	struct association *assoc;
	uint16_t sid;
	bool enhanced;       /* an enhanced one, that said ... */
	struct wire_enh enh; /* ... this */
};

/* The daemon that it belongs to. */
struct daemon *listener_daemon(const struct listener *l);

/* Listens at both transports for the client, and takes over associations that came to an earlier
 * listener of the port. 0 or a refusal: port taken, address not ours. */
int listener_create(struct client *c, const struct msg_listen *req, struct reply *rep);

/* Refuses what waits. NULL is fine; returns NULL. */
struct listener *listener_free(struct listener *l);

/* An Initiate came in on an association of a listener, or of none (NULL): asks the client, or
 * refuses with a Terminate (RFC 5043 6.4). */
void listener_request(struct listener *l, struct association *assoc, const struct assoc_event *ev);

/* The request that waits on this stream is void; its client is told. */
void listener_withdrawn(struct association *assoc, uint16_t sid);

/* The peer is about to be freed: forgets its requests. */
void listener_assoc_gone(struct daemon *d, struct association *assoc);

/* Answers of the client. 0 or a refusal. */
int listener_accept(struct client *c, const struct msg_accept *req, struct reply *rep);
int listener_reject(struct client *c, const struct msg_reject *req, struct reply *rep);

/* Refuses the request with a Terminate and frees it. NULL is fine; returns NULL. */
struct request *listener_request_free(struct request *r);

#endif
