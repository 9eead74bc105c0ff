/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains: what may use a region together (RFC 5041 8.2). */
#ifndef DAEMON_OBJECTS_PD_H
#define DAEMON_OBJECTS_PD_H

#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"

struct client;

struct pd {
	struct client *client;
	uint32_t handle;
	uint64_t number;              /* unique in the daemon, as the STag table knows it */
	unsigned mrs, mws, qps, srqs; /* that belong to it */
	struct acct_charge charge;
};

/* Makes a domain for the client. 0 or a refusal. */
int pd_alloc(struct client *c, struct reply *rep);

/* All but hdr. */
void pd_query(const struct pd *pd, struct msg_pd_state *ret);

/* -EBUSY while it is used, in words. */
int pd_dealloc(struct pd *pd, struct reply *rep);

/* Frees it. NULL is fine; returns NULL. */
struct pd *pd_free(struct pd *pd);

#endif
