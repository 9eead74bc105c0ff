/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners. A listener at a wildcard address listens at each daemon. */
#ifndef VERBS_CM_LISTEN_H
#define VERBS_CM_LISTEN_H

#include "verbs/cm/cm_id.h"

/* The receiver of requests. listener: the id of the program; host: the daemon of the request;
 * context: context_of_cm(host). */
typedef void (*cm_listen_request)(struct cm_id *listener, struct host *host,
				  struct ibv_context *context, const struct ddp_cm_event *ev);

/* Listens at the address and port of the id, which gets a device and a port if it has none. 0 or a
 * negative errno value. */
int cm_listen_start(struct cm_id *id, int backlog, cm_listen_request on_request);

/* Reserves the port of an id that is bound to an address, so that no other id gets it. 0 or a
 * negative errno value. */
int cm_listen_reserve(struct cm_id *id);

/* Gives a port back that is reserved, if one is. */
void cm_listen_release(struct cm_id *id);

/* Ends the listeners besides id->end. */
void cm_listen_end(struct cm_id *id);

#endif
