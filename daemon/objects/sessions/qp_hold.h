/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hold of a queue pair: memory for messages that wait for a receive or for their turn. Most
 * holds are never used. So at first a hold is only mapped; the part that messages use is charged
 * when they wait, to the pool of the user (limits.held), and given back after a while without
 * messages.
 */
#ifndef DAEMON_OBJECTS_QP_HOLD_H
#define DAEMON_OBJECTS_QP_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "util/timer.h"

struct qp;

/* All zero: none. */
struct qp_hold {
	void *mem;
	size_t size; /* mapped */
	uint32_t bytes, ms;
	uint32_t charged;        /* bytes from its beginning that messages may use */
	struct acct_charge held; /* while messages wait in it, and a while longer */
	struct acct_charge maps;
	struct timer idle; /* set while it is charged */
};

/* Maps a hold of `bytes` for messages that wait at most `ms`. 0 or a refusal. */
int qp_hold_make(struct qp *qp, uint32_t bytes, uint32_t ms, struct reply *rep);

/* A message is about to wait, up to this byte of the hold: charges as much, without a system call.
 * False: limits.held does not allow it. The first 64 KiB are granted. */
bool qp_hold_keep(struct qp *qp, uint32_t reach);

/* Fires for qp.hold.idle: gives the memory of an empty hold back. */
void qp_hold_idle(struct timer *t);

/* Frees the hold, if there is one. Its endpoint is not used again. */
void qp_hold_free(struct qp *qp);

#endif
