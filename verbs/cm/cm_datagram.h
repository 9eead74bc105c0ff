/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids for datagrams (RDMA_PS_UDP): the active one asks for the number of a queue pair, and the
 * passive one answers. That is a session request whose answer is a reject with private data, so no
 * session begins: docs/datagrams.md.
 */
#ifndef VERBS_CM_DATAGRAM_H
#define VERBS_CM_DATAGRAM_H

#include "verbs/cm/cm_id.h"

static inline bool cm_datagram_is(const struct cm_id *id)
{
	return id->ibv.ps == RDMA_PS_UDP;
}

/* 0 if the devices have datagrams, or EOPNOTSUPP with a sentence. */
int cm_datagram_check(void);

/* Makes the events of an id of rdma_create_id() those of datagrams. */
void cm_datagram_begin(struct cm_id *id);

/* True if the private data of a request are those of such an id. */
bool cm_datagram_asks(const struct ddp_cm_event *ev);

/* rdma_connect(), and rdma_accept() of a request that waits. 0 or a negative errno value. */
int cm_datagram_connect(struct cm_id *id, const struct rdma_conn_param *conn);
int cm_datagram_accept(struct cm_id *id, const struct rdma_conn_param *conn);

#endif
