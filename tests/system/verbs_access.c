/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs and librdmacm at two devices. Promise: a queue pair permits its peer
 * what its qp_access_flags say, whether the program sets them or rdma_cm does, and ibv_query_qp()
 * returns them, also after RESET; what is refused changes no memory and completes with
 * REM_ACCESS_ERR. Reads go into no element and into several.
 *
 *   verbs_access ADDRESS-OF-FIRST-DEVICE ADDRESS-OF-SECOND      exit status 0 if it held
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum {
	OPS = 3,
	READS = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	ALL = IBV_ACCESS_REMOTE_WRITE | READS,
};

static const struct {
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode done;
	unsigned right;
} ops[OPS] = {
	{IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
	{IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, IBV_ACCESS_REMOTE_READ},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, IBV_ACCESS_REMOTE_ATOMIC},
};

static struct side a, b; /* a asks, b is asked */

/* ---- one operation ---- */

static bool has_ended(void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VERB(ibv_query_qp(arg, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state == IBV_QPS_ERR;
}

static unsigned flags_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VERB(ibv_query_qp(qp, &attr, IBV_QP_ACCESS_FLAGS, &init) == 0);
	return attr.qp_access_flags;
}

/* From a to the first 8 bytes of b's memory. A refused one ends the session. */
static void attempt(struct pair *p, unsigned op, bool may)
{
	struct ibv_send_wr wr = {.wr_id = 5, .opcode = ops[op].opcode};
	struct ibv_sge sge = side_sge(&a, 0, 8);
	uint64_t *own = (uint64_t *)(void *)a.mem, *there = (uint64_t *)(void *)b.mem;
	struct ibv_wc wc;

	*own = 7;
	*there = 41;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)there;
		wr.wr.atomic.rkey = b.mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)there;
		wr.wr.rdma.rkey = b.mr->rkey;
	}
	VERB(post(p, 0, &wr, &sge) == 0);
	if (may) {
		rig_done(p->qp[0]->send_cq, 5, ops[op].done);
		VERB(op == 0 || *own == 41);
		pair_send(p, 0, 8, 1); /* arrives after it */
		return;
	}
	wc = rig_wc(p->qp[0]->send_cq);
	/* A Write may be acknowledged before the Terminate that refuses it is there. */
	VERB(wc.status == IBV_WC_REM_ACCESS_ERR || (op == 0 && wc.status == IBV_WC_SUCCESS));
	VERB(rig_eventually(has_ended, p->qp[1]));
	VERB(*own == 7 && *there == 41);
}

/* ---- flags that the program sets ---- */

static unsigned rights(unsigned set)
{
	return (set & 1 ? IBV_ACCESS_REMOTE_WRITE : 0U) | (set & 2 ? IBV_ACCESS_REMOTE_READ : 0U) |
	       (set & 4 ? IBV_ACCESS_REMOTE_ATOMIC : 0U);
}

static void set_flags(struct ibv_qp *qp, unsigned flags)
{
	struct ibv_qp_attr attr = {.qp_access_flags = flags};

	VERB(ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS) == 0);
	VERB(flags_of(qp) == flags);
}

static void each_set(void)
{
	for (unsigned op = 0; op < OPS; op++) {
		for (unsigned set = 0; set < 8; set++) {
			struct pair p;

			pair_open(&p, &a, &b);
			set_flags(p.qp[1], rights(set) | IBV_ACCESS_LOCAL_WRITE);
			attempt(&p, op, rights(set) & ops[op].right);
			pair_close(&p);
		}
	}
	puts("each set of qp_access_flags permits its operations");
}

/* Resources for no incoming Reads admit none, whatever the flags say. In RTS they cannot change. */
static void no_resources(void)
{
	struct ibv_qp_attr attr = {.max_dest_rd_atomic = 0};
	struct ibv_qp_attr sqd = {.qp_state = IBV_QPS_SQD}, rts = {.qp_state = IBV_QPS_RTS};
	struct pair p;

	pair_open(&p, &a, &b);
	VERB(ibv_modify_qp(p.qp[1], &attr, IBV_QP_MAX_DEST_RD_ATOMIC) == EINVAL);
	sqd.en_sqd_async_notify = 1;
	VERB(ibv_modify_qp(p.qp[1], &sqd, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == EOPNOTSUPP);
	sqd.en_sqd_async_notify = 0;
	VERB(ibv_modify_qp(p.qp[1], &sqd, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
	VERB(ibv_modify_qp(p.qp[1], &attr, IBV_QP_MAX_DEST_RD_ATOMIC) == 0);
	VERB(ibv_modify_qp(p.qp[1], &rts, IBV_QP_STATE) == 0);
	VERB(flags_of(p.qp[1]) & IBV_ACCESS_REMOTE_READ);
	attempt(&p, 0, true);
	attempt(&p, 1, false);
	pair_close(&p);
	puts("max_dest_rd_atomic 0 admits no Read");
}

/* ---- RESET ---- */

static void move_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
}

/* An iWARP device needs no flags for INIT, and no resources for RTR. */
static void connect_plainly(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		move_to(p->qp[i], IBV_QPS_RESET);
		move_to(p->qp[i], IBV_QPS_INIT);
	}
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = {
			.qp_state = IBV_QPS_RTR,
			.dest_qp_num = p->qp[!i]->qp_num,
			.ah_attr = {.is_global = 1,
				    .port_num = 1,
				    .grh = {.dgid = p->side[!i]->gid, .hop_limit = 1}},
		};

		VERB(ibv_modify_qp(p->qp[i], &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN) ==
		     0);
	}
	for (int i = 0; i < 2; i++)
		move_to(p->qp[i], IBV_QPS_RTS);
}

