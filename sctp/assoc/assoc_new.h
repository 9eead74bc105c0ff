/* SPDX-License-Identifier: BSD-2-Clause */
/* A new association. */
#ifndef SCTP_ASSOC_NEW_H
#define SCTP_ASSOC_NEW_H

#include <stdint.h>

#include "sctp/base/assoc.h"

/* peer: its network pays for data. npaths: room for paths. NULL without memory or beyond
 * max_assocs. */
struct sctp_assoc *sctp_assoc_new(struct sctp *s, const struct sctp_addr *peer, unsigned npaths);
void sctp_assoc_own_addrs(struct sctp_assoc *a, const uint8_t *local, unsigned n);
/* Begins with the initial TSN and the a_rwnd of the peer's INIT or INIT ACK. */
void sctp_assoc_start(struct sctp_assoc *a, uint32_t peer_tsn, uint32_t peer_rwnd);
/* A random verification tag, never 0. */
uint32_t sctp_new_tag(struct sctp *s);

#endif
