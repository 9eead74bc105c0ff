/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs. Promise: a queue pair that is connected to itself is one as any other:
 * it receives what it sends, writes, reads and counts in its own memory, also through windows that
 * it binds, completions have its number, ERR flushes, and after RESET all that works again. Changed
 * waits for receives hold for its messages to itself.
 *
 *   verbs_self      exit status 0 if it held
 */
#include <stdio.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum { LARGE = RIG_SIZE / 2 };

static struct side a;

static void to_itself(struct pair *p)
{
	rig_to_init(p->qp[0]);
	rig_to_rtr(p->qp[0], p->qp[0]->qp_num, &a.gid);
	rig_to_rts(p->qp[0], 7);
}

static void remote(const struct pair *p, struct ibv_send_wr *wr, enum ibv_wr_opcode op, uint64_t id)
{
	*wr = (struct ibv_send_wr){.opcode = op, .wr_id = id};
	wr->wr.rdma.remote_addr = (uintptr_t)a.mem + LARGE;
	wr->wr.rdma.rkey = a.mr->rkey;
	VERB(p->qp[0]->state == IBV_QPS_RTS);
}

static void done(const struct pair *p, uint64_t id, enum ibv_wc_opcode op)
{
	VERB(rig_done(a.cq, id, op).qp_num == p->qp[0]->qp_num);
}

static void one_sided(struct pair *p)
{
	struct ibv_sge sge = side_sge(&a, 0, LARGE);
	struct ibv_send_wr wr;

	rig_fill(a.mem, LARGE, 7);
	remote(p, &wr, IBV_WR_RDMA_WRITE, 1);
	VERB(post(p, 0, &wr, &sge) == 0);
	done(p, 1, IBV_WC_RDMA_WRITE);
	rig_same(a.mem + LARGE, LARGE, 7);
	memset(a.mem, 0, LARGE);
	remote(p, &wr, IBV_WR_RDMA_READ, 2);
	VERB(post(p, 0, &wr, &sge) == 0);
	done(p, 2, IBV_WC_RDMA_READ);
	rig_same(a.mem, LARGE, 7);
}

static void counts(struct pair *p)
{
	const uint64_t before = 40;
	struct ibv_sge sge = side_sge(&a, 0, sizeof(before));
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .wr_id = 3};

	memcpy(a.mem + LARGE, &before, sizeof(before));
	wr.wr.atomic.remote_addr = (uintptr_t)a.mem + LARGE;
	wr.wr.atomic.rkey = a.mr->rkey;
	wr.wr.atomic.compare_add = 2;
	VERB(post(p, 0, &wr, &sge) == 0);
	done(p, 3, IBV_WC_FETCH_ADD);
	VERB(memcmp(a.mem, &before, sizeof(before)) == 0);
	VERB(*(const uint64_t *)(const void *)(a.mem + LARGE) == before + 2);
}

/* Its receive was posted before it was connected. */
static void sends(struct pair *p, uint32_t len)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .wr_id = 4};
	struct ibv_sge sge = side_sge(&a, 0, len);
	unsigned seen = 0;

	rig_fill(a.mem, len, len);
	VERB(post(p, 0, &wr, &sge) == 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc = rig_wc(a.cq);

		VERB(wc.status == IBV_WC_SUCCESS && wc.qp_num == p->qp[0]->qp_num);
		VERB(wc.opcode != IBV_WC_RECV || (wc.wr_id == 5 && wc.byte_len == len));
		seen |= wc.opcode == IBV_WC_RECV ? 1 : 2;
	}
	VERB(seen == 3);
	rig_same(a.mem + LARGE, len, len);
}

/* ---- windows ---- */

static uint32_t bind_window(struct pair *p, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .wr_id = 8};

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = a.mr,
		.addr = (uintptr_t)a.mem + LARGE,
		.length = LARGE,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	VERB(post(p, 0, &wr, NULL) == 0);
	done(p, 8, IBV_WC_BIND_MW);
	return rkey;
}

static void write_through(struct pair *p, uint32_t rkey, unsigned seed)
{
	struct ibv_sge sge = side_sge(&a, 0, LARGE);
	struct ibv_send_wr wr;

	rig_fill(a.mem, LARGE, seed);
	remote(p, &wr, IBV_WR_RDMA_WRITE, 9);
	wr.wr.rdma.rkey = rkey;
	VERB(post(p, 0, &wr, &sge) == 0);
	done(p, 9, IBV_WC_RDMA_WRITE);
	remote(p, &wr, IBV_WR_RDMA_READ, 10);
	wr.wr.rdma.rkey = rkey;
	VERB(post(p, 0, &wr, &sge) == 0);
	done(p, 10, IBV_WC_RDMA_READ);
	rig_same(a.mem + LARGE, LARGE, seed);
}

/* By the queue pair's own request, then by its message to itself. */
static void windows(struct pair *p)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV, .wr_id = 11};
	struct ibv_sge sge = side_sge(&a, 0, 8);
	struct ibv_mw *mw;
	uint32_t rkey;

	VERB(mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2));
	rkey = bind_window(p, mw, ibv_inc_rkey(mw->rkey));
	write_through(p, rkey, 3);
	wr.invalidate_rkey = rkey;
	VERB(post(p, 0, &wr, NULL) == 0);
	done(p, 11, IBV_WC_LOCAL_INV);
	rkey = bind_window(p, mw, ibv_inc_rkey(rkey));
	write_through(p, rkey, 4);
	post_recv(p, 0, 5, LARGE, LARGE);
	wr = (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_INV, .wr_id = 4};
	wr.invalidate_rkey = rkey;
	VERB(post(p, 0, &wr, &sge) == 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc = rig_wc(a.cq);

		VERB(wc.status == IBV_WC_SUCCESS);
		VERB(wc.opcode != IBV_WC_RECV ||
		     (wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == rkey));
	}
	rkey = bind_window(p, mw, ibv_inc_rkey(rkey)); /* it may be: it is not bound any more */
	write_through(p, rkey, 5);
	VERB(ibv_dealloc_mw(mw) == 0);
}

