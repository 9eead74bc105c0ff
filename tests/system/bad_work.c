/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts invalid requests through the library to a running daemon. Promise: what is wrong whatever
 * daemon and peer do is refused by the call. Another invalid request completes in order, with the
 * status of its error, and its neighbors are not affected; only a refusal of the peer ends the
 * session, and then everything posted is flushed.
 *
 *   bad_work SOCKET SOCKET2 ADDRESS PORT
 *
 * One end is a client at SOCKET, the other listens at SOCKET2, which may be the same, whose
 * daemon has ADDRESS. Exit status 0 if all held.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ddp/ddp.h>

#include "tests/lib/must.h"
#include "tests/lib/patience.h"

enum { SIZE = 4096, DEPTH = 16 };

struct end {
	struct ddp_ctx *ctx;
	struct ddp_id *id;
	struct ddp_pd *pd;
	struct ddp_cq *scq, *rcq;
	struct ddp_srq *srq;
	struct ddp_qp *qp;
	struct ddp_mr *mr;
};

static unsigned failed;

static void die(const char *what)
{
	fprintf(stderr, "bad_work: %s: %s\n", what, ddp_last_reason());
	exit(2);
}

static void check(const char *name, int ok)
{
	printf("%s %s\n", ok ? "ok  " : "FAIL", name);
	failed += !ok;
}

/* ---- the two ends ---- */

static void make_end(struct end *e)
{
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	cq.entries = 4 * DEPTH;
	cq.spin_us = -1;
	MUST(ddp_alloc_pd(e->ctx, &e->pd));
	MUST(ddp_create_cq(e->ctx, &cq, &e->scq));
	MUST(ddp_create_cq(e->ctx, &cq, &e->rcq));
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	init.max_send_wr = init.max_recv_wr = DEPTH;
	init.max_send_sge = init.max_recv_sge = 2;
	MUST(ddp_create_qp(e->id, e->pd, &init, &e->qp));
	MUST(ddp_alloc_mr(e->pd, SIZE, DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ, &e->mr));
}

/* The next event, which must be of this type. Returns its id. */
static struct ddp_id *expect(struct end *e, enum ddp_cm_event_type type, uint16_t *ret_term)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	MUST(ddp_get_cm_event(e->ctx, &ev, PATIENCE_MS));
	if (ev->type != type) {
		fprintf(stderr, "bad_work: event %s: %s\n", ddp_event_str(ev->type), ev->reason);
		exit(2);
	}
	if (ev->reason[0])
		printf("      %s: %s\n", ddp_event_str(ev->type), ev->reason);
	if (ret_term)
		*ret_term = ev->term;
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

static void connect_both(struct end *active, struct end *passive, const char *addr, uint16_t port)
{
	MUST(ddp_create_id(active->ctx, NULL, &active->id));
	make_end(active);
	MUST(ddp_connect_name(active->id, addr, port, NULL));
	passive->id = expect(passive, DDP_CM_CONNECT_REQUEST, NULL);
	make_end(passive);
	MUST(ddp_accept(passive->id, NULL));
	expect(passive, DDP_CM_ESTABLISHED, NULL);
	expect(active, DDP_CM_ESTABLISHED, NULL);
}

static enum ddp_wc_status wait_one(struct ddp_cq *cq, uint64_t wr_id)
{
	struct ddp_wc wc;
	char text[256];

	if (ddp_wait_cq(cq, 1, &wc, PATIENCE_MS) != 1)
		die("no completion");
	if (wc.wr_id != wr_id) {
		fprintf(stderr, "bad_work: completion of %llu, not %llu\n",
			(unsigned long long)wc.wr_id, (unsigned long long)wr_id);
		exit(2);
	}
	if (wc.status != DDP_WC_SUCCESS) {
		ddp_explain(&wc, text, sizeof(text));
		printf("      %s\n", text);
	}
	return wc.status;
}

/* ---- faults of the requester ---- */

/* Posts the request between two valid Writes and compares the three results. */
static void try_send(struct end *a, const struct end *b, const char *name, struct ddp_send_wr bad,
		     enum ddp_wc_status want)
{
	struct ddp_sge sge = {(uintptr_t)a->mr->addr, 64, a->mr->lkey};
	struct ddp_send_wr good = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
	struct ddp_send_wr after = good;
	enum ddp_wc_status st[3];

