/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains: only queue pairs of a region's domain may use the region (RFC 5041 8.2). */
#ifndef DAEMON_OBJECTS_PD_H
#define DAEMON_OBJECTS_PD_H

#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"

struct client;

struct pd {
	struct client *client;
	uint32_t handle;
	uint64_t number;                   /* unique in the daemon, used by the STag table */
	unsigned mrs, mws, qps, srqs, ahs; /* objects that belong to it */
	struct acct_charge charge;
};

/* Creates a domain for the client. 0 or a refusal. */
int pd_alloc(struct client *c, struct msg_handle *ret, struct reply *rep);

/* Fills in all members except hdr. */
void pd_query(const struct pd *pd, struct msg_pd_state *ret);

/* Frees the domain, or refuses with -EBUSY while it is used. */
int pd_dealloc(struct pd *pd, struct reply *rep);

/* Frees it. NULL is fine; returns NULL. */
struct pd *pd_free(struct pd *pd);

#endif
