/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of both ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/faults/program.h"

static int undo_mw(void *mw)
{
	return ddp_dealloc_mw(mw);
}
static int undo_id(void *id)
{
	return ddp_destroy_id(id);
}
static int undo_qp(void *qp)
{
	return ddp_destroy_qp(qp);
}
static int undo_srq(void *srq)
{
	return ddp_destroy_srq(srq);
}

static void open_both(struct program *p)
{
	end_open(p, 0);
	end_open(p, 1);
}

/* Requests that need no receive: from a to the memory of b. */
static void reach(struct program *p, enum ddp_wr_opcode op, enum ddp_wc_opcode done, uint32_t len)
{
	struct ddp_mr *mr = p->end[1].mr;

	post(p, 0, (struct ddp_send_wr){.opcode = op, .rdma = {mr->iova, mr->rkey}}, 0, len);
	end_done(p, 0, done);
}

static void send_one(struct program *p, int from, struct ddp_send_wr wr, uint32_t len)
{
	static const enum ddp_wc_opcode done[] = {
		[DDP_WR_SEND] = DDP_WC_SEND,
		[DDP_WR_SEND_WITH_INV] = DDP_WC_SEND_INV,
		[DDP_WR_IMM_DATA] = DDP_WC_IMM_DATA,
	};

	post_recv(p, !from, 0, len > 8 ? len : 8);
	post(p, from, wr, 0, len);
	end_done(p, from, done[wr.opcode]);
	end_done(p, !from, DDP_WC_RECV);
}

static void windows(struct program *p)
{
	struct end *e = &p->end[1];
	struct ddp_send_wr bind = {.opcode = DDP_WR_BIND_MW};
	struct ddp_send_wr inv = {.opcode = DDP_WR_LOCAL_INV};
	struct ddp_mw *mw;

	TRY(ddp_alloc_mw(e->pd, DDP_MW_TYPE_2, &mw));
	later(undo_mw, mw);
	bind.bind.mw = mw;
	bind.bind.rkey = inv.invalidate_rkey = ddp_inc_rkey(mw->rkey);
	bind.bind.mr = e->mr;
	bind.bind.addr = e->mr->iova;
	bind.bind.length = 4096;
	bind.bind.access = DDP_ACCESS_REMOTE_WRITE;
	post(p, 1, bind, 0, 0);
	end_done(p, 1, DDP_WC_BIND_MW);
	post(p, 1, inv, 0, 0);
	end_done(p, 1, DDP_WC_LOCAL_INV);
}

static void paths(struct program *p)
{
	struct ddp_path path[4];

	if (TRY(ddp_query_paths(p->end[0].id, path, 4)) > 0)
		TRY(ddp_set_primary(p->end[0].id, (const struct sockaddr *)&path[0].remote));
}

void part_work(struct program *p)
{
	struct ddp_mr *tied;

	open_both(p);
	connect_ends(p, NULL, NULL, NULL);
	paths(p);
	for (int side = 0; side < 2; side++)
		send_one(p, side, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 4000);
	send_one(p, 0, (struct ddp_send_wr){.opcode = DDP_WR_IMM_DATA, .imm_data = 5}, 0);
	reach(p, DDP_WR_RDMA_WRITE, DDP_WC_RDMA_WRITE, 4000);
	reach(p, DDP_WR_RDMA_READ, DDP_WC_RDMA_READ, 4000);
	reach(p, DDP_WR_ATOMIC_FETCH_AND_ADD, DDP_WC_FETCH_ADD, 8);
	reach(p, DDP_WR_ATOMIC_CMP_AND_SWP, DDP_WC_CMP_SWAP, 8);
	windows(p);
	tied = new_region(&p->end[1], 100);
	TRY(ddp_bind_mr(tied, p->end[1].qp));
	send_one(
		p, 0,
		(struct ddp_send_wr){.opcode = DDP_WR_SEND_WITH_INV, .invalidate_rkey = tied->rkey},
		10);
	disconnect_ends(p, 0);
}

void part_large(struct program *p)
{
	open_both(p);
	connect_ends(p, NULL, NULL, NULL);
	for (int i = 0; i < 8; i++) {
		reach(p, DDP_WR_RDMA_WRITE, DDP_WC_RDMA_WRITE, SIZE);
		reach(p, DDP_WR_RDMA_READ, DDP_WC_RDMA_READ, SIZE);
		send_one(p, i % 2, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, SIZE);
	}
	disconnect_ends(p, 1);
}