	good.opcode = after.opcode = DDP_WR_RDMA_WRITE;
	good.send_flags = after.send_flags = DDP_SEND_SIGNALED;
	good.rdma.remote_addr = after.rdma.remote_addr = b->mr->iova;
	good.rdma.rkey = after.rdma.rkey = b->mr->rkey;
	after.wr_id = 3;
	bad.wr_id = 2;
	bad.send_flags |= DDP_SEND_SIGNALED;
	good.next = &bad;
	bad.next = &after;
	MUST(ddp_post_send(a->qp, &good, NULL));
	for (int i = 0; i < 3; i++)
		st[i] = wait_one(a->scq, (uint64_t)i + 1);
	check(name, st[0] == DDP_WC_SUCCESS && st[1] == want && st[2] == DDP_WC_SUCCESS);
}

/* The call refuses the request and says why, also behind others of its list. */
static void refused(struct end *a, const char *name, struct ddp_send_wr wr, const char *why)
{
	struct ddp_send_wr *bad = NULL;
	int r = ddp_post_send(a->qp, &wr, &bad);

	if (r != -EINVAL || !strstr(ddp_last_reason(), why))
		printf("      %d, %s\n", r, r ? ddp_last_reason() : "");
	check(name, r == -EINVAL && bad == &wr && strstr(ddp_last_reason(), why));
}

/* What is wrong whatever daemon and peer do: nothing of it is posted. */
static void faults_of_the_call(struct end *a, struct end *b)
{
	uint64_t base = (uintptr_t)a->mr->addr;
	struct ddp_sge sge[2] = {{base, 64, a->mr->lkey}, {base, 64, a->mr->lkey}};
	const struct ddp_send_wr write = {
		.sg_list = sge,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.rdma = {b->mr->iova, b->mr->rkey},
	};
	struct ddp_send_wr wr = write;

	wr.num_sge = 3;
	refused(a, "three elements where two are possible", wr, "at most 2");
	wr.num_sge = -1;
	refused(a, "less than no element", wr, "num_sge -1");
	wr = write;
	wr.opcode = (enum ddp_wr_opcode)99;
	refused(a, "an invalid opcode", wr, "opcode 99");
	wr = write;
	wr.send_flags = 0x80 | DDP_SEND_SIGNALED;
	refused(a, "an invalid flag", wr, "send_flags 0x81: unknown flags 0x80");
	wr.send_flags = 0x200;
	refused(a, "a flag that the ring has no room for", wr, "send_flags 0x200");
	wr = write;
	wr.rdma.remote_addr = UINT64_MAX - 62;
	refused(a, "a Write beyond the last address", wr, "exceed 2^64");
	wr.opcode = DDP_WR_RDMA_READ;
	refused(a, "a Read beyond the last address", wr, "exceed 2^64");
	wr = write;
	wr.opcode = DDP_WR_RDMA_READ;
	wr.send_flags = DDP_SEND_INLINE;
	refused(a, "an inline Read", wr, "cannot have DDP_SEND_INLINE");
	wr.send_flags = DDP_SEND_PLACED;
	refused(a, "a placed Read", wr, "DDP_SEND_PLACED");
	wr.send_flags = DDP_SEND_WITH_IMM;
	refused(a, "a Read with immediate data", wr, "cannot have DDP_SEND_WITH_IMM");
	wr.opcode = DDP_WR_LOCAL_INV;
	wr.num_sge = 0;
	wr.send_flags = DDP_SEND_PACED;
	refused(a, "a paced invalidation", wr, "DDP_SEND_PLACED");
	wr.send_flags = 0;
	wr.num_sge = 1;
	refused(a, "an invalidation with an element", wr, "at most 0");
	wr = write;
	wr.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD;
	refused(a, "an atomic with an element of 64 bytes", wr, "the old value has 8");
	sge[0].length = 8;
	wr.rdma.remote_addr = UINT64_MAX - 6;
	refused(a, "an atomic beyond the last address", wr, "exceed 2^64");
	wr = write;
	sge[0] = (struct ddp_sge){UINT64_MAX - 3, 64, a->mr->lkey};
	refused(a, "an address that wraps", wr, "sg_list[0]");
	sge[0] = (struct ddp_sge){base, UINT32_MAX, a->mr->lkey};
	wr.num_sge = 2;
	refused(a, "more than 4 GiB", wr, "4294967359 bytes");
}

