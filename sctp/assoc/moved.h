/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that may have begun again at another UDP port: whether its association still lives. */
#ifndef SCTP_MOVED_H
#define SCTP_MOVED_H

#include <stdbool.h>

#include "sctp/base/assoc.h"

/* An INIT for this association from another UDP port than the peer's was refused. Its sender is
 * another host, or the peer has restarted behind an address translator. Sends heartbeats to the
 * peer's known addresses and ports, unless that is going on; the association ends if none is
 * answered. */
void sctp_moved_ask(struct sctp_assoc *a);
/* The next heartbeat is due, or the last answer. False if the association ended. */
bool sctp_moved_due(struct sctp_assoc *a);
/* A packet with the right tag arrived: the peer lives. */
static inline void sctp_moved_answered(struct sctp_assoc *a)
{
	a->moved.us = SCTP_NEVER;
}

#endif
