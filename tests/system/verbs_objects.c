/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs at two devices, with queue pairs that it connects itself. Promise: the
 * objects that few programs use do what verbs says, and the bytes are the expected ones: windows,
 * shared receive queues, queues that change their length, late receives, atomics, immediate data,
 * invalidation.
 *
 *   verbs_objects          exit status 0 if it held
 *   verbs_objects end      the same for the end of the second daemon, which it waits for
 */
#include "tests/system/verbs_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct side a, b;

/* ---- data ---- */

static void sends(void)
{
	struct pair p;

	pair_open(&p, &a, &b);
	for (unsigned i = 0; i < 20; i++)
		pair_send(&p, i & 1, 1 + i * 1500, i);
	pair_close(&p);
}

static struct ibv_send_wr rdma(enum ibv_wr_opcode opcode, const struct side *at, size_t offset,
			       uint32_t rkey)
{
	struct ibv_send_wr wr = {.wr_id = 7, .opcode = opcode};

	wr.wr.rdma.remote_addr = (uintptr_t)at->mem + offset;
	wr.wr.rdma.rkey = rkey;
	return wr;
}

static void writes_and_reads(void)
{
	struct ibv_sge from = side_sge(&a, 0, 20000), back = side_sge(&a, 30000, 20000);
	struct ibv_send_wr write = rdma(IBV_WR_RDMA_WRITE, &b, 1000, b.mr->rkey);
	struct ibv_send_wr read = rdma(IBV_WR_RDMA_READ, &b, 1000, b.mr->rkey);
	struct pair p;

	pair_open(&p, &a, &b);
	rig_fill(a.mem, 20000, 1);
	VERB(post(&p, 0, &write, &from) == 0);
	VERB(post(&p, 0, &read, &back) == 0);
	rig_done(a.cq, 7, IBV_WC_RDMA_WRITE);
	rig_done(a.cq, 7, IBV_WC_RDMA_READ);
	rig_same(b.mem + 1000, 20000, 1);
	rig_same(a.mem + 30000, 20000, 1);
	pair_close(&p);
}

static void write_with_imm(void)
{
	struct ibv_sge from = side_sge(&a, 0, 5000);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, &b, 100, b.mr->rkey);
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &a, &b);
	rig_fill(a.mem, 5000, 2);
	wr.imm_data = htobe32(0x12345678);
	post_recv(&p, 1, 9, 60000, 8);
	VERB(post(&p, 0, &wr, &from) == 0);
	rig_done(a.cq, 7, IBV_WC_RDMA_WRITE);
	wc = rig_done(b.cq, 9, IBV_WC_RECV_RDMA_WITH_IMM);
	VERB(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htobe32(0x12345678));
	VERB(wc.byte_len == 5000);
	rig_same(b.mem + 100, 5000, 2);
	pair_close(&p);
}

