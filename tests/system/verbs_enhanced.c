/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for the extended objects of libibverbs: ibv_create_qp_ex() with ibv_wr_..., and
 * ibv_create_cq_ex() with ibv_start_poll(). Promise: each operation does what its function says,
 * and the bytes are the expected ones; of a batch that is wrong no request is posted.
 *
 *   verbs_enhanced      exit status 0 if it held
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/system/verbs_rig.h"

static struct side a, b;
static struct pair p;
static struct ibv_cq_ex *queue; /* of a's queue pair */
static struct ibv_qp_ex *qp;

static void open_all(void)
{
	struct ibv_cq_init_attr_ex cq_init = {
		.cqe = 4 * RIG_DEPTH,
		.cq_context = &p,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_qp_init_attr_ex init = {
		.cap = {RIG_DEPTH, RIG_DEPTH, 4, 4, 64},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_BIND_MW |
				  IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV |
				  IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_qp_init_attr plain;

	side_open(&a, 0);
	side_open(&b, 1);
	VERB(queue = ibv_create_cq_ex(a.ctx, &cq_init));
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(queue);
	init.pd = a.pd;
	p = (struct pair){.side = {&a, &b}};
	VERB(p.qp[0] = ibv_create_qp_ex(a.ctx, &init));
	VERB(qp = ibv_qp_to_qp_ex(p.qp[0]));
	plain = side_init(&b);
	VERB(p.qp[1] = ibv_create_qp(b.pd, &plain));
	VERB(!ibv_qp_to_qp_ex(p.qp[1]));
	pair_connect(&p);
}

static void close_all(void)
{
	pair_close(&p);
	VERB(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)) == 0);
	side_close(&a);
	side_close(&b);
}

/* ---- completions ---- */

static bool starts(void *arg)
{
	struct ibv_poll_cq_attr attr = {0};
	int r = ibv_start_poll(arg, &attr);

	VERB(r == 0 || r == ENOENT);
	return r == 0;
}

/* The next completion; polling goes on until done(). */
static void next(uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	VERB(rig_eventually(starts, queue));
	VERB(queue->status == IBV_WC_SUCCESS && queue->wr_id == wr_id);
	VERB(ibv_wc_read_opcode(queue) == opcode);
	VERB(ibv_wc_read_qp_num(queue) == p.qp[0]->qp_num);
	VERB(ibv_wc_read_vendor_err(queue) == 0);
	VERB(ibv_wc_read_completion_wallclock_ns(queue) / 1000000000 <= (uint64_t)time(NULL) + 1);
}

static void done(void)
{
	ibv_end_poll(queue);
}

/* ---- requests ---- */

static void begin(uint64_t wr_id)
{
	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
}

/* Three requests with one call: a Write, a Read of the same bytes, a Send. */
static void batch(void)
{
	const uint64_t there = (uintptr_t)b.mem + 64;

	rig_fill(a.mem, 10000, 1);
	post_recv(&p, 1, 50, 40000, 10000);
	begin(1);
	ibv_wr_rdma_write(qp, b.mr->rkey, there);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 10000);
	qp->wr_id = 2;
	ibv_wr_rdma_read(qp, b.mr->rkey, there);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem + 20000, 10000);
	qp->wr_id = 3;
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 2,
			    (struct ibv_sge[]){side_sge(&a, 0, 4000), side_sge(&a, 4000, 6000)});
	VERB(ibv_wr_complete(qp) == 0);
	next(1, IBV_WC_RDMA_WRITE);
	done();
	next(2, IBV_WC_RDMA_READ);
	done();
	next(3, IBV_WC_SEND);
	done();
	rig_done(b.cq, 50, IBV_WC_RECV);
	rig_same(b.mem + 64, 10000, 1);
	rig_same(a.mem + 20000, 10000, 1);
	rig_same(b.mem + 40000, 10000, 1);
}

/* The bytes may change at once. */
static void inline_data(void)
{
	uint8_t bytes[48];

	post_recv(&p, 1, 51, 0, 100);
	begin(4);
	ibv_wr_send(qp);
	rig_fill(bytes, sizeof(bytes), 2);
	ibv_wr_set_inline_data_list(
		qp, 2, (struct ibv_data_buf[]){{bytes, 20}, {bytes + 20, sizeof(bytes) - 20}});
	memset(bytes, 0, sizeof(bytes));
	VERB(ibv_wr_complete(qp) == 0);
	next(4, IBV_WC_SEND);
	done();
	VERB(rig_done(b.cq, 51, IBV_WC_RECV).byte_len == sizeof(bytes));
	rig_same(b.mem, sizeof(bytes), 2);
}