static void receives_of_the_call(struct end *e)
{
	struct ddp_sge sge[2] = {{UINT64_MAX - 3, 64, 1}, {0, UINT32_MAX, 1}};
	struct ddp_recv_wr wr = {.sg_list = sge, .num_sge = 1};

	check("a receive whose address wraps", ddp_post_recv(e->qp, &wr, NULL) == -EINVAL &&
						       strstr(ddp_last_reason(), "sg_list[0]"));
	sge[0].addr = 0;
	wr.num_sge = 2;
	check("a receive of more than 4 GiB", ddp_post_recv(e->qp, &wr, NULL) == -EINVAL &&
						      strstr(ddp_last_reason(), "4294967359"));
	wr.num_sge = 3;
	check("a receive with three elements where two are possible",
	      ddp_post_recv(e->qp, &wr, NULL) == -EINVAL);
}

/* Reads into no element and into two; the ring has room for no more. */
static void reads(struct end *a, struct end *b)
{
	const struct ddp_sge sge[2] = {{(uintptr_t)a->mr->addr + 100, 30, a->mr->lkey},
				       {(uintptr_t)a->mr->addr + 300, 40, a->mr->lkey}};
	struct ddp_send_wr wr = {.sg_list = (struct ddp_sge *)sge, .opcode = DDP_WR_RDMA_READ};
	const char *to = a->mr->addr;
	char *from = b->mr->addr;

	wr.rdma.remote_addr = b->mr->iova;
	wr.rdma.rkey = b->mr->rkey;
	for (int i = 0; i < 70; i++)
		from[i] = (char)('0' + i);
	try_send(a, b, "a Read of no bytes", wr, DDP_WC_SUCCESS);
	wr.num_sge = 2;
	memset(from, 0x55, 64);
	for (int i = 64; i < 70; i++)
		from[i] = (char)i;
	/* The Writes before and after it change the first 64 bytes. */
	wr.rdma.remote_addr += 64;
	try_send(a, b, "a Read into two elements", wr, DDP_WC_SUCCESS);
	check("has the bytes of its source",
	      memcmp(to + 100, from + 64, 30) == 0 && memcmp(to + 300, from + 94, 40) == 0);
}

/* Of another domain than its queue pair. */
static void foreign_window(struct end *a, struct ddp_send_wr bind)
{
	struct ddp_pd *other;
	struct ddp_mw *mw;

	MUST(ddp_alloc_pd(a->ctx, &other));
	MUST(ddp_alloc_mw(other, DDP_MW_TYPE_2, &mw));
	bind.bind.mw = mw;
	bind.bind.rkey = ddp_inc_rkey(mw->rkey);
	refused(a, "a bind of another domain's window", bind, "different PDs");
	MUST(ddp_dealloc_mw(mw));
	MUST(ddp_dealloc_pd(other));
}

static void requester_faults(struct end *a, struct end *b)
{
	uint64_t base = (uintptr_t)a->mr->addr;
	struct ddp_sge sge[2] = {{base, 64, a->mr->lkey}, {base, 64, a->mr->lkey}};
	struct ddp_send_wr wr = {.sg_list = sge, .num_sge = 1, .opcode = DDP_WR_RDMA_WRITE};
	struct ddp_mr *readonly, *foreign;
	struct ddp_pd *other;

	wr.rdma.remote_addr = b->mr->iova;
	wr.rdma.rkey = b->mr->rkey;
	sge[0].lkey ^= 0x5a5a5a5a;
	try_send(a, b, "an invalid lkey", wr, DDP_WC_LOC_KEY_ERR);
	MUST(ddp_alloc_pd(a->ctx, &other));
	MUST(ddp_alloc_mr(other, SIZE, 0, &foreign));
	sge[0].lkey = foreign->lkey;
	try_send(a, b, "an lkey of another domain", wr, DDP_WC_LOC_PD_ERR);
	MUST(ddp_dereg_mr(foreign));
	MUST(ddp_dealloc_pd(other));
	sge[0] = (struct ddp_sge){base + SIZE - 63, 64, a->mr->lkey};
	try_send(a, b, "one byte beyond the region", wr, DDP_WC_LOC_BOUNDS_ERR);
	MUST(ddp_alloc_mr(a->pd, SIZE, DDP_ACCESS_REMOTE_READ, &readonly));
	sge[0] = (struct ddp_sge){(uintptr_t)readonly->addr, 64, readonly->lkey};
	wr.opcode = DDP_WR_RDMA_READ;
	try_send(a, b, "a Read into memory without local write", wr, DDP_WC_LOC_ACCESS_ERR);
	MUST(ddp_dereg_mr(readonly));
}

