/* SPDX-License-Identifier: BSD-2-Clause */
/* The longest message that goes in one chunk on every path. */
#ifndef SCTP_MAX_MESSAGE_H
#define SCTP_MAX_MESSAGE_H

struct sctp_assoc;

/* Paths or their sizes changed: computes max_message. */
void sctp_assoc_measure(struct sctp_assoc *a);

#endif