static void immediate(void)
{
	struct ibv_wc wc;

	post_recv(&p, 1, 52, 0, 8);
	rig_fill(a.mem, 3000, 3);
	begin(5);
	ibv_wr_rdma_write_imm(qp, b.mr->rkey, (uintptr_t)b.mem + 8192, htobe32(77));
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 3000);
	VERB(ibv_wr_complete(qp) == 0);
	next(5, IBV_WC_RDMA_WRITE);
	done();
	wc = rig_done(b.cq, 52, IBV_WC_RECV_RDMA_WITH_IMM);
	VERB(wc.imm_data == htobe32(77) && wc.byte_len == 3000);
	rig_same(b.mem + 8192, 3000, 3);
}

/* One completion with bytes and immediate data, in the order of the receives; the messages around
 * it have none. */
static void send_immediate(void)
{
	struct ibv_send_wr wr = {
		.wr_id = 32, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(79)};
	struct ibv_sge back = side_sge(&b, 0, 700);
	struct ibv_wc wc;

	for (uint64_t i = 0; i < 4; i++)
		post_recv(&p, 1, 70 + i, 30000 + 3000 * i, 3000);
	rig_fill(a.mem, 3000, 5);
	begin(30);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 10);
	for (uint32_t i = 0; i < 2; i++) { /* the second one is empty */
		qp->wr_id = 31 + i;
		ibv_wr_send_imm(qp, htobe32(77 + i));
		ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 3000 * !i);
	}
	qp->wr_id = 33;
	ibv_wr_rdma_write_imm(qp, b.mr->rkey, (uintptr_t)b.mem, htobe32(80));
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 0);
	VERB(ibv_wr_complete(qp) == 0);
	for (uint64_t i = 0; i < 4; i++) {
		next(30 + i, i < 3 ? IBV_WC_SEND : IBV_WC_RDMA_WRITE);
		done();
	}
	wc = rig_done(b.cq, 70, IBV_WC_RECV);
	VERB(wc.byte_len == 10 && wc.wc_flags == 0);
	wc = rig_done(b.cq, 71, IBV_WC_RECV);
	VERB(wc.byte_len == 3000 && wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htobe32(77));
	rig_same(b.mem + 33000, 3000, 5);
	wc = rig_done(b.cq, 72, IBV_WC_RECV);
	VERB(wc.byte_len == 0 && wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htobe32(78));
	VERB(rig_done(b.cq, 73, IBV_WC_RECV_RDMA_WITH_IMM).imm_data == htobe32(80));
	/* The other way: ibv_post_send(), ibv_wc_read_imm_data(). */
	post_recv(&p, 0, 34, 8192, 700);
	rig_fill(b.mem, 700, 6);
	VERB(post(&p, 1, &wr, &back) == 0);
	rig_done(b.cq, 32, IBV_WC_SEND);
	next(34, IBV_WC_RECV);
	VERB(ibv_wc_read_wc_flags(queue) == IBV_WC_WITH_IMM && ibv_wc_read_byte_len(queue) == 700);
	VERB(ibv_wc_read_imm_data(queue) == htobe32(79));
	done();
	rig_same(a.mem + 8192, 700, 6);
}

static void atomics(void)
{
	uint64_t *cell = (uint64_t *)(void *)b.mem, *old = (uint64_t *)(void *)a.mem;

	*cell = 5;
	begin(6);
	ibv_wr_atomic_fetch_add(qp, b.mr->rkey, (uintptr_t)cell, 10);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)old, 8);
	VERB(ibv_wr_complete(qp) == 0);
	next(6, IBV_WC_FETCH_ADD);
	done();
	VERB(*old == 5 && *cell == 15);
	begin(7);
	ibv_wr_atomic_cmp_swp(qp, b.mr->rkey, (uintptr_t)cell, 15, 99);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)old, 8);
	VERB(ibv_wr_complete(qp) == 0);
	next(7, IBV_WC_COMP_SWAP);
	done();
	VERB(*old == 15 && *cell == 99);
}

/* Binds a window here, the peer writes through it and invalidates it; then the same with a local
 * invalidation. */
