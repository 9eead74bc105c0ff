/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of queue pairs: the treatment of messages without a receive, of segments ahead of their
 * turn, and of receives at the end of the session. proto/rdmap/rdmap.h has their meaning.
 */
#ifndef DAEMON_OBJECTS_QP_OPTIONS_H
#define DAEMON_OBJECTS_QP_OPTIONS_H

#include "daemon/base/reply.h"

struct qp;
struct srq;

enum {
	QP_HOLD_MAX = 16 << 20,    /* bytes of one queue pair */
	QP_HOLD_DEFAULT = 4 << 20, /* of one that places in order, if the program does not say */
	QP_HOLD_MS_MAX = 600000,
};

/* Changes the options that the record names, and answers with all options and their use. 0 or a
 * refusal. */
int qp_options_set(struct qp *qp, const struct msg_options *req, struct msg_options_state *ret,
		   struct reply *rep);

/* Sets how long messages wait for receives of the peer, and its of this end. */
int qp_options_set_rnr(struct qp *qp, const struct msg_qp_rnr *req, struct reply *rep);

/* The same for the queue pairs that will be made with a shared receive queue. */
int qp_options_set_srq(struct srq *srq, const struct msg_options *req,
		       struct msg_options_state *ret, struct reply *rep);

/* A new queue pair gets the hold of its shared receive queue, if that has one. 0 or a refusal. */
int qp_options_inherit(struct qp *qp, struct reply *rep);

/* Hold and use of a shared receive queue. hdr is left alone. */
void qp_options_of_srq(const struct srq *srq, struct msg_options_state *ret);

#endif
