/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions: a mapped part of a client's memfd, and its row in the STag table. Every access
 * looks the STag up and keeps no pointer, so a region whose row is gone can be unmapped at once.
 */
#ifndef DAEMON_OBJECTS_MR_H
#define DAEMON_OBJECTS_MR_H

#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/memory/notice.h"

struct client;
struct cq;
struct mapping;
struct pd;
struct scope;

struct mr {
	struct client *client;
	uint32_t handle;
	struct pd *pd;
	uint32_t stag;
	uint32_t access; /* STAG_* */
	uint64_t iova, len;
	uint64_t offset; /* in its memfd */
	struct mapping *mapping;
	uint32_t rung, reason;      /* RUNG_*, as the client reports */
	struct agent_region shadow; /* RUNG_AGENT: the memfd is its shadow */
	struct notice notice;
	struct acct_charge charge, bytes, memory;
};

/* Registers [offset, offset + len) of the memfd. The fd stays the caller's. */
int mr_register(struct client *c, const struct msg_reg_mr *req, int fd, struct msg_mr *ret,
		struct reply *rep);

/* The same, with how its memory became shared. RUNG_AGENT: the memfd is the shadow of len bytes
 * that begin at the offset, which is less than SHADOW_PAGE; all of it is charged. */
int mr_register_own(struct client *c, const struct msg_reg_own_mr *req, int fd, struct msg_mr *ret,
		    struct reply *rep);

/* Restricts the region to the queue pair with this scope, or opens it to the domain if scope is
 * NULL, under a new STag. Refuses with -EBUSY while windows are bound to it. */
int mr_bind(struct mr *mr, const struct scope *scope, struct msg_mr *ret, struct reply *rep);

/* Completes the Writes of peers to the region in this queue from now on; NULL: in none. 0, or a
 * refusal without a change: -EBUSY if the queue has no room that can be kept for it. */
int mr_notify(struct mr *mr, struct cq *cq, uint64_t wr_id, struct reply *rep);

/*
 * Changes the attributes that the record names, under a new STag, for the whole domain. 0, or a
 * refusal with the region unchanged. fd: with MSG_REREG_TRANSLATION the new memfd, which stays the
 * caller's; else -1. -EBUSY as above.
 */
int mr_rereg(struct mr *mr, const struct msg_rereg_mr *req, int fd, struct msg_mr *ret,
	     struct reply *rep);

/* Fills in all members except hdr. */
void mr_query(const struct mr *mr, struct msg_mr_state *ret);

/* Ends the registration. -EBUSY as above. */
int mr_dereg(struct mr *mr, struct reply *rep);

/* Revokes and unmaps; no window is bound to it. NULL is fine; returns NULL. */
struct mr *mr_free(struct mr *mr);

#endif
