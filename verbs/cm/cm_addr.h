/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of ids, and which daemon serves them. */
#ifndef VERBS_CM_ADDR_H
#define VERBS_CM_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs/cm/cm_id.h"

/* Shows the program copies of the addresses of the id. */
void cm_addr_publish(struct cm_id *id);

/* True if the program chose the local address of the id. */
bool cm_addr_chosen(const struct cm_id *id);

/* Gives an id without a device that of the daemon that has its address, of the first one for a
 * wildcard. Returns 0, or -1 with errno. */
int cm_addr_any_host(struct cm_id *id);

/* Store the addresses of a session request, and of a session, in the id. */
void cm_addr_of_request(struct cm_id *id, const struct ddp_cm_event *ev);
void cm_addr_of_session(struct cm_id *id);

/* Finds the address at which the id listens at this daemon: its own or, for a wildcard of one
 * family at a daemon with several, an address of the daemon of that family. False if the daemon has
 * no such address. */
bool cm_addr_to_listen(const struct cm_id *id, struct host *h, struct sockaddr_storage *ret);

#endif
