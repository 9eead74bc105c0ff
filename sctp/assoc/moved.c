/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/moved.h"

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/heartbeat.h"

enum { PROBES = 3 }; /* heartbeats, an RTO apart, that have to be without answer */

void sctp_moved_ask(struct sctp_assoc *a)
{
	if (a->moved.us != SCTP_NEVER || a->state == SCTP_SHUTDOWN_SENT)
		return; /* in SHUTDOWN-SENT T2 asks already, and no heartbeat may (8.3) */
	a->moved.us = a->s->now;
	a->moved.probes = 0;
	sctp_assoc_arm(a);
}

/* An RTO, and no less than RTO.Initial: who can make us ask must not gain from a short pause of the
 * path. */
static uint64_t interval(const struct sctp_assoc *a)
{
	uint64_t least = a->s->cfg.rto_initial_us, most = a->s->cfg.rto_max_us;

	for (unsigned i = 0; i < a->paths.n; i++)
		if (a->paths.at[i].rto.rto_us > least)
			least = a->paths.at[i].rto.rto_us;
	return least < most ? least : most;
}

static void probe_all(struct sctp_assoc *a)
{
	for (unsigned i = 0; i < a->paths.n; i++)
		if (a->paths.at[i].state != SCTP_PATH_UNCONFIRMED)
			sctp_send_heartbeat(&a->paths.at[i]);
}

bool sctp_moved_due(struct sctp_assoc *a)
{
	static const char text[] = "it asks for an association from another UDP port, and does not "
				   "answer at the old one any more";

	if (a->state == SCTP_SHUTDOWN_SENT || a->state == SCTP_SHUTDOWN_ACK_SENT) {
		a->moved.us = SCTP_NEVER;
		return true;
	}
	if (a->moved.probes++ == PROBES) {
		sctp_assoc_break(a, SCTP_END_RESTART, SCTP_CAUSE_NONE, NULL, 0, text);
		return false;
	}
	probe_all(a);
	a->moved.us = a->s->now + interval(a);
	return true;
}
