/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of an association that its user has not fetched yet, and how it ended. An association
 * with events is in the stack's list `ready`.
 */
#ifndef SCTP_EVENTS_H
#define SCTP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/sctp.h"
#include "util/list.h"

/* Read-only but for events.c. */
struct sctp_events {
	struct list link;
	unsigned due;  /* a bit for each enum sctp_event_type */
	bool each_ack; /* SCTP_ACKED for each advance */
	enum sctp_end end;
	uint32_t cause;
	char text[SCTP_ABORT_TEXT]; /* printable */
};

/* None is due. */
void sctp_events_init(struct sctp_events *e);
/* An event is due. ready: NULL if the user does not know the association yet; it is fetched after
 * the next one. */
void sctp_events_add(struct sctp_events *e, struct list *ready, enum sctp_event_type type);
/* SCTP_DOWN is due; of the others only SCTP_INCOMING and SCTP_PATH still are. text: len bytes of
 * the peer, or NULL. */
void sctp_events_end(struct sctp_events *e, struct list *ready, enum sctp_end end, uint32_t cause,
		     const char *text, uint32_t len);
/* SCTP_ACKED is due for each advance from now on. */
void sctp_events_each_ack(struct sctp_events *e);
/* Forgets all of them. */
void sctp_events_clear(struct sctp_events *e);
/* More may be due: it is fetched again. */
void sctp_events_again(struct sctp_events *e, struct list *ready);
/* True if it was due; it is not any more. */
bool sctp_events_take(struct sctp_events *e, enum sctp_event_type type);

static inline bool sctp_events_due(const struct sctp_events *e, enum sctp_event_type type)
{
	return e->due & 1u << type;
}

#endif
