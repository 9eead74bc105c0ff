/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for librdmacm at two devices. Promise: ids for datagrams (RDMA_PS_UDP) lead from an
 * address and a port to a queue pair: the request and its answer carry private data, the answer a
 * number, a Q_Key and an address handle by which datagrams arrive, and come back. A reject, a port
 * without a listener, one of connections and a peer that is not ddpverbs are UNREACHABLE, once. No
 * session stays.
 *
 *   verbs_udp ADDRESS ADDRESS      exit status 0 if it held
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

#include "tests/system/verbs_cm_rig.h"

enum { GRH = 40, BYTES = 4096, REFUSED = 2, UNSUPPORTED = 1 };

static const char answer[] = "the answer of the server", refusal[] = "not today";

static unsigned c_at; /* the device of clients */

static struct rdma_cm_id *new_id(struct rdma_event_channel *ch, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	VERB(rdma_create_id(ch, &id, NULL, ps) == 0);
	return id;
}

static struct rdma_cm_id *listen_for(enum rdma_port_space ps)
{
	struct sockaddr_in at = addr[1];
	struct rdma_cm_id *id = new_id(servers, ps);

	VERB(rdma_bind_addr(id, (struct sockaddr *)&at) == 0);
	VERB(rdma_listen(id, 4) == 0 && rdma_get_src_port(id) != 0);
	return id;
}

static void make_ud(struct end *e)
{
	struct ibv_qp_init_attr init = side_init(&e->side);

	VERB(rdma_create_qp(e->id, e->side.pd, &init) == -1 && errno == EINVAL);
	init.qp_type = IBV_QPT_UD;
	VERB(rdma_create_qp(e->id, e->side.pd, &init) == 0);
	VERB(e->id->qp->qp_type == IBV_QPT_UD && e->id->qp->state == IBV_QPS_RTS);
}

