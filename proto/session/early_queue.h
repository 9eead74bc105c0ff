/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that arrive before the Accept of their session (RFC 5043 6.2, 6.6). They are kept whole,
 * because no endpoint can place their payload yet. Peers decide how many there are, so their memory
 * is asked for when it is needed, and given back when none is left.
 */
#ifndef PROTO_EARLY_QUEUE_H
#define PROTO_EARLY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Like realloc(): `to` bytes instead of the `from` bytes at p; 0: none. NULL: refused, p stays. */
struct early_memory {
	void *(*resize)(void *user, void *p, uint32_t from, uint32_t to);
	void *user;
};

struct early_queue {
	struct early_memory owner;
	uint8_t *mem;
	uint32_t size, max; /* bytes of it, now and at most */
	uint32_t used;      /* entries lie in mem[0 .. used) */
	uint32_t live;      /* entries that are not dead */
	uint32_t ready;     /* entries that may be taken */
	uint32_t scan;      /* offset: no entry before it may be taken */
};

/* Makes an empty queue of at most max bytes. */
void early_queue_init(struct early_queue *s, const struct early_memory *owner, uint32_t max);

/* Removes all messages, and gives the memory back. */
void early_queue_clear(struct early_queue *s);

/* Adds a message of len bytes. Returns the memory for it, or NULL if the queue is full or gets no
 * memory. */
uint8_t *early_queue_add(struct early_queue *s, uint16_t sid, uint32_t ppid, uint32_t len);

/* From now on the messages of a stream may be taken. */
void early_queue_release(struct early_queue *s, uint16_t sid);

/* The same for only the first message that begins with the 16-bit number ssn, if there is one. */
void early_queue_release_ssn(struct early_queue *s, uint16_t sid, uint16_t ssn);

/* Removes the messages of a stream. Returns their number. */
uint32_t early_queue_drop(struct early_queue *s, uint16_t sid);

/*
 * Takes the oldest released message. *ret_p is valid until the next early_queue_add() or
 * early_queue_take(). False if there is none: an empty queue gives its memory back then.
 */
bool early_queue_take(struct early_queue *s, uint16_t *ret_sid, uint32_t *ret_ppid, uint8_t **ret_p,
		      uint32_t *ret_len);

#endif
