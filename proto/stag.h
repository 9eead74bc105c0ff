/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The STag table, and the access check of the project: every byte that a
 * peer or a local work request reads or writes passes stag_check()
 * (RFC 5041 7.1, 8.2; RFC 5040 8.1.1). Pointers that it returns are used at once
 * and never kept, so a region is out of reach when stag_remove() returns.
 *
 * A value is 24 bits of index and 8 bits of key. No two entries share an index, so that
 * whoever owns an entry may change its key (stag_bind()) without asking who else has it.
 */
#ifndef PROTO_STAG_H
#define PROTO_STAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rights of a region. Reading it locally needs none. */
enum {
	STAG_LOCAL_WRITE = 1,
	STAG_REMOTE_WRITE = 2,
	STAG_REMOTE_READ = 4,
	STAG_REMOTE_ATOMIC = 8,
	STAG_BIND_WINDOWS = 16,
};

/* What an entry is. */
enum stag_kind {
	STAG_REGION,
	STAG_WINDOW_PD,     /* type 1: for the whole domain of its region */
	STAG_WINDOW_STREAM, /* type 2: for the endpoint that bound it */
};

enum { STAG_KEY = 0xff }; /* the bits of a value that are its key */

/* Outcomes of the check, in the order in which they are tested. */
enum {
	STAG_E_OK,
	STAG_E_INVALID, /* unknown, or invalidated */
	STAG_E_SCOPE,   /* another protection domain or stream */
	STAG_E_RIGHTS,
	STAG_E_WRAP,   /* to + len passes 2^64 */
	STAG_E_BOUNDS, /* outside the region */
};

struct stag_region {
	uint32_t stag;    /* the value, never 0 */
	uint32_t rights;  /* STAG_* */
	uint64_t pd;      /* protection domain */
	uint64_t scope;   /* endpoint that alone may use it, 0 for the whole domain */
	uint64_t to;      /* tagged offset of the first byte */
	uint64_t len;     /* to + len does not pass 2^64 */
	uint8_t *base;    /* where the first byte is mapped */
	bool valid;       /* cleared by invalidation; the entry stays until it is removed */
	uint8_t kind;     /* enum stag_kind */
	uint32_t parent;  /* windows, while valid: the region's value */
	uint32_t windows; /* regions: valid windows on it */
};

/* Who asks: compared with pd and scope of the region. */
struct stag_who {
	uint64_t pd;
	uint64_t scope;
};

struct stag_table;

/* Bytes of memory that a table for max regions needs. */
size_t stag_table_size(uint32_t max);

/* Makes an empty table in zeroed memory of that size. The memory stays the caller's. */
struct stag_table *stag_table_init(void *mem, uint32_t max);

enum {
	STAG_ADD_OK,
	STAG_ADD_E_TAKEN, /* the index is in use, or the value 0: draw another */
	STAG_ADD_E_FULL,
};

/*
 * Adds a copy of *r: a region with valid set, a window without. The caller draws r->stag at random
 * (RFC 5040 8.1.1 item 8) and has checked that to + len does not wrap.
 * Returns a STAG_ADD_ value.
 */
int stag_add(struct stag_table *t, const struct stag_region *r);

/*
 * Removes the entry. False if there is none of that value. A region's windows are removed, unbound
 * or invalidated first.
 */
bool stag_remove(struct stag_table *t, uint32_t stag);

/* The entry, valid or not, until the next change of the table; NULL if there is none. */
const struct stag_region *stag_find(const struct stag_table *t, uint32_t stag);

/*
 * The same for the entry of the value's index, whatever its key is now: whoever keeps a window need
 * not have heard of every bind.
 */
const struct stag_region *stag_find_any_key(const struct stag_table *t, uint32_t stag);

/*
 * The access check. Outcome STAG_E_*; *ret_p is set on STAG_E_OK only and is
 * good until the table changes. rights: all of them are needed. len 0 is checked
 * like any other; callers skip the check where the RFCs say so.
 */
int stag_check(const struct stag_table *t, uint32_t stag, const struct stag_who *who,
	       uint32_t rights, uint64_t to, uint64_t len, uint8_t **ret_p);

/*
 * Invalidation, by the peer (RFC 5040 5.3) or by a local request: allowed only to the stream that
 * the STag is scoped to. Returns STAG_E_OK, STAG_E_INVALID or STAG_E_SCOPE.
 */
int stag_invalidate(struct stag_table *t, uint32_t stag, const struct stag_who *who);

/* What a window is to show. */
struct stag_bind {
	uint32_t window; /* its value from now on: index of the window, any key; not 0 */
	uint32_t region;
	uint32_t rights; /* STAG_REMOTE_ ones, or none */
	uint64_t to;     /* inside the region; tagged offsets are those of the region */
	uint64_t len;    /* 0: of a type 1 window: unbind it */
};

enum {
	STAG_BIND_OK,
	STAG_BIND_E_WINDOW, /* no such window in this domain, or not of the type that `who` binds;
			       or type 2 and still valid */
	STAG_BIND_E_REGION, /* no valid region in this domain, or one that is bound to a stream */
	STAG_BIND_E_RIGHTS, /* other than STAG_REMOTE_ ones; or the region lacks STAG_BIND_WINDOWS
			       or what the rights need */
	STAG_BIND_E_BOUNDS, /* outside the region, or len 0 for a type 2 window */
};

/*
 * Binds a window: type 2 to the endpoint `who`; type 1 to the domain, and who->scope is 0, so
 * that an endpoint's request cannot. Writing and atomics need STAG_LOCAL_WRITE of the region. A
 * type 1 window may be bound anew while it is valid; unbinding looks at nothing but window and
 * len. Tests are made in the order of the outcomes. Nothing changes unless STAG_BIND_OK is
 * returned; then the window's old value means nothing any more.
 */
int stag_bind(struct stag_table *t, const struct stag_bind *b, const struct stag_who *who);

#endif
