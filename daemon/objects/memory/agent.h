/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent of a client: a thread of its library that copies memory which the daemon cannot map
 * (ipc/agent.h). The daemon reads and writes a shadow (ipc/shadow.h) in its place. It marks the
 * bytes that it writes there, and before it answers a request of a peer it has the agent copy. An
 * agent that does not answer makes its own queue pairs wait, and after session.agent_ms their
 * sessions end.
 */
#ifndef DAEMON_OBJECTS_AGENT_H
#define DAEMON_OBJECTS_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "daemon/objects/client/rings.h"
#include "ipc/agent.h"
#include "ipc/shadow.h"
#include "util/list.h"
#include "util/timer.h"

struct agent_region;
struct client;
struct rdmap_reach;
struct span;
struct worker;

struct agent {
	struct client *client;
	struct rings rings;
	struct agent_area *area;     /* in the rings' memory; only answers are read there */
	uint32_t asked[AGENT_SLOTS]; /* as in the slots */
	int bell;                    /* the daemon's end; the client has the other */
	struct list ring;            /* in worker.agents: the bell is to be rung */
	uint64_t marked;             /* times that bytes were marked */
	uint64_t synced;             /* the value of `marked` up to which the agent has copied */
	struct acct_charge memory, bell_fd;
};

/* The shadow of a region, in struct mr. All zero: none. */
struct agent_region {
	struct agent *agent;
	const uint8_t *start; /* of the part that is written; agent_region_add() sorts by it */
	struct shadow shadow;
	uint32_t slot; /* agent_region_slot() */
};

/* A queue pair's request to the agent of its client. */
struct agent_call {
	struct client *client;
	uint32_t qp; /* handle of the queue pair: it has a slot of its own */
	enum {
		AGENT_CALL_NONE,
		AGENT_CALL_WAITS, /* for the answer to an older request in its slot */
		AGENT_CALL_ASKED,
	} state;
	struct agent_request request;
	uint64_t marked; /* agent.marked when it was asked */
	uint64_t deadline_ms;
	struct timer timer; /* wakes the queue pair at the deadline */
};

/* Makes the agent of a client that has none. Its memory and bell go with the reply. 0 or a refusal.
 */
int agent_open(struct client *c, struct msg_agent *ret, struct reply *rep);

/* Its regions and queue pairs are gone. NULL is fine; returns NULL. */
struct agent *agent_free(struct agent *a);

/* From now on marks the bytes that are written to a mapped shadow. base: of the whole shadow.
 * handle: of the region. Returns 0, -ENOMEM, or -EEXIST if this memory is the shadow of another
 * region. */
int agent_region_add(struct agent_region *r, struct agent *a, uint8_t *base,
		     const struct shadow_layout *layout, uint32_t handle);

/* Stops marking. All zero is fine. */
void agent_region_remove(struct agent_region *r);

/* Bytes were written to memory of clients: marks those in shadows. */
void agent_placed(struct worker *w, const struct span *dst, unsigned n);

/* Initializes a call without a request in flight. The caller sets call->qp before the first
 * session. */
void agent_call_init(struct agent_call *call, struct client *c);

/* A request of the peer is about to be answered, or one of this side to be sent: for
 * rdmap_ops.reach. RDMAP_AT_HAND ... */
int agent_reach(struct agent_call *call, struct rdmap_reach *r);

/* The session is over: drops the request. A late answer is ignored. */
void agent_forget(struct agent_call *call);

/* Rings the bell of each sleeping agent with work. True if there was any. */
bool agent_ring_bells(struct worker *w);

#endif
