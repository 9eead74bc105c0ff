/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a peer may do. Promise: a Write, a Read and an atomic change or return memory only if queue
 * pair and region or window permit it. If not, the memory is unchanged, and both sides get the
 * Terminate of a missing right. The rights of a queue pair change at any time.
 *
 *   access SOCKET SOCKET2 ADDRESS PORT
 *
 * One end is a client at SOCKET, the other listens at SOCKET2, which may be the same, whose daemon
 * has ADDRESS. Exit status 0 if all held.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ddp/ddp.h>

#include "tests/lib/must.h"
#include "tests/lib/patience.h"

enum { SIZE = 4096, LEN = 64, OPS = 3, SETS = 8 };

struct end {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_mr *mr;
	struct ddp_id *id;
	struct ddp_qp *qp;
};

/* Where the rights of an attempt are set. */
enum place { QP, MR, MW, PLACES };

static const char *const place_name[PLACES] = {"queue pair", "region", "window"};

static const struct {
	const char *name;
	enum ddp_wr_opcode opcode;
	unsigned right;
	uint16_t term; /* of a refusal */
} ops[OPS] = {
	{"Write", DDP_WR_RDMA_WRITE, DDP_ACCESS_REMOTE_WRITE, 0x1100},
	{"Read", DDP_WR_RDMA_READ, DDP_ACCESS_REMOTE_READ, 0x0102},
	{"FetchAdd", DDP_WR_ATOMIC_FETCH_AND_ADD, DDP_ACCESS_REMOTE_ATOMIC, 0x0102},
};

static const char *address;
static uint16_t port;
static struct end a, b; /* a asks, b is asked */
static unsigned failed;

static void die(const char *what)
{
	fprintf(stderr, "access: %s: %s\n", what, ddp_last_reason());
	exit(2);
}

static void check(bool ok, const char *what, const char *op, unsigned rights)
{
	if (!ok)
		printf("FAIL %s, rights of the %s: 0x%x\n", op, what, rights);
	failed += !ok;
}

/* ---- ends and sessions ---- */

static void open_end(struct end *e, const char *socket)
{
	struct ddp_open_attr open = {.struct_size = sizeof(open), .socket = socket};
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	cq.entries = 16;
	MUST(ddp_open(&open, &e->ctx));
	MUST(ddp_alloc_pd(e->ctx, &e->pd));
	MUST(ddp_create_cq(e->ctx, &cq, &e->cq));
	MUST(ddp_alloc_mr(e->pd, SIZE, DDP_ACCESS_LOCAL_WRITE, &e->mr));
}

static void make_qp(struct end *e, unsigned access)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = e->cq;
	init.max_send_wr = init.max_recv_wr = 4;
	init.remote_access = access;
	MUST(ddp_create_qp(e->id, e->pd, &init, &e->qp));
}

static struct ddp_id *expect(struct end *e, enum ddp_cm_event_type type, uint16_t *ret_term)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	MUST(ddp_get_cm_event(e->ctx, &ev, PATIENCE_MS));
	if (ev->type != type) {
		fprintf(stderr, "access: event %s: %s\n", ddp_event_str(ev->type), ev->reason);
		exit(2);
	}
	id = ev->id;
	if (ret_term)
		*ret_term = ev->term;
	ddp_ack_cm_event(ev);
	return id;
}

static void connect_with(unsigned access, const struct ddp_conn_param *answer)
{
	MUST(ddp_create_id(a.ctx, NULL, &a.id));
	make_qp(&a, 0);
	MUST(ddp_connect_name(a.id, address, port, NULL));
	b.id = expect(&b, DDP_CM_CONNECT_REQUEST, NULL);
	make_qp(&b, access);
	MUST(ddp_accept(b.id, answer));
	expect(&b, DDP_CM_ESTABLISHED, NULL);
	expect(&a, DDP_CM_ESTABLISHED, NULL);
}

static void connect_both(unsigned access)
{
	connect_with(access, NULL);
}

static void destroy(struct end *e)
{
	MUST(ddp_destroy_qp(e->qp));
	MUST(ddp_destroy_id(e->id));
}

static enum ddp_wc_status completion(struct end *e)
{
	struct ddp_wc wc;