/* ---- ends ---- */

/* What is posted to a queue pair in ERR is flushed, with its number. */
static void flushes(struct pair *p)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_wc wc;

	post_recv(p, 0, 6, LARGE, 8);
	VERB(ibv_modify_qp(p->qp[0], &attr, IBV_QP_STATE) == 0);
	wc = rig_wc(a.cq);
	VERB(wc.wr_id == 6 && wc.status == IBV_WC_WR_FLUSH_ERR && wc.qp_num == p->qp[0]->qp_num);
	attr.qp_state = IBV_QPS_RESET;
	VERB(ibv_modify_qp(p->qp[0], &attr, IBV_QP_STATE) == 0);
}

static void round_of(struct pair *p)
{
	rig_to_init(p->qp[0]);
	post_recv(p, 0, 5, LARGE, LARGE);
	rig_to_rtr(p->qp[0], p->qp[0]->qp_num, &a.gid);
	rig_to_rts(p->qp[0], 7);
	sends(p, 1);
	for (uint32_t len = 64; len <= LARGE; len *= 8) {
		post_recv(p, 0, 5, LARGE, LARGE);
		sends(p, len);
	}
	one_sided(p);
	counts(p);
	windows(p);
	flushes(p);
}

/* ---- waits ---- */

static void set_timer(struct pair *p, uint8_t code)
{
	struct ibv_qp_attr attr = {.min_rnr_timer = code};

	VERB(ibv_modify_qp(p->qp[0], &attr, IBV_QP_MIN_RNR_TIMER) == 0);
}

static struct pair open_pair(uint8_t rnr_retry)
{
	struct ibv_qp_init_attr init = side_init(&a);
	struct pair p = {.side = {&a, &a}};

	VERB(p.qp[0] = p.qp[1] = ibv_create_qp(a.pd, &init));
	rig_to_init(p.qp[0]);
	rig_to_rtr(p.qp[0], p.qp[0]->qp_num, &a.gid);
	rig_to_rts(p.qp[0], rnr_retry);
	return p;
}

static void send_in_vain(struct pair *p)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .wr_id = 12};
	struct ibv_sge sge = side_sge(&a, 0, 8);

	VERB(post(p, 0, &wr, &sge) == 0);
}

static void fails_next(const struct pair *p)
{
	struct ibv_wc wc = rig_wc(a.cq);

	VERB(wc.wr_id == 12 && wc.status == IBV_WC_RNR_RETRY_EXC_ERR);
	VERB(wc.qp_num == p->qp[0]->qp_num);
}

/* Seven waits of the shortest timer are over before six of 655 ms, the longest one, that began
 * later. The order of the two shows that timers and retries are those that were set after the
 * connection: a daemon that stands still for a second delays both by one wait. */
static void waits(void)
{
	struct pair brief = open_pair(6), lasting = open_pair(5);

	set_timer(&brief, 1);
	set_timer(&lasting, 0);
	send_in_vain(&brief);
	send_in_vain(&lasting);
	fails_next(&brief);
	fails_next(&lasting);
	VERB(ibv_destroy_qp(brief.qp[0]) == 0);
	VERB(ibv_destroy_qp(lasting.qp[0]) == 0);
}

/* A request of one that is destroyed while it connects does not reach the next one. */
static void vanishes(struct pair *p)
{
	struct ibv_qp_init_attr init = side_init(&a);
	const uint32_t num = p->qp[0]->qp_num;

	to_itself(p);
	VERB(ibv_destroy_qp(p->qp[0]) == 0);
	VERB(p->qp[0] = ibv_create_qp(a.pd, &init));
	VERB(p->qp[0]->qp_num != num);
	VERB(ibv_destroy_qp(p->qp[0]) == 0);
}

/* The number of one that is destroyed does not return at once, also among as many as a port has
 * numbers. */
static void has_a_new_number(void)
{
	enum { MANY = 256 };
	struct ibv_qp_init_attr init = side_init(&a);
	struct ibv_qp *qp[MANY];
	uint32_t num;

	for (unsigned i = 0; i < MANY; i++)
		VERB(qp[i] = ibv_create_qp(a.pd, &init));
	for (unsigned i = 0; i < MANY; i++) {
		num = qp[i]->qp_num;
		VERB(ibv_destroy_qp(qp[i]) == 0);
		VERB(qp[i] = ibv_create_qp(a.pd, &init));
		VERB(qp[i]->qp_num != num);
	}
	for (unsigned i = 0; i < MANY; i++)
		VERB(ibv_destroy_qp(qp[i]) == 0);
}

int main(void)
{
	struct ibv_qp_init_attr init;
	struct pair p;

	side_open(&a, 0);
	init = side_init(&a);
	p = (struct pair){.side = {&a, &a}};
	VERB(p.qp[0] = p.qp[1] = ibv_create_qp(a.pd, &init));
	for (int i = 0; i < 3; i++)
		round_of(&p);
	vanishes(&p);
	has_a_new_number();
	if (a.ctx->device->transport_type == IBV_TRANSPORT_IB)
		waits();
	side_close(&a);
	puts("a queue pair that is connected to itself works");
	return 0;
}
