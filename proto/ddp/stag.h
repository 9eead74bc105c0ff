/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The STag table and the access check: every access by a peer or a local work request passes
 * stag_check() (RFC 5041 7.1, 8.2; RFC 5040 8.1.1). Pointers that it returns are used at once and
 * never kept, so no access can reach a region after stag_remove() returns.
 *
 * A value is 24 bits of index and 8 bits of key. No two entries share an index, so the owner of an
 * entry may change its key (stag_bind()) without a collision.
 */
#ifndef PROTO_STAG_H
#define PROTO_STAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Access rights of a region. Local reads need none. */
enum {
	STAG_LOCAL_WRITE = 1,
	STAG_REMOTE_WRITE = 2,
	STAG_REMOTE_READ = 4,
	STAG_REMOTE_ATOMIC = 8,
	STAG_BIND_WINDOWS = 16,

	STAG_REMOTE_ALL = STAG_REMOTE_WRITE | STAG_REMOTE_READ | STAG_REMOTE_ATOMIC,
};

/* The kind of an entry. */
enum stag_kind {
	STAG_REGION,
	STAG_WINDOW_PD,     /* type 1: for the whole domain of its region */
	STAG_WINDOW_STREAM, /* type 2: for the endpoint that bound it */
};

enum {
	STAG_KEY = 0xff,   /* the key bits of a value */
	STAG_APART = 4096, /* bytes, see stag_region.apart */
};

/* Outcomes of the check, in the order in which they are tested. */
enum {
	STAG_E_OK,
	STAG_E_INVALID, /* unknown, or invalidated */
	STAG_E_SCOPE,   /* another protection domain or stream */
	STAG_E_RIGHTS,
	STAG_E_WRAP,   /* to + len exceeds 2^64 */
	STAG_E_BOUNDS, /* outside the region */
};

struct stag_region {
	uint32_t stag;   /* the value, never 0 */
	uint32_t rights; /* STAG_* */
	uint64_t pd;     /* protection domain */
	uint64_t scope;  /* the only endpoint that may use it, or 0 for the whole domain */
	uint64_t to;     /* tagged offset of the first byte */
	uint64_t len;    /* to + len does not exceed 2^64 */
	uint8_t *base;   /* address of the first byte that is read; written bytes are ... */
	bool valid;      /* cleared by invalidation; the entry stays until it is removed */
	uint8_t kind;    /* enum stag_kind */
	union {
		uint32_t parent; /* windows, while valid: the region's value */
		uint32_t notice; /* regions: number that stag_notice() returns; 0: none */
	};
	uint32_t windows; /* regions: valid windows on it */
	uint32_t apart; /* ... this many times STAG_APART bytes after those. 0: in the same place */
};

/* The accessing endpoint: compared with pd and scope of the region. */
struct stag_accessor {
	uint64_t pd;
	uint64_t scope;
	uint32_t withheld; /* STAG_REMOTE_ rights that its peer does not have, whatever the region
			      permits */
};

struct stag_table;

/* Bytes of memory that a table for max regions needs. */
size_t stag_table_size(uint32_t max);

/* Makes an empty table in zeroed memory of that size. The caller keeps the memory and frees it. */
struct stag_table *stag_table_init(void *mem, uint32_t max);

/* Entries in the table. */
uint32_t stag_table_used(const struct stag_table *t);

/* Bytes of memory that stag_table_resize() needs. */
size_t stag_slots_size(uint32_t max);

/*
 * Replaces the memory of the table by zeroed memory of stag_slots_size(max) bytes, with room for
 * max entries; there must not be more. Some entries move with each later stag_add() and
 * stag_remove(), so that no call takes long. Do not call it while stag_table_moving(). After that
 * the former memory is not used any more; that of stag_table_init() still holds the table itself.
 */
void stag_table_resize(struct stag_table *t, void *mem, uint32_t max);

