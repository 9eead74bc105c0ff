/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states of an association (RFC 9260 section 4) as one function: from a state and an event to
 * the next state and its actions.
 */
#ifndef SCTP_FSM_H
#define SCTP_FSM_H

enum sctp_state {
	SCTP_CLOSED,
	SCTP_COOKIE_WAIT,
	SCTP_COOKIE_ECHOED,
	SCTP_ESTABLISHED,
	SCTP_SHUTDOWN_PENDING,
	SCTP_SHUTDOWN_SENT,
	SCTP_SHUTDOWN_RECEIVED,
	SCTP_SHUTDOWN_ACK_SENT,
	SCTP_STATES,
};

enum sctp_fsm_event {
	SCTP_EV_ASSOCIATE,   /* the user begins an association */
	SCTP_EV_COOKIE_ECHO, /* a valid cookie */
	SCTP_EV_INIT_ACK,
	SCTP_EV_COOKIE_ACK,
	SCTP_EV_USER_SHUTDOWN,
	SCTP_EV_ALL_ACKED, /* no chunk is queued or outstanding */
	SCTP_EV_SHUTDOWN,
	SCTP_EV_SHUTDOWN_ACK,
	SCTP_EV_SHUTDOWN_COMPLETE,
	SCTP_EV_GIVE_UP, /* aborted by either side, or too many retransmissions */
	SCTP_EVENTS,
};

/* Actions, executed in this order. */
enum {
	SCTP_DO_SEND_INIT = 1,        /* and start T1-init */
	SCTP_DO_SEND_COOKIE_ECHO = 2, /* and start T1-cookie */
	SCTP_DO_STOP_T1 = 4,
	SCTP_DO_UP = 8,                 /* tell the user */
	SCTP_DO_SEND_SHUTDOWN = 16,     /* and start T2-shutdown */
	SCTP_DO_START_T5 = 32,          /* guard of the whole shutdown */
	SCTP_DO_SEND_SHUTDOWN_ACK = 64, /* and start T2-shutdown */
	SCTP_DO_SEND_SHUTDOWN_COMPLETE = 128,
	SCTP_DO_CLOSED = 256, /* tell the user that it closed gracefully */
	SCTP_DO_FLUSH = 512,  /* see whether everything is acknowledged already */
};

struct sctp_step {
	enum sctp_state next;
	unsigned actions;
};

/* An event that has no meaning in a state is ignored. */
struct sctp_step sctp_fsm(enum sctp_state state, enum sctp_fsm_event event);

#endif