/* A window of type 2, and regions that it cannot, or cannot any more, be bound to. */
static void window_faults(struct end *a, struct end *b)
{
	struct ddp_send_wr bind = {.opcode = DDP_WR_BIND_MW};
	struct ddp_send_wr inv = {.opcode = DDP_WR_LOCAL_INV};
	struct ddp_mr *mr;
	struct ddp_mw *mw;

	MUST(ddp_alloc_mr(a->pd, SIZE, DDP_ACCESS_REMOTE_READ | DDP_ACCESS_MW_BIND, &mr));
	MUST(ddp_alloc_mw(a->pd, DDP_MW_TYPE_2, &mw));
	bind.bind.mw = mw;
	bind.bind.mr = a->mr;
	bind.bind.rkey = ddp_inc_rkey(mw->rkey);
	bind.bind.addr = a->mr->iova;
	bind.bind.length = 8;
	bind.bind.access = DDP_ACCESS_REMOTE_READ;
	refused(a, "a bind to a region not for windows", bind, "rights 0x10");
	bind.bind.mr = mr;
	bind.bind.addr = mr->iova + SIZE - 7;
	refused(a, "a bind beyond the region", bind, "the region has 4096 bytes");
	bind.bind.addr = UINT64_MAX - 3;
	refused(a, "a bind that wraps", bind, "the region has 4096 bytes");
	bind.bind.addr = mr->iova;
	bind.bind.length = 0;
	refused(a, "a bind of nothing", bind, "bind of 0 bytes");
	bind.bind.length = 8;
	bind.bind.access = DDP_ACCESS_REMOTE_WRITE;
	refused(a, "a bind with more rights than the region permits", bind, "rights 0x11");
	bind.bind.access = DDP_ACCESS_LOCAL_WRITE;
	refused(a, "a bind with a local right", bind, "not a set of DDP_ACCESS_REMOTE_");
	bind.bind.access = DDP_ACCESS_REMOTE_READ;
	foreign_window(a, bind);
	try_send(a, b, "a valid bind", bind, DDP_WC_SUCCESS);
	try_send(a, b, "a bind of a bound window", bind, DDP_WC_MW_BIND_ERR);
	check("dereg of a region with a window", ddp_dereg_mr(mr) == -EBUSY);
	check("another tie of it", ddp_bind_mr(mr, a->qp) == -EBUSY);
	inv.invalidate_rkey = mr->rkey;
	try_send(a, b, "an invalidation of a region that is not tied", inv, DDP_WC_LOC_PD_ERR);
	inv.invalidate_rkey = bind.bind.rkey;
	try_send(a, b, "an invalidation of the window", inv, DDP_WC_SUCCESS);
	try_send(a, b, "an invalidation of an invalid window", inv, DDP_WC_LOC_KEY_ERR);
	MUST(ddp_dereg_mr(mr));
	MUST(ddp_dealloc_mw(mw));
}