/* True while entries are in the memory that the last stag_table_resize() replaced. All have moved
 * after max / 8 + 1 changes of the table, where max is the former one. */
bool stag_table_moving(const struct stag_table *t);

enum {
	STAG_ADD_OK,
	STAG_ADD_E_TAKEN, /* the index is in use, or the value is 0: draw another value */
	STAG_ADD_E_FULL,
};

/*
 * Adds a copy of *r: a region with valid set, a window without. The caller draws r->stag at random
 * (RFC 5040 8.1.1 item 8) and has checked that to + len does not wrap.
 * Returns a STAG_ADD_ value.
 */
int stag_add(struct stag_table *t, const struct stag_region *r);

/*
 * Removes the entry. False if there is none with that value. The windows of a region must be
 * removed, unbound or invalidated first.
 */
bool stag_remove(struct stag_table *t, uint32_t stag);

/* The entry, valid or not, until the next change of the table; NULL if there is none. */
const struct stag_region *stag_find(const struct stag_table *t, uint32_t stag);

/*
 * The same for the entry with the index of the value, whatever its current key: the owner of a
 * window need not track every bind.
 */
const struct stag_region *stag_find_any_key(const struct stag_table *t, uint32_t stag);

/*
 * The access check. Returns a STAG_E_ outcome; *ret_p is set only with STAG_E_OK and is valid until
 * the table changes: where the bytes are written if the rights include STAG_LOCAL_WRITE or
 * STAG_REMOTE_WRITE, else where they are read. All of the rights are needed. len 0 is checked like
 * any other; callers skip the check where the RFCs say so.
 */
int stag_check(const struct stag_table *t, uint32_t stag, const struct stag_accessor *accessor,
	       uint32_t rights, uint64_t to, uint64_t len, uint8_t **ret_p);

/* Sets `notice` of a region. */
void stag_set_notice(struct stag_table *t, uint32_t stag, uint32_t notice);

/* The number that the owner of a region has set, if the accessor may write at this offset of the
 * region or of a window on it; else 0. */
uint32_t stag_notice(const struct stag_table *t, uint32_t stag,
		     const struct stag_accessor *accessor, uint64_t to);

/*
 * Invalidates an STag, for the peer (RFC 5040 5.3) or a local request. Only the stream that the
 * STag is scoped to may do so. Returns STAG_E_OK, STAG_E_INVALID or STAG_E_SCOPE.
 */
int stag_invalidate(struct stag_table *t, uint32_t stag, const struct stag_accessor *accessor);

/* Parameters of a bind. */
struct stag_bind {
	uint32_t window; /* its new value: index of the window, any key; not 0 */
	uint32_t region;
	uint32_t rights; /* STAG_REMOTE_ ones, or none */
	uint64_t to;     /* inside the region; tagged offsets are those of the region */
	uint64_t len;    /* 0: unbind a type 1 window */
};

enum {
	STAG_BIND_OK,
	STAG_BIND_E_WINDOW, /* no such window in this domain, or of the wrong type for `accessor`;
			       or type 2 and still valid */
	STAG_BIND_E_REGION, /* no valid region in this domain, or one that is bound to a stream */
	STAG_BIND_E_RIGHTS, /* other than STAG_REMOTE_ rights; or the region lacks
			       STAG_BIND_WINDOWS or a right that they need */
	STAG_BIND_E_BOUNDS, /* outside the region, or len 0 for a type 2 window */
};

/*
 * Binds a window: type 2 to the endpoint `accessor`; type 1 to the domain, with accessor->scope 0,
 * so a request of an endpoint cannot do it. Remote writes and atomics need STAG_LOCAL_WRITE of the
 * region. A type 1 window may be bound again while it is valid; unbinding reads only window and
 * len. The outcomes are tested in their order. The table changes only if STAG_BIND_OK is returned;
 * then the old value of the window is invalid.
 */
int stag_bind(struct stag_table *t, const struct stag_bind *b,
	      const struct stag_accessor *accessor);

#endif
