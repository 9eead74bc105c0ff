/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a queue pair. Only qp_connect and qp_session change it. */
#ifndef DAEMON_OBJECTS_QP_STATE_H
#define DAEMON_OBJECTS_QP_STATE_H

struct qp;

enum qp_state { /* values of enum ddp_qp_state */
		QP_IDLE,
		QP_CONNECTING,
		QP_RTS,
		QP_CLOSING,
		QP_ERROR, /* the session is over: posted work is flushed */
};

/* As programs and people see it: a queue pair of datagrams needs no session to be ready. */
enum qp_state qp_state(const struct qp *qp);

/* "idle", "connecting", "rts", "closing", "error" */
const char *qp_state_str(enum qp_state s);

#endif
