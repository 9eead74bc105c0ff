/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/states.h"

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/handshake.h"
#include "sctp/assoc/handshake_send.h"
#include "sctp/assoc/notify.h"
#include "sctp/assoc/path_state.h"
#include "sctp/assoc/shutdown.h"
#include "sctp/base/reply.h"

static void notify_up(struct sctp_assoc *a)
{
	sctp_handshake_end(a);
	a->up = true;
	a->errors = 0;
	for (unsigned i = 0; i < a->paths.n; i++)
		sctp_path_rest(&a->paths.at[i]);
	sctp_assoc_note(a, a->origin.passive ? SCTP_INCOMING : SCTP_UP);
	sctp_assoc_touch(a);
}

void sctp_assoc_step(struct sctp_assoc *a, enum sctp_fsm_event ev)
{
	struct sctp_step step = sctp_fsm(a->state, ev);
	unsigned todo = step.actions;

	if (todo & SCTP_DO_SEND_SHUTDOWN_COMPLETE) {
		struct sctp_writer w = sctp_reply_alone(sctp_primary(a));

		sctp_put_plain(&w, SCTP_SHUTDOWN_COMPLETE, 0);
		sctp_reply_end(a->s, &w);
	}
	a->state = step.next;
	if (todo & SCTP_DO_STOP_T1) {
		sctp_handshake_stop_t1(a);
		sctp_shutdown_stop(a);
	}
	if (todo & (SCTP_DO_SEND_INIT | SCTP_DO_SEND_COOKIE_ECHO))
		sctp_handshake_start_t1(a);
	if (todo & SCTP_DO_SEND_INIT)
		sctp_send_init(a);
	if (todo & SCTP_DO_SEND_COOKIE_ECHO)
		sctp_send_cookie_echo(a);
	if (todo & SCTP_DO_UP)
		notify_up(a);
	if (todo & SCTP_DO_SEND_SHUTDOWN)
		sctp_send_shutdown(a);
	if (todo & SCTP_DO_SEND_SHUTDOWN_ACK)
		sctp_send_shutdown_ack(a);
	if (todo & SCTP_DO_START_T5)
		sctp_shutdown_guard(a);
	if (todo & SCTP_DO_CLOSED) {
		sctp_assoc_end(a, SCTP_END_CLOSED, 0, NULL, 0);
		return;
	}
	if ((todo & SCTP_DO_FLUSH) && sctp_queue_empty(&a->tx)) {
		sctp_assoc_step(a, SCTP_EV_ALL_ACKED);
		return;
	}
	sctp_assoc_arm(a);
}

void sctp_assoc_shutdown(struct sctp_assoc *a, uint64_t now_us)
{
	if (now_us > a->s->now)
		a->s->now = now_us;
	sctp_assoc_step(a, SCTP_EV_USER_SHUTDOWN);
}