static void atomics(void)
{
	struct ibv_sge old = side_sge(&a, 0, 8);
	struct ibv_send_wr add = {.wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct ibv_send_wr swap = {.wr_id = 2, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP};
	uint64_t *cell = (uint64_t *)(void *)b.mem, *got = (uint64_t *)(void *)a.mem;
	struct pair p;

	pair_open(&p, &a, &b);
	*cell = 40;
	add.wr.atomic.remote_addr = swap.wr.atomic.remote_addr = (uintptr_t)cell;
	add.wr.atomic.rkey = swap.wr.atomic.rkey = b.mr->rkey;
	add.wr.atomic.compare_add = 2;
	swap.wr.atomic.compare_add = 42;
	swap.wr.atomic.swap = 1000;
	VERB(post(&p, 0, &add, &old) == 0);
	rig_done(a.cq, 1, IBV_WC_FETCH_ADD);
	VERB(*got == 40 && *cell == 42);
	VERB(post(&p, 0, &swap, &old) == 0);
	rig_done(a.cq, 2, IBV_WC_COMP_SWAP);
	VERB(*got == 42 && *cell == 1000);
	pair_close(&p);
}

/* The message waits at the receiver until the receive is there: rnr_retry is 7. Linux's SCTP does
 * not tell what it has: with it the request completes with the receive. */
static void late_receive(void)
{
	const char *transport = getenv("DDP_TRANSPORT");
	bool acks = !transport || strcmp(transport, "kernel") != 0;
	struct ibv_sge from = side_sge(&a, 0, 9000);
	struct ibv_send_wr wr = {.wr_id = 3, .opcode = IBV_WR_SEND};
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct pair p;

	pair_open(&p, &a, &b);
	rig_fill(a.mem, 9000, 3);
	VERB(post(&p, 0, &wr, &from) == 0);
	if (acks)
		rig_done(a.cq, 3, IBV_WC_SEND);
	post_recv(&p, 1, 4, 20000, 9000);
	rig_done(b.cq, 4, IBV_WC_RECV);
	if (!acks)
		rig_done(a.cq, 3, IBV_WC_SEND);
	rig_same(b.mem + 20000, 9000, 3);
	VERB(ibv_query_qp(p.qp[0], &attr, IBV_QP_RNR_RETRY, &init) == 0);
	VERB(attr.rnr_retry == 7 && attr.qp_state == IBV_QPS_RTS);
	pair_close(&p);
}

/* ---- windows ---- */

/* A Write through the key fails, and ends the session, which both sides hear of. */
static void must_be_refused(struct pair *p, uint32_t rkey)
{
	struct ibv_sge from = side_sge(&a, 0, 8);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &b, 4096, rkey);
	struct ibv_async_event ev;
	struct ibv_wc wc;

	VERB(post(p, 0, &wr, &from) == 0);
	wc = rig_wc(a.cq);
	/* A Write that the peer refuses may be complete already; the next request shows it. */
	if (wc.status == IBV_WC_SUCCESS) {
		struct ibv_send_wr read = rdma(IBV_WR_RDMA_READ, &b, 0, b.mr->rkey);

		if (post(p, 0, &read, &from) == 0)
			wc = rig_wc(a.cq);
	}
	VERB(wc.status != IBV_WC_SUCCESS);
	VERB(ibv_get_async_event(b.ctx, &ev) == 0);
	VERB(ev.event_type == IBV_EVENT_QP_FATAL && ev.element.qp == p->qp[1]);
	ibv_ack_async_event(&ev);
}

/* The answer to the Read shows that the bytes are there: a Write completes when the peer's host has
 * them. */
static void write_through(struct pair *p, uint32_t rkey, unsigned seed)
{
	struct ibv_sge from = side_sge(&a, 0, 4000), to = side_sge(&a, 8192, 4);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &b, 4096, rkey);
	struct ibv_send_wr read = rdma(IBV_WR_RDMA_READ, &b, 4096, b.mr->rkey);

	rig_fill(a.mem, 4000, seed);
	VERB(post(p, 0, &wr, &from) == 0);
	VERB(post(p, 0, &read, &to) == 0);
	rig_done(a.cq, 7, IBV_WC_RDMA_WRITE);
	rig_done(a.cq, 7, IBV_WC_RDMA_READ);
	rig_same(b.mem + 4096, 4000, seed);
}

static struct ibv_mw_bind_info part(size_t length)
{
	return (struct ibv_mw_bind_info){
		.mr = b.mr,
		.addr = (uintptr_t)b.mem + 4096,
		.length = length,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
}

static void windows_1(void)
{
	struct ibv_mw *mw;
	struct ibv_mw_bind bind = {.wr_id = 5, .send_flags = IBV_SEND_SIGNALED};
	uint32_t before;
	struct pair p;

	pair_open(&p, &a, &b);
	VERB(mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1));
	before = mw->rkey;
	bind.bind_info = part(4096);
	bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	VERB(ibv_bind_mw(p.qp[1], mw, &bind) == EOPNOTSUPP && mw->rkey == before);
	bind.bind_info = part(4096);
	VERB(ibv_bind_mw(p.qp[1], mw, &bind) == 0);
	rig_done(b.cq, 5, IBV_WC_BIND_MW);
	VERB(mw->rkey != before);
	write_through(&p, mw->rkey, 11);
	before = mw->rkey;
	bind.bind_info = part(0);
	VERB(ibv_bind_mw(p.qp[1], mw, &bind) == 0);
	rig_done(b.cq, 5, IBV_WC_BIND_MW);
	must_be_refused(&p, before);
	pair_close(&p);
	VERB(ibv_dealloc_mw(mw) == 0);
}

