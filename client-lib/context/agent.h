/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent of a context: a thread that copies memory which can neither be shared nor adopted
 * between its region and a shadow, which the daemon uses instead (ipc/agent.h). It serves Reads and
 * atomics of peers, and copies the bytes that peers write. The bytes of a Send are copied when it
 * is posted or, after a fence, when the daemon asks for them. A thread that takes completions first
 * copies the bytes that were placed before them.
 *
 * It copies by system calls. So memory that the program has unmapped makes the request fail, and
 * raises no signal.
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

/* A region whose memory is copied. All zero: not in use. */
struct agent_region {
	struct agent *agent; /* NULL until agent_region_add() */
	struct list by_stag, by_slot;
	uint32_t stag;
	uint8_t *addr;
	uint64_t len, iova;
	uint64_t head;      /* offset of the first byte in the shadow: the same alignment */
	struct sparse file; /* the shadow; fd -1: none */
	struct shadow_layout layout;
	void *marks; /* mapped */
	struct shadow shadow;
};

/* Starts the agent of a context that has none. The area is mapped and large enough. The agent takes
 * map, a reference, and the bell, unless it fails. Returns 0 or a negative errno value. */
int agent_start(struct ddp_ctx *ctx, struct ring_map *map, uint8_t *area, int bell);

/*
 * Makes the shadow of len bytes at addr. call: name of the public function. Returns 0, or a
 * negative errno value with the reason set and *ret all zero.
 */
int agent_region_make(const char *call, void *addr, size_t len, uint64_t iova,
		      struct agent_region *ret);

/* Starts to copy for the region, which the daemon has registered under this handle. */
void agent_region_add(struct agent_region *r, struct ddp_ctx *ctx, uint32_t handle, uint32_t stag);

/* Notes that the region has another STag. *r may be all zero. */
void agent_region_set_stag(struct agent_region *r, uint32_t stag);

/* The agent goes on with the memory of another daemon, after the end of the one before. Regions
 * follow by agent_region_renew(). Takes map and bell, unless it fails. */
int agent_restart(struct agent *a, struct ring_map *map, uint8_t *area, int bell);

/* Notes that the region has another handle and STag. *r may be all zero. */
void agent_region_renew(struct agent_region *r, uint32_t handle, uint32_t stag);

/* Copies the bytes that the daemon has placed, and frees the shadow, which the daemon must not use
 * any more. *r may be all zero. */
void agent_region_free(struct agent_region *r);

/* Copies the elements of a Send or Write to their shadows. Returns 0, or -EFAULT with the reason
 * set. */
int agent_gather(struct ddp_ctx *ctx, const struct ddp_sge *sge, int n);

/* Whether one of the elements lies in memory that is copied. */
bool agent_has(struct ddp_ctx *ctx, const struct ddp_sge *sge, int n);

/* Copies all bytes that were placed so far to their regions. */
void agent_sync(struct ddp_ctx *ctx);

/* Ends the thread, if there is one. All regions were freed. */
void agent_close(struct ddp_ctx *ctx);

#endif
