/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of sessions: queued when they happen, taken by assoc_event(). */
#include "proto/association/assoc_impl.h"

#include <string.h>

void assoc_queue_event(struct assoc *a, struct assoc_stream *s, enum assoc_ev_type type)
{
	s->events |= (uint8_t)(1U << type);
	if (!list_linked(&s->event_link))
		list_add_tail(&a->event_streams, &s->event_link);
}

/* Events that carry private data and enhanced parameters. */
enum { OPENING = 1U << ASSOC_EV_REQUEST | 1U << ASSOC_EV_ACCEPTED | 1U << ASSOC_EV_REJECTED };

void assoc_set_priv(struct assoc *a, struct assoc_stream *s, const void *p, size_t len)
{
	if (len > 0 && !s->has_priv)
		s->priv = blocks_get(a->cfg.pool);
	s->has_priv |= len > 0;
	if (len > 0)
		memmove(s->priv, p, len);
	s->priv_len = (uint16_t)len;
}

void assoc_trim_priv(struct assoc *a, struct assoc_stream *s)
{
	if (s->first || s->events & OPENING)
		return;
	blocks_put(a->cfg.pool, s->priv);
	s->priv = NULL;
	s->has_priv = false;
	s->priv_len = 0;
}

void assoc_cancel_events(struct assoc_stream *s, unsigned types)
{
	s->events &= (uint8_t)~types;
	if (s->events == 0)
		list_del(&s->event_link);
}

/* The end of a session is reported before the begin of the next one on the same stream. */
static enum assoc_ev_type next_type(const struct assoc_stream *s)
{
	static const enum assoc_ev_type order[] = {
		ASSOC_EV_ACCEPTED, ASSOC_EV_ERROR,     ASSOC_EV_HALF_CLOSED, ASSOC_EV_REJECTED,
		ASSOC_EV_REFUSED,  ASSOC_EV_WITHDRAWN, ASSOC_EV_CLOSED,      ASSOC_EV_REQUEST,
	};
	unsigned i = 0;

	while (!(s->events & 1U << order[i]))
		i++;
	return order[i];
}

/* The endpoint stays bound. */
static bool stays_bound(enum assoc_ev_type type)
{
	return type == ASSOC_EV_ACCEPTED || type == ASSOC_EV_ERROR || type == ASSOC_EV_HALF_CLOSED;
}

/* The private data leaves the stream. */
static void describe_opening(struct assoc *a, struct assoc_stream *s, struct assoc_event *ret)
{
	ret->priv = a->event_priv = s->priv;
	ret->priv_len = s->priv_len;
	s->priv = NULL;
	s->has_priv = false;
	s->priv_len = 0;
	ret->enhanced = s->peer_enhanced;
	ret->enh = s->enh_peer;
}

/* Raw: the error of the endpoint; the session itself may end for another reason, an earlier close.
 */
static void describe_error(struct assoc_event *ret)
{
	ret->at = ret->ep->at;
	ret->term = &ret->ep->reason;
}

static void describe_end(const struct assoc_stream *s, struct assoc_event *ret)
{
	ret->reason = s->reason;
	ret->at = s->at;
	if (ret->reason == ASSOC_REASON_ERROR || ret->reason == ASSOC_REASON_REMOTE)
		ret->term = &ret->ep->reason;
}

bool assoc_event(struct assoc *a, struct assoc_event *ret)
{
	struct assoc_stream *s;

	blocks_put(a->cfg.pool, a->event_priv);
	a->event_priv = NULL;
	if (list_empty(&a->event_streams)) {
		assoc_streams_trim(a);
		return false;
	}
	s = list_entry(a->event_streams.next, struct assoc_stream, event_link);
	*ret = (struct assoc_event){.type = next_type(s), .sid = s->session.sid};
	assoc_cancel_events(s, 1U << ret->type);
	if (ret->type != ASSOC_EV_REQUEST && ret->type != ASSOC_EV_WITHDRAWN)
		ret->ep = s->event_ep;
	if (1U << ret->type & OPENING)
		describe_opening(a, s, ret);
	if (ret->type == ASSOC_EV_ERROR)
		describe_error(ret);
	if (ret->type == ASSOC_EV_CLOSED)
		describe_end(s, ret);
	if (ret->ep && !stays_bound(ret->type))
		ret->ep->stream = NULL;
	return true;
}
