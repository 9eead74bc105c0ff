/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast recovery of a path, and the time after its T3-rtx expired: losses of that time change the
 * congestion window once. Chunks that prove to be repeated needlessly are subtracted.
 */
#ifndef SCTP_RECOVERY_H
#define SCTP_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/wire/tsn.h"

/* Read-only but for the functions here. */
struct sctp_recovery {
	uint32_t end;    /* it is over when this TSN is acknowledged */
	uint32_t from;   /* it repeats chunks after this TSN */
	unsigned resent; /* chunks that it repeated, without those that were needless */
	bool fast;       /* fast recovery */
	bool timed_out;  /* T3 expired */
};

static inline bool sctp_recovery_runs(const struct sctp_recovery *r)
{
	return r->fast || r->timed_out;
}

/* A loss: everything up to `end` is in flight, everything up to `from` acknowledged. */
static inline void sctp_recovery_begin(struct sctp_recovery *r, uint32_t end, uint32_t from)
{
	*r = (struct sctp_recovery){.end = end, .from = from, .fast = true};
}

/* T3 expired. */
static inline void sctp_recovery_time_out(struct sctp_recovery *r, uint32_t end)
{
	*r = (struct sctp_recovery){.end = end, .from = end, .timed_out = true};
}

/* A chunk is sent again. */
static inline void sctp_recovery_repeat(struct sctp_recovery *r)
{
	r->resent += r->fast;
}

/* The peer got this TSN twice. True if fast recovery, or the one before, has repeated it. */
static inline bool sctp_recovery_needless(struct sctp_recovery *r, uint32_t tsn)
{
	if (r->resent == 0 || !sctp_tsn_before(r->from, tsn) || sctp_tsn_before(r->end, tsn))
		return false;
	r->resent--;
	return true;
}

/* All was acknowledged up to cum. True if that ends it. */
static inline bool sctp_recovery_advance(struct sctp_recovery *r, uint32_t cum)
{
	if (!sctp_recovery_runs(r) || sctp_tsn_before(cum, r->end))
		return false;
	r->fast = r->timed_out = false;
	return true;
}

/* It was needless: no chunk was lost. */
static inline void sctp_recovery_cancel(struct sctp_recovery *r)
{
	r->fast = r->timed_out = false;
}

#endif