/* Bound by the send queue, and invalidated by the peer's Send. */
static void windows_2(void)
{
	struct ibv_mw *mw;
	struct ibv_send_wr bind = {.wr_id = 6, .opcode = IBV_WR_BIND_MW};
	struct ibv_send_wr inv = {.wr_id = 8, .opcode = IBV_WR_SEND_WITH_INV};
	struct ibv_sge from = side_sge(&a, 0, 4);
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &a, &b);
	VERB(mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2));
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info = part(4096);
	bind.bind_mw.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	VERB(post(&p, 1, &bind, NULL) == EOPNOTSUPP);
	bind.bind_mw.bind_info = part(4096);
	VERB(post(&p, 1, &bind, NULL) == 0);
	rig_done(b.cq, 6, IBV_WC_BIND_MW);
	write_through(&p, bind.bind_mw.rkey, 12);
	inv.invalidate_rkey = bind.bind_mw.rkey;
	post_recv(&p, 1, 10, 0, 16);
	VERB(post(&p, 0, &inv, &from) == 0);
	rig_done(a.cq, 8, IBV_WC_SEND);
	wc = rig_done(b.cq, 10, IBV_WC_RECV);
	VERB(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == bind.bind_mw.rkey);
	must_be_refused(&p, bind.bind_mw.rkey);
	pair_close(&p);
	VERB(ibv_dealloc_mw(mw) == 0);
}

/* ---- queues ---- */

static struct ibv_qp *qp_with(struct side *s, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = side_init(s);

	init.srq = srq;
	return ibv_create_qp(s->pd, &init);
}

static void srq_recv(struct ibv_srq *srq, uint64_t wr_id)
{
	struct ibv_sge sge = side_sge(&b, 1000 * wr_id, 1000);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	VERB(ibv_post_srq_recv(srq, &wr, &bad) == 0);
}

static void set_limit(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};

	VERB(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0);
	VERB(ibv_query_srq(srq, &attr) == 0 && attr.srq_limit == limit);
}

/* Sends of two queue pairs arrive in the receives of one queue, each once. */
static void share(struct ibv_srq *srq, uint32_t limit)
{
	struct pair p[2];
	unsigned seen = 0;

	for (int i = 0; i < 2; i++) {
		p[i] = (struct pair){.side = {&a, &b}};
		VERB(p[i].qp[0] = qp_with(&a, NULL));
		VERB(p[i].qp[1] = qp_with(&b, srq));
		pair_connect(&p[i]);
	}
	VERB(ibv_destroy_srq(srq) == EBUSY);
	for (unsigned i = 0; i < 8; i++)
		srq_recv(srq, i);
	set_limit(srq, limit);
	for (unsigned i = 0; i < 8; i++) {
		struct ibv_sge from = side_sge(&a, 0, 600);
		struct ibv_send_wr wr = {.wr_id = i, .opcode = IBV_WR_SEND};
		struct ibv_wc wc;

		rig_fill(a.mem, 600, i);
		VERB(post(&p[i & 1], 0, &wr, &from) == 0);
		rig_done(a.cq, i, IBV_WC_SEND);
		wc = rig_wc(b.cq);
		VERB(wc.status == IBV_WC_SUCCESS && wc.qp_num == p[i & 1].qp[1]->qp_num);
		rig_same(b.mem + 1000 * wc.wr_id, 600, i);
		seen |= 1u << wc.wr_id;
	}
	VERB(seen == 0xff);
	pair_close(&p[0]);
	pair_close(&p[1]);
}

static void shared_receives(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 2, .srq_limit = 400}};
	struct ibv_srq_init_attr_ex ex = {
		.attr = {.max_wr = 16, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
		.pd = b.pd,
	};
	struct ibv_async_event ev;
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;

	VERB(srq = ibv_create_srq(b.pd, &init));
	VERB(ibv_query_srq(srq, &attr) == 0 && attr.max_wr >= 16 && attr.srq_limit == 0);
	share(srq, 4);
	VERB(ibv_get_async_event(b.ctx, &ev) == 0);
	VERB(ev.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && ev.element.srq == srq);
	ibv_ack_async_event(&ev);
	VERB(ibv_destroy_srq(srq) == 0);
	VERB(srq = ibv_create_srq_ex(b.ctx, &ex));
	share(srq, 0);
	VERB(ibv_destroy_srq(srq) == 0);
}

