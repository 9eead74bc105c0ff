/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/events.h"

void sctp_events_init(struct sctp_events *e)
{
	list_init(&e->link);
}

void sctp_events_again(struct sctp_events *e, struct list *ready)
{
	if (!list_linked(&e->link))
		list_add_tail(ready, &e->link);
}

void sctp_events_add(struct sctp_events *e, struct list *ready, enum sctp_event_type type)
{
	e->due |= 1u << type;
	if (ready)
		sctp_events_again(e, ready);
}

/* Text of the peer: only printable characters. */
static void copy_text(struct sctp_events *e, const char *text, uint32_t len)
{
	uint32_t n = 0;

	for (uint32_t i = 0; text && i < len && n < sizeof(e->text) - 1 && text[i]; i++)
		e->text[n++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	e->text[n] = 0;
}

void sctp_events_end(struct sctp_events *e, struct list *ready, enum sctp_end end, uint32_t cause,
		     const char *text, uint32_t len)
{
	e->end = end;
	e->cause = cause;
	copy_text(e, text, len);
	e->due &= 1u << SCTP_INCOMING | 1u << SCTP_PATH;
	sctp_events_add(e, ready, SCTP_DOWN);
}

void sctp_events_each_ack(struct sctp_events *e)
{
	e->each_ack = true;
}

void sctp_events_clear(struct sctp_events *e)
{
	list_del(&e->link);
	e->due = 0;
}

bool sctp_events_take(struct sctp_events *e, enum sctp_event_type type)
{
	bool due = sctp_events_due(e, type);

	e->due &= ~(1u << type);
	return due;
}
