/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions for Writes of the peer, without a receive. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/system/whole.h"

enum { WRITES = 300, ROUNDS = 20, COPIED = 50000, WR_ID = 4711 };

/* A queue that no queue pair uses. */
static struct ddp_cq *make_cq(struct end *e, uint32_t entries)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq *cq;

	attr.entries = entries;
	attr.spin_us = -1;
	MUST(ddp_create_cq(e->ctx, &attr, &cq));
	return cq;
}

static struct ddp_cq_state state_of(struct ddp_cq *cq)
{
	struct ddp_cq_state st = DDP_INIT(ddp_cq_state);

	MUST(ddp_query_cq(cq, &st));
	return st;
}

/* len bytes to the start of the region, from the start of the peer's memory; until they are placed.
 */
static void writes(const struct session *s, uint64_t at, uint32_t rkey, uint32_t len)
{
	struct ddp_send_wr wr = {
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = DDP_SEND_PLACED,
		.rdma = {at, rkey},
	};

	session_send(s, 0, wr, 0, len);
	end_done(s->end[0], DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
}

/* The next notice; the number of its Writes. */
static uint64_t notice(const struct session *s, struct ddp_cq *cq, uint32_t rkey)
{
	struct ddp_wc wc;

	if (MUST(ddp_wait_cq(cq, 1, &wc, RIG_WAIT_MS)) != 1)
		fail("no notice came");
	if (wc.status != DDP_WC_SUCCESS || wc.opcode != DDP_WC_WRITE_NOTICE || wc.wr_id != WR_ID ||
	    wc.stag != rkey || wc.qp_num != ddp_qp_num(s->qp[1]) || wc.imm_data == 0)
		fail("another completion came: %s", ddp_wc_opcode_str(wc.opcode));
	return wc.imm_data;
}

static void merges(const struct session *s, struct ddp_cq *cq, const struct ddp_mr *mr)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WRITES; i++) {
		writes(s, mr->iova + i, mr->rkey, 1);
		if (i % 50 == 49)
			is("notices that wait", state_of(cq).waiting, 1);
		if (i % 100 == 99)
			sum += notice(s, cq, mr->rkey);
	}
	while (sum < WRITES)
		sum += notice(s, cq, mr->rkey);
	is("Writes of merged notices", sum, WRITES);
	is("notices that are left", state_of(cq).waiting, 0);
}

static void through_a_window(const struct session *s, struct ddp_cq *cq, struct ddp_mr *mr)
{
	struct ddp_mw *mw;

	MUST(ddp_alloc_mw(mr->pd, DDP_MW_TYPE_1, &mw));
	MUST(ddp_bind_mw(mw, mr, mr->iova, 100, DDP_ACCESS_REMOTE_WRITE));
	writes(s, mr->iova, mw->rkey, 100);
	is("a Write through a window", notice(s, cq, mr->rkey), 1);
	MUST(ddp_dealloc_mw(mw));
	writes(s, mr->iova, mr->rkey, 0);
	is("an empty Write", notice(s, cq, mr->rkey), 1);
}

static void after_rereg(const struct session *s, struct ddp_cq *cq, struct ddp_mr *mr)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);

	attr.access = RIG_ALL;
	MUST(ddp_rereg_mr(mr, DDP_REREG_ACCESS, &attr));
	writes(s, mr->iova, mr->rkey, 1);
	is("a Write after ddp_rereg_mr()", notice(s, cq, mr->rkey), 1);
	MUST(ddp_bind_mr(mr, s->qp[1]));
	writes(s, mr->iova, mr->rkey, 1);
	is("a Write to a region that is tied to the queue pair", notice(s, cq, mr->rkey), 1);
	MUST(ddp_bind_mr(mr, NULL));
}

/* A queue keeps one entry for each region; its size may change while notices wait. */
static void keeps_entries(const struct session *s, struct ddp_mr *mr, struct ddp_mr *other)
{
	struct ddp_cq *one = make_cq(s->end[1], 1);

	MUST(ddp_notify_mr(mr, one, WR_ID));
	REFUSED("a second region in a queue of one entry", ddp_notify_mr(other, one, 0), EBUSY);
	REFUSED("destroying the queue of a region", ddp_destroy_cq(one), EBUSY);
	for (unsigned i = 0; i < 3; i++)
		writes(s, mr->iova, mr->rkey, 1);
	MUST(ddp_resize_cq(one, 4));
	is("the first of three Writes", notice(s, one, mr->rkey), 1);
	is("the other two, after a resize", notice(s, one, mr->rkey), 2);
	MUST(ddp_notify_mr(mr, NULL, 0));
	writes(s, mr->iova, mr->rkey, 1);
	is("notices of a region that has none any more", state_of(one).completions, 2);
	is("entries that are kept", state_of(one).reserved, 0);
	MUST(ddp_destroy_cq(one));
}

/* The bytes are in memory that an agent copies when the notice is taken. */
static void copied(const struct session *s, struct ddp_cq *cq)
{
	struct ddp_mr_attr attr = DDP_INIT(ddp_mr_attr);
	uint8_t *p = mmap(NULL, COPIED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ddp_mr *mr;

	MUST(ddp_reg_mr(s->end[1]->pd, p, COPIED, RIG_ALL, NULL, &mr));
	MUST(ddp_query_mr(mr, &attr));
	is("how shared memory is registered", attr.rung, DDP_MR_AGENT);
	MUST(ddp_notify_mr(mr, cq, WR_ID));
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE, .rdma = {mr->iova, mr->rkey}};

		end_fill(s->end[0], 0, COPIED, i);
		session_send(s, 0, wr, 0, COPIED);
		if (notice(s, cq, mr->rkey) != 1 || memcmp(p, end_at(s->end[0], 0), COPIED))
			fail("round %u: the bytes are not there with the notice", i);
		end_done(s->end[0], DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	}
	ok("%d notices of copied memory, with all bytes", ROUNDS);
	MUST(ddp_dereg_mr(mr));
	munmap(p, COPIED);
}

void whole_notice(struct whole *w)
{
	struct ddp_cq *cq = make_cq(&w->b, 2);
	struct ddp_mr *mr;
	struct session s;

	whole_open(w, &s);
	MUST(ddp_alloc_mr(w->b.pd, 4096, RIG_ALL, &mr));
	MUST(ddp_notify_mr(mr, cq, 1));
	MUST(ddp_notify_mr(mr, cq, WR_ID));
	end_fill(&w->a, 0, 100, 3);
	writes(&s, mr->iova, mr->rkey, 100);
	is("a Write", notice(&s, cq, mr->rkey), 1);
	same("its bytes", mr->addr, end_at(&w->a, 0), 100);
	merges(&s, cq, mr);
	through_a_window(&s, cq, mr);
	after_rereg(&s, cq, mr);
	copied(&s, cq);
	MUST(ddp_notify_mr(mr, NULL, 0));
	keeps_entries(&s, mr, w->b.mr);
	MUST(ddp_notify_mr(mr, cq, 0));
	MUST(ddp_dereg_mr(mr));
	MUST(ddp_destroy_cq(cq));
	session_close(&s, 0);
}
