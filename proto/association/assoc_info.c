/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of an association, for show and for limits. */
#include "proto/association/assoc.h"

#include "proto/association/assoc_impl.h"

uint16_t assoc_sessions(const struct assoc *a)
{
	return a->sessions;
}

uint16_t assoc_peer_sessions(const struct assoc *a)
{
	return a->peer_sessions;
}

uint16_t assoc_pending(const struct assoc *a)
{
	return a->undecided_count;
}

/* Of a dead stream that has no memory, its state alone is known. False: the stream is idle. */
static bool describe_stream(const struct assoc *a, uint32_t sid, struct assoc_stream_info *ret)
{
	const struct assoc_stream *s = assoc_stream_used(a, sid);

	if (!s && assoc_stream_is_dead(a, sid)) {
		*ret = (struct assoc_stream_info){.sid = (uint16_t)sid,
						  .state = session_state_str(SESSION_DEAD)};
		return true;
	}
	if (!s || s->session.state == SESSION_IDLE)
		return false;
	*ret = (struct assoc_stream_info){
		.sid = s->session.sid,
		.state = session_state_str(s->session.state),
		.ep = s->ep,
		.by_peer = s->by_peer,
		.tx_ssn = s->tx_ssn,
		.rx_ssn = s->rx_ssn,
		.unacked = assoc_unacked(a, s),
		.ahead = s->ahead,
		.held = s->ep ? s->ep->hold.n : 0,
	};
	return true;
}

bool assoc_stream_next(const struct assoc *a, uint32_t *pos, struct assoc_stream_info *ret)
{
	while (*pos < a->touched)
		if (describe_stream(a, (*pos)++, ret))
			return true;
	return false;
}

const struct assoc_counters *assoc_counters(const struct assoc *a)
{
	return &a->count;
}
