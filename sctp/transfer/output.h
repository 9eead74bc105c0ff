/* SPDX-License-Identifier: BSD-2-Clause */
/* The next packets of an association. */
#ifndef SCTP_OUTPUT_H
#define SCTP_OUTPUT_H

#include <stdbool.h>

#include "sctp/base/assoc.h"

/* Fills the batch, or adds packets to it: then ask sctp_assoc_joins() before. False: no packet can
 * be sent now. */
bool sctp_assoc_output(struct sctp_assoc *a, struct sctp_batch *b);
/* True if there is something that may be sent now. */
bool sctp_assoc_has_output(struct sctp_assoc *a);
/* True if its next packet may follow those of others in the batch, and has all that waits. */
bool sctp_assoc_joins(struct sctp_assoc *a, const struct sctp_batch *b);

#endif
