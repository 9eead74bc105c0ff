/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for librdmacm at two devices. Promise: ids that move to another event channel, queue
 * pairs that the program made and names, listeners at a wildcard address, and ids that are
 * destroyed at any point do what rdma_cm says, and the bytes are the expected ones.
 *
 *   verbs_cm ADDRESS-OF-FIRST-DEVICE ADDRESS-OF-SECOND      exit status 0 if it held
 */
#include <arpa/inet.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

static struct rdma_event_channel *clients, *servers;
static struct sockaddr_in addr[2]; /* of the devices */

/* ---- events ---- */

/* The next event, which must be of this type. */
static struct rdma_cm_event *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
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

static void expect_only(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	VERB(rdma_ack_cm_event(expect(ch, type)) == 0);
}

/* Of a session: an iWARP device has only the first one. */
static void expect_end(struct rdma_event_channel *ch)
{
	expect_only(ch, RDMA_CM_EVENT_DISCONNECTED);
	if (!getenv("DDPVERBS_IWARP"))
		expect_only(ch, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

/* ---- ends ---- */

struct end {
	struct rdma_cm_id *id;
	struct side side; /* pd, cq, mr and mem at the device of the id */
};

static void objects(struct end *e)
{
	struct side *s = &e->side;

	s->ctx = e->id->verbs;
	VERB(s->pd = ibv_alloc_pd(s->ctx));
	VERB(s->cq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0));
	VERB(posix_memalign((void **)&s->mem, 4096, RIG_SIZE) == 0);
	memset(s->mem, 0, RIG_SIZE);
	VERB(s->mr = ibv_reg_mr(s->pd, s->mem, RIG_SIZE, IBV_ACCESS_LOCAL_WRITE));
}

static void end_close(struct end *e, struct ibv_qp *named)
{
	if (named)
		VERB(ibv_destroy_qp(named) == 0);
	else
		rdma_destroy_qp(e->id);
	VERB(rdma_destroy_id(e->id) == 0);
	VERB(ibv_dereg_mr(e->side.mr) == 0);
	VERB(ibv_destroy_cq(e->side.cq) == 0);
	VERB(ibv_dealloc_pd(e->side.pd) == 0);
	free(e->side.mem);
}

static void make_qp(struct end *e)
{
	struct ibv_qp_init_attr init = side_init(&e->side);

	VERB(rdma_create_qp(e->id, e->side.pd, &init) == 0);
}

/* A listener; port 0. */
static struct rdma_cm_id *listener_at(const struct sockaddr_in *at)
{
	struct sockaddr_in a = *at;
	struct rdma_cm_id *id;

	VERB(rdma_create_id(servers, &id, &addr, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&a) == 0);
	VERB(rdma_listen(id, 4) == 0);
	VERB(rdma_get_src_port(id) != 0);
	return id;
}

/* A client at one device, with a way to the other's port. */
static void resolve(struct end *e, unsigned from, unsigned to, __be16 port)
{
	struct sockaddr_in src = addr[from], dst = addr[to];

	memset(e, 0, sizeof(*e));
	dst.sin_port = port;
	VERB(rdma_create_id(clients, &e->id, e, RDMA_PS_TCP) == 0);
	VERB(rdma_resolve_addr(e->id, (struct sockaddr *)&src, (struct sockaddr *)&dst, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(rdma_resolve_route(e->id, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ROUTE_RESOLVED);
	objects(e);
}

static const char hello[] = "hello from the client";

/* Connects; the request is with the listener then. */
static void ask(struct end *c, uint32_t qp_num)
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

static void take_request(struct end *s, const struct rdma_cm_id *listener)
{
	struct rdma_cm_event *ev = expect(servers, RDMA_CM_EVENT_CONNECT_REQUEST);

	memset(s, 0, sizeof(*s));
	VERB(ev->listen_id == listener && ev->id != listener && ev->id->context == &addr);
	VERB(ev->param.conn.private_data_len == sizeof(hello) &&
	     memcmp(ev->param.conn.private_data, hello, sizeof(hello)) == 0);
	VERB(ev->param.conn.responder_resources == 3 && ev->param.conn.initiator_depth == 2);
	s->id = ev->id;
	VERB(rdma_ack_cm_event(ev) == 0);
	objects(s);
}

/* Bytes both ways. */
static void exchange(struct end *c, struct end *s, struct ibv_qp *cq, struct ibv_qp *sq)
{
	struct pair p = {.side = {&c->side, &s->side}, .qp = {cq, sq}};

	for (unsigned i = 0; i < 6; i++)
		pair_send(&p, i & 1, 1 + 5000 * i, i);
}

/* A Send with immediate data. */
static void exchange_imm(struct end *c, struct end *s)
{
	struct pair p = {.side = {&c->side, &s->side}, .qp = {c->id->qp, s->id->qp}};
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(5)};
	struct ibv_sge sge = side_sge(&c->side, 0, 9);
	struct ibv_wc wc;

	post_recv(&p, 1, 2, 0, 100);
	VERB(post(&p, 0, &wr, &sge) == 0);
	rig_done(c->side.cq, 1, IBV_WC_SEND);
	wc = rig_done(s->side.cq, 2, IBV_WC_RECV);
	VERB(wc.byte_len == 9 && wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htonl(5));
}

static void disconnect(struct end *c)
{
	VERB(rdma_disconnect(c->id) == 0);
	expect_end(clients);
}

/* ---- cases ---- */

/* The id of a request moves while its events wait, and then again. */
static void moved_ids(void)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct rdma_cm_event *ev;
	struct end c, s;

	VERB(other);
	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	ask(&c, 0);
	take_request(&s, l);
	VERB(strcmp(s.id->verbs->device->name, "ddpsctp0") == 0);
	VERB(strcmp(c.id->verbs->device->name, "ddpsctp1") == 0);
	make_qp(&s);
	VERB(rdma_migrate_id(s.id, other) == 0 && s.id->channel == other);
	VERB(rdma_accept(s.id, NULL) == 0);
	expect_only(other, RDMA_CM_EVENT_ESTABLISHED);
	ev = expect(clients, RDMA_CM_EVENT_ESTABLISHED);
	VERB(rdma_ack_cm_event(ev) == 0);
	exchange(&c, &s, c.id->qp, s.id->qp);
	exchange_imm(&c, &s);
	exchange_imm(&s, &c);
	disconnect(&c);
	VERB(rdma_disconnect(s.id) == 0 || errno == EINVAL);
	/* Its DISCONNECTED may wait at the other channel by now, or come later. */
	VERB(rdma_migrate_id(s.id, servers) == 0);
	expect_end(servers);
	rdma_destroy_event_channel(other);
	end_close(&c, NULL);
	end_close(&s, NULL);
	VERB(rdma_destroy_id(l) == 0);
}

static struct ibv_qp *own_qp(struct end *e)
{
	struct ibv_qp_init_attr init = side_init(&e->side);
	struct ibv_qp *qp = ibv_create_qp(e->side.pd, &init);

	VERB(qp);
	return qp;
}

/* Moves a queue pair to a state as rdma_cm says; iWARP has no need of it. */
static void go(struct end *e, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr;
	int mask = 0;

	memset(&attr, 0xee, sizeof(attr));
	attr.qp_state = state;
	VERB(rdma_init_qp_attr(e->id, &attr, &mask) == 0);
	VERB(ibv_modify_qp(qp, &attr, mask) == 0);
}

/* Queue pairs of ibv_create_qp(), which the parameters name. */
static void named_queue_pairs(void)
{
	struct rdma_cm_id *l = listener_at(&addr[1]);
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct ibv_qp *cq, *sq;
	struct end c, s;

	resolve(&c, 0, 1, rdma_get_src_port(l));
	cq = own_qp(&c);
	go(&c, cq, IBV_QPS_INIT);
	ask(&c, cq->qp_num);
	take_request(&s, l);
	sq = own_qp(&s);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		go(&s, sq, state);
	param.qp_num = sq->qp_num;
	VERB(rdma_accept(s.id, &param) == 0);
	if (cq->context->device->transport_type == IBV_TRANSPORT_IWARP) {
		expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
	} else {
		expect_only(clients, RDMA_CM_EVENT_CONNECT_RESPONSE);
		go(&c, cq, IBV_QPS_RTR);
		go(&c, cq, IBV_QPS_RTS);
		VERB(rdma_establish(c.id) == 0);
	}
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	exchange(&c, &s, cq, sq);
	disconnect(&c);
	expect_end(servers);
	end_close(&c, cq);
	end_close(&s, sq);
	VERB(rdma_destroy_id(l) == 0);
}

/* One listener gets the requests of both daemons. */
static void wildcard(void)
{
	const struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_id *l = listener_at(&any);
	struct end c, s;

	for (unsigned to = 0; to < 2; to++) {
		resolve(&c, !to, to, rdma_get_src_port(l));
		make_qp(&c);
		ask(&c, 0);
		take_request(&s, l);
		VERB(strcmp(s.id->verbs->device->name, to ? "ddpsctp1" : "ddpsctp0") == 0);
		make_qp(&s);
		VERB(rdma_accept(s.id, NULL) == 0);
		expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
		expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
		exchange(&c, &s, c.id->qp, s.id->qp);
		disconnect(&c);
		expect_end(servers);
		end_close(&c, NULL);
		end_close(&s, NULL);
	}
	VERB(rdma_destroy_id(l) == 0);
}

/* A listener of libddpclient at the first daemon. */
static struct ddp_ctx *native_listener(__be16 *ret_port)
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

/* Accepts a request with the private data that came. Their number. */
static size_t native_accept(struct ddp_ctx *ctx)
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

/* A peer that is not ddpverbs finds the private data, and takes no Send with immediate data, even
 * if it returns what it got. */
static void native_peer(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM};
	struct rdma_cm_event *ev;
	struct ddp_ctx *ctx;
	struct ibv_sge sge;
	struct end c;
	size_t len;
	__be16 port;

	ctx = native_listener(&port);
	resolve(&c, 1, 0, port);
	make_qp(&c);
	ask(&c, 0);
	len = native_accept(ctx);
	ev = expect(clients, RDMA_CM_EVENT_ESTABLISHED);
	VERB(ev->param.conn.private_data_len == len);
	VERB(rdma_ack_cm_event(ev) == 0);
	sge = side_sge(&c.side, 0, 9);
	VERB(post(&(struct pair){.qp = {c.id->qp}}, 0, &wr, &sge) == EOPNOTSUPP);
	disconnect(&c);
	end_close(&c, NULL);
	ddp_close(ctx);
}

static void rejected(void)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct rdma_cm_event *ev;
	struct end c, s;

	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	ask(&c, 0);
	take_request(&s, l);
	VERB(rdma_reject(s.id, "no", 3) == 0);
	VERB(rdma_get_cm_event(clients, &ev) == 0 && ev->event == RDMA_CM_EVENT_REJECTED);
	VERB(ev->status == 28 && ev->param.conn.private_data_len >= 3 &&
	     memcmp(ev->param.conn.private_data, "no", 3) == 0);
	VERB(rdma_ack_cm_event(ev) == 0);
	end_close(&c, NULL);
	end_close(&s, NULL);
	VERB(rdma_destroy_id(l) == 0);
}

