/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows: rows of the STag table that give access to part of a region. Only the table
 * records the binding of a window, because work requests bind type 2 windows and peers invalidate
 * them. The daemon finds the row by the index of the STag.
 */
#ifndef DAEMON_OBJECTS_MW_H
#define DAEMON_OBJECTS_MW_H

#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"

struct client;
struct mr;
struct pd;
struct scope;

struct mw {
	struct client *client;
	uint32_t handle;
	struct pd *pd;
	uint32_t type; /* MSG_MW_TYPE_ */
	uint32_t stag; /* a current or former STag: its index counts. 0: not in the table */
	struct acct_charge charge, memory;
};

/* Creates an unbound window. 0 or a refusal. */
int mw_alloc(struct client *c, const struct msg_alloc_mw *req, struct msg_mr *ret,
	     struct reply *rep);

/* Binds a type 1 window to mr under a new STag, or unbinds it (NULL). 0 or a refusal. */
int mw_bind(struct mw *mw, const struct mr *mr, const struct msg_bind_mw *req, struct msg_mr *ret,
	    struct reply *rep);

/* Unbinds the type 2 windows of the queue pair with this scope, whose session has ended. */
void mw_release(struct client *c, const struct scope *scope);

/* Fills in all members except hdr. */
void mw_query(const struct mw *mw, struct msg_mw_state *ret);

/* Unbinds and frees it. NULL is fine; returns NULL. */
struct mw *mw_free(struct mw *mw);

#endif
