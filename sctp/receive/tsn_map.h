/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TSNs that arrived (RFC 9260 6.2, 6.2.1): the Cumulative TSN Ack Point and, while there is a
 * gap, a bitmap of the TSNs that arrived after it. The bitmap is a block of the pool and exists
 * only while there is a gap. Duplicates are kept for the next SACK.
 */
#ifndef SCTP_TSN_MAP_H
#define SCTP_TSN_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/memory/pool.h"
#include "sctp/wire/chunk.h"

enum {
	SCTP_MAP_WINDOW =
		65535, /* TSNs after the cumulative one that are taken: gap offsets have 16 bits */
	SCTP_MAP_DUPS = 16, /* duplicates that are reported per SACK */
};

struct sctp_tsn_map {
	uint32_t cum;     /* Cumulative TSN Ack Point */
	uint32_t highest; /* highest TSN that arrived; == cum: no gap */
	uint64_t *bits; /* a block; bit i % 131072 is TSN i, valid between cum and highest; NULL: no
			   gap */
	const struct sctp_account *account;
	unsigned ndups;
	uint32_t dup[SCTP_MAP_DUPS];
};

enum sctp_tsn_class {
	SCTP_TSN_NEW,
	SCTP_TSN_DUP,    /* it was there already: noted for the SACK */
	SCTP_TSN_BEYOND, /* too far ahead, or no memory for the bitmap: as if it were lost */
};

/* initial_tsn: the first that the peer uses. Does not allocate. */
void sctp_tsn_map_init(struct sctp_tsn_map *m, const struct sctp_account *account,
		       uint32_t initial_tsn);
/* Gives the bitmap back. */
void sctp_tsn_map_deinit(struct sctp_tsn_map *m);

/* The parts of check and add that need more than the fast path. */
enum sctp_tsn_class sctp_tsn_map_check_gap(struct sctp_tsn_map *m, uint32_t tsn);
void sctp_tsn_map_add_gap(struct sctp_tsn_map *m, uint32_t tsn);

/* Classifies a TSN; notes duplicates and allocates the bitmap that sctp_tsn_map_add() needs. */
static inline enum sctp_tsn_class sctp_tsn_map_check(struct sctp_tsn_map *m, uint32_t tsn)
{
	if (tsn == m->cum + 1)
		return SCTP_TSN_NEW;
	return sctp_tsn_map_check_gap(m, tsn);
}

/* Takes a TSN for which check said NEW, with no call but sctp_tsn_map_renege() between: advances
 * cum as far as it goes. */
static inline void sctp_tsn_map_add(struct sctp_tsn_map *m, uint32_t tsn)
{
	if (!m->bits)
		m->cum = m->highest = tsn;
	else
		sctp_tsn_map_add_gap(m, tsn);
}

/* Takes a TSN after cum out again, because its data was dropped for lack of memory. RFC 9260 6.2
 * allows that only after cum; has no effect on a TSN that is not in the map. May be called between
 * check and add. */
void sctp_tsn_map_renege(struct sctp_tsn_map *m, uint32_t tsn);

static inline bool sctp_tsn_map_gap(const struct sctp_tsn_map *m)
{
	return m->highest != m->cum;
}

/* Puts a SACK chunk (RFC 9260 3.3.4) of at most `most` bytes, and of what the writer has room for:
 * as many gap blocks as fit, lowest first, then duplicates. Without room for 16 bytes it puts none.
 * Forgets the duplicates that it reports, and gives a bitmap back that is not needed. Costs a word
 * per 64 TSNs between cum and highest, and its blocks. */
void sctp_tsn_map_sack(struct sctp_tsn_map *m, uint32_t a_rwnd, struct sctp_writer *w,
		       uint32_t most);

#endif