/* What is destroyed while something is in flight leaves nothing, and nobody waits without end. */
static void early_ends(void)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct rdma_cm_event *ev;
	struct end c;

	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	ask(&c, 0);
	/* The request is not taken, and its listener goes. */
	VERB(rdma_destroy_id(l) == 0);
	VERB(rdma_get_cm_event(clients, &ev) == 0 && ev->status != 0);
	VERB(rdma_ack_cm_event(ev) == 0);
	/* The id goes before its queue pair. */
	{
		struct ibv_qp *qp = c.id->qp;

		VERB(rdma_destroy_id(c.id) == 0);
		VERB(ibv_destroy_qp(qp) == 0);
	}
	VERB(ibv_dereg_mr(c.side.mr) == 0 && ibv_destroy_cq(c.side.cq) == 0);
	VERB(ibv_dealloc_pd(c.side.pd) == 0);
	free(c.side.mem);
}

static void refused(void)
{
	struct sockaddr_in absent = {.sin_family = AF_INET, .sin_addr = {htonl(0xc0000201)}};
	struct rdma_cm_id *id;
	struct rdma_cm_event *ev;

	VERB(rdma_create_id(clients, &id, NULL, RDMA_PS_UDP) == -1 && errno == EPROTONOSUPPORT);
	VERB(rdma_create_id(clients, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&absent) == -1 && errno == EADDRNOTAVAIL);
	VERB(rdma_connect(id, NULL) == -1 && errno == EINVAL);
	VERB(rdma_accept(id, NULL) == -1 && errno == EINVAL);
	VERB(rdma_join_multicast(id, (struct sockaddr *)&absent, NULL) == -1 &&
	     errno == EOPNOTSUPP);
	VERB(rdma_destroy_id(id) == 0);
	VERB(fcntl(clients->fd, F_SETFL, O_NONBLOCK) == 0);
	VERB(rdma_get_cm_event(clients, &ev) == -1 && errno == EAGAIN);
	VERB(fcntl(clients->fd, F_SETFL, 0) == 0);
}

