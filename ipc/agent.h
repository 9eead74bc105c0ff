/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that a client's agent and the daemon share. The agent is a thread of the library that
 * copies memory which the daemon cannot map, between its region and the shadow (shadow.h). The
 * daemon makes the memory. It waits only for answers, which it copies once and checks.
 *
 * Regions with new marks, and slots with a request, are reported as in a bell page, in the
 * other direction: `sleeping` of `work` is the agent's, and the daemon then rings its bell.
 */
#ifndef IPC_AGENT_H
#define IPC_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/ring.h"

enum {
	AGENT_SLOTS = BELL_QUEUES, /* one for each queue pair, numbered as its bell */
	AGENT_CHUNK = 256 << 10,   /* bytes of a Read that are fetched at once */
};

enum agent_op {
	AGENT_SYNC,  /* copies all marked bytes; the others begin with this */
	AGENT_FETCH, /* then copies a part of the region to the part that the daemon reads */
	AGENT_FETCH_ADD,
	AGENT_CMP_SWAP,
	AGENT_OP_COUNT
};

enum {
	AGENT_OK,
	AGENT_FAILED, /* no such region or range, or its memory is gone */
};

/* Written by the daemon, before `asked` of its slot. */
struct agent_request {
	uint32_t op; /* enum agent_op */
	uint32_t stag;
	uint64_t offset; /* in the region */
	uint64_t len;
	uint64_t data, mask, compare, compare_mask; /* RFC 7306 5.1 */
};

/* Written by the agent, before `answered` of its slot. */
struct agent_answer {
	uint32_t result; /* AGENT_OK or AGENT_FAILED */
	uint32_t pad;
	uint64_t old; /* atomics */
};

/* A request waits while asked and answered differ. */
struct agent_slot {
	_Alignas(RING_LINE) struct agent_request request;
	_Atomic uint32_t asked;
	_Alignas(RING_LINE) struct agent_answer answer;
	_Atomic uint32_t answered;
};

struct agent_area {
	struct bell_page work;   /* by slot */
	struct bell_page placed; /* by region: agent_region_slot() */
	struct agent_slot slot[AGENT_SLOTS];
};

_Static_assert(sizeof(struct agent_slot) == 2 * RING_LINE, "the layout is shared");

/* ---- daemon ---- */

/* Puts a request into a slot whose last one is answered. asked: its number, one more than that of
 * the last. */
static inline void agent_ask(struct agent_slot *s, const struct agent_request *q, uint32_t asked)
{
	s->request = *q;
	/* pairs with the acquire in agent_take() */
	atomic_store_explicit(&s->asked, asked, memory_order_release);
}

/* True if the request of that number is answered, with a copy of the answer. */
static inline bool agent_is_answered(const struct agent_slot *s, uint32_t asked,
				     struct agent_answer *ret)
{
	/* pairs with the release in agent_answer() */
	if (atomic_load_explicit(&s->answered, memory_order_acquire) != asked)
		return false;
	*ret = s->answer;
	return true;
}

/* ---- agent ---- */

/* True if a request waits: a copy of it, and its number. */
static inline bool agent_take(const struct agent_slot *s, struct agent_request *ret,
			      uint32_t *ret_asked)
{
	*ret_asked = atomic_load_explicit(&s->asked, memory_order_acquire);
	if (*ret_asked == atomic_load_explicit(&s->answered, memory_order_relaxed))
		return false;
	*ret = s->request;
	return true;
}

/* Answers it. */
static inline void agent_answer(struct agent_slot *s, const struct agent_answer *a, uint32_t asked)
{
	s->answer = *a;
	atomic_store_explicit(&s->answered, asked, memory_order_release);
}

/* ---- both ---- */

/* The bell of a region with this handle; regions may share it. */
static inline uint32_t agent_region_slot(uint32_t handle)
{
	return (handle & 0xffff) % BELL_QUEUES;
}

#endif