static void windows(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	const struct ibv_mw_bind_info info = {a.mr, (uintptr_t)a.mem + 4096, 4096,
					      IBV_ACCESS_REMOTE_WRITE};
	struct ibv_send_wr write = {.wr_id = 60, .opcode = IBV_WR_RDMA_WRITE};
	struct ibv_send_wr inv = {.wr_id = 61, .opcode = IBV_WR_SEND_WITH_INV};
	struct ibv_sge from = side_sge(&b, 0, 4096), word = side_sge(&b, 0, 4);
	uint32_t rkey;

	VERB(mw);
	rkey = ibv_inc_rkey(mw->rkey);
	begin(8);
	ibv_wr_bind_mw(qp, mw, rkey, &info);
	VERB(ibv_wr_complete(qp) == 0);
	next(8, IBV_WC_BIND_MW);
	done();
	rig_fill(b.mem, 4096, 4);
	write.wr.rdma.rkey = inv.invalidate_rkey = rkey;
	write.wr.rdma.remote_addr = info.addr;
	post_recv(&p, 0, 9, 0, 64);
	VERB(post(&p, 1, &write, &from) == 0);
	VERB(post(&p, 1, &inv, &word) == 0);
	rig_done(b.cq, 60, IBV_WC_RDMA_WRITE);
	rig_done(b.cq, 61, IBV_WC_SEND);
	next(9, IBV_WC_RECV);
	VERB(ibv_wc_read_wc_flags(queue) & IBV_WC_WITH_INV);
	VERB(ibv_wc_read_invalidated_rkey(queue) == rkey && ibv_wc_read_byte_len(queue) == 4);
	done();
	rig_same(a.mem + 4096, 4096, 4);
	rkey = ibv_inc_rkey(rkey);
	begin(10);
	ibv_wr_bind_mw(qp, mw, rkey, &info);
	qp->wr_id = 11;
	ibv_wr_local_inv(qp, rkey);
	VERB(ibv_wr_complete(qp) == 0);
	next(10, IBV_WC_BIND_MW);
	done();
	next(11, IBV_WC_LOCAL_INV);
	done();
	VERB(ibv_dealloc_mw(mw) == 0);
}

/* No request is posted of a batch that is given up or wrong. */
static void nothing_posted(void)
{
	struct ibv_poll_cq_attr attr = {0};

	begin(20);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 8);
	ibv_wr_abort(qp);
	begin(21);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 8);
	ibv_wr_atomic_write(qp, b.mr->rkey, (uintptr_t)b.mem, a.mem);
	VERB(ibv_wr_complete(qp) == EOPNOTSUPP);
	begin(22);
	for (int i = 0; i < 100; i++)
		ibv_wr_send(qp);
	VERB(ibv_wr_complete(qp) == ENOMEM);
	VERB(ibv_start_poll(queue, &attr) == ENOENT);
	batch();
}

static void add_sends(unsigned n, uint64_t wr_id)
{
	for (unsigned i = 0; i < n; i++) {
		qp->wr_id = wr_id + i;
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.mem, 8);
	}
}

/* The last one of many has more elements than the queue pair. */
static void invalid_last(void)
{
	struct ibv_sge five[5] = {side_sge(&a, 0, 1)};

	begin(0);
	add_sends(30, 23);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 5, five);
	VERB(ibv_wr_complete(qp) == EINVAL);
	batch();
}

/* Batches of n until the queue has no room for one, though it has room for a part. All that was
 * sent arrives, and no more. */
static void full_queue(unsigned n)
{
	uint64_t sent = 0;
	int r;

	for (;;) {
		begin(0);
		add_sends(n, 1000 + sent);
		r = ibv_wr_complete(qp);
		if (r)
			break;
		sent += n;
	}
	VERB(r == ENOMEM && sent > 0);
	for (uint64_t i = 0; i < sent; i++) {
		post_recv(&p, 1, i, 40000, 8);
		rig_done(b.cq, i, IBV_WC_RECV);
		next(1000 + i, IBV_WC_SEND);
		done();
	}
	batch();
}

static void full_queues(void)
{
	full_queue(5);
	full_queue(7);
	full_queue(11);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"a batch of requests", batch},
	{"inline data", inline_data},
	{"Write with immediate data", immediate},
	{"Send with immediate data", send_immediate},
	{"atomics", atomics},
	{"windows and invalidation", windows},
	{"batches that are given up", nothing_posted},
	{"a batch whose last request is invalid", invalid_last},
	{"batches that find too little room", full_queues},
};

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_all();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].run();
		printf("ok %s\n", cases[i].name);
	}
	close_all();
	return 0;
}
