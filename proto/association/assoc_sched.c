/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which streams may send: a stream with work is in assoc.ready, and the streams take turns there.
 * One that cannot continue is parked on a list for its reason.
 */
#include "proto/association/assoc_impl.h"

void assoc_ready(struct assoc *a, struct assoc_stream *s)
{
	if (list_linked(&s->send) && !s->parked)
		return;
	list_del(&s->send);
	list_add_tail(&a->ready, &s->send);
	s->parked = false;
}

void assoc_park(struct assoc_stream *s, struct list *where)
{
	list_del(&s->send);
	list_add_tail(where, &s->send);
	s->parked = true;
}

void assoc_unpark_all(struct assoc *a, const struct list *parked)
{
	while (!list_empty(parked))
		assoc_ready(a, list_entry(parked->next, struct assoc_stream, send));
}
