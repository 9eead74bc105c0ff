/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/notify.h"

void sctp_assoc_touch(struct sctp_assoc *a)
{
	if (!list_linked(&a->pending) && a->state != SCTP_CLOSED)
		list_add_tail(&a->s->pending, &a->pending);
}

void sctp_assoc_note(struct sctp_assoc *a, enum sctp_event_type type)
{
	sctp_events_add(&a->events, a->up ? &a->s->eventful : NULL, type);
}