void part_raw(struct program *p)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	open_both(p);
	init.qp_type = DDP_QP_RAW;
	init.raw_queues = 1;
	connect_ends(p, &init, NULL, NULL);
	send_one(p, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 3000);
	reach(p, DDP_WR_RDMA_WRITE, DDP_WC_RDMA_WRITE, 3000);
}

/* Messages before their receives, in a shared queue as well. */
void part_late(struct program *p)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	open_both(p);
	init.hold_bytes = 1 << 20;
	init.hold_ms = WAIT_MS;
	init.options = DDP_QP_CREDITS | DDP_QP_PLACE_IN_ORDER;
	connect_ends(p, &init, NULL, NULL);
	for (int i = 0; i < 8; i++)
		post(p, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, 30000);
	for (int i = 0; i < 8; i++)
		end_done(p, 0, DDP_WC_SEND);
	for (int i = 0; i < 8; i++) {
		post_recv(p, 1, 0, 30000);
		end_done(p, 1, DDP_WC_RECV);
	}
	disconnect_ends(p, 0);
}

void part_enhanced(struct program *p)
{
	struct ddp_conn_param request = DDP_INIT(ddp_conn_param);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	open_both(p);
	request.flags = DDP_CONN_NEGOTIATE | DDP_CONN_PEER_TO_PEER;
	request.private_data = "faults";
	request.private_len = 6;
	init.options = DDP_QP_ACKED;
	connect_ends(p, &init, &request, NULL);
	send_one(p, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 100);
	disconnect_ends(p, 1);
}

static void begin_request(struct program *p)
{
	struct end *a = &p->end[0], *b = &p->end[1];

	TRY(ddp_create_id(b->ctx, NULL, &b->listener));
	later(undo_id, b->listener);
	TRY(ddp_listen(b->listener, NULL, 7002, 0));
	TRY(ddp_create_id(a->ctx, NULL, &a->id));
	later(undo_id, a->id);
}

void part_reject(struct program *p)
{
	struct ddp_conn_param answer = DDP_INIT(ddp_conn_param);
	struct end *a = &p->end[0];
	struct ddp_cm_event *ev;
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	open_both(p);
	begin_request(p);
	init.send_cq = init.recv_cq = a->cq;
	init.max_send_wr = init.max_recv_wr = 1;
	TRY(ddp_create_qp(a->id, a->pd, &init, &a->qp));
	later(undo_qp, a->qp);
	TRY(ddp_connect_name(a->id, p->address, 7002, NULL));
	ev = end_event(p, 1, DDP_CM_CONNECT_REQUEST);
	later(undo_id, ev->id);
	answer.private_data = "no";
	answer.private_len = 2;
	p->end[1].id = ev->id;
	ddp_ack_cm_event(ev);
	TRY(ddp_reject(p->end[1].id, &answer));
	ddp_ack_cm_event(end_event(p, 0, DDP_CM_REJECTED));
}

/* The peer refuses a Write; a Terminate ends the session. */
void part_refused(struct program *p)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE};

	open_both(p);
	connect_ends(p, NULL, NULL, NULL);
	wr.rdma.remote_addr = p->end[1].mr->iova;
	wr.rdma.rkey = p->end[1].mr->rkey ^ 0x12345600;
	post(p, 0, wr, 0, 100);
	for (int side = 0; side < 2; side++)
		ddp_ack_cm_event(end_event(p, side, DDP_CM_DISCONNECTED));
}

/* Several sessions of one association, which share a receive queue. */
void part_many(struct program *p)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct end *b = &p->end[1];

	open_both(p);
	attr.max_wr = DEPTH;
	TRY(ddp_create_srq(b->pd, &attr, &b->srq));
	later(undo_srq, b->srq);
	for (int i = 0; i < 12; i++) {
		connect_ends(p, NULL, NULL, NULL);
		send_one(p, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 1000);
	}
}

/* Posts work, says so, and waits until it is killed. */
void part_hold(struct program *p)
{
	open_both(p);
	connect_ends(p, NULL, NULL, NULL);
	for (int i = 0; i < 4; i++)
		post(p, 0,
		     (struct ddp_send_wr){
			     .opcode = DDP_WR_RDMA_WRITE,
			     .rdma = {p->end[1].mr->iova, p->end[1].mr->rkey},
		     },
		     0, SIZE);
	puts("holding");
	fflush(stdout);
	for (;;)
		pause();
}
