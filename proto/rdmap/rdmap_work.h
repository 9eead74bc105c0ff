/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our own work requests, from the owner's ring to a message. A request is checked in order. One
 * with an error, or one without a message, ends there; the others are begun.
 */
#ifndef PROTO_RDMAP_WORK_H
#define PROTO_RDMAP_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/rdmap/rdmap_tx.h"

/*
 * Begins the next request that can begin now; the ready-to-receive message is the first. False if
 * there is none; ep->tx.idle then says whether to try again in the next turn.
 */
bool rdmap_work_begin(struct rdmap *ep);

/* Length of the RDMAP header that the message of ep->tx.wr consists of, or 0 if it carries payload.
 */
uint32_t rdmap_work_header(const struct rdmap *ep);

/* Whether that message is the last one of its request, which is not a Read. */
bool rdmap_work_is_last(const struct rdmap *ep);

/* Makes the part after the DDP header of the segment that was cut. Returns an RDMAP_TX_ value. */
int rdmap_work_body(struct rdmap *ep, struct rdmap_seg *seg);

/* The message of the youngest request, a Read or an atomic, was sent: the response is outstanding,
 * and the next part of a Read follows. */
void rdmap_work_asked(struct rdmap *ep);

/* The youngest request was sent and completes when the peer has delivered it: a Read of no bytes is
 * to follow. */
void rdmap_work_probe(struct rdmap *ep);

/* Ends the youngest request with the status; it completes as soon as it is the oldest. */
void rdmap_work_end(struct rdmap *ep, enum rdmap_status status);

#endif
