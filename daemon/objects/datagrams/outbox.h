/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams of several queue pairs that wait for a session, in the order of their Sends: a ring
 * of bytes, so that small ones need little room. Each is in one piece. They are added, taken, and
 * done in the same order.
 */
#ifndef DAEMON_OBJECTS_OUTBOX_H
#define DAEMON_OBJECTS_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OUTBOX_BYTES = 256 << 10,
	OUTBOX_ENTRIES = 512, /* a power of two */
};

struct outbox_entry {
	uint32_t at, len;
	uint32_t from; /* number of the queue pair */
};

struct outbox {
	uint8_t *mem; /* OUTBOX_BYTES */
	struct outbox_entry *entries;
	uint32_t head, taken, tail;
};

/* Bytes of memory for it. */
static inline size_t outbox_memory(void)
{
	return OUTBOX_BYTES + OUTBOX_ENTRIES * sizeof(struct outbox_entry);
}

/* Empty, in memory of that size, which is the caller's. */
void outbox_init(struct outbox *o, uint8_t *mem);

/*
 * Room for a datagram of len bytes, at least 1, which the caller writes. NULL: there is none. The
 * last quarter is for queue pairs that have no datagram here, so that one that sends more than its
 * share leaves room for others.
 */
uint8_t *outbox_add(struct outbox *o, uint32_t from, uint32_t len);

/* How many were not taken. */
uint32_t outbox_waiting(const struct outbox *o);

/* Takes the next one; it stays in its place until it is done. NULL: none waits. */
const struct outbox_entry *outbox_take(struct outbox *o);

/* The oldest one that was taken is done. Returns the number of its queue pair. */
uint32_t outbox_done(struct outbox *o);

#endif
