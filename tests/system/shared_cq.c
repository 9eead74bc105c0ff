/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two queue pairs share a completion queue of one entry. Promise: requests of the second that wait
 * for room continue when an unsignaled request of the first returns its room, or when the first is
 * destroyed, although no completion is polled in between.
 *
 *   shared_cq SOCKET ADDRESS PORT      all ends are clients of one daemon; exit status 0 if it held
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ddp/ddp.h>

#include "tests/lib/must.h"
#include "tests/lib/patience.h"

enum { SIZE = 8 << 20 };

struct side {
	struct ddp_cq *cq;
	struct ddp_id *id[2];
	struct ddp_qp *qp[2];
};

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_mr *mr;

static void make_qp(struct side *s, int i)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = s->cq;
	init.max_send_wr = init.max_recv_wr = 16;
	MUST(ddp_create_qp(s->id[i], pd, &init, &s->qp[i]));
}

static struct ddp_id *expect(enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	MUST(ddp_get_cm_event(ctx, &ev, PATIENCE_MS));
	if (ev->type != type) {
		fprintf(stderr, "shared_cq: %s: %s\n", ddp_event_str(ev->type), ev->reason);
		exit(1);
	}
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

static void open_session(struct side *a, struct side *b, int i, const char *addr, uint16_t port)
{
	MUST(ddp_create_id(ctx, NULL, &a->id[i]));
	make_qp(a, i);
	MUST(ddp_connect_name(a->id[i], addr, port, NULL));
	b->id[i] = expect(DDP_CM_CONNECT_REQUEST);
	make_qp(b, i);
	MUST(ddp_accept(b->id[i], NULL));
	expect(DDP_CM_ESTABLISHED);
	expect(DDP_CM_ESTABLISHED);
}

static void post_write(struct ddp_qp *qp, uint64_t wr_id, uint32_t len, unsigned flags)
{
	struct ddp_sge sge = {mr->iova, len, mr->lkey};
	struct ddp_send_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	wr.opcode = DDP_WR_RDMA_WRITE;
	wr.send_flags = flags;
	wr.rdma.remote_addr = mr->iova;
	wr.rdma.rkey = mr->rkey;
	MUST(ddp_post_send(qp, &wr, NULL));
}

static void must_complete(struct side *a, uint64_t wr_id)
{
	struct ddp_wc wc;

	if (ddp_wait_cq(a->cq, 1, &wc, PATIENCE_MS) != 1 || wc.wr_id != wr_id) {
		fprintf(stderr, "shared_cq: request %d did not complete\n", (int)wr_id);
		exit(1);
	}
}

static void setup(struct side *a, struct side *b, const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	attr.socket = socket;
	MUST(ddp_open(&attr, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	MUST(ddp_alloc_mr(pd, SIZE, DDP_ACCESS_REMOTE_WRITE, &mr));
	cq.entries = 1;
	MUST(ddp_create_cq(ctx, &cq, &a->cq));
	cq.entries = 64;
	MUST(ddp_create_cq(ctx, &cq, &b->cq));
}

int main(int argc, char **argv)
{
	struct side a, b;
	struct ddp_id *listener;
	uint16_t port;

	if (argc != 4) {
		fprintf(stderr, "usage: shared_cq SOCKET ADDRESS PORT\n");
		return 2;
	}
	alarm(LIFE_S);
	port = (uint16_t)atoi(argv[3]);
	setup(&a, &b, argv[1]);
	MUST(ddp_create_id(ctx, NULL, &listener));
	MUST(ddp_listen(listener, NULL, port, 0));
	for (int i = 0; i < 2; i++)
		open_session(&a, &b, i, argv[2], port);

	post_write(a.qp[0], 1, SIZE, 0);
	post_write(a.qp[1], 2, 64, DDP_SEND_SIGNALED);
	must_complete(&a, 2);

	post_write(a.qp[0], 3, SIZE, DDP_SEND_SIGNALED);
	post_write(a.qp[1], 4, 64, DDP_SEND_SIGNALED);
	must_complete(&a, 3);
	must_complete(&a, 4);
	puts("requests that waited for room continued");
	return 0; /* the daemon frees the rest */
}
