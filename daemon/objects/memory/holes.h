/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holes in the memfds of clients. The kernel charges a page to the process that touches it first,
 * also if that is the daemon, on behalf of a peer. So the pages that the daemon is about to fill
 * are charged to the user of the memory (limits.sparse_bytes), and beyond the limit it does not
 * touch them.
 *
 * Which pages are there is remembered, so that most accesses cost a comparison. A client may punch
 * holes behind that: one access of a thousand is looked at all the same, and the pages of a user
 * who was found to do that are not remembered any more.
 */
#ifndef DAEMON_OBJECTS_HOLES_H
#define DAEMON_OBJECTS_HOLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "util/list.h"

struct client;
struct holes;
struct mapping;
struct span;

/* Of a mapping, in struct mapping. Zero, with the link initialized: it is not watched. */
struct holes_filled {
	uint64_t *page;   /* a bit for each page that was charged and may still be there */
	struct list link; /* in holes.filled while a page is charged */
	struct acct_charge bytes, memory;
};

enum {
	HOLES_E_OK,
	HOLES_E_UNSEEN, /* mincore() is forbidden here, or does not tell holes */
};

/* No page is known yet. random: getrandom(). Returns HOLES_E_*, or a negative errno value. */
int holes_new(ssize_t (*random)(void *, size_t, unsigned), struct holes **ret);

/* No mapping is watched any more. NULL is fine. */
void holes_free(struct holes *h);

/* From now on pages of the mapping are charged when they are filled. 0 or a refusal. No
 * effect without worker.holes. */
int holes_watch(struct mapping *m, struct reply *rep);

/* The mapping is about to end: releases its charges. */
void holes_unwatch(struct mapping *m);

/* A region ends: its client may now punch holes there. */
void holes_forget(struct holes *h, const uint8_t *p, uint64_t len);

/* The memory, perhaps of this client, is about to be read or written. False: it has holes, and the
 * limit does not permit to fill them; client.regions.unfilled has the reason. */
bool holes_fill(struct client *c, const struct span *at, unsigned n);

#endif
