/* SPDX-License-Identifier: BSD-2-Clause */
/* What is due: deadlines, something to send, events to fetch. */
#include "sctp/assoc/handshake.h"
#include "sctp/base/assoc.h"

void sctp_assoc_touch(struct sctp_assoc *a)
{
	if (!list_linked(&a->pending) && a->state != SCTP_CLOSED)
		list_add_tail(&a->s->pending, &a->pending);
}

void sctp_assoc_note(struct sctp_assoc *a, enum sctp_event_type type)
{
	sctp_events_add(&a->events, a->up ? &a->s->eventful : NULL, type);
}

void sctp_assoc_measure(struct sctp_assoc *a)
{
	uint32_t least = a->paths.at[a->paths.primary].pmtu.size, before = a->paths.max_message;

	for (unsigned i = 0; i < a->paths.n; i++) {
		const struct sctp_path *p = &a->paths.at[i];

		if (p->state == SCTP_PATH_ACTIVE && sctp_pmtu_known(&p->pmtu) &&
		    p->pmtu.size < least)
			least = p->pmtu.size;
	}
	a->paths.max_message = (least & ~3u) - SCTP_HEAD - SCTP_DATA_HEAD;
	if (a->paths.max_message != before && a->up && a->state != SCTP_CLOSED)
		sctp_assoc_note(a, SCTP_RESIZED);
}

uint64_t sctp_path_expiry(const struct sctp_path *p)
{
	uint64_t at = p->t3_us;

	at = p->loss_us < at ? p->loss_us : at;
	at = p->probe_us < at ? p->probe_us : at;
	at = p->heartbeat_us < at ? p->heartbeat_us : at;
	if (sctp_path_probes(p) && !p->probe_wanted && sctp_pmtu_expiry(&p->pmtu) < at)
		at = sctp_pmtu_expiry(&p->pmtu);
	return at;
}

static uint64_t earlier(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

/* A deadline that moves to a later time leaves the timer as it is: it then fires for nothing,
 * once. */
void sctp_assoc_arm(struct sctp_assoc *a)
{
	uint64_t at = earlier(earlier(a->shutdown.t2_us, a->shutdown.t5_us),
			      earlier(a->acks.due_us, a->write.retry_us));

	if (a->state == SCTP_CLOSED)
		return;
	at = earlier(at, sctp_handshake_expiry(a));
	at = earlier(at, a->moved.us);
	at = earlier(at, a->stall.us);
	for (unsigned i = 0; i < a->paths.n; i++)
		at = earlier(at, sctp_path_expiry(&a->paths.at[i]));
	if (at >= a->deadline.armed_us)
		return;
	a->deadline.armed_us = at;
	timer_set(&a->s->timers, &a->deadline.timer, at);
}
