/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session has to tell: noted when it happens, handed out when asked for. */
#include "proto/assoc_impl.h"

void assoc_tell(struct assoc *a, struct assoc_stream *s, enum assoc_ev_type type)
{
	s->events |= (uint8_t)(1U << type);
	if (!list_linked(&s->news))
		list_add_tail(&a->news, &s->news);
}

void assoc_untell(struct assoc_stream *s, unsigned types)
{
	s->events &= (uint8_t)~types;
	if (s->events == 0)
		list_del(&s->news);
}

/* What ends comes before what begins: a stream may be at its next session already. */
static enum assoc_ev_type oldest(const struct assoc_stream *s)
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

/* The session's opening, and what was said in it. */
static bool is_opening(enum assoc_ev_type type)
{
	return type == ASSOC_EV_REQUEST || type == ASSOC_EV_ACCEPTED || type == ASSOC_EV_REJECTED;
}

/* The endpoint stays bound. */
static bool goes_on(enum assoc_ev_type type)
{
	return type == ASSOC_EV_ACCEPTED || type == ASSOC_EV_ERROR || type == ASSOC_EV_HALF_CLOSED;
}

static void describe_opening(const struct assoc_stream *s, struct assoc_event *ret)
{
	ret->priv = s->priv;
	ret->priv_len = s->priv_len;
	ret->enhanced = s->worded;
	ret->enh = s->theirs;
}

/* Raw: the endpoint knows, although a close that came before may be why the session ends. */
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

	if (list_empty(&a->news))
		return false;
	s = list_entry(a->news.next, struct assoc_stream, news);
	*ret = (struct assoc_event){.type = oldest(s), .sid = s->session.sid};
	assoc_untell(s, 1U << ret->type);
	if (ret->type != ASSOC_EV_REQUEST && ret->type != ASSOC_EV_WITHDRAWN)
		ret->ep = s->told;
	if (is_opening(ret->type))
		describe_opening(s, ret);
	if (ret->type == ASSOC_EV_ERROR)
		describe_error(ret);
	if (ret->type == ASSOC_EV_CLOSED)
		describe_end(s, ret);
	if (ret->ep && !goes_on(ret->type))
		ret->ep->stream = NULL;
	return true;
}
