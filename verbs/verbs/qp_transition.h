/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states of a queue pair: which transitions there are, which attributes each needs and takes,
 * and which work a state takes. The one place that knows them.
 */
#ifndef VERBS_QP_TRANSITION_H
#define VERBS_QP_TRANSITION_H

#include <infiniband/verbs.h>

/* Whose states: those of the IB specification, or of an iWARP device. */
enum qp_states {
	QP_STATES_RC,
	QP_STATES_UC,
	QP_STATES_UD,
	QP_STATES_IWARP,
};

/* Checks a change by ibv_modify_qp(): the transition, its attributes and their values. gids: length
 * of the table of GIDs. 0 or EINVAL. */
int qp_transition_check(enum qp_states states, enum ibv_qp_state from,
			const struct ibv_qp_attr *attr, int mask, unsigned gids);

/* Work that a state takes; in IBV_QPS_ERR it is flushed. */
enum {
	QP_TAKES_SENDS = 1,
	QP_TAKES_RECVS = 2,
};

/* A set of these. */
unsigned qp_transition_takes(enum qp_states states, enum ibv_qp_state state);

#endif