static void receiver_fault(struct end *a, struct end *b)
{
	struct ddp_sge bad = {b->mr->iova, 64, b->mr->lkey ^ 1}, good = bad, from = {0};
	struct ddp_recv_wr second = {.wr_id = 2, .sg_list = &good, .num_sge = 1};
	struct ddp_recv_wr first = {.wr_id = 1, .next = &second, .sg_list = &bad, .num_sge = 1};
	struct ddp_send_wr send = {.wr_id = 3, .sg_list = &from, .num_sge = 1};
	enum ddp_wc_status st;

	good.lkey = b->mr->lkey;
	from = (struct ddp_sge){a->mr->iova, 64, a->mr->lkey};
	send.opcode = DDP_WR_SEND;
	send.send_flags = DDP_SEND_SIGNALED;
	MUST(ddp_post_recv(b->qp, &first, NULL));
	MUST(ddp_post_send(a->qp, &send, NULL));
	st = wait_one(b->rcq, 1);
	check("a receive with an invalid lkey", st == DDP_WC_LOC_KEY_ERR &&
							wait_one(b->rcq, 2) == DDP_WC_SUCCESS &&
							wait_one(a->scq, 3) == DDP_WC_SUCCESS);
}

/* ---- faults that the peer refuses ---- */

static void peer_refuses(struct end *a, struct end *b)
{
	struct ddp_sge sge = {a->mr->iova, 64, a->mr->lkey};
	struct ddp_recv_wr recv = {.wr_id = 7};
	struct ddp_send_wr wr = {.wr_id = 8, .sg_list = &sge, .num_sge = 1};
	uint16_t term[2] = {0, 0};

	wr.opcode = DDP_WR_RDMA_WRITE;
	wr.send_flags = DDP_SEND_SIGNALED;
	wr.rdma.remote_addr = b->mr->iova + SIZE - 63;
	wr.rdma.rkey = b->mr->rkey;
	MUST(ddp_post_recv(a->qp, &recv, NULL));
	MUST(ddp_post_send(a->qp, &wr, NULL));
	/* A Write completes when the transport has it, so the status of this one is not defined. */
	wait_one(a->scq, 8);
	expect(a, DDP_CM_DISCONNECTED, &term[0]);
	expect(b, DDP_CM_DISCONNECTED, &term[1]);
	check("a Write beyond the peer's region ends both with Terminate 1/1/01",
	      term[0] == 0x1101 && term[1] == 0x1101);
	check("what was posted is flushed", wait_one(a->rcq, 7) == DDP_WC_FLUSH_ERR);
	recv.wr_id = 9;
	MUST(ddp_post_recv(a->qp, &recv, NULL));
	check("and a receive that is posted later", wait_one(a->rcq, 9) == DDP_WC_FLUSH_ERR);
	wr.wr_id = 10;
	MUST(ddp_post_send(a->qp, &wr, NULL));
	check("and a send", wait_one(a->scq, 10) == DDP_WC_FLUSH_ERR);
}

/* ---- a shared queue whose queue pairs may each hold one receive ---- */

static void make_shared(struct end *e)
{
	struct ddp_srq_attr srq = DDP_INIT(ddp_srq_attr);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	cq.entries = 4 * DEPTH;
	MUST(ddp_alloc_pd(e->ctx, &e->pd));
	MUST(ddp_create_cq(e->ctx, &cq, &e->scq));
	MUST(ddp_create_cq(e->ctx, &cq, &e->rcq));
	srq.max_wr = DEPTH;
	srq.limit = DEPTH;
	srq.max_per_qp = 1;
	MUST(ddp_create_srq(e->pd, &srq, &e->srq));
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	init.max_send_wr = DEPTH;
	init.srq = e->srq;
	MUST(ddp_create_qp(e->id, e->pd, &init, &e->qp));
	MUST(ddp_alloc_mr(e->pd, SIZE, DDP_ACCESS_LOCAL_WRITE, &e->mr));
}

/* The depths of Reads are negotiated meanwhile, within the limits of both ends. */
static void connect_shared(struct end *active, struct end *passive, const char *addr, uint16_t port)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);

	param.flags = DDP_CONN_NEGOTIATE;
	param.ird = 4;
	MUST(ddp_create_id(active->ctx, NULL, &active->id));
	make_end(active);
	MUST(ddp_connect_name(active->id, addr, port, &param));
	passive->id = expect(passive, DDP_CM_CONNECT_REQUEST, NULL);
	make_shared(passive);
	param.ord = 5;
	check("an accept with more Reads than the peer can take",
	      ddp_accept(passive->id, &param) == -ERANGE);
	param.ord = 4;
	MUST(ddp_accept(passive->id, &param));
	expect(passive, DDP_CM_ESTABLISHED, NULL);
	expect(active, DDP_CM_ESTABLISHED, NULL);
}

