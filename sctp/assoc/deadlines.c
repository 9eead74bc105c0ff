/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/deadlines.h"

#include "sctp/assoc/handshake.h"

uint64_t sctp_path_expiry(const struct sctp_path *p)
{
	uint64_t at = p->t3_us;

	at = p->loss_us < at ? p->loss_us : at;
	at = p->probe_us < at ? p->probe_us : at;
	at = p->release_us < at ? p->release_us : at;
	at = p->heartbeat_us < at ? p->heartbeat_us : at;
	if (sctp_path_probes(p) && !p->probe_wanted && sctp_pmtu_expiry(&p->pmtu) < at)
		at = sctp_pmtu_expiry(&p->pmtu);
	return at;
}

static uint64_t earlier_deadline(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

/* A deadline that moves to a later time leaves the timer as it is: the timer then fires once
 * without need. */
void sctp_assoc_arm(struct sctp_assoc *a)
{
	uint64_t at = earlier_deadline(earlier_deadline(a->shutdown.t2_us, a->shutdown.t5_us),
				       earlier_deadline(a->acks.due_us, a->write.retry_us));

	if (a->state == SCTP_CLOSED)
		return;
	at = earlier_deadline(at, sctp_handshake_expiry(a));
	at = earlier_deadline(at, a->moved.us);
	at = earlier_deadline(at, a->stall.us);
	at = earlier_deadline(at, a->acks.rwnd.rest_us);
	for (unsigned i = 0; i < a->paths.n; i++)
		at = earlier_deadline(at, sctp_path_expiry(&a->paths.at[i]));
	if (at >= a->deadline.armed_us)
		return;
	a->deadline.armed_us = at;
	timer_set(&a->s->timers, &a->deadline.timer, at);
}
