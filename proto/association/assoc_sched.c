/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which streams may send: a stream with work waits for its turn in its share. One that cannot
 * continue is parked on a list for its reason.
 */
#include "proto/association/assoc_impl.h"

/* The cost of a message besides its bytes, so that a user of small messages does not keep the
 * processor from others. */
enum { EACH = 512 };

void assoc_ready(struct assoc *a, struct assoc_stream *s)
{
	if (list_linked(&s->turn.link))
		return;
	list_del(&s->park);
	drr_add(&s->turn);
	a->ready++;
}

void assoc_not_ready(struct assoc *a, struct assoc_stream *s)
{
	list_del(&s->park);
	if (!list_linked(&s->turn.link))
		return;
	drr_del(&s->turn);
	a->ready--;
}

void assoc_park(struct assoc *a, struct assoc_stream *s, struct list *where)
{
	assoc_not_ready(a, s);
	list_add_tail(where, &s->park);
}

void assoc_unpark_all(struct assoc *a, const struct list *parked)
{
	while (!list_empty(parked))
		assoc_ready(a, list_entry(parked->next, struct assoc_stream, park));
}

bool assoc_charge(struct assoc *a, struct assoc_stream *s, uint32_t len)
{
	assoc_ready(a, s);
	return drr_charge(&s->turn, len + EACH);
}
