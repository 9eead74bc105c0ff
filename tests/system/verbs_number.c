/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for librdmacm at two devices that names queue pairs for datagrams in rdma_connect() and
 * rdma_accept(), as UCX does, and then the daemon of the second device is killed. Promise: the ids
 * have their events, asynchronous events name objects of the program alone, and rdma_destroy_id()
 * returns.
 *
 *   verbs_number ADDRESS ADDRESS      prints "waiting"; exit status 0 if it held
 */
#include <poll.h>
#include <stdio.h>

#include "tests/system/verbs_cm_rig.h"

static struct ibv_qp *datagrams(struct end *e)
{
	struct ibv_qp_init_attr init = side_init(&e->side);
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_UD;
	VERB(qp = ibv_create_qp(e->side.pd, &init));
	return qp;
}

static void expect_removal(void)
{
	struct rdma_cm_event *ev;
	enum rdma_cm_event_type type;

	do { /* of each id, and the session may have ended before */
		VERB(rdma_get_cm_event(servers, &ev) == 0);
		type = ev->event;
		VERB(rdma_ack_cm_event(ev) == 0);
	} while (type != RDMA_CM_EVENT_DEVICE_REMOVAL);
}

static void expect_end(void)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(clients, &ev) == 0);
	VERB(ev->event == RDMA_CM_EVENT_DISCONNECTED);
	VERB(rdma_ack_cm_event(ev) == 0);
}

/* The daemon has answered the first call after the end of the session; the second one hands out
 * what it sent before. */
static void expect_no_async(struct ibv_context *ctx)
{
	struct pollfd p = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_port_attr attr;

	for (int i = 0; i < 2; i++)
		VERB(ibv_query_port(ctx, 1, &attr) == 0 && attr.state == IBV_PORT_ACTIVE);
	VERB(poll(&p, 1, 0) == 0);
}

static void expect_fatal_device(struct ibv_context *ctx)
{
	struct pollfd p = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_async_event ev;

	VERB(ibv_get_async_event(ctx, &ev) == 0 && ev.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&ev);
	VERB(poll(&p, 1, 0) == 0);
}

int main(int argc, char **argv)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct rdma_cm_id *l;
	struct ibv_qp *cq, *sq;
	struct end c, s;

	cm_rig_open(argc, argv);
	l = listener_at(&addr[1]);
	resolve(&c, 0, 1, rdma_get_src_port(l));
	cq = datagrams(&c);
	ask(&c, cq->qp_num);
	take_request(&s, l);
	sq = datagrams(&s);
	param.qp_num = sq->qp_num;
	VERB(rdma_accept(s.id, &param) == 0);
	expect_only(clients, RDMA_CM_EVENT_CONNECT_RESPONSE);
	VERB(rdma_establish(c.id) == 0);
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	printf("waiting\n");
	expect_removal();
	expect_fatal_device(s.id->verbs);
	end_close(&s, sq);
	VERB(rdma_destroy_id(l) == 0);
	expect_end();
	expect_no_async(c.id->verbs);
	end_close(&c, cq);
	printf("ok asynchronous events where a session fails\n");
	return 0;
}
