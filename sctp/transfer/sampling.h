/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports data that leaves, arrives or is lost to BBR; no effect with other algorithms. */
#ifndef SCTP_SAMPLING_H
#define SCTP_SAMPLING_H

#include "sctp/base/path.h"

/* Data is about to be sent, and none is in flight. */
void sctp_sampling_begin(struct sctp_path *p);
/* A batch left. before: bytes that were in flight before it. */
void sctp_sampling_sent(struct sctp_path *p, uint32_t before);
/* A message or a SACK arrived: does the window admit data, and is none there, although the user
 * had room? Call it before either has an effect. */
void sctp_sampling_check(struct sctp_assoc *a);
/* A chunk in flight counts as lost. */
void sctp_sampling_lost(struct sctp_path *p, const struct sctp_tx *t, uint32_t tsn);

/* A SACK acknowledged chunks, and losses are marked. */
struct sctp_sampling_acked {
	uint32_t bytes;
	uint64_t sent_us; /* when the last of these chunks was sent */
	uint32_t rtt_us;  /* of the newest one that was sent once; 0: none */
	bool limited;     /* the window was in full use */
};
void sctp_sampling_acked(struct sctp_path *p, const struct sctp_sampling_acked *k);

#endif
