/* SPDX-License-Identifier: BSD-2-Clause */
/* How an association ends. */
#ifndef SCTP_ASSOC_END_H
#define SCTP_ASSOC_END_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/assoc.h"

/* Ends it, with an event unless the user ended it. */
void sctp_assoc_end(struct sctp_assoc *a, enum sctp_end end, uint32_t cause, const char *text,
		    uint32_t len);
/* Ends it after an ABORT to the peer with this cause. */
void sctp_assoc_break(struct sctp_assoc *a, enum sctp_end end, uint16_t cause, const void *value,
		      uint32_t len, const char *text);
/* One more unanswered packet: false if that ended the association. */
bool sctp_assoc_error(struct sctp_assoc *a);
/* Unanswered packets in a row that do not end it. */
unsigned sctp_assoc_max_errors(const struct sctp_assoc *a);

#endif
