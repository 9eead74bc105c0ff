/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The STags of all clients: the protocol's table, and random values for new entries. The table
 * grows and shrinks with its entries.
 */
#ifndef DAEMON_OBJECTS_STAGS_H
#define DAEMON_OBJECTS_STAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { STAGS_ENTRY_BYTES = 512 /* memory of the table for each entry, once there are some */ };

struct stag_region;
struct stag_table;
struct stags;

/* Fills len bytes at p with random bytes, as getrandom() does. Returns len, or -1 with errno. */
typedef ssize_t stags_random_fn(void *p, size_t len, unsigned flags);

/* A table for at most max regions and windows. 0 or -ENOMEM. */
int stags_new(uint32_t max, stags_random_fn *random, struct stags **ret);

/* NULL is fine; returns NULL. */
struct stags *stags_free(struct stags *s);

/* The protocol's table. */
struct stag_table *stags_table(const struct stags *s);

/*
 * Enters a region or window under a fresh random value (RFC 5040 8.1.1 item 8) that is 0 with no
 * key. Returns 0 with r->stag set, -ENOSPC when the table is full, -ENOMEM, or the error of the
 * random numbers.
 */
int stags_add(struct stags *s, struct stag_region *r);

/* Removes the entry. False if there is none with that value. As for stag_remove(). */
bool stags_remove(struct stags *s, uint32_t stag);

/* Enters a region in the place of the one with the same STag, which exists. */
void stags_replace(struct stags *s, const struct stag_region *r);

/* The error of a failed stags_add() as a sentence. */
const char *stags_str(int r);

#endif
