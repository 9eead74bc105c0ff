/* SPDX-License-Identifier: BSD-2-Clause */
/* An association has something to send, or an event. */
#ifndef SCTP_NOTIFY_H
#define SCTP_NOTIFY_H

#include "sctp/base/assoc.h"

/* Something is to be sent. */
void sctp_assoc_touch(struct sctp_assoc *a);
/* An event is due. */
void sctp_assoc_note(struct sctp_assoc *a, enum sctp_event_type type);

#endif
