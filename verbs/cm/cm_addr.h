/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of ids, and which daemon serves them. */
#ifndef VERBS_CM_ADDR_H
#define VERBS_CM_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs/cm/cm_id.h"

/* True if the program chose the local address of the id. */
bool cm_addr_chosen(const struct cm_id *id);

/* For a listener on a wildcard, which has no device: that of the first daemon. 0, or -1 with errno.
 */
int cm_addr_any_host(struct cm_id *id);

/* Notes the addresses of a session request, and of a session. */
void cm_addr_of_request(struct cm_id *id, const struct ddp_cm_event *ev);
void cm_addr_of_session(struct cm_id *id);

/* Where the id listens at this daemon: its own address or, for a wildcard of one family, one of the
 * daemon if that has other families, too. false: the daemon has no address of the family. */
bool cm_addr_to_listen(const struct cm_id *id, struct host *h, struct sockaddr_storage *ret);

#endif