/* A client that has asked a port of the other device. */
static void ask_for(struct end *c, enum rdma_port_space ps, __be16 port)
{
	struct rdma_conn_param param = {
		.private_data = hello, .private_data_len = sizeof(hello), .qp_num = 2};
	struct sockaddr_in src = addr[c_at], dst = addr[!c_at];

	memset(c, 0, sizeof(*c));
	dst.sin_port = port;
	c->id = new_id(clients, ps);
	VERB(rdma_resolve_addr(c->id, (struct sockaddr *)&src, (struct sockaddr *)&dst, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(rdma_resolve_route(c->id, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ROUTE_RESOLVED);
	end_objects(c);
	if (ps == RDMA_PS_UDP)
		make_ud(c);
	else
		make_qp(c);
	VERB(rdma_connect(c->id, &param) == 0);
}

static void take(struct end *s, const struct rdma_cm_id *listener)
{
	struct rdma_cm_event *ev = expect(servers, RDMA_CM_EVENT_CONNECT_REQUEST);

	memset(s, 0, sizeof(*s));
	VERB(ev->listen_id == listener && ev->param.ud.private_data_len == sizeof(hello));
	VERB(memcmp(ev->param.ud.private_data, hello, sizeof(hello)) == 0);
	s->id = ev->id;
	VERB(s->id->ps == RDMA_PS_UDP && s->id->qp_type == IBV_QPT_UD);
	VERB(rdma_ack_cm_event(ev) == 0);
	end_objects(s);
}

static void unreachable(int status, const char *data)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(clients, &ev) == 0);
	VERB(ev->event == RDMA_CM_EVENT_UNREACHABLE && ev->status == status);
	VERB(!data || (ev->param.ud.private_data_len == strlen(data) &&
		       memcmp(ev->param.ud.private_data, data, strlen(data)) == 0));
	VERB(rdma_ack_cm_event(ev) == 0);
}

static void no_event(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *ev;

	VERB(fcntl(ch->fd, F_SETFL, O_NONBLOCK) == 0);
	VERB(rdma_get_cm_event(ch, &ev) == -1 && errno == EAGAIN);
	VERB(fcntl(ch->fd, F_SETFL, 0) == 0);
}

/* ---- bytes ---- */

static void receive(struct end *e)
{
	struct ibv_sge sge = side_sge(&e->side, 0, GRH + BYTES);
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;

	VERB(ibv_post_recv(e->id->qp, &wr, &bad) == 0);
}

static void send_to(struct end *e, struct ibv_ah *ah, uint32_t num, uint32_t qkey, unsigned seed)
{
	struct ibv_sge sge = side_sge(&e->side, 2 * BYTES, BYTES);
	struct ibv_send_wr wr = {.wr_id = 2,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.ud = {.ah = ah, .remote_qpn = num, .remote_qkey = qkey}},
			   *bad;

	rig_fill(e->side.mem + 2 * BYTES, BYTES, seed);
	VERB(ibv_post_send(e->id->qp, &wr, &bad) == 0);
	rig_done(e->side.cq, 2, IBV_WC_SEND);
}

/* The answer leads to the server, and a completion back to the client. */
static void there_and_back(struct end *c, struct end *s, struct rdma_ud_param *to)
{
	struct ibv_ah *ah = ibv_create_ah(c->side.pd, &to->ah_attr), *back;
	struct ibv_wc wc;

	VERB(ah);
	receive(s);
	receive(c);
	send_to(c, ah, to->qp_num, to->qkey, 5);
	wc = rig_done(s->side.cq, 1, IBV_WC_RECV);
	VERB(wc.byte_len == GRH + BYTES && wc.src_qp == c->id->qp->qp_num);
	rig_same(s->side.mem + GRH, BYTES, 5);
	VERB(back = ibv_create_ah_from_wc(s->side.pd, &wc, (struct ibv_grh *)s->side.mem, 1));
	send_to(s, back, wc.src_qp, RDMA_UDP_QKEY, 6);
	rig_done(c->side.cq, 1, IBV_WC_RECV);
	rig_same(c->side.mem + GRH, BYTES, 6);
	VERB(ibv_destroy_ah(ah) == 0 && ibv_destroy_ah(back) == 0);
}

static void accepted(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = {.private_data = answer, .private_data_len = sizeof(answer)};
	struct rdma_cm_event *ev;
	struct end c, s;

	ask_for(&c, RDMA_PS_UDP, rdma_get_src_port(listener));
	take(&s, listener);
	VERB(rdma_accept(s.id, NULL) == -1 && errno == EINVAL); /* of which queue pair? */
	make_ud(&s);
	VERB(rdma_accept(s.id, &param) == 0);
	VERB(rdma_accept(s.id, &param) == -1 && errno == EINVAL);
	ev = expect(clients, RDMA_CM_EVENT_ESTABLISHED);
	VERB(ev->param.ud.qp_num == s.id->qp->qp_num && ev->param.ud.qkey == RDMA_UDP_QKEY);
	VERB(ev->param.ud.private_data_len == sizeof(answer) &&
	     memcmp(ev->param.ud.private_data, answer, sizeof(answer)) == 0);
	there_and_back(&c, &s, &ev->param.ud);
	VERB(rdma_ack_cm_event(ev) == 0);
	VERB(rdma_connect(c.id, &param) == -1 && errno == EINVAL);
	VERB(rdma_join_multicast(c.id, (struct sockaddr *)&addr[0], NULL) == -1 &&
	     errno == EOPNOTSUPP);
	VERB(rdma_disconnect(c.id) == 0 && c.id->qp->state == IBV_QPS_ERR);
	no_event(clients);
	no_event(servers);
	end_close(&c, NULL);
	end_close(&s, NULL);
	puts("an id leads to a queue pair for datagrams");
}

/* A program may name a queue pair of its own in the answer. */
static void named(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = {.qp_num = 0xabcdef};
	struct rdma_cm_event *ev;
	struct end c, s;

	ask_for(&c, RDMA_PS_UDP, rdma_get_src_port(listener));
	take(&s, listener);
	VERB(rdma_accept(s.id, &param) == 0);
	ev = expect(clients, RDMA_CM_EVENT_ESTABLISHED);
	VERB(ev->param.ud.qp_num == 0xabcdef && ev->param.ud.private_data_len == 0);
	VERB(rdma_ack_cm_event(ev) == 0);
	end_close(&c, NULL);
	end_close(&s, NULL);
	puts("an answer names any queue pair");
}

static void rejected(struct rdma_cm_id *listener)
{
	struct end c, s;

	ask_for(&c, RDMA_PS_UDP, rdma_get_src_port(listener));
	take(&s, listener);
	VERB(rdma_reject(s.id, refusal, strlen(refusal)) == 0);
	unreachable(REFUSED, refusal);
	end_close(&c, NULL);
	end_close(&s, NULL);
	/* The id of a request goes without an answer. */
	ask_for(&c, RDMA_PS_UDP, rdma_get_src_port(listener));
	take(&s, listener);
	end_close(&s, NULL);
	unreachable(REFUSED, "");
	end_close(&c, NULL);
	puts("a reject is UNREACHABLE");
}

/* Ports of datagrams and of connections are the same; what comes to the wrong one gets no event. */
static void wrong_port(struct rdma_cm_id *listener)
{
	struct rdma_cm_id *of_sessions = listen_for(RDMA_PS_TCP);
	struct rdma_cm_event *ev;
	struct end c;
	__be16 gone;

	ask_for(&c, RDMA_PS_UDP, rdma_get_src_port(of_sessions));
	unreachable(REFUSED, "");
	end_close(&c, NULL);
	ask_for(&c, RDMA_PS_TCP, rdma_get_src_port(listener));
	VERB(rdma_get_cm_event(clients, &ev) == 0 && ev->event == RDMA_CM_EVENT_REJECTED);
	VERB(rdma_ack_cm_event(ev) == 0);
	end_close(&c, NULL);
	gone = rdma_get_src_port(of_sessions);
	VERB(rdma_destroy_id(of_sessions) == 0);
	ask_for(&c, RDMA_PS_UDP, gone);
	unreachable(UNSUPPORTED, NULL);
	end_close(&c, NULL);
	no_event(clients);
	no_event(servers);
	puts("a port without datagrams is UNREACHABLE");
}

/* A program for libddpclient takes the request as one of its protocol, and its session ends. */
static void foreign(void)
{
	struct ddp_cm_event *ev;
	struct ddp_ctx *ctx;
	struct end c;
	__be16 port;

	ctx = native_listener(&port);
	c_at = 1;
	ask_for(&c, RDMA_PS_UDP, port);
	c_at = 0;
	native_accept(ctx);
	unreachable(UNSUPPORTED, NULL);
	VERB(ddp_get_cm_event(ctx, &ev, RIG_WAIT_MS) == 0 && ev->type == DDP_CM_ESTABLISHED);
	ddp_ack_cm_event(ev);
	VERB(ddp_get_cm_event(ctx, &ev, RIG_WAIT_MS) == 0 && ev->type == DDP_CM_DISCONNECTED);
	no_event(clients);
	end_close(&c, NULL);
	puts("a session of another protocol ends");
}

/* By endpoints, whose calls wait for their events. */
static void endpoints(void)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_UDP, .ai_flags = RAI_PASSIVE}, *res;
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}};
	struct rdma_cm_id *listener, *c, *s;
	struct sockaddr_in at = addr[1];

	hints.ai_src_addr = (struct sockaddr *)&at;
	hints.ai_src_len = sizeof(at);
	VERB(rdma_getaddrinfo(NULL, NULL, &hints, &res) == 0 && res->ai_qp_type == IBV_QPT_UD);
	VERB(rdma_create_ep(&listener, res, NULL, &init) == 0 && rdma_listen(listener, 1) == 0);
	rdma_freeaddrinfo(res);
	at.sin_port = rdma_get_src_port(listener);
	hints = (struct rdma_addrinfo){.ai_qp_type = IBV_QPT_UD,
				       .ai_dst_addr = (struct sockaddr *)&at,
				       .ai_dst_len = sizeof(at)};
	VERB(rdma_getaddrinfo(NULL, NULL, &hints, &res) == 0 && res->ai_port_space == RDMA_PS_UDP);
	VERB(rdma_create_ep(&c, res, NULL, &init) == 0 && c->qp->state == IBV_QPS_RTS);
	rdma_freeaddrinfo(res);
	VERB(rdma_migrate_id(c, clients) == 0 && rdma_connect(c, NULL) == 0);
	VERB(rdma_get_request(listener, &s) == 0 && s->qp->qp_type == IBV_QPT_UD);
	VERB(rdma_accept(s, NULL) == 0);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
	rdma_destroy_ep(s);
	rdma_destroy_ep(c);
	rdma_destroy_ep(listener);
	puts("endpoints are for datagrams, too");
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener;

	cm_rig_open(argc, argv);
	listener = listen_for(RDMA_PS_UDP);
	accepted(listener);
	named(listener);
	rejected(listener);
	wrong_port(listener);
	VERB(rdma_destroy_id(listener) == 0);
	foreign();
	endpoints();
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
	return 0;
}
