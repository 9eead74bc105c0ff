/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs at two devices. Promise: what a device is asked for is what it gives or
 * refuses: rights of regions, windows and keys that stay, kinds of queue pairs, operations of
 * extended ones, domains. What libraries try by design prints no sentence.
 *
 *   verbs_words      exit status 0 if it held
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum {
	LOCAL = IBV_ACCESS_LOCAL_WRITE,
	WRITE = IBV_ACCESS_REMOTE_WRITE,
	READ = IBV_ACCESS_REMOTE_READ,
	ATOMIC = IBV_ACCESS_REMOTE_ATOMIC,
	BIND = IBV_ACCESS_MW_BIND,
};

static struct side a, b;

/* ---- regions ---- */

static const struct {
	int access, err;
} rights[] = {
	{0, 0},
	{READ, 0},
	{LOCAL, 0},
	{LOCAL | WRITE | READ | ATOMIC | BIND, 0},
	{LOCAL | IBV_ACCESS_RELAXED_ORDERING, 0},
	{LOCAL | IBV_ACCESS_HUGETLB, 0},
	{WRITE, EINVAL},
	{ATOMIC, EINVAL},
	{READ | WRITE, EINVAL},
	{LOCAL | 1 << 12, EINVAL},
	{LOCAL | 1 << 30, EINVAL},
	{LOCAL | IBV_ACCESS_ON_DEMAND, EOPNOTSUPP},
};

static void regions(void)
{
	struct ibv_mr *mr;

	for (unsigned i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		/* as a value that the compiler does not know: the header has another way for
		 * constants */
		volatile int access = rights[i].access;

		errno = 0;
		mr = ibv_reg_mr(b.pd, b.mem, 4096, access);
		VERB(mr ? rights[i].err == 0 : errno == rights[i].err);
		if (mr)
			VERB(ibv_dereg_mr(mr) == 0);
	}
}

static int change(struct ibv_mr *mr, int access)
{
	return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access);
}

/* A Write of 8 bytes from a to the start of the region at b, and a Send that follows. */
static void write_to(struct pair *p, const struct ibv_mr *mr, unsigned seed)
{
	struct ibv_sge sge = side_sge(&a, 0, 8);
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE};

	rig_fill(a.mem, 8, seed);
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr;
	wr.wr.rdma.rkey = mr->rkey;
	VERB(post(p, 0, &wr, &sge) == 0);
	rig_done(a.cq, 1, IBV_WC_RDMA_WRITE);
	pair_send(p, 0, 8, seed);
	rig_same(mr->addr, 8, seed);
}

static void reregistered(void)
{
	struct ibv_pd *other = ibv_alloc_pd(b.ctx);
	uint8_t *memory[2] = {b.mem, malloc(8192)};
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.mem, 4096, LOCAL);
	struct pair p;
	uint32_t key;

	VERB(other && mr && memory[1]);
	key = mr->rkey;
	pair_open(&p, &a, &b);
	VERB(change(mr, WRITE) == IBV_REREG_MR_ERR_INPUT && mr->rkey == key);
	VERB(change(mr, LOCAL | WRITE) == 0 && mr->rkey == key && mr->lkey == key);
	write_to(&p, mr, 3);
	VERB(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0) == 0);
	VERB(mr->pd == other && mr->rkey == key);
	VERB(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL, 0, 0) == 0 && mr->rkey == key);
	write_to(&p, mr, 4);
	VERB(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory[1], 8192, 0) == 0);
	VERB(mr->addr == memory[1] && mr->length == 8192);
	write_to(&p, mr, 5);
	VERB(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
	pair_close(&p);
	VERB(ibv_dereg_mr(mr) == 0);
	VERB(ibv_dealloc_pd(other) == 0);
	free(memory[1]);
}

/* ---- windows ---- */

static void windows(void)
{
	struct ibv_mw_bind bind = {
		.wr_id = 7,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {b.mr, (uintptr_t)b.mem, 4096, LOCAL | WRITE},
	};
	struct ibv_mw *mw;
	struct pair p;

	VERB(!ibv_alloc_mw(b.pd, (enum ibv_mw_type)3) && errno == EINVAL);
	pair_open(&p, &a, &b);
	VERB(mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1));
	VERB(ibv_bind_mw(p.qp[1], mw, &bind) == 0);
	rig_done(b.cq, 7, IBV_WC_BIND_MW);
	write_to(&p, &(struct ibv_mr){.addr = b.mem, .rkey = mw->rkey}, 6);
	VERB(ibv_dealloc_mw(mw) == 0);
	pair_close(&p);
}

/* ---- queue pairs ---- */

static struct ibv_qp_init_attr_ex extended(uint64_t ops)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = b.cq,
		.recv_cq = b.cq,
		.cap = {4, 4, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = b.pd,
		.send_ops_flags = ops,
	};
}

static void operations(void)
{
	struct ibv_qp *qp;

	for (unsigned bit = 0; bit < 63; bit++) {
		struct ibv_qp_init_attr_ex init = extended(UINT64_C(1) << bit);

		errno = 0;
		qp = ibv_create_qp_ex(b.ctx, &init);
		VERB(qp ? bit <= 9 : bit > 9 && errno == EOPNOTSUPP);
		if (qp)
			VERB(ibv_destroy_qp(qp) == 0);
	}
}

static void kinds(void)
{
	struct ibv_qp_init_attr init = side_init(&b);
	struct pair p = {.side = {&a, &b}};

	init.qp_type = IBV_QPT_RAW_PACKET;
	VERB(!ibv_create_qp(b.pd, &init) && errno == EOPNOTSUPP);
	for (int i = 0; i < 2; i++) {
		init = side_init(p.side[i]);
		init.qp_type = IBV_QPT_UC;
		VERB(p.qp[i] = ibv_create_qp(p.side[i]->pd, &init));
		VERB(p.qp[i]->qp_type == IBV_QPT_UC);
	}
	pair_connect(&p);
	pair_send(&p, 0, 100, 8);
	pair_close(&p);
}

/* ---- domains ---- */

static void domains(void)
{
	struct ibv_td_init_attr td_init = {.comp_mask = 0};
	struct ibv_parent_domain_init_attr init = {.pd = b.pd};
	struct ibv_pd *parent, *own = b.pd;
	struct pair p;

	VERB(init.td = ibv_alloc_td(b.ctx, &td_init));
	VERB(parent = ibv_alloc_parent_domain(b.ctx, &init));
	VERB(ibv_dealloc_pd(b.pd) == EBUSY);
	b.pd = parent;
	pair_open(&p, &a, &b);
	pair_send(&p, 0, 100, 9);
	pair_close(&p);
	b.pd = own;
	VERB(ibv_dealloc_pd(parent) == 0);
	VERB(ibv_dealloc_td(init.td) == 0);
	init.comp_mask = 1 << 20;
	VERB(!ibv_alloc_parent_domain(b.ctx, &init) && errno == EINVAL);
}

static void device(void)
{
	struct ibv_device_attr_ex attr;

	VERB(ibv_query_device_ex(b.ctx, NULL, &attr) == 0);
	VERB(attr.phys_port_cnt_ex == 1 && attr.orig_attr.phys_port_cnt == 1);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"rights of regions", regions},
	{"regions that are registered again", reregistered},
	{"windows", windows},
	{"operations of extended queue pairs", operations},
	{"kinds of queue pairs", kinds},
	{"parent domains", domains},
	{"the device", device},
};

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	side_open(&a, 0);
	side_open(&b, 1);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].run();
		printf("ok %s\n", cases[i].name);
	}
	side_close(&a);
	side_close(&b);
	return 0;
}
