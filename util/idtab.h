/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Table from ids to objects. An id has a generation in its upper half, so that the id of a deleted
 * object does not name its successor. No id is 0.
 */
#ifndef UTIL_IDTAB_H
#define UTIL_IDTAB_H

#include <stdint.h>

struct idtab_slot;

struct idtab {
	struct idtab_slot *slots;
	uint32_t size;  /* slots allocated */
	uint32_t max;   /* slots allowed, at most 65535 */
	uint32_t used;  /* objects in the table */
	uint32_t free1; /* first free slot + 1, or 0 */
};

enum {
	IDTAB_E_OK,
	IDTAB_E_FULL, /* max objects are in the table */
};

/* Makes an empty table for at most max objects. Does not allocate. */
void idtab_init(struct idtab *t, uint32_t max);

/* Raises the maximum to max. A lower maximum has no effect. */
void idtab_allow(struct idtab *t, uint32_t max);

/* Frees the table, but not the objects. */
void idtab_deinit(struct idtab *t);

/* Adds an object, never NULL. Returns 0, IDTAB_E_FULL or -ENOMEM. */
int idtab_add(struct idtab *t, void *obj, uint32_t *ret_id);

/* The object, or NULL if there is none with that id. */
void *idtab_get(const struct idtab *t, uint32_t id);

/* Removes and returns the object; NULL if there is none with that id. */
void *idtab_del(struct idtab *t, uint32_t id);

/* The object in a slot, slots counted from 0 in the order of ids; NULL if there is none. */
void *idtab_at(const struct idtab *t, uint32_t slot);

/*
 * The object in the first occupied slot at or after *pos; sets *pos to the next slot. NULL at the
 * end. Start with *pos = 0. Objects may be deleted between calls.
 */
void *idtab_next(const struct idtab *t, uint32_t *pos);

#endif