/* A name is not needed, an id may hold the address that it resolves, and a loopback address of no
 * daemon binds to no device. */
static void addresses(void)
{
	struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr = {htonl(0x7fff0001)}};
	const struct rdma_addrinfo hints = {
		.ai_family = AF_INET,
		.ai_dst_addr = (struct sockaddr *)&addr[1],
		.ai_dst_len = sizeof(addr[1]),
	};
	struct rdma_addrinfo *got;
	struct rdma_cm_id *id;

	VERB(rdma_getaddrinfo(NULL, NULL, &hints, &got) == 0);
	VERB(got->ai_dst_len == sizeof(addr[1]));
	VERB(memcmp(got->ai_dst_addr, &addr[1], sizeof(addr[1])) == 0);
	rdma_freeaddrinfo(got);

	VERB(rdma_create_id(clients, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&loopback) == 0 && !id->verbs);
	id->route.addr.dst_sin = addr[1];
	VERB(rdma_resolve_addr(id, NULL, &id->route.addr.dst_addr, 2000) == 0 && id->verbs);
	expect_only(clients, RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(memcmp(&id->route.addr.dst_sin, &addr[1], sizeof(addr[1])) == 0);
	VERB(rdma_destroy_id(id) == 0);

	VERB(rdma_create_id(servers, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&loopback) == 0);
	VERB(rdma_listen(id, 4) == -1 && errno == EADDRNOTAVAIL);
	VERB(rdma_destroy_id(id) == 0);
}

