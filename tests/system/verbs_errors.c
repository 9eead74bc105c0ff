/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for libibverbs whose requests fail at their own end. Promise: the queue pair is in ERR
 * then, what was posted later is flushed, and the peer gets neither bytes nor a message of any of
 * it. Each request has one completion, also with immediate data, and one that ibv_post_send()
 * refuses leaves nothing behind.
 *
 *   verbs_errors      exit status 0 if it held
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/system/verbs_rig.h"

enum { LEN = 4096, TO = 8192, RECV = 90, LATER = 91 };

static struct side a, b;
static struct pair p;

static void open_all(void)
{
	side_open(&a, 0);
	side_open(&b, 1);
	pair_open(&p, &a, &b);
	rig_fill(a.mem, LEN, 1);
	memset(b.mem, 0, RIG_SIZE);
	post_recv(&p, 1, RECV, 0, LEN);
}

static void close_all(void)
{
	pair_close(&p);
	side_close(&a);
	side_close(&b);
}

static struct ibv_sge wrong_key(uint32_t len)
{
	struct ibv_sge sge = side_sge(&a, 0, len);

	sge.lkey ^= 0x5500;
	return sge;
}

static struct ibv_send_wr request(enum ibv_wr_opcode opcode, uint64_t id, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.wr_id = id,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = sge ? 1 : 0,
		.imm_data = htobe32(77),
	};

	if (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		wr.wr.rdma.remote_addr = (uintptr_t)b.mem + TO;
		wr.wr.rdma.rkey = b.mr->rkey;
	}
	return wr;
}

static void post_all(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	VERB(ibv_post_send(p.qp[0], wr, &bad) == 0);
}

/* ---- what follows ---- */

