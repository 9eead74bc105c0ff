/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows: rows of the STag table that show part of a region. What a window shows is in
 * the table alone, for a type 2 window is bound and invalidated by work requests and by
 * peers; the daemon knows it by the index of its value.
 */
#ifndef DAEMON_OBJECTS_MW_H
#define DAEMON_OBJECTS_MW_H

#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"

struct client;
struct mr;
struct pd;

struct mw {
	struct client *client;
	uint32_t handle;
	struct pd *pd;
	uint32_t type; /* MSG_MW_TYPE_ */
	uint32_t stag; /* a value that it has or had: the index counts. 0: not in the table */
	struct acct_charge charge;
};

/* Makes a window that is not bound. 0 or a refusal. */
int mw_alloc(struct client *c, const struct msg_alloc_mw *req, struct reply *rep);

/* Binds a type 1 window, under a new value: to mr, or to nothing (NULL). 0 or a refusal. */
int mw_bind(struct mw *mw, const struct mr *mr, const struct msg_bind_mw *req, struct reply *rep);

/* Type 2 windows that are bound to the endpoint of that scope are not any more: it has ended. */
void mw_release(struct client *c, uint64_t pd, uint64_t scope);

/* All but hdr. */
void mw_query(const struct mw *mw, struct msg_mw_state *ret);

/* Ends what it shows, and frees it. NULL is fine; returns NULL. */
struct mw *mw_free(struct mw *mw);

#endif
