/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent of a context: a thread that copies memory which can neither be shared nor adopted
 * between its region and the shadow that the daemon uses in its place (ipc/agent.h). It serves the
 * peers' Reads and atomics, and copies what peers write. A Send copies when it is posted, or behind
 * a fence when the daemon asks for it. A thread that takes completions first copies what was placed
 * before them.
 *
 * It copies by system calls, so memory that the program has unmapped is an error of the request
 * and no signal.
 */
#ifndef DDP_AGENT_H
#define DDP_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/own_memory/sparse.h"
#include "ipc/shadow.h"
#include "util/list.h"

struct agent;
struct ddp_ctx;
struct ddp_sge;
struct ring_map;

/* A region whose memory is copied. All zero: none. */
struct agent_region {
	struct agent *agent; /* NULL until agent_region_add() */
	struct list by_stag, by_slot;
	uint32_t stag;
	uint8_t *addr;
	uint64_t len, iova;
	uint64_t head;      /* the shadow of the first byte: addresses have the same alignment */
	struct sparse file; /* the shadow; fd -1: none */
	struct shadow_layout layout;
	void *marks; /* mapped */
	struct shadow shadow;
};

/* Starts the agent of a context that has none. The area is mapped, and fits; map, a reference, and
 * the bell are the agent's unless it fails. Returns 0 or a negative errno value. */
int agent_start(struct ddp_ctx *ctx, struct ring_map *map, uint8_t *area, int bell);

/*
 * Makes the shadow of len bytes at addr. call: name of the public function. Returns 0, or a
 * negative errno value with the reason set and *ret all zero.
 */
int agent_region_make(const char *call, void *addr, size_t len, uint64_t iova,
		      struct agent_region *ret);

/* The daemon has registered the region under this handle: copies from now on. */
void agent_region_add(struct agent_region *r, struct ddp_ctx *ctx, uint32_t handle, uint32_t stag);

/* It has another STag. All zero is fine. */
void agent_region_set_stag(struct agent_region *r, uint32_t stag);

/* The daemon does not use it any more: copies what it has placed, and frees the shadow. All zero is
 * fine. */
void agent_region_free(struct agent_region *r);

/* Copies the elements of a Send or Write to their shadows. Returns 0, or -EFAULT with the reason
 * set. */
int agent_gather(struct ddp_ctx *ctx, const struct ddp_sge *sge, int n);

/* Whether one of them has to be copied. */
bool agent_has(struct ddp_ctx *ctx, const struct ddp_sge *sge, int n);

/* Copies all that was placed so far to the regions. */
void agent_sync(struct ddp_ctx *ctx);

/* Ends the thread, if there is one. There is no region any more. */
void agent_close(struct ddp_ctx *ctx);

#endif