static bool has_failed(void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VERB(ibv_query_qp(arg, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state == IBV_QPS_ERR;
}

static void ends(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = rig_wc(cq);

	if (wc.wr_id == id && wc.status == status)
		return;
	printf("came: wr_id %llu, status %d; expected: %llu, %d\n", (unsigned long long)wc.wr_id,
	       (int)wc.status, (unsigned long long)id, (int)status);
	rig_fail(__FILE__, __LINE__, "the completion");
}

/* Both ends are in ERR. No more than what was polled has completed, and nothing has come. */
static void both_end(void)
{
	struct ibv_sge sge = side_sge(&a, 0, 8);
	struct ibv_send_wr later = request(IBV_WR_SEND, LATER, &sge);

	VERB(rig_eventually(has_failed, p.qp[0]));
	post_all(&later);
	ends(a.cq, LATER, IBV_WC_WR_FLUSH_ERR);
	VERB(rig_eventually(has_failed, p.qp[1]));
	ends(b.cq, RECV, IBV_WC_WR_FLUSH_ERR);
	for (unsigned i = 0; i < RIG_SIZE; i++)
		VERB(b.mem[i] == 0);
}

/* ---- cases ---- */

/* A Write, and a Send that says that its bytes have come. */
static void write_and_send(uint32_t len)
{
	struct ibv_sge wrong = wrong_key(len), right = side_sge(&a, 0, 8);
	struct ibv_send_wr write = request(IBV_WR_RDMA_WRITE, 1, &wrong);
	struct ibv_send_wr ready = request(IBV_WR_SEND, 2, &right);

	write.next = &ready;
	post_all(&write);
	ends(a.cq, 1, IBV_WC_LOC_PROT_ERR);
	ends(a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	both_end();
}

static void small_write(void)
{
	write_and_send(8);
}

static void large_write(void)
{
	write_and_send(LEN);
}

/* Those before the one that fails succeed, and their bytes are there. */
static void earlier_requests(void)
{
	struct ibv_sge right = side_sge(&a, 0, LEN), wrong = wrong_key(LEN);
	struct ibv_send_wr write = request(IBV_WR_RDMA_WRITE, 1, &right);
	struct ibv_send_wr send = request(IBV_WR_SEND, 2, &wrong);

	write.next = &send;
	post_all(&write);
	ends(a.cq, 1, IBV_WC_SUCCESS);
	ends(a.cq, 2, IBV_WC_LOC_PROT_ERR);
	ends(b.cq, RECV, IBV_WC_WR_FLUSH_ERR);
	rig_same(b.mem + TO, LEN, 1);
}

static void invalidation(void)
{
	struct ibv_sge right = side_sge(&a, 0, 8);
	struct ibv_send_wr inv = request(IBV_WR_LOCAL_INV, 1, NULL);
	struct ibv_send_wr send = request(IBV_WR_SEND, 2, &right);

	inv.invalidate_rkey = a.mr->rkey ^ 0x5500;
	inv.next = &send;
	post_all(&inv);
	ends(a.cq, 1, IBV_WC_LOC_PROT_ERR);
	ends(a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	both_end();
}

/* The window is bound already. */
static void bound_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	struct ibv_sge right = side_sge(&a, 0, 8);
	struct ibv_send_wr first = request(IBV_WR_BIND_MW, 1, NULL), second;
	struct ibv_send_wr send = request(IBV_WR_SEND, 3, &right);

	VERB(mw);
	first.bind_mw.mw = mw;
	first.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	first.bind_mw.bind_info =
		(struct ibv_mw_bind_info){a.mr, (uintptr_t)a.mem, LEN, IBV_ACCESS_REMOTE_WRITE};
	second = first;
	second.wr_id = 2;
	second.bind_mw.rkey = ibv_inc_rkey(first.bind_mw.rkey);
	first.next = &second;
	second.next = &send;
	post_all(&first);
	ends(a.cq, 1, IBV_WC_SUCCESS);
	ends(a.cq, 2, IBV_WC_MW_BIND_ERR);
	ends(a.cq, 3, IBV_WC_WR_FLUSH_ERR);
	both_end();
	VERB(ibv_dealloc_mw(mw) == 0);
}

/* ---- with immediate data ---- */

static void with_imm(enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_sge wrong = wrong_key(len), right = side_sge(&a, 0, 8);
	struct ibv_send_wr wr = request(opcode, 1, &wrong), after = request(opcode, 2, &right);

	wr.next = &after;
	post_all(&wr);
	ends(a.cq, 1, IBV_WC_LOC_PROT_ERR);
	ends(a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	both_end();
}

static void write_with_imm(void)
{
	with_imm(IBV_WR_RDMA_WRITE_WITH_IMM, LEN);
}

static void send_with_imm(void)
{
	with_imm(IBV_WR_SEND_WITH_IMM, 8);
}

/* The peer's refusal may come after the request has completed: not a second time. */
static void refused_by_peer(void)
{
	struct ibv_sge right = side_sge(&a, 0, 8);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, 1, &right);

	wr.wr.rdma.rkey ^= 0x5500;
	post_all(&wr);
	VERB(rig_wc(a.cq).wr_id == 1);
	both_end();
}

static void flushed(void)
{
	static const enum ibv_wr_opcode opcode[] = {
		IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_sge right = side_sge(&a, 0, 8);

	VERB(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE) == 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct ibv_send_wr wr = request(opcode[i], i, &right);

		post_all(&wr);
	}
	for (uint64_t i = 0; i < 3; i++)
		ends(a.cq, i, IBV_WC_WR_FLUSH_ERR);
}

/* ---- refused in the call ---- */

/* The next Send has none of the immediate data of a request that was refused. */
static void ordinary_send(void)
{
	struct ibv_sge sge = side_sge(&a, 0, LEN);
	struct ibv_send_wr wr = request(IBV_WR_SEND, 5, &sge);
	struct ibv_wc wc;

	post_all(&wr);
	ends(a.cq, 5, IBV_WC_SUCCESS);
	wc = rig_done(b.cq, RECV, IBV_WC_RECV);
	VERB(wc.byte_len == LEN && wc.wc_flags == 0);
}

static void too_many_elements(void)
{
	struct ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM, 1, NULL), *bad = NULL;
	struct ibv_sge sge[17];

	for (unsigned i = 0; i < 17; i++)
		sge[i] = side_sge(&a, 8 * i, 8);
	wr.sg_list = sge;
	wr.num_sge = 17;
	VERB(ibv_post_send(p.qp[0], &wr, &bad) == EINVAL && bad == &wr);
	ordinary_send();
}

static void too_long_inline(void)
{
	struct ibv_sge sge = side_sge(&a, 0, LEN);
	struct ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM, 1, &sge), *bad = NULL;

	wr.send_flags |= IBV_SEND_INLINE;
	VERB(ibv_post_send(p.qp[0], &wr, &bad) == EINVAL && bad == &wr);
	ordinary_send();
}

/* The first one has no immediate data, so that an odd number of messages fills the queue. */
static void full_queue(void)
{
	struct ibv_sge sge = side_sge(&a, 0, 8);
	struct ibv_send_wr wr = request(IBV_WR_SEND, 0, &sge), *bad;
	uint64_t n = 0;
	int r;

	post_all(&wr);
	do {
		wr = request(IBV_WR_SEND_WITH_IMM, ++n, &sge);
		wr.imm_data = htobe32((uint32_t)n);
		r = ibv_post_send(p.qp[0], &wr, &bad);
	} while (r == 0);
	VERB(r == ENOMEM && bad == &wr && n >= RIG_DEPTH);
	for (uint64_t i = 0; i < n; i++) {
		struct ibv_wc wc;

		if (i > 0)
			post_recv(&p, 1, RECV, 0, LEN);
		wc = rig_done(b.cq, RECV, IBV_WC_RECV);
		VERB(wc.wc_flags == (i > 0 ? IBV_WC_WITH_IMM : 0U));
		VERB(i == 0 || wc.imm_data == htobe32((uint32_t)i));
		ends(a.cq, i, IBV_WC_SUCCESS);
	}
	post_recv(&p, 1, RECV, 0, LEN);
	ordinary_send();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"a small Write, and a Send after it", small_write},
	{"a large Write, and a Send after it", large_write},
	{"requests before the one that fails", earlier_requests},
	{"an invalidation", invalidation},
	{"a bind", bound_window},
	{"a Write with immediate data", write_with_imm},
	{"a Send with immediate data", send_with_imm},
	{"a Write with immediate data that the peer refuses", refused_by_peer},
	{"requests with immediate data in ERR", flushed},
	{"too many elements", too_many_elements},
	{"too long inline data", too_long_inline},
	{"a full queue", full_queue},
};

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_all();
		cases[i].run();
		close_all();
		printf("ok %s\n", cases[i].name);
	}
	return 0;
}
