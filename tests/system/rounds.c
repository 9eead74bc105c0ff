/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of: register memory, connect, write, send, compare, disconnect, free; both ends in this
 * program, each with its own daemon.
 *
 *   rounds SOCKET-OF-A SOCKET-OF-B ADDRESS-OF-B ROUNDS      exit status 0 if all succeeded
 */
#include <ddp/ddp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/patience.h"

enum { PORT = 6043, SIZE = 20000 };

static const char *step = "begin";
static long turn;

static void die(int err, const char *reason)
{
	fprintf(stderr, "rounds: round %ld: %s: %s: %s\n", turn, step,
		strerror(err < 0 ? -err : err), reason);
	exit(1);
}

/* The call must have returned 0. */
static void must(const char *what, int r)
{
	step = what;
	if (r < 0)
		die(r, ddp_last_reason());
}

/* One end, and its objects of a round. */
struct end {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_mr *mr;
};

static void open_end(struct end *e, const char *path)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);

	attr.socket = path;
	must("open", ddp_open(&attr, &e->ctx));
}

static void make(struct end *e)
{
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);
	struct ddp_qp_init qp = DDP_INIT(ddp_qp_init);

	cq.entries = 16;
	cq.spin_us = -1;
	must("alloc_pd", ddp_alloc_pd(e->ctx, &e->pd));
	must("create_cq", ddp_create_cq(e->ctx, &cq, &e->cq));
	must("alloc_mr",
	     ddp_alloc_mr(e->pd, SIZE, DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE, &e->mr));
	qp.send_cq = qp.recv_cq = e->cq;
	qp.max_send_wr = qp.max_recv_wr = 8;
	must("create_qp", ddp_create_qp(e->id, e->pd, &qp, &e->qp));
}

static void unmake(struct end *e)
{
	must("destroy_qp", ddp_destroy_qp(e->qp));
	must("destroy_id", ddp_destroy_id(e->id));
	must("dereg_mr", ddp_dereg_mr(e->mr));
	must("destroy_cq", ddp_destroy_cq(e->cq));
	must("dealloc_pd", ddp_dealloc_pd(e->pd));
}

/* Waits for an event of that type. Returns its id; the first len bytes of private data to buf. */
static struct ddp_id *await(struct end *e, enum ddp_cm_event_type type, void *buf, size_t len)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	must(ddp_event_str(type), ddp_get_cm_event(e->ctx, &ev, PATIENCE_MS));
	if (ev->type != type || ev->private_len < len)
		die(ev->err, ev->reason);
	if (len)
		memcpy(buf, ev->private_data, len);
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

static void complete(struct end *e, enum ddp_wc_opcode opcode)
{
	struct ddp_wc wc;
	int n = ddp_wait_cq(e->cq, 1, &wc, PATIENCE_MS);

	must("wait_cq", n);
	step = ddp_wc_opcode_str(opcode);
	if (n == 0)
		die(0, "no completion");
	if (wc.status != DDP_WC_SUCCESS || wc.opcode != opcode)
		die(0, ddp_wc_status_str(wc.status));
}

/* The memory that the acceptor exports. */
struct offer {
	uint64_t to;
	uint32_t stag;
};

static void connect_ends(struct end *a, struct end *b, const char *address, struct offer *ret)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct ddp_sge sge;
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
	struct offer offer;

	must("create_id", ddp_create_id(a->ctx, NULL, &a->id));
	make(a);
	must("connect", ddp_connect_name(a->id, address, PORT, &param));
	b->id = await(b, DDP_CM_CONNECT_REQUEST, NULL, 0);
	make(b);
	sge = (struct ddp_sge){b->mr->iova, 8, b->mr->lkey};
	must("post_recv", ddp_post_recv(b->qp, &recv, NULL));
	memset(&offer, 0, sizeof(offer));
	offer.to = b->mr->iova;
	offer.stag = b->mr->rkey;
	param.private_data = &offer;
	param.private_len = sizeof(offer);
	must("accept", ddp_accept(b->id, &param));
	await(b, DDP_CM_ESTABLISHED, NULL, 0);
	await(a, DDP_CM_ESTABLISHED, ret, sizeof(*ret));
}

/* A Write of everything but the first 8 bytes, and a Send of these. */
static void transfer(struct end *a, struct end *b, const struct offer *offer)
{
	struct ddp_sge rest = {a->mr->iova + 8, SIZE - 8, a->mr->lkey};
	struct ddp_sge head = {a->mr->iova, 8, a->mr->lkey};
	struct ddp_send_wr send = {
		.sg_list = &head,
		.num_sge = 1,
		.opcode = DDP_WR_SEND,
		.send_flags = DDP_SEND_SIGNALED,
	};
	struct ddp_send_wr write = {
		.next = &send,
		.sg_list = &rest,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.rdma = {offer->to + 8, offer->stag},
	};

	for (int i = 0; i < SIZE; i++)
		((uint8_t *)a->mr->addr)[i] = (uint8_t)(turn + i * 7);
	must("post_send", ddp_post_send(a->qp, &write, NULL));
	complete(a, DDP_WC_SEND);
	complete(b, DDP_WC_RECV);
	step = "compare";
	if (memcmp(a->mr->addr, b->mr->addr, SIZE) != 0)
		die(0, "the data differ");
}

int main(int argc, char **argv)
{
	struct end a = {0}, b = {0};
	struct ddp_id *listener;
	long rounds;

	if (argc != 5) {
		fprintf(stderr, "usage: rounds SOCKET SOCKET ADDRESS ROUNDS\n");
		return 2;
	}
	rounds = strtol(argv[4], NULL, 10);
	open_end(&a, argv[1]);
	open_end(&b, argv[2]);
	must("create_id", ddp_create_id(b.ctx, NULL, &listener));
	must("listen", ddp_listen(listener, NULL, PORT, 0));
	for (turn = 1; turn <= rounds; turn++) {
		struct offer offer;

		connect_ends(&a, &b, argv[3], &offer);
		transfer(&a, &b, &offer);
		must("disconnect", ddp_disconnect(turn % 2 ? a.id : b.id));
		await(&a, DDP_CM_DISCONNECTED, NULL, 0);
		await(&b, DDP_CM_DISCONNECTED, NULL, 0);
		unmake(&a);
		unmake(&b);
	}
	must("destroy_id", ddp_destroy_id(listener));
	must("close", ddp_close(a.ctx));
	must("close", ddp_close(b.ctx));
	printf("%ld rounds\n", rounds);
	return 0;
}
