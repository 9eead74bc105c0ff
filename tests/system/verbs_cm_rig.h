/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common functions of the programs for librdmacm at two devices: ids with what a queue pair needs,
 * and the steps of a session between a client at one device and a server at another.
 */
#ifndef TESTS_SYSTEM_VERBS_CM_RIG_H
#define TESTS_SYSTEM_VERBS_CM_RIG_H

#include <ddp/ddp.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include "tests/system/verbs_rig.h"

/* Two channels, and the addresses of the two devices. */
extern struct rdma_event_channel *clients, *servers;
extern struct sockaddr_in addr[2];

/* Makes the channels and reads the addresses, which are the arguments of the program. */
void cm_rig_open(int argc, char **argv);

/* The next event, which must be of this type. expect_only() acknowledges it. */
struct rdma_cm_event *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type);
void expect_only(struct rdma_event_channel *ch, enum rdma_cm_event_type type);

struct end {
	struct rdma_cm_id *id;
	struct side side; /* pd, cq, mr and mem at the device of the id */
};

/* Makes the members of the side, and frees them. */
void end_objects(struct end *e);
void end_free(struct end *e);

/* Destroys queue pair and id as well. named: the queue pair, if it is not that of the id. */
void end_close(struct end *e, struct ibv_qp *named);

void make_qp(struct end *e);

/* A listener; port 0. */
struct rdma_cm_id *listener_at(const struct sockaddr_in *at);

/* A client at one device, with a way to the other's port. */
void resolve(struct end *e, unsigned from, unsigned to, __be16 port);

/* Connects with private data; the request is with the listener then. */
extern const char hello[22];
void ask(struct end *c, uint32_t qp_num);
void take_request(struct end *s, const struct rdma_cm_id *listener);

/* Bytes both ways. */
void exchange(struct end *c, struct end *s, struct ibv_qp *cq, struct ibv_qp *sq);

/* Ends the session of a client, whose event comes. */
void disconnect(struct end *c);

/* A listener of libddpclient at the first daemon. It accepts a request with the private data that
 * came; their number. */
struct ddp_ctx *native_listener(__be16 *ret_port);
size_t native_accept(struct ddp_ctx *ctx);

#endif
