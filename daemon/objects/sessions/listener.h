/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that waits for sessions at an SCTP port. */
#ifndef DAEMON_OBJECTS_LISTENER_H
#define DAEMON_OBJECTS_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "util/list.h"

struct assoc_event;
struct association;
struct client;
struct port;

struct listener {
	struct client *client;
	struct port *port;
	struct list link; /* in port.listeners */
	uint64_t key;     /* that session requests name; 0: none */
	uint32_t handle;
	uint32_t cookie;
	uint32_t backlog;
	uint32_t demands;   /* set of MSG_LISTEN_ */
	uint32_t waiting;   /* session requests that the client has not answered */
	struct list asking; /* the same session requests */
	/* Instead of asking a program, or NULL. False: the request is refused, for the reason. */
	bool (*accept)(struct association *assoc, const struct assoc_event *ev,
		       const char **reason);
	struct acct_charge charge;
	uint64_t requests;
};

/* Listens at both transports for the client. key 0: the listener of the port without a key. 0
 * or a refusal: port or key taken, address not ours. */
int listener_create(struct client *c, const struct msg_listen *req, uint64_t key,
		    struct msg_listener *ret, struct reply *rep);

/* Refuses the session requests that wait. NULL is fine; returns NULL. */
struct listener *listener_free(struct listener *l);

#endif
