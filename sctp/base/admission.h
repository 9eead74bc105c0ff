/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of peers: work for unknown ones, and the number of associations. */
#ifndef SCTP_ADMISSION_H
#define SCTP_ADMISSION_H

#include <stdbool.h>

#include "sctp/base/assoc.h"

/* True if the budget admits the work for a packet that is from an unknown peer, or begins with INIT
 * or COOKIE ECHO. Counts the packet either way. */
bool sctp_may_work(struct sctp *s, enum sctp_work work, const struct sctp_addr *from);
/* True if a peer there may open another association. Counts a refusal. */
bool sctp_may_accept(const struct sctp *s, const struct sctp_addr *peer);

#endif
