/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the state machine does what RFC 9260 section 4, 5.2 and 9.2 say, for each pair of state
 * and event. The table is written from the text, state by state. */
#include <criterion/criterion.h>

#include "sctp/base/fsm.h"

/* The pair has no effect. */
#define NOTHING                                                                                    \
	{                                                                                          \
		-1, 0                                                                              \
	}

enum { T1_OFF = SCTP_DO_STOP_T1, ANSWER_COMPLETE = SCTP_DO_SEND_SHUTDOWN_COMPLETE };

static const struct {
	int next; /* -1: the state stays */
	unsigned actions;
} expected[SCTP_STATES][SCTP_EVENTS] = {
	[SCTP_CLOSED] =
		{
			[SCTP_EV_ASSOCIATE] = {SCTP_COOKIE_WAIT, SCTP_DO_SEND_INIT},
			[SCTP_EV_COOKIE_ECHO] = {SCTP_ESTABLISHED, SCTP_DO_UP},
			[SCTP_EV_INIT_ACK] = NOTHING,
			[SCTP_EV_COOKIE_ACK] = NOTHING,
			[SCTP_EV_USER_SHUTDOWN] = NOTHING,
			[SCTP_EV_ALL_ACKED] = NOTHING,
			[SCTP_EV_SHUTDOWN] = NOTHING,
			[SCTP_EV_SHUTDOWN_ACK] = NOTHING,
			[SCTP_EV_SHUTDOWN_COMPLETE] = NOTHING,
		},
	[SCTP_COOKIE_WAIT] =
		{
			[SCTP_EV_ASSOCIATE] = NOTHING,
			[SCTP_EV_COOKIE_ECHO] = {SCTP_ESTABLISHED, T1_OFF | SCTP_DO_UP},
			[SCTP_EV_INIT_ACK] = {SCTP_COOKIE_ECHOED,
					      T1_OFF | SCTP_DO_SEND_COOKIE_ECHO},
			[SCTP_EV_COOKIE_ACK] = NOTHING,
			[SCTP_EV_USER_SHUTDOWN] = {SCTP_CLOSED, T1_OFF | SCTP_DO_CLOSED},
			[SCTP_EV_ALL_ACKED] = NOTHING,
			[SCTP_EV_SHUTDOWN] = NOTHING,
			[SCTP_EV_SHUTDOWN_ACK] = NOTHING,
			[SCTP_EV_SHUTDOWN_COMPLETE] = NOTHING,
		},
	[SCTP_COOKIE_ECHOED] =
		{
			[SCTP_EV_ASSOCIATE] = NOTHING,
			[SCTP_EV_COOKIE_ECHO] = {SCTP_ESTABLISHED, T1_OFF | SCTP_DO_UP},
			[SCTP_EV_INIT_ACK] = NOTHING,
			[SCTP_EV_COOKIE_ACK] = {SCTP_ESTABLISHED, T1_OFF | SCTP_DO_UP},
			[SCTP_EV_USER_SHUTDOWN] = {SCTP_CLOSED, T1_OFF | SCTP_DO_CLOSED},
			[SCTP_EV_ALL_ACKED] = NOTHING,
			[SCTP_EV_SHUTDOWN] = NOTHING,
			[SCTP_EV_SHUTDOWN_ACK] = NOTHING,
			[SCTP_EV_SHUTDOWN_COMPLETE] = NOTHING,
		},
	[SCTP_ESTABLISHED] =
		{
			[SCTP_EV_ASSOCIATE] = NOTHING,
			[SCTP_EV_COOKIE_ECHO] = NOTHING,
			[SCTP_EV_INIT_ACK] = NOTHING,
			[SCTP_EV_COOKIE_ACK] = NOTHING,
			[SCTP_EV_USER_SHUTDOWN] = {SCTP_SHUTDOWN_PENDING,
						   SCTP_DO_START_T5 | SCTP_DO_FLUSH},
			[SCTP_EV_ALL_ACKED] = NOTHING,
			[SCTP_EV_SHUTDOWN] = {SCTP_SHUTDOWN_RECEIVED, SCTP_DO_FLUSH},
			[SCTP_EV_SHUTDOWN_ACK] = NOTHING,
			[SCTP_EV_SHUTDOWN_COMPLETE] = NOTHING,
		},
	[SCTP_SHUTDOWN_PENDING] =
		{
			[SCTP_EV_ASSOCIATE] = NOTHING,
			[SCTP_EV_COOKIE_ECHO] = NOTHING,
			[SCTP_EV_INIT_ACK] = NOTHING,
			[SCTP_EV_COOKIE_ACK] = NOTHING,
			[SCTP_EV_USER_SHUTDOWN] = NOTHING,
			[SCTP_EV_ALL_ACKED] = {SCTP_SHUTDOWN_SENT, SCTP_DO_SEND_SHUTDOWN},
			[SCTP_EV_SHUTDOWN] = {SCTP_SHUTDOWN_RECEIVED, SCTP_DO_FLUSH},
			[SCTP_EV_SHUTDOWN_ACK] = NOTHING,
			[SCTP_EV_SHUTDOWN_COMPLETE] = NOTHING,
		},
	[SCTP_SHUTDOWN_SENT] =
		{
			[SCTP_EV_ASSOCIATE] = NOTHING,
			[SCTP_EV_COOKIE_ECHO] = NOTHING,
			[SCTP_EV_INIT_ACK] = NOTHING,
			[SCTP_EV_COOKIE_ACK] = NOTHING,
			[SCTP_EV_USER_SHUTDOWN] = NOTHING,
			[SCTP_EV_ALL_ACKED] = NOTHING,
			[SCTP_EV_SHUTDOWN] = {SCTP_SHUTDOWN_ACK_SENT, SCTP_DO_SEND_SHUTDOWN_ACK},
			[SCTP_EV_SHUTDOWN_ACK] = {SCTP_CLOSED,
						  T1_OFF | ANSWER_COMPLETE | SCTP_DO_CLOSED},
			[SCTP_EV_SHUTDOWN_COMPLETE] = NOTHING,
		},
	[SCTP_SHUTDOWN_RECEIVED] =
		{
			[SCTP_EV_ASSOCIATE] = NOTHING,
			[SCTP_EV_COOKIE_ECHO] = NOTHING,
			[SCTP_EV_INIT_ACK] = NOTHING,
			[SCTP_EV_COOKIE_ACK] = NOTHING,
			[SCTP_EV_USER_SHUTDOWN] = NOTHING,
			[SCTP_EV_ALL_ACKED] = {SCTP_SHUTDOWN_ACK_SENT, SCTP_DO_SEND_SHUTDOWN_ACK},
			[SCTP_EV_SHUTDOWN] = NOTHING,
			[SCTP_EV_SHUTDOWN_ACK] = NOTHING,
			[SCTP_EV_SHUTDOWN_COMPLETE] = NOTHING,
		},
	[SCTP_SHUTDOWN_ACK_SENT] =
		{
			[SCTP_EV_ASSOCIATE] = NOTHING,
			[SCTP_EV_COOKIE_ECHO] = NOTHING,
			[SCTP_EV_INIT_ACK] = NOTHING,
			[SCTP_EV_COOKIE_ACK] = NOTHING,
			[SCTP_EV_USER_SHUTDOWN] = NOTHING,
			[SCTP_EV_ALL_ACKED] = NOTHING,
			[SCTP_EV_SHUTDOWN] = {SCTP_SHUTDOWN_ACK_SENT, SCTP_DO_SEND_SHUTDOWN_ACK},
			[SCTP_EV_SHUTDOWN_ACK] = {SCTP_CLOSED,
						  T1_OFF | ANSWER_COMPLETE | SCTP_DO_CLOSED},
			[SCTP_EV_SHUTDOWN_COMPLETE] = {SCTP_CLOSED, T1_OFF | SCTP_DO_CLOSED},
		},
};

/* rows: 9260-4-01 9260-4-03 9260-4-04 9260-4-05 9260-4-06 */
Test(fsm, does_what_the_figure_draws_and_nothing_else)
{
	for (int s = 0; s < SCTP_STATES; s++) {
		for (int e = 0; e < SCTP_EV_GIVE_UP; e++) {
			struct sctp_step got = sctp_fsm((enum sctp_state)s, (enum sctp_fsm_event)e);
			int next = expected[s][e].next < 0 ? s : expected[s][e].next;

			cr_expect_eq((int)got.next, next, "state %d, event %d: to %u", s, e,
				     got.next);
			cr_expect_eq(got.actions, expected[s][e].actions,
				     "state %d, event %d: does %x", s, e, got.actions);
		}
	}
}

Test(fsm, ends_in_every_state_when_it_gives_up)
{
	for (int s = 0; s < SCTP_STATES; s++) {
		struct sctp_step got = sctp_fsm((enum sctp_state)s, SCTP_EV_GIVE_UP);

		cr_expect_eq(got.next, SCTP_CLOSED);
		cr_expect_eq(got.actions, (unsigned)SCTP_DO_STOP_T1);
	}
}
