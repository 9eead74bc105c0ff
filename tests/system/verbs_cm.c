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
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/system/verbs_cm_rig.h"

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
	expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
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
static void named_at(unsigned at)
{
	struct rdma_cm_id *l = listener_at(&addr[at]);
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct ibv_qp *cq, *sq;
	struct end c, s;

	resolve(&c, !at, at, rdma_get_src_port(l));
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
	expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
	end_close(&c, cq);
	end_close(&s, sq);
	VERB(rdma_destroy_id(l) == 0);
}

/* An id at a device, with a queue pair. */
static void idle_end(struct end *e, unsigned at)
{
	struct sockaddr_in a = addr[at];

	memset(e, 0, sizeof(*e));
	VERB(rdma_create_id(servers, &e->id, e, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(e->id, (struct sockaddr *)&a) == 0);
	end_objects(e);
	make_qp(e);
}

/* The program gives the id of a request a queue pair that it has made on another one, which may
 * have got one for it (both), and destroys that id at once. */
static void moved_queue_pairs(bool both)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct end c, s, e;
	struct ibv_qp *other = NULL;

	idle_end(&e, 0);
	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	ask(&c, 0);
	take_request(&s, l);
	if (both) {
		make_qp(&s);
		other = s.id->qp;
	}
	s.id->qp = e.id->qp;
	e.id->qp = other;
	if (!both)
		VERB(rdma_destroy_id(e.id) == 0);
	VERB(rdma_accept(s.id, NULL) == 0);
	if (both)
		VERB(rdma_destroy_id(e.id) == 0);
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
	exchange(&c, &(struct end){.side = e.side}, c.id->qp, s.id->qp);
	disconnect(&c);
	expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
	if (other)
		VERB(ibv_destroy_qp(other) == 0);
	end_close(&c, NULL);
	end_close(&s, NULL);
	end_free(&e);
	VERB(rdma_destroy_id(l) == 0);
}

static void moved_queue_pair(void)
{
	moved_queue_pairs(false);
}

static void exchanged_queue_pairs(void)
{
	moved_queue_pairs(true);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* What follows DISCONNECTED: of an InfiniBand device TIMEWAIT_EXIT, a second later, if the id
 * exists then; of an iWARP device nothing. */
static void time_wait(void)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	struct pollfd p = {.fd = clients->fd, .events = POLLIN};
	struct end c, s;
	uint64_t began;

	resolve(&c, 1, 0, rdma_get_src_port(l));
	make_qp(&c);
	ask(&c, 0);
	take_request(&s, l);
	make_qp(&s);
	VERB(rdma_accept(s.id, NULL) == 0);
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
	began = now_ms();
	disconnect(&c);
	expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
	end_close(&s, NULL);
	if (getenv("DDPVERBS_IWARP")) {
		VERB(poll(&p, 1, 1500) == 0);
	} else {
		expect_only(clients, RDMA_CM_EVENT_TIMEWAIT_EXIT);
		VERB(now_ms() - began >= 1000);
	}
	p.fd = servers->fd;
	VERB(poll(&p, 1, 100) == 0);
	end_close(&c, NULL);
	VERB(rdma_destroy_id(l) == 0);
}

/* Whichever address is the smaller one. */
static void named_queue_pairs(void)
{
	named_at(1);
	named_at(0);
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
		expect_only(servers, RDMA_CM_EVENT_DISCONNECTED);
		end_close(&c, NULL);
		end_close(&s, NULL);
	}
	VERB(rdma_destroy_id(l) == 0);
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
	end_free(&c);
}

static void refused(void)
{
	struct sockaddr_in absent = {.sin_family = AF_INET, .sin_addr = {htonl(0xc0000201)}};
	struct rdma_cm_id *id;
	struct rdma_cm_event *ev;

	VERB(rdma_create_id(clients, &id, NULL, RDMA_PS_IPOIB) == -1 && errno == EOPNOTSUPP);
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

/* A port belongs to the id that is bound to it, and what has no device or no way is said at once.
 */
static void bound(void)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in at = addr[0], again = addr[0];
	struct rdma_cm_id *first, *second;
	struct rdma_cm_event *ev;

	at.sin_port = again.sin_port = htons(29999);
	VERB(rdma_create_id(servers, &first, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_create_id(servers, &second, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(first, (struct sockaddr *)&at) == 0);
	VERB(ntohs(rdma_get_src_port(first)) == 29999);
	VERB(rdma_bind_addr(first, (struct sockaddr *)&at) == -1 && errno == EINVAL);
	VERB(rdma_bind_addr(second, (struct sockaddr *)&again) == -1 && errno == EADDRINUSE);
	VERB(rdma_listen(first, 3) == 0 && ntohs(rdma_get_src_port(first)) == 29999);
	VERB(rdma_destroy_id(first) == 0);
	VERB(rdma_bind_addr(second, (struct sockaddr *)&again) == 0);
	VERB(rdma_destroy_id(second) == 0);

	VERB(rdma_create_id(servers, &first, NULL, RDMA_PS_TCP) == 0);
	six.sin6_port = htons(1);
	if (rdma_resolve_addr(first, NULL, (struct sockaddr *)&six, 2000) == 0) {
		VERB(rdma_get_cm_event(servers, &ev) == 0);
		VERB(ev->event == RDMA_CM_EVENT_ADDR_ERROR && ev->status == -ENODEV);
		VERB(rdma_ack_cm_event(ev) == 0);
	}
	VERB(rdma_destroy_id(first) == 0);
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
	{"a queue pair that the program moves to another id", moved_queue_pair},
	{"queue pairs that two ids exchange", exchanged_queue_pairs},
	{"the second after a session", time_wait},
	{"a listener at all daemons", wildcard},
	{"a peer that is not ddpverbs", native_peer},
	{"rejected", rejected},
	{"destroyed early", early_ends},
	{"what is not possible", refused},
	{"addresses and ports that are bound", bound},
	{"addresses of hints, of the id, of loopback", addresses},
	{"listeners of one family", one_family},
	{"a listener that waits", waiting_listener},
	{"an end without destroying anything", leave},
};

int main(int argc, char **argv)
{
	cm_rig_open(argc, argv);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].run();
		printf("ok %s\n", cases[i].name);
	}
	return 0;
}
