/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of one stream that are kept whole until they can be placed: they wait for a receive, or
 * for earlier messages. Found by DDP-SSN in constant time. The memory is the caller's.
 */
#ifndef PROTO_HOLD_H
#define PROTO_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hold {
	uint8_t *mem;   /* entries in the order of arrival, a ring; NULL: no message can be kept */
	uint32_t *at;   /* ring by DDP-SSN: offset of the entry plus 1, or 0 */
	uint32_t mask;  /* of at */
	uint32_t size;  /* bytes of mem */
	uint32_t head;  /* the oldest entry */
	uint32_t tail;  /* after the youngest */
	uint32_t wrap;  /* entries after this offset continue at 0; 0: they do not */
	uint32_t n;     /* messages */
	uint32_t bytes; /* of entries with messages */
};

/* Memory for a hold whose messages and entries take up to `bytes`. */
size_t hold_size(uint32_t bytes);

/* Bytes of it that a message of len bytes takes. */
uint32_t hold_room(uint32_t len);

/* Up to which byte of it the next message would reach, if it has len bytes. 0: there is no room. */
uint32_t hold_reach(const struct hold *h, uint32_t len);

/* Makes an empty hold in zeroed memory of that size, aligned to 8; only used parts are written. */
void hold_init(struct hold *h, void *mem, uint32_t bytes);

/* Adds a message of len bytes. Returns the memory for it, or NULL if there is no room. The caller
 * has checked that this number is not used yet. */
uint8_t *hold_add(struct hold *h, uint16_t ssn, uint32_t len);

/* The message of this number, with its length, or NULL. Valid until hold_del(). */
uint8_t *hold_find(const struct hold *h, uint16_t ssn, uint32_t *ret_len);

/* True if p points to a message in the hold. */
bool hold_has(const struct hold *h, const uint8_t *p);

/* Removes the message of this number, if there is one. */
void hold_del(struct hold *h, uint16_t ssn);

/* Takes any message; *ret_p is valid until the next call. False if there is none. *pos begins with
 * 0 and belongs to the calls of one loop. */
bool hold_take(struct hold *h, uint32_t *pos, uint16_t *ret_ssn, uint8_t **ret_p,
	       uint32_t *ret_len);

/* Removes all messages. */
void hold_clear(struct hold *h);

#endif
