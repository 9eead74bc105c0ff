/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Progress: the lowest TSN that is outstanding has to arrive some time. Heartbeats, and data that
 * overtakes it, prove that the peer lives, and clear the error counters; a path that drops all
 * packets above some size would keep an association alive that never moves. A chunk that has its
 * TSN is never cut (RFC 9260 6.9). So an association without progress ends, and says why.
 */
#ifndef SCTP_STALL_H
#define SCTP_STALL_H

#include <stdbool.h>

#include "sctp/base/path.h"

/* True if a packet of the path has room for this chunk. */
bool sctp_stall_fits(const struct sctp_path *p, const struct sctp_tx *t);
/* The lowest outstanding TSN is another one now. */
void sctp_stall_progress(struct sctp_assoc *a);
/* That TSN is sent, again or for the first time. */
void sctp_stall_sent(struct sctp_path *p, const struct sctp_tx *t);
/* Looks whether the lowest outstanding TSN does not arrive although the peer answers; a timeout, or
 * stall_us has passed. True if that ended the association. */
bool sctp_stalled(struct sctp_assoc *a);

#endif
