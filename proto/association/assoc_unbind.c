/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint leaves its stream, with all messages that were kept for it. */
#include "proto/association/assoc_impl.h"
#include "proto/rdmap/rdmap_fsm.h"

void assoc_unbind(struct assoc *a, struct rdmap *ep)
{
	struct assoc_stream *s = ep->stream;

	if (!s)
		return;
	ep->stream = NULL;
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_UNBIND);
	assoc_cancel_events(s, 1U << ASSOC_EV_ACCEPTED | 1U << ASSOC_EV_REJECTED |
				       1U << ASSOC_EV_REFUSED | 1U << ASSOC_EV_CLOSED |
				       1U << ASSOC_EV_ERROR | 1U << ASSOC_EV_HALF_CLOSED);
	if (s->ep != ep)
		return;
	assoc_rx_release(a, s);
	assoc_rnr_drop(s);
	s->ep = NULL;
	assoc_share_part(a, s);
	assoc_session(a, s, SESSION_CLOSE);
	assoc_release_early(a, s);
	assoc_rx_stored(a, s);
	if (s->has_priv)
		assoc_trim_priv(a, s);
	assoc_ready(a, s); /* a Terminate may be waiting for the end of a message */
}
