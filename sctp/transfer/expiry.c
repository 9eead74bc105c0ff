/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/transfer/expiry.h"

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/handshake.h"
#include "sctp/assoc/handshake_send.h"
#include "sctp/assoc/heartbeat.h"
#include "sctp/assoc/max_message.h"
#include "sctp/assoc/moved.h"
#include "sctp/assoc/notify.h"
#include "sctp/assoc/path_state.h"
#include "sctp/assoc/paths.h"
#include "sctp/assoc/shutdown.h"
#include "sctp/transfer/got_data.h"
#include "sctp/transfer/loss.h"
#include "sctp/transfer/stall.h"
#include "sctp/transfer/write.h"

/* T1-init and T1-cookie. False if that ended the association. */
static bool repeat_handshake(struct sctp_assoc *a)
{
	if (!sctp_handshake_repeat(a, sctp_assoc_confirmed(a))) {
		sctp_assoc_end(a, SCTP_END_NO_ANSWER, 0, NULL, 0);
		return false;
	}
	if (a->state == SCTP_COOKIE_WAIT)
		sctp_send_init(a);
	else
		sctp_send_cookie_echo(a);
	return true;
}

/* T2-shutdown, with the timer value and the errors of the path that was used. */
static bool repeat_shutdown(struct sctp_assoc *a)
{
	struct sctp_path *p = &a->paths.at[a->shutdown.path];

	sctp_rto_back_off(&p->rto);
	if (!sctp_path_failed(p))
		return false;
	if (a->state == SCTP_SHUTDOWN_SENT)
		sctp_send_shutdown(a);
	else
		sctp_send_shutdown_ack(a);
	return true;
}

static void pmtu_due(struct sctp_path *p, uint64_t now)
{
	if (sctp_pmtu_run(&p->pmtu, now))
		sctp_path_resized(p);
	else
		sctp_assoc_measure(p->assoc); /* more may be known of its path than before */
	if (sctp_pmtu_due(&p->pmtu, now)) {
		p->probe_wanted = true;
		sctp_assoc_touch(p->assoc);
	}
}

static bool run_path(struct sctp_path *p, uint64_t now)
{
	struct sctp_assoc *a = p->assoc;

	if (p->loss_us <= now) {
		p->loss_us = SCTP_NEVER;
		sctp_loss_detect(a);
		sctp_assoc_touch(a);
	}
	/* Before T3, which takes everything out of flight. */
	if (p->heartbeat_us <= now && !sctp_heartbeat_due(p, now))
		return false;
	if (p->t3_us <= now) {
		if (sctp_stalled(a))
			return false;
		sctp_loss_t3(p);
		if (a->state == SCTP_CLOSED)
			return false;
	}
	if (p->probe_us <= now) {
		p->probe_us = SCTP_NEVER;
		sctp_loss_probe(p);
	}
	if (p->release_us <= now) {
		p->release_us = SCTP_NEVER;
		sctp_assoc_touch(a);
	}
	if (sctp_path_probes(p) && !p->probe_wanted && sctp_pmtu_expiry(&p->pmtu) <= now)
		pmtu_due(p, now);
	return true;
}

static bool run_deadlines(struct sctp_assoc *a, uint64_t now)
{
	if (a->shutdown.t5_us <= now) {
		sctp_assoc_break(a, SCTP_END_TIMEOUT, SCTP_CAUSE_NONE, NULL, 0, "");
		return false;
	}
	if (sctp_handshake_expiry(a) <= now && !repeat_handshake(a))
		return false;
	if (a->shutdown.t2_us <= now && !repeat_shutdown(a))
		return false;
	if (a->moved.us <= now && !sctp_moved_due(a))
		return false;
	if (a->acks.due_us <= now) {
		sctp_acks_expired(&a->acks);
		sctp_assoc_touch(a);
	}
	if (a->acks.rwnd.rest_us <= now)
		sctp_data_rest(a);
	if (a->write.retry_us <= now)
		sctp_write_retry(a);
	if (a->stall.us <= now && sctp_stalled(a))
		return false;
	for (unsigned i = 0; i < a->paths.n; i++)
		if (sctp_path_expiry(&a->paths.at[i]) <= now && !run_path(&a->paths.at[i], now))
			return false;
	return true;
}

void sctp_assoc_expire(struct timer *t)
{
	struct sctp_assoc *a = list_entry(t, struct sctp_assoc, deadline.timer);

	a->deadline.armed_us = SCTP_NEVER;
	if (run_deadlines(a, a->s->now))
		sctp_assoc_arm(a);
}
