/* SPDX-License-Identifier: BSD-2-Clause */
/* A user who waits for room to send. */
#ifndef SCTP_WRITE_H
#define SCTP_WRITE_H

#include "sctp/base/assoc.h"

/* Chunks were sent or acknowledged: tells a user who waits that there is room again. */
void sctp_write_made_room(struct sctp_assoc *a);
/* retry_us has passed: the user may try again. */
void sctp_write_retry(struct sctp_assoc *a);

#endif
