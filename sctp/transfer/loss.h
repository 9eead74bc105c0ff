/* SPDX-License-Identifier: BSD-2-Clause */
/* Which chunks are lost: by time (RFC 8985), by three miss indications (RFC 9260 7.2.4), by T3-rtx
 * (6.3.3); and the probe for the loss of the last ones. */
#ifndef SCTP_LOSS_H
#define SCTP_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/path.h"

/* A chunk in flight is to be sent again. */
void sctp_loss_mark(struct sctp_assoc *a, uint32_t tsn);
/* Miss indications of a SACK that newly acknowledges chunks of the path, up to this TSN. Chunks on
 * other paths, which may take longer, are not affected. */
void sctp_loss_missed(struct sctp_path *p, uint32_t highest);
/* Looks for lost chunks by time: after a SACK, or when the reordering window of a path has passed.
 */
void sctp_loss_detect(struct sctp_assoc *a);
/* A chunk of the path that counted as lost was acknowledged before it was repeated: it was late.
 * Reductions that turn out to be needless are undone (RFC 5682, RFC 8985 6.2). */
void sctp_loss_late(struct sctp_path *p, uint32_t tsn, uint64_t sent_us);
/* The peer reports this TSN as a duplicate. */
void sctp_loss_duplicate(struct sctp_assoc *a, uint32_t tsn);
void sctp_loss_t3(struct sctp_path *p);
void sctp_loss_probe(struct sctp_path *p);
/* No data can be sent; if the peer's window is the reason, T3 probes it (6.1 (A)). */
void sctp_loss_watch(struct sctp_assoc *a);
/* A chunk that was sent on the path moves to another: T3 watches another chunk, and its time stays
 * (RFC 9260 6.3.3 (F1)). */
void sctp_loss_left(struct sctp_path *p, uint32_t tsn);
/* Starts or stops T3 and the tail-loss probe of a path after a SACK. */
void sctp_loss_rearm(struct sctp_path *p, bool first_acked);

#endif
