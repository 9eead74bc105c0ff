/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners. A listener at a wildcard address listens at each daemon. */
#ifndef VERBS_CM_LISTEN_H
#define VERBS_CM_LISTEN_H

#include "verbs/cm/cm_id.h"

/* Listens at the address and port of the id, which gets a device and a port if it has none;
 * requests go to id->on_request. 0 or a negative errno value. */
int cm_listen_start(struct cm_id *id);

/* Reserves the port of an id that is bound to an address, so that no other id gets it. Requests go
 * to id->on_request from now on: a program that closes a port and binds it again loses none. 0 or a
 * negative errno value. */
int cm_listen_reserve(struct cm_id *id);

/* The program connects: a port that is reserved takes no request from now on. */
void cm_listen_refuse(struct cm_id *id);

/* Gives a port back that is reserved and not listened at, if one is. */
void cm_listen_release(struct cm_id *id);

/* Ends the listeners besides id->end. */
void cm_listen_end(struct cm_id *id);

#endif