static void post_shared(struct end *e, uint64_t wr_id)
{
	struct ddp_sge sge = {e->mr->iova, 64, e->mr->lkey};
	struct ddp_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	MUST(ddp_post_srq_recv(e->srq, &wr, NULL));
}

static void shared_faults(struct end *a, struct end *b)
{
	struct ddp_srq_attr srq = DDP_INIT(ddp_srq_attr);
	struct ddp_srq_state state = DDP_INIT(ddp_srq_state);
	struct ddp_sge sge = {a->mr->iova, 64, a->mr->lkey};
	struct ddp_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_SEND};

	for (uint64_t i = 0; i < DEPTH; i++)
		post_shared(b, i);
	MUST(ddp_post_send(a->qp, &wr, NULL));
	check("a message within the cap", wait_one(b->rcq, 0) == DDP_WC_SUCCESS);
	expect(b, DDP_CM_SRQ_LIMIT, NULL);
	srq.limit = DEPTH + 1;
	check("a limit beyond the queue", ddp_modify_srq(b->srq, &srq, DDP_SRQ_LIMIT) == -EINVAL);
	MUST(ddp_query_srq(b->srq, &state));
	check("the event of the limit comes once",
	      state.limit == 0 && state.posted == DEPTH - 1 && state.held == 0 && state.taken == 1);
	srq.limit = DEPTH;
	MUST(ddp_modify_srq(b->srq, &srq, DDP_SRQ_LIMIT));
	expect(b, DDP_CM_SRQ_LIMIT, NULL);
	check("destroying a queue in use", ddp_destroy_srq(b->srq) == -EBUSY);
	ddp_disconnect(a->id);
	expect(a, DDP_CM_DISCONNECTED, NULL);
	expect(b, DDP_CM_DISCONNECTED, NULL);
	MUST(ddp_query_srq(b->srq, &state));
	check("receives stay posted for other sessions when one ends",
	      state.posted == DEPTH - 1 && state.held == 0);
}

static void free_end(struct end *e)
{
	MUST(ddp_destroy_qp(e->qp));
	MUST(ddp_destroy_srq(e->srq));
	MUST(ddp_dereg_mr(e->mr));
	MUST(ddp_destroy_cq(e->scq));
	MUST(ddp_destroy_cq(e->rcq));
	MUST(ddp_dealloc_pd(e->pd));
	MUST(ddp_destroy_id(e->id));
	*e = (struct end){.ctx = e->ctx};
}

static void open_end(struct end *e, const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);

	attr.socket = socket;
	MUST(ddp_open(&attr, &e->ctx));
}

int main(int argc, char **argv)
{
	struct end a = {0}, b = {0};
	struct ddp_id *listener;
	uint16_t port;

	if (argc != 5) {
		fprintf(stderr, "usage: bad_work SOCKET SOCKET2 ADDRESS PORT\n");
		return 2;
	}
	alarm(LIFE_S);
	port = (uint16_t)atoi(argv[4]);
	open_end(&a, argv[1]);
	open_end(&b, argv[2]);
	MUST(ddp_create_id(b.ctx, NULL, &listener));
	MUST(ddp_listen(listener, NULL, port, 0));
	connect_both(&a, &b, argv[3], port);
	faults_of_the_call(&a, &b);
	receives_of_the_call(&a);
	reads(&a, &b);
	requester_faults(&a, &b);
	window_faults(&a, &b);
	receiver_fault(&a, &b);
	peer_refuses(&a, &b);
	free_end(&a);
	free_end(&b);
	connect_shared(&a, &b, argv[3], port);
	shared_faults(&a, &b);
	free_end(&a);
	free_end(&b);
	MUST(ddp_destroy_id(listener));
	check("all objects can be freed", ddp_close(a.ctx) == 0 && ddp_close(b.ctx) == 0);
	printf("%u failed\n", failed);
	return failed ? 1 : 0;
}