/* Both ends have their first session: a request for it in flight could be taken for one of
 * the second. */
static void open_established(struct pair *p)
{
	pair_open(p, &a, &b);
	pair_send(p, 0, 8, 1);
}

static void flags_after_reset(void)
{
	for (unsigned op = 0; op < OPS; op++) {
		for (unsigned set = 0; set < 8; set++) {
			struct pair p;

			open_established(&p);
			set_flags(p.qp[1], rights(set));
			connect_plainly(&p);
			VERB(flags_of(p.qp[1]) == rights(set));
			attempt(&p, op, rights(set) & ops[op].right);
			pair_close(&p);
		}
	}
	puts("qp_access_flags hold after RESET");
}

static void resources_after_reset(void)
{
	struct ibv_qp_attr attr = {.max_dest_rd_atomic = 0};
	struct pair p;

	open_established(&p);
	VERB(ibv_modify_qp(p.qp[1], &attr, IBV_QP_MAX_DEST_RD_ATOMIC) == 0);
	connect_plainly(&p);
	VERB(flags_of(p.qp[1]) == ALL);
	attempt(&p, 0, true);
	attempt(&p, 1, false);
	pair_close(&p);
	puts("max_dest_rd_atomic 0 holds after RESET");
}

/* ---- flags of rdma_cm ---- */

static struct rdma_event_channel *clients, *servers;

static struct rdma_cm_event *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(ch, &ev) == 0);
	if (ev->event != type)
		printf("%s, expected %s\n", rdma_event_str(ev->event), rdma_event_str(type));
	VERB(ev->event == type);
	return ev;
}

static void expect_only(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	VERB(rdma_ack_cm_event(expect(ch, type)) == 0);
}

/* The objects of a side at the device of an id. */
static void open_at(struct side *s, struct ibv_context *ctx)
{
	VERB(s->pd = ibv_alloc_pd(ctx));
	VERB(s->cq = ibv_create_cq(ctx, 64, NULL, NULL, 0));
	VERB(s->mem = aligned_alloc(4096, RIG_SIZE));
	memset(s->mem, 0, RIG_SIZE);
	VERB(s->mr = ibv_reg_mr(s->pd, s->mem, RIG_SIZE, IBV_ACCESS_LOCAL_WRITE | ALL));
}

static void close_at(struct side *s)
{
	VERB(ibv_dereg_mr(s->mr) == 0);
	free(s->mem);
	VERB(ibv_destroy_cq(s->cq) == 0);
	VERB(ibv_dealloc_pd(s->pd) == 0);
}

static struct rdma_cm_id *client(struct sockaddr_in src, struct sockaddr_in dst)
{
	struct ibv_qp_init_attr init;
	struct rdma_cm_id *id;

	VERB(rdma_create_id(clients, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_resolve_addr(id, (void *)&src, (void *)&dst, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ADDR_RESOLVED);
	VERB(rdma_resolve_route(id, 2000) == 0);
	expect_only(clients, RDMA_CM_EVENT_ROUTE_RESOLVED);
	open_at(&a, id->verbs);
	init = side_init(&a);
	VERB(rdma_create_qp(id, a.pd, &init) == 0);
	return id;
}

/* What b accepts with; responder -1: without parameters. */
struct accepting {
	int responder;
	int own; /* qp_access_flags that the program sets itself, or -1 */
	unsigned flags;
	bool reads;
};

static const struct accepting accepting[] = {
	{1, -1, ALL, true},
	{0, -1, IBV_ACCESS_REMOTE_WRITE, false},
	{RDMA_MAX_RESP_RES, -1, ALL, true},
	{-1, -1, ALL, true},
	{1, 0, 0, false},
	{1, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ, true},
	{0, READS, READS, false},
};

static void end(struct rdma_cm_id *id, struct side *s)
{
	rdma_destroy_qp(id);
	VERB(rdma_destroy_id(id) == 0);
	close_at(s);
}

static void expect_end(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(ch, &ev) == 0);
	VERB(ev->event == RDMA_CM_EVENT_DISCONNECTED);
	VERB(rdma_ack_cm_event(ev) == 0);
}

/* For queue pairs that the program moves through their states itself. */
static void check_init(struct rdma_cm_id *id, unsigned flags)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	int mask = 0;