	if (ddp_wait_cq(e->cq, 1, &wc, PATIENCE_MS) != 1)
		die("no completion");
	return wc.status;
}

/* ---- one operation ---- */

/* At the first bytes of b's memory, which have this key. */
static struct ddp_send_wr request(unsigned op, struct ddp_sge *sge, uint64_t addr, uint32_t rkey)
{
	struct ddp_send_wr wr = {
		.sg_list = sge,
		.num_sge = 1,
		.opcode = ops[op].opcode,
		.send_flags = DDP_SEND_SIGNALED,
		.rdma = {addr, rkey},
		.atomic.compare_add = 1,
	};

	*sge = (struct ddp_sge){a.mr->iova, 8, a.mr->lkey};
	return wr;
}

/* A Read of no bytes shows that b has handled the operation. */
static bool is_done(void)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_READ, .send_flags = DDP_SEND_SIGNALED};

	MUST(ddp_post_send(a.qp, &wr, NULL));
	return completion(&a) == DDP_WC_SUCCESS;
}

static bool allowed(unsigned op, const struct ddp_mr *mr)
{
	const uint64_t *own = a.mr->addr, *there = mr->addr;

	if (completion(&a) != DDP_WC_SUCCESS || !is_done())
		return false;
	if (ops[op].opcode == DDP_WR_RDMA_WRITE)
		return *there == *own;
	return *own == 41 && *there == (ops[op].opcode == DDP_WR_RDMA_READ ? 41 : 42);
}

/* Both ends get the Terminate; the memory of both is as before. */
static bool refused(unsigned op, const struct ddp_mr *mr)
{
	const uint64_t *own = a.mr->addr, *there = mr->addr;
	enum ddp_wc_status status = completion(&a);
	uint16_t term[2];

	expect(&a, DDP_CM_DISCONNECTED, &term[0]);
	expect(&b, DDP_CM_DISCONNECTED, &term[1]);
	if (term[0] != ops[op].term || term[1] != ops[op].term)
		printf("     Terminate %04x, %04x\n", term[0], term[1]);
	return term[0] == ops[op].term && term[1] == ops[op].term && *there == 41 && *own == 7 &&
	       (ops[op].opcode == DDP_WR_RDMA_WRITE || status == DDP_WC_REM_ACCESS_ERR);
}

static bool attempt(unsigned op, const struct ddp_mr *mr, uint32_t rkey, bool may)
{
	struct ddp_sge sge;
	struct ddp_send_wr wr = request(op, &sge, mr->iova, rkey);

	*(uint64_t *)a.mr->addr = 7;
	*(uint64_t *)mr->addr = 41;
	MUST(ddp_post_send(a.qp, &wr, NULL));
	return may ? allowed(op, mr) : refused(op, mr);
}

/* ---- three operations, eight sets of rights, three places ---- */

static unsigned rights(unsigned set)
{
	return (set & 1 ? DDP_ACCESS_REMOTE_WRITE : 0U) | (set & 2 ? DDP_ACCESS_REMOTE_READ : 0U) |
	       (set & 4 ? DDP_ACCESS_REMOTE_ATOMIC : 0U);
}

static void bind_window(struct ddp_mw *mw, struct ddp_mr *mr, unsigned access)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_BIND_MW, .send_flags = DDP_SEND_SIGNALED};

	wr.bind.mw = mw;
	wr.bind.rkey = ddp_inc_rkey(mw->rkey);
	wr.bind.mr = mr;
	wr.bind.addr = mr->iova;
	wr.bind.length = LEN;
	wr.bind.access = access;
	MUST(ddp_post_send(b.qp, &wr, NULL));
	if (completion(&b) != DDP_WC_SUCCESS)
		die("bind");
}

static void try_one(unsigned op, enum place place, unsigned set)
{
	const unsigned all = rights(SETS - 1), some = rights(set);
	struct ddp_mr *mr;
	struct ddp_mw *mw = NULL;
	bool ok;

	connect_both(place == QP ? (some ? some : DDP_QP_ACCESS_NONE) : 0);
	MUST(ddp_alloc_mr(b.pd, SIZE,
			  (place == MR ? some : all) | DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_MW_BIND,
			  &mr));
	if (place == MW) {
		MUST(ddp_alloc_mw(b.pd, DDP_MW_TYPE_2, &mw));
		bind_window(mw, mr, some);
	}
	ok = attempt(op, mr, mw ? mw->rkey : mr->rkey, some & ops[op].right);
	check(ok, place_name[place], ops[op].name, some);
	destroy(&a);
	if (some & ops[op].right)
		expect(&b, DDP_CM_DISCONNECTED, NULL);
	if (mw)
		MUST(ddp_dealloc_mw(mw));
	destroy(&b);
	MUST(ddp_dereg_mr(mr));
}

