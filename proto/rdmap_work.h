/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests of our own: from the owner's ring to a message. A request is judged in its
 * turn; what is no good, or sends nothing, ends there; the rest is begun.
 */
#ifndef PROTO_RDMAP_WORK_H
#define PROTO_RDMAP_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/rdmap_tx.h"

/*
 * Begins the next request that can begin now, the ready-to-receive message before all
 * others. False if there is none; ep->tx.tired then tells that there may be one later.
 */
bool rdmap_work_begin(struct rdmap *ep);

/* Bytes of the header that is all its message carries behind DDP's, or 0: it carries payload. */
uint32_t rdmap_work_header(const struct rdmap_wr *wr);

/* What stands behind the DDP header of the segment that was cut. Returns an RDMAP_TX_ value. */
int rdmap_work_body(struct rdmap *ep, struct rdmap_seg *seg);

/* The request begun last is over as far as sending goes; it completes when it is the oldest. */
void rdmap_work_end(struct rdmap *ep, enum rdmap_status status);

#endif
