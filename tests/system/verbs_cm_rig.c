/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/verbs_cm_rig.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rdma_event_channel *clients, *servers;
struct sockaddr_in addr[2];

void cm_rig_open(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	VERB(argc >= 3);
	for (int i = 0; i < 2; i++) {
		addr[i].sin_family = AF_INET;
		VERB(inet_pton(AF_INET, argv[1 + i], &addr[i].sin_addr) == 1);
	}
	VERB((clients = rdma_create_event_channel()) && (servers = rdma_create_event_channel()));
}

/* ---- events ---- */

struct rdma_cm_event *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(ch, &ev) == 0);
	if (ev->event != type || ev->status != 0) {
		printf("FAILED: %s, status %d; expected %s\n", rdma_event_str(ev->event),
		       ev->status, rdma_event_str(type));
		exit(1);
	}
	return ev;
}

void expect_only(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	VERB(rdma_ack_cm_event(expect(ch, type)) == 0);
}

/* ---- ends ---- */

void end_objects(struct end *e)
{
	struct side *s = &e->side;

	s->ctx = e->id->verbs;
	VERB(s->pd = ibv_alloc_pd(s->ctx));
	VERB(s->cq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0));
	VERB(posix_memalign((void **)&s->mem, 4096, RIG_SIZE) == 0);
	memset(s->mem, 0, RIG_SIZE);
	VERB(s->mr = ibv_reg_mr(s->pd, s->mem, RIG_SIZE, IBV_ACCESS_LOCAL_WRITE));
}

void end_free(struct end *e)
{
	VERB(ibv_dereg_mr(e->side.mr) == 0);
	VERB(ibv_destroy_cq(e->side.cq) == 0);
	VERB(ibv_dealloc_pd(e->side.pd) == 0);
	free(e->side.mem);
}

void end_close(struct end *e, struct ibv_qp *named)
{
	if (named)
		VERB(ibv_destroy_qp(named) == 0);
	else
		rdma_destroy_qp(e->id);
	VERB(rdma_destroy_id(e->id) == 0);
	end_free(e);
}

void make_qp(struct end *e)
{
	struct ibv_qp_init_attr init = side_init(&e->side);

	VERB(rdma_create_qp(e->id, e->side.pd, &init) == 0);
}

struct rdma_cm_id *listener_at(const struct sockaddr_in *at)
{
	struct sockaddr_in a = *at;
	struct rdma_cm_id *id;

	VERB(rdma_create_id(servers, &id, &addr, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&a) == 0);
	VERB(rdma_listen(id, 4) == 0);
	VERB(rdma_get_src_port(id) != 0);
	return id;
}

void resolve(struct end *e, unsigned from, unsigned to, __be16 port)
{
	struct sockaddr_in src = addr[from], dst = addr[to];

	memset(e, 0, sizeof(*e));
	dst.sin_port = port;
	VERB(rdma_create_id(clients, &e->id, e, RDMA_PS_TCP) == 0);
	VERB(rdma_resolve_addr(e->id, (struct sockaddr *)&src, (struct sockaddr *)&dst, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(rdma_resolve_route(e->id, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ROUTE_RESOLVED);
	end_objects(e);
}

const char hello[22] = "hello from the client";

void ask(struct end *c, uint32_t qp_num)
{
	struct rdma_conn_param param = {
		.private_data = hello,
		.private_data_len = sizeof(hello),
		.initiator_depth = 3,
		.responder_resources = 2,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = qp_num,
	};

	VERB(rdma_connect(c->id, &param) == 0);
}

void take_request(struct end *s, const struct rdma_cm_id *listener)
{
	struct rdma_cm_event *ev = expect(servers, RDMA_CM_EVENT_CONNECT_REQUEST);

	memset(s, 0, sizeof(*s));
	VERB(ev->listen_id == listener && ev->id != listener && ev->id->context == &addr);
	VERB(ev->param.conn.private_data_len == sizeof(hello) &&
	     memcmp(ev->param.conn.private_data, hello, sizeof(hello)) == 0);
	VERB(ev->param.conn.responder_resources == 3 && ev->param.conn.initiator_depth == 2);
	s->id = ev->id;
	VERB(rdma_ack_cm_event(ev) == 0);
	end_objects(s);
}

void exchange(struct end *c, struct end *s, struct ibv_qp *cq, struct ibv_qp *sq)
{
	struct pair p = {.side = {&c->side, &s->side}, .qp = {cq, sq}};

	for (unsigned i = 0; i < 6; i++)
		pair_send(&p, i & 1, 1 + 5000 * i, i);
}

void disconnect(struct end *c)
{
	VERB(rdma_disconnect(c->id) == 0);
	expect_only(clients, RDMA_CM_EVENT_DISCONNECTED);
}

/* ---- a peer that is not ddpverbs ---- */

struct ddp_ctx *native_listener(__be16 *ret_port)
{
	const char *sockets = getenv("DDPVERBS_SOCKETS");
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_id_attr got = DDP_INIT(ddp_id_attr);
	struct ddp_ctx *ctx;
	struct ddp_id *id;

	VERB(sockets && (attr.socket = strndup(sockets, strcspn(sockets, ":"))));
	VERB(ddp_open(&attr, &ctx) == 0 && ddp_create_id(ctx, NULL, &id) == 0);
	VERB(ddp_listen(id, NULL, 0, 4) == 0 && ddp_query_id(id, &got) == 0);
	free((char *)attr.socket);
	*ret_port = htons(got.port);
	return ctx;
}

size_t native_accept(struct ddp_ctx *ctx)
{
	const struct ddp_cq_attr cq_attr = {.struct_size = sizeof(cq_attr), .entries = 8};
	struct ddp_qp_init init = {.struct_size = sizeof(init), .max_send_wr = 4, .max_recv_wr = 4};
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct ddp_cm_event *ev;
	struct ddp_pd *pd;
	struct ddp_qp *qp;

	VERB(ddp_alloc_pd(ctx, &pd) == 0 && ddp_create_cq(ctx, &cq_attr, &init.send_cq) == 0);
	init.recv_cq = init.send_cq;
	VERB(ddp_get_cm_event(ctx, &ev, RIG_WAIT_MS) == 0 && ev->type == DDP_CM_CONNECT_REQUEST);
	VERB(ev->private_len >= sizeof(hello) &&
	     memcmp(ev->private_data, hello, sizeof(hello)) == 0);
	VERB(ddp_create_qp(ev->id, pd, &init, &qp) == 0);
	param.private_data = ev->private_data;
	param.private_len = ev->private_len;
	VERB(ddp_accept(ev->id, &param) == 0);
	ddp_ack_cm_event(ev);
	return param.private_len;
}
