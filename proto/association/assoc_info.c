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

bool assoc_stream_next(const struct assoc *a, uint32_t *pos, struct assoc_stream_info *ret)
{
	for (; *pos < a->touched; (*pos)++) {
		const struct assoc_stream *s = assoc_stream_used(a, *pos);

		if (!s || s->session.state == SESSION_IDLE)
			continue;
		*ret = (struct assoc_stream_info){
			.sid = s->session.sid,
			.state = session_state_str(s->session.state),
			.ep = s->ep,
			.tx_ssn = s->tx_ssn,
			.rx_ssn = s->rx_ssn,
			.unacked = assoc_unacked(a, s),
			.ahead = s->ahead,
			.held = s->ep ? s->ep->hold.n : 0,
		};
		(*pos)++;
		return true;
	}
	return false;
}

const struct assoc_counters *assoc_counters(const struct assoc *a)
{
	return &a->count;
}