/* A port has one listener for IPv4 and one for IPv6, if that asks for its family only. */
static void one_family(void)
{
	const struct sockaddr_in any = {.sin_family = AF_INET};
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
	struct rdma_cm_id *l = listener_at(&any), *l6;
	int only = 1;

	any6.sin6_port = rdma_get_src_port(l);
	VERB(rdma_create_id(servers, &l6, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_set_option(l6, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)) == 0);
	VERB(rdma_bind_addr(l6, (struct sockaddr *)&any6) == 0);
	VERB(rdma_listen(l6, 4) == 0);
	VERB(rdma_destroy_id(l6) == 0);
	VERB(rdma_destroy_id(l) == 0);
}

/* As rsockets use ids: the id of a request holds its event, and one queue is for both directions.
 */
static void waiting_listener(void)
{
	struct sockaddr_in at = addr[0];
	struct rdma_cm_id *l, *id;
	struct end c;

	VERB(rdma_create_id(NULL, &l, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(l, (struct sockaddr *)&at) == 0 && rdma_listen(l, 4) == 0);
	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	VERB(c.id->recv_cq_channel = ibv_create_comp_channel(c.id->verbs));
	VERB(c.id->recv_cq = ibv_create_cq(c.id->verbs, 1, NULL, c.id->recv_cq_channel, 0));
	c.id->send_cq_channel = c.id->recv_cq_channel;
	c.id->send_cq = c.id->recv_cq;
	ask(&c, 0);
	VERB(rdma_get_request(l, &id) == 0);
	VERB(!l->event && id->event && id->event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
	VERB(rdma_destroy_id(id) == 0);
	end_close(&c, NULL);
	VERB(rdma_destroy_id(l) == 0);
}

/* It ends without destroying anything. */
static void leave(void)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct end c, s;

	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	ask(&c, 0);
	take_request(&s, l);
	make_qp(&s);
	VERB(rdma_accept(s.id, NULL) == 0);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"ids that move to another channel", moved_ids},
	{"queue pairs that the parameters name", named_queue_pairs},
	{"a listener at all daemons", wildcard},
	{"a peer that is not ddpverbs", native_peer},
	{"rejected", rejected},
	{"destroyed early", early_ends},
	{"what is not possible", refused},
	{"addresses of hints, of the id, of loopback", addresses},
	{"listeners of one family", one_family},
	{"a listener that waits", waiting_listener},
	{"an end without destroying anything", leave},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	VERB(argc == 3);
	for (int i = 0; i < 2; i++) {
		addr[i].sin_family = AF_INET;
		VERB(inet_pton(AF_INET, argv[1 + i], &addr[i].sin_addr) == 1);
	}
	VERB((clients = rdma_create_event_channel()) && (servers = rdma_create_event_channel()));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].run();
		printf("ok %s\n", cases[i].name);
	}
	return 0;
}
