/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The most that the peer of a queue pair may do, whatever the regions permit: rights that the
 * program set, and rights that it excluded for its present session.
 */
#ifndef DAEMON_OBJECTS_QP_ACCESS_H
#define DAEMON_OBJECTS_QP_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct qp;

struct qp_access {
	uint32_t withheld; /* STAG_REMOTE_ rights that the peer does not have */
	bool no_reads;     /* nor those to read, in this session: the program asked for depth 0 */
};

/* Sets the STAG_REMOTE_ rights of its peers, now and in later sessions. */
void qp_access_set(struct qp *qp, uint32_t rights);

/*
 * A session begins. none: its program asked for no Reads and atomics of the peer. Then the peer has
 * no right to them, even if it negotiates no depth: a plain message cannot tell it (RFC 6581).
 */
void qp_access_set_no_reads(struct qp *qp, bool none);

#endif
