/* SPDX-License-Identifier: BSD-2-Clause */
/* The ULP ends a session: at once, or after the requests that it has posted. */
#include "proto/association/assoc_impl.h"

/* The ULP may still send. */
static bool sends(const struct assoc_stream *s)
{
	return s->session.state == SESSION_OPEN || s->session.state == SESSION_HALF_CLOSED;
}

void assoc_close(struct assoc *a, struct rdmap *ep)
{
	struct assoc_stream *s = ep->stream;

	if (!s || s->ep != ep)
		return;
	if (assoc_sends_last(s)) {
		assoc_stop(a, s);
		return;
	}
	assoc_reason(s, ASSOC_REASON_LOCAL, NULL);
	assoc_session(a, s, SESSION_CLOSE);
	if (list_linked(&s->stall))
		assoc_hold_give_up(a, s);
}

void assoc_abort(struct assoc *a, struct rdmap *ep)
{
	if (!ep->stream || ep->stream->ep != ep)
		return;
	rdmap_abort(ep);
	assoc_close(a, ep);
}

/* The list is in order of the deadlines. */
static void limit(struct assoc *a, struct assoc_stream *s, uint64_t by)
{
	struct list *at = a->sending_last.prev;

	while (at != &a->sending_last && list_entry(at, struct assoc_stream, timer)->deadline > by)
		at = at->prev;
	s->deadline = by;
	list_add_tail(at->next, &s->timer);
}

/* The reason is noted when no error can follow: in assoc_stop(). */
void assoc_close_after(struct assoc *a, struct rdmap *ep, uint32_t n)
{
	struct assoc_stream *s = ep->stream;
	uint64_t by = a->now + a->cfg.close_ms / 2;

	if (!s || s->ep != ep || assoc_sends_last(s))
		return;
	if (!sends(s)) {
		assoc_close(a, ep);
		return;
	}
	if (list_linked(&s->timer))
		by = s->deadline; /* a raw session has its time to send already */
	list_del(&s->timer);
	rdmap_stop_after(ep, n);
	assoc_session(a, s, SESSION_CLOSE);
	limit(a, s, by);
}
