/* SPDX-License-Identifier: BSD-2-Clause */
/* How many packets follow each other on a path: the pacer spreads them over a round trip; where
 * that is short, they are bounded after each SACK. */
#ifndef SCTP_PACE_H
#define SCTP_PACE_H

#include "sctp/base/path.h"

/* Packets after a SACK on a path that is not paced (RFC 9260 6.1 (D)). */
enum { SCTP_BURST = 64 };

/* The window or the round trip of the path changed, and with them the rate of its pacer. */
void sctp_path_pace(struct sctp_path *p);
/* A SACK arrived, or data begins. */
void sctp_path_burst(struct sctp_path *p);

#endif
