/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * States of an RDMAP stream as its endpoint sees them (RFC 5040 6.2, RFC 5041 7.1), and their
 * permissions.
 */
#ifndef PROTO_RDMAP_FSM_H
#define PROTO_RDMAP_FSM_H

#include <stdbool.h>

enum rdmap_state {
	RDMAP_UNBOUND, /* no stream */
	RDMAP_OPEN,
	RDMAP_STOPPING, /* one side has closed: finish the message being sent; begin no other,
			   but responses while the end waits for the peer's */
	RDMAP_REPORTED, /* raw: an error was reported; do not place or deliver, send at most one
			   more message (RFC 5041 7.1) */
	RDMAP_FAILED,   /* error or Terminate: do not place or deliver, send only our Terminate */
	RDMAP_STATE_COUNT,
};

enum rdmap_event {
	RDMAP_EV_BIND,
	RDMAP_EV_STOP,   /* session closed by us or by the peer */
	RDMAP_EV_FAIL,   /* first error in sequence, or the peer's Terminate */
	RDMAP_EV_REPORT, /* raw: first error in sequence */
	RDMAP_EV_SENT,   /* a message was sent */
	RDMAP_EV_UNBIND, /* the session is over */
	RDMAP_EV_EVENT_COUNT,
};

/* The state that follows. */
enum rdmap_state rdmap_fsm_next(enum rdmap_state state, enum rdmap_event ev);

/* May a message be begun? */
static inline bool rdmap_fsm_may_begin(enum rdmap_state state)
{
	return state == RDMAP_OPEN || state == RDMAP_REPORTED;
}

/* May segments be placed and delivered? */
static inline bool rdmap_fsm_may_receive(enum rdmap_state state)
{
	return state == RDMAP_OPEN || state == RDMAP_STOPPING;
}

#endif
