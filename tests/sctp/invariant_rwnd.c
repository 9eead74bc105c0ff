/* SPDX-License-Identifier: BSD-2-Clause */
/* The window that the stack advertises: its bounds, the budget, and that it takes no promise back.
 */
#include "tests/sctp/invariant_seen.h"

static void check_budget(struct invariant *v)
{
	const struct sctp_rwnd_limits *l = &v->j.s->windows;
	uint64_t grown = 0;

	holds(v, "3.3.2-22", l->used <= l->budget);
	if (v->j.s->nassocs > JUDGE_ASSOCS)
		return;
	list_foreach (it, &v->j.s->assocs) {
		const struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);
		const struct sctp_rwnd *w = &a->acks.rwnd;

		holds(v, "3.3.2-22", w->size >= l->first);
		holds(v, "3.3.2-23", w->size <= l->most && sctp_data_rwnd(a) <= w->size);
		holds(v, "3.3.2-23", (w->size > l->first) == (w->rest_us != SCTP_NEVER));
		holds(v, "3.3.2-23", a->recv.limit == w->size || a->state == SCTP_CLOSED);
		grown += w->size - l->first;
	}
	holds(v, "3.3.2-23", grown == l->used);
}

void invariant_rwnd_note(struct invariant_seen *e)
{
	const struct sctp_assoc *a = e->a;

	e->own_window = a->acks.rwnd.size;
	e->resting =
		!a->acks.rwnd.active && !sctp_tsn_map_gap(&a->map) && sctp_recv_empty(&a->recv);
}

/* The right edge stays or moves on: a smaller window is smaller by data that arrived. */
void invariant_rwnd_input(struct invariant *v)
{
	const struct invariant_packet *k = &v->packet;

	for (unsigned i = 0; i < v->n; i++) {
		const struct invariant_seen *e = v->seen[i];

		if (k->to && invariant_lives(v, e))
			holds(v, "3.3.3-18",
			      (uint64_t)e->a->acks.rwnd.size + (e == k->to ? k->payload : 0) >=
				      e->own_window);
	}
	check_budget(v);
}

/* Or after a rest, when nothing is on its way that the peer sends because of it. */
void invariant_rwnd_run(struct invariant *v)
{
	for (unsigned i = 0; i < v->n; i++) {
		const struct invariant_seen *e = v->seen[i];

		if (invariant_lives(v, e) && e->a->acks.rwnd.size != e->own_window)
			holds(v, "3.3.3-18",
			      e->resting && e->a->acks.rwnd.size == v->j.s->windows.first);
	}
	check_budget(v);
}
