/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs whose receiver is slower than its sender, and one whose messages have no
 * bytes. Promise: RC queue pairs with rnr_retry 7 lose nothing, with a queue of their own and with
 * a shared one; with rnr_retry 1 a Send without a receive fails, and those before it do not; keys
 * of memory that is not used mean nothing.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/verbs_rig.h"

enum { MESSAGES = RIG_DEPTH, LEN = RIG_SIZE, SLEEP_US = 300000 };

/* b receives into one buffer, so one receive is all that it ever has. */
static void open_small(struct pair *p, struct side *a, struct side *b, struct ibv_srq *srq)
{
	*p = (struct pair){.side = {a, b}};
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = side_init(p->side[i]);

		init.cap.max_recv_wr = 1;
		init.srq = i == 1 ? srq : NULL;
		VERB(p->qp[i] = ibv_create_qp(p->side[i]->pd, &init));
	}
	pair_connect(p);
}

static void receive(struct pair *p, struct ibv_srq *srq, uint64_t wr_id)
{
	struct ibv_sge sge = side_sge(p->side[1], 0, LEN);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	memset(p->side[1]->mem, 0, LEN);
	VERB((srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(p->qp[1], &wr, &bad)) == 0);
	VERB(rig_done(p->side[1]->cq, wr_id, IBV_WC_RECV).byte_len == LEN);
	rig_same(p->side[1]->mem, LEN, 5);
}

static void sleeping_receiver(struct side *a, struct side *b, struct ibv_srq *srq)
{
	struct pair p;

	open_small(&p, a, b, srq);
	rig_fill(a->mem, LEN, 5);
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct ibv_send_wr wr = {.wr_id = i, .opcode = IBV_WR_SEND};
		struct ibv_sge sge = side_sge(a, 0, LEN);

		VERB(post(&p, 0, &wr, &sge) == 0);
	}
	usleep(SLEEP_US); /* it waits for nothing: this receiver is slow */
	for (unsigned i = 0; i < MESSAGES; i++)
		receive(&p, srq, i);
	for (unsigned i = 0; i < MESSAGES; i++)
		rig_done(a->cq, i, IBV_WC_SEND);
	pair_close(&p);
	printf("a receiver that sleeps%s\n", srq ? ", with a shared queue" : "");
}

static void with_shared_queue(struct side *a, struct side *b)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(b->pd, &init);

	VERB(srq);
	sleeping_receiver(a, b, srq);
	VERB(ibv_destroy_srq(srq) == 0);
}

/* Receives name memory without a key, which messages without bytes do not need. */
static void no_bytes(struct side *a, struct side *b)
{
	static const struct {
		enum ibv_wr_opcode op;
		enum ibv_wc_opcode done;
		bool takes; /* a receive */
		enum ibv_wc_opcode came;
	} ops[] = {
		{IBV_WR_SEND, IBV_WC_SEND, true, IBV_WC_RECV},
		{IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true, IBV_WC_RECV},
		{IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true, IBV_WC_RECV_RDMA_WITH_IMM},
		{IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, false, 0},
		{IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, false, 0},
	};
	struct pair p;

	pair_open(&p, a, b);
	for (unsigned i = 0; i < 2 * sizeof(ops) / sizeof(ops[0]); i++) {
		struct ibv_sge empty = {0}, nowhere = {.addr = 4096, .length = 64};
		struct ibv_recv_wr recv = {.wr_id = i, .sg_list = &nowhere, .num_sge = 1}, *bad;
		struct ibv_send_wr wr = {.wr_id = i, .opcode = ops[i / 2].op};

		if (ops[i / 2].takes)
			VERB(ibv_post_recv(p.qp[1], &recv, &bad) == 0);
		VERB(post(&p, 0, &wr, i % 2 ? &empty : NULL) == 0);
		rig_done(a->cq, i, ops[i / 2].done);
		if (ops[i / 2].takes)
			rig_done(b->cq, i, ops[i / 2].came);
	}
	pair_close(&p);
	puts("messages without bytes");
}

/* The first Send has a receive. */
static void no_receive(struct side *a, struct side *b)
{
	struct pair p = {.side = {a, b}, .impatient = true};
	struct ibv_send_wr wr = {.wr_id = 2, .opcode = IBV_WR_SEND};
	struct ibv_sge sge = side_sge(a, 0, LEN);

	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = side_init(p.side[i]);

		VERB(p.qp[i] = ibv_create_qp(p.side[i]->pd, &init));
	}
	pair_connect(&p);
	pair_send(&p, 0, LEN / 2, 1);
	VERB(post(&p, 0, &wr, &sge) == 0);
	wr.wr_id = 3;
	VERB(post(&p, 0, &wr, &sge) == 0);
	VERB(rig_wc(a->cq).status == IBV_WC_RNR_RETRY_EXC_ERR);
	VERB(rig_wc(a->cq).status == IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
	puts("a receiver without a receive, and a sender that does not wait for it");
}

int main(void)
{
	struct side a, b;

	side_open(&a, 0);
	side_open(&b, 1);
	sleeping_receiver(&a, &b, NULL);
	with_shared_queue(&a, &b);
	no_bytes(&a, &b);
	no_receive(&a, &b);
	side_close(&a);
	side_close(&b);
	return 0;
}