/* Completions that wait stay, and the events of a channel continue. */
static void resized_queue(void)
{
	struct ibv_comp_channel *ch;
	struct ibv_cq *old = a.cq, *cq;
	void *user;
	struct pair p;

	VERB(ch = ibv_create_comp_channel(a.ctx));
	VERB(a.cq = ibv_create_cq(a.ctx, 2 * RIG_DEPTH, &p, ch, 0));
	pair_open(&p, &a, &b);
	VERB(ibv_resize_cq(a.cq, 500) == 0 && a.cq->cqe >= 500);
	pair_send(&p, 1, 3000, 21);
	VERB(ibv_req_notify_cq(a.cq, 0) == 0);
	pair_send(&p, 0, 3000, 22);
	VERB(ibv_get_cq_event(ch, &cq, &user) == 0 && cq == a.cq && user == &p);
	ibv_ack_cq_events(cq, 1);
	VERB(ibv_resize_cq(a.cq, 0) == EINVAL);
	VERB(ibv_destroy_cq(a.cq) == EBUSY);
	pair_close(&p);
	VERB(ibv_destroy_comp_channel(ch) == EBUSY);
	VERB(ibv_destroy_cq(a.cq) == 0);
	VERB(fcntl(ch->fd, F_SETFL, O_NONBLOCK) == 0);
	VERB(ibv_get_cq_event(ch, &cq, &user) == -1 && errno == EAGAIN);
	VERB(ibv_destroy_comp_channel(ch) == 0);
	a.cq = old;
}

/* ---- what is not possible ---- */

static void refused(void)
{
	struct ibv_qp_init_attr init = side_init(&a);
	struct ibv_sge sge = side_sge(&a, 0, 4);
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_TSO};
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct pair p;

	init.qp_type = IBV_QPT_XRC_SEND;
	VERB(!ibv_create_qp(a.pd, &init) && errno == EOPNOTSUPP);
	VERB(!ibv_create_cq(a.ctx, 0, NULL, NULL, 0) && errno == EINVAL);
	VERB(!ibv_create_cq(a.ctx, 1, NULL, NULL, 5) && errno == EINVAL);
	VERB(ibv_query_port(a.ctx, 2, &port) == EINVAL && ibv_query_port(a.ctx, 1, &port) == 0);
	VERB(ibv_query_gid(a.ctx, 1, port.gid_tbl_len - 1, &gid) == 0);
	VERB(ibv_query_gid(a.ctx, 1, port.gid_tbl_len, &gid) == -1 && errno == EINVAL);
	VERB(ibv_query_gid(a.ctx, 1, -1, &gid) == -1 && ibv_query_gid(a.ctx, 2, 0, &gid) == -1);
	VERB(!ibv_import_pd(a.ctx, 1) && errno == EOPNOTSUPP);
	VERB(!ibv_alloc_dm(a.ctx, &(struct ibv_alloc_dm_attr){0}) && errno == EOPNOTSUPP);
	pair_open(&p, &a, &b);
	VERB(post(&p, 0, &wr, &sge) == EOPNOTSUPP);
	VERB(ibv_dealloc_pd(a.pd) == EBUSY);
	pair_send(&p, 0, 100, 31);
	pair_close(&p);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"sends", sends},
	{"writes and reads", writes_and_reads},
	{"Write with immediate data", write_with_imm},
	{"atomics", atomics},
	{"late receive", late_receive},
	{"windows of type 1", windows_1},
	{"windows of type 2", windows_2},
	{"shared receive queues", shared_receives},
	{"resized completion queue", resized_queue},
	{"what is not possible", refused},
};

static bool cannot_poll(void *arg)
{
	struct ibv_wc wc;

	return ibv_poll_cq(arg, 1, &wc) < 0;
}

/* Waits until the daemon of the second device ends. */
static void wait_for_end(void)
{
	struct ibv_async_event ev;
	struct ibv_port_attr port;

	side_open(&b, 1);
	VERB(ibv_query_port(b.ctx, 1, &port) == 0 && port.state == IBV_PORT_ACTIVE);
	printf("waiting\n");
	VERB(ibv_get_async_event(b.ctx, &ev) == 0 && ev.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&ev);
	VERB(ibv_query_port(b.ctx, 1, &port) == 0 && port.state == IBV_PORT_DOWN);
	VERB(rig_eventually(cannot_poll, b.cq));
	VERB(!ibv_alloc_pd(b.ctx));
	printf("ok the end of the daemon\n");
}

int main(int argc, char **argv)
{
	(void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		wait_for_end();
		return 0;
	}
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		side_open(&a, 0);
		side_open(&b, 1);
		cases[i].run();
		side_close(&a);
		side_close(&b);
		printf("ok %s\n", cases[i].name);
	}
	return 0;
}
