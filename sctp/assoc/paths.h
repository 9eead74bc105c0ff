/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths of an association: one for each address of the peer. */
#ifndef SCTP_PATHS_H
#define SCTP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/path.h"

/* Adds a path; the first one becomes the primary path and has the local address of the flow, the
 * others get one. packet: the largest that its route takes. */
struct sctp_path *sctp_assoc_add_path(struct sctp_assoc *a, const struct sctp_flow *flow,
				      uint32_t packet);
/* Room for n paths. False without memory. */
bool sctp_assoc_reserve(struct sctp_assoc *a, unsigned n);
/* Removes the paths to other addresses than these. Only INIT was sent on them. */
void sctp_assoc_keep_paths(struct sctp_assoc *a, const struct sctp_addr *peer, unsigned n);
/* How many paths are confirmed, at least 1. */
unsigned sctp_assoc_confirmed(const struct sctp_assoc *a);
/* The confirmed paths in turn, the primary one for 0. */
struct sctp_path *sctp_assoc_nth_path(struct sctp_assoc *a, unsigned n);

#endif
