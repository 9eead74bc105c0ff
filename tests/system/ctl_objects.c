/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates one of each object, in known numbers, for ctl-objects.sh.
 *
 *   ctl_objects SOCKET      prints keys as JSON, and holds everything until its input ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ddp/ddp.h>

#include "tests/lib/must.h"
#include "tests/lib/patience.h"

enum { SIZE = 8192 };

static struct ddp_ctx *ctx;
static struct ddp_pd *pd, *empty;
static struct ddp_cq *both, *receives;
static struct ddp_srq *srq;
static struct ddp_id *id[2];
static struct ddp_qp *qp[2];
static struct ddp_mr *mr, *tied;
static struct ddp_mw *bound, *unbound;

static void make_queues(void)
{
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_recv_wr wr = {.wr_id = 1};

	cq.entries = 64;
	MUST(ddp_create_cq(ctx, &cq, &both));
	MUST(ddp_create_cq(ctx, &cq, &receives));
	attr.max_wr = 8;
	attr.max_sge = 2;
	attr.limit = 3;
	attr.max_per_qp = 2;
	MUST(ddp_create_srq(pd, &attr, &srq));
	for (int i = 0; i < 5; i++)
		MUST(ddp_post_srq_recv(srq, &wr, NULL));
}

/* The first uses one completion queue for both directions and the shared receive queue; the
 * second is a raw one with receives of its own. */
static void make_qps(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_recv_wr wr = {.wr_id = 1};

	MUST(ddp_create_id(ctx, NULL, &id[0]));
	MUST(ddp_create_id(ctx, NULL, &id[1]));
	init.send_cq = init.recv_cq = both;
	init.max_send_wr = 16;
	init.srq = srq;
	init.max_ord = 5;
	init.max_ird = 7;
	MUST(ddp_create_qp(id[0], pd, &init, &qp[0]));
	init.srq = NULL;
	init.recv_cq = receives;
	init.max_recv_wr = 32;
	init.qp_type = DDP_QP_RAW;
	init.raw_queues = 2;
	MUST(ddp_create_qp(id[1], pd, &init, &qp[1]));
	for (int i = 0; i < 3; i++)
		MUST(ddp_post_recv(qp[1], &wr, NULL));
}

static void make_memory(void)
{
	MUST(ddp_alloc_mr(pd, SIZE, DDP_ACCESS_REMOTE_ATOMIC | DDP_ACCESS_MW_BIND, &mr));
	MUST(ddp_alloc_mr(pd, SIZE, DDP_ACCESS_REMOTE_READ, &tied));
	MUST(ddp_bind_mr(tied, qp[1]));
	MUST(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &bound));
	MUST(ddp_alloc_mw(pd, DDP_MW_TYPE_2, &unbound));
	MUST(ddp_bind_mw(bound, mr, mr->iova + 4096, 1024, DDP_ACCESS_REMOTE_READ));
}

static void destroy_all(void)
{
	MUST(ddp_dealloc_mw(bound));
	MUST(ddp_dealloc_mw(unbound));
	MUST(ddp_dereg_mr(mr));
	MUST(ddp_dereg_mr(tied));
	for (int i = 0; i < 2; i++) {
		MUST(ddp_destroy_qp(qp[i]));
		MUST(ddp_destroy_id(id[i]));
	}
	MUST(ddp_destroy_srq(srq));
	MUST(ddp_destroy_cq(both));
	MUST(ddp_destroy_cq(receives));
	MUST(ddp_dealloc_pd(pd));
	MUST(ddp_dealloc_pd(empty));
	MUST(ddp_close(ctx));
}

int main(int argc, char **argv)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	char end;

	if (argc != 2) {
		fprintf(stderr, "usage: ctl_objects SOCKET\n");
		return 2;
	}
	alarm(LIFE_S);
	attr.socket = argv[1];
	MUST(ddp_open(&attr, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	MUST(ddp_alloc_pd(ctx, &empty));
	make_queues();
	make_qps();
	make_memory();
	printf("{\"mr\": \"0x%08x\", \"tied\": \"0x%08x\", \"bound\": \"0x%08x\", \"iova\": %llu, "
	       "\"qp\": [%u, %u]}\n",
	       mr->rkey, tied->rkey, bound->rkey, (unsigned long long)mr->iova, ddp_qp_num(qp[0]),
	       ddp_qp_num(qp[1]));
	fflush(stdout);
	while (read(0, &end, 1) > 0)
		;
	destroy_all();
	return 0;
}