/* ---- changes and queries ---- */

static unsigned queried(void)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(b.qp, &attr));
	return (unsigned)attr.remote_access;
}

static void changes(void)
{
	const unsigned all = rights(SETS - 1);
	struct ddp_mr *mr;

	connect_both(0);
	MUST(ddp_alloc_mr(b.pd, SIZE, all, &mr));
	check(queried() == all, "queue pair", "query", all);
	check(ddp_set_qp_access(b.qp, DDP_ACCESS_LOCAL_WRITE) == -EINVAL, "queue pair", "set", 1);
	check(ddp_set_qp_access(b.qp, DDP_QP_ACCESS_NONE | DDP_ACCESS_REMOTE_READ) == -EINVAL,
	      "queue pair", "set", 0x8004);
	check(queried() == all, "queue pair", "query after a refused change", all);
	for (unsigned op = 0; op < OPS; op++) {
		MUST(ddp_set_qp_access(b.qp, ops[op].right));
		check(queried() == ops[op].right, "queue pair", "query", ops[op].right);
		check(attempt(op, mr, mr->rkey, true), "queue pair", ops[op].name, ops[op].right);
	}
	MUST(ddp_set_qp_access(b.qp, 0));
	check(queried() == all, "queue pair", "query after 0", all);
	MUST(ddp_set_qp_access(b.qp, DDP_QP_ACCESS_NONE));
	check(queried() == DDP_QP_ACCESS_NONE, "queue pair", "query", 0);
	check(is_done(), "queue pair", "a Read of no bytes", 0);
	check(attempt(1, mr, mr->rkey, false), "queue pair", "Read", 0);
	destroy(&a);
	destroy(&b);
	MUST(ddp_dereg_mr(mr));
}

/* a does not negotiate, so b cannot tell it that it takes no Reads: it refuses them. */
static void no_reads_without_negotiation(unsigned op)
{
	struct ddp_conn_param answer = DDP_INIT(ddp_conn_param);
	bool may = ops[op].right == DDP_ACCESS_REMOTE_WRITE;
	struct ddp_mr *mr;

	answer.flags = DDP_CONN_NEGOTIATE;
	answer.ird = DDP_READS_NONE;
	connect_with(0, &answer);
	MUST(ddp_alloc_mr(b.pd, SIZE, rights(SETS - 1), &mr));
	check(attempt(op, mr, mr->rkey, may), "session without Reads", ops[op].name, 0);
	destroy(&a);
	if (may)
		expect(&b, DDP_CM_DISCONNECTED, NULL);
	destroy(&b);
	MUST(ddp_dereg_mr(mr));
}

static void close_end(struct end *e)
{
	MUST(ddp_dereg_mr(e->mr));
	MUST(ddp_destroy_cq(e->cq));
	MUST(ddp_dealloc_pd(e->pd));
	MUST(ddp_close(e->ctx));
}

int main(int argc, char **argv)
{
	struct ddp_id *listener;

	if (argc != 5)
		return 2;
	address = argv[3];
	port = (uint16_t)atoi(argv[4]);
	open_end(&a, argv[1]);
	open_end(&b, argv[2]);
	MUST(ddp_create_id(b.ctx, NULL, &listener));
	MUST(ddp_listen(listener, NULL, port, 0));
	for (enum place place = QP; place < PLACES; place++)
		for (unsigned op = 0; op < OPS; op++)
			for (unsigned set = 0; set < SETS; set++)
				try_one(op, place, set);
	for (unsigned op = 0; op < OPS; op++)
		no_reads_without_negotiation(op);
	changes();
	MUST(ddp_destroy_id(listener));
	close_end(&a);
	close_end(&b);
	printf("%u of %d attempts failed\n", failed, PLACES * OPS * SETS);
	return failed > 0;
}