	VERB(rdma_init_qp_attr(id, &attr, &mask) == 0);
	VERB(mask & IBV_QP_ACCESS_FLAGS && attr.qp_access_flags == flags);
}

static void accept_with(const struct accepting *as, struct rdma_cm_id *c)
{
	struct rdma_conn_param ask = {.responder_resources = 1, .initiator_depth = 1};
	struct rdma_conn_param param = {.initiator_depth = 1};
	struct ibv_qp_init_attr init;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	struct pair p = {.side = {&a, &b}};

	VERB(rdma_connect(c, &ask) == 0);
	ev = expect(servers, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = ev->id;
	VERB(rdma_ack_cm_event(ev) == 0);
	open_at(&b, id->verbs);
	init = side_init(&b);
	VERB(rdma_create_qp(id, b.pd, &init) == 0);
	if (as->own >= 0)
		set_flags(id->qp, (unsigned)as->own);
	param.responder_resources = (uint8_t)as->responder;
	VERB(rdma_accept(id, as->responder < 0 ? NULL : &param) == 0);
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
	VERB(flags_of(id->qp) == as->flags);
	check_init(id, as->responder == 0 ? IBV_ACCESS_REMOTE_WRITE : ALL);
	p.qp[0] = c->qp;
	p.qp[1] = id->qp;
	if (as->flags & IBV_ACCESS_REMOTE_WRITE)
		attempt(&p, 0, true);
	attempt(&p, 1, as->reads);
	if (as->reads)
		VERB(rdma_disconnect(c) == 0);
	expect_end(clients);
	expect_end(servers);
	end(id, &b);
}

static void of_rdma_cm(char **address)
{
	struct sockaddr_in at[2] = {{.sin_family = AF_INET}, {.sin_family = AF_INET}};
	struct rdma_cm_id *l, *c;

	for (int i = 0; i < 2; i++)
		VERB(inet_pton(AF_INET, address[i], &at[i].sin_addr) == 1);
	VERB(clients = rdma_create_event_channel());
	VERB(servers = rdma_create_event_channel());
	VERB(rdma_create_id(servers, &l, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(l, (void *)&at[1]) == 0);
	VERB(rdma_listen(l, 4) == 0);
	at[1].sin_port = rdma_get_src_port(l);
	for (unsigned i = 0; i < sizeof(accepting) / sizeof(accepting[0]); i++) {
		c = client(at[0], at[1]);
		accept_with(&accepting[i], c);
		end(c, &a);
	}
	VERB(rdma_destroy_id(l) == 0);
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
	puts("responder_resources of rdma_cm become rights");
}

/* ---- elements of Reads ---- */

static void reads(void)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = sge,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_device_attr dev;
	struct ibv_send_wr *bad;
	struct pair p;

	VERB(ibv_query_device(a.ctx, &dev) == 0);
	VERB(dev.max_sge_rd == dev.max_sge);
	pair_open(&p, &a, &b);
	rig_fill(b.mem, 3000, 9);
	wr.wr.rdma.remote_addr = (uintptr_t)b.mem;
	wr.wr.rdma.rkey = b.mr->rkey;
	for (wr.num_sge = 0; wr.num_sge <= 3; wr.num_sge++) {
		memset(a.mem, 0, RIG_SIZE);
		for (int i = 0; i < wr.num_sge; i++)
			sge[i] = side_sge(&a, (size_t)i * 1000, 1000);
		VERB(ibv_post_send(p.qp[0], &wr, &bad) == 0);
		rig_done(p.qp[0]->send_cq, 1, IBV_WC_RDMA_READ);
		rig_same(a.mem, (size_t)wr.num_sge * 1000, 9);
		VERB(a.mem[wr.num_sge * 1000] == 0);
	}
	pair_send(&p, 0, 100, 3);
	pair_close(&p);
	puts("Reads have no element, one or several");
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3)
		return 2;
	side_open(&a, 0);
	side_open(&b, 1);
	reads();
	each_set();
	if (a.ctx->device->transport_type == IBV_TRANSPORT_IWARP) {
		flags_after_reset();
		resources_after_reset();
	} else {
		no_resources();
	}
	side_close(&a);
	side_close(&b);
	of_rdma_cm(argv + 1);
	return 0;
}
