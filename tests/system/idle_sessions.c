/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens sessions between two daemons and keeps them idle until standard input ends.
 *
 *   idle_sessions SOCKET SOCKET2 ADDRESS PORT N [PORTS [ROUNDS [BYTES [DEPTH]]]]
 *
 * prints a line "listening", waits for a line, and prints "open" when all N are. They are spread
 * over so many ports from PORT on, 1 by default; the sessions of a port share associations, those
 * of several do not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ddp/ddp.h>

#include "tests/lib/must.h"
#include "tests/lib/patience.h"

enum {
	RIGHTS = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ,
};

static uint32_t length = 64; /* of each message */
static uint32_t depth = 128; /* of each queue */

struct side {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_mr *mr;
};

static void open_side(struct side *s, const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	attr.socket = socket;
	cq.entries = 16;
	MUST(ddp_open(&attr, &s->ctx));
	MUST(ddp_alloc_pd(s->ctx, &s->pd));
	MUST(ddp_create_cq(s->ctx, &cq, &s->cq));
	MUST(ddp_alloc_mr(s->pd, length, RIGHTS, &s->mr));
}

static struct ddp_qp *make_qp(const struct side *s, struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = s->cq;
	init.max_send_wr = init.max_recv_wr = depth;
	init.max_send_sge = init.max_recv_sge = 4;
	MUST(ddp_create_qp(id, s->pd, &init, &qp));
	return qp;
}

static void complete(const struct side *s, unsigned n)
{
	struct ddp_wc wc;

	while (n-- > 0) {
		MUST(ddp_wait_cq(s->cq, 1, &wc, PATIENCE_MS));
		if (wc.status != DDP_WC_SUCCESS) {
			fprintf(stderr, "idle_sessions: %s\n", ddp_wc_status_str(wc.status));
			exit(1);
		}
	}
}

/* A Write, a Read and a Send, all in flight at once. */
static void use(const struct side *a, const struct side *b, struct ddp_qp *from, struct ddp_qp *to)
{
	struct ddp_sge here = {a->mr->iova, length, a->mr->lkey};
	struct ddp_sge there = {b->mr->iova, length, b->mr->lkey};
	struct ddp_recv_wr recv = {.sg_list = &there, .num_sge = 1};
	struct ddp_send_wr wr = {.sg_list = &here, .num_sge = 1, .send_flags = DDP_SEND_SIGNALED};

	wr.rdma.remote_addr = b->mr->iova;
	wr.rdma.rkey = b->mr->rkey;
	MUST(ddp_post_recv(to, &recv, NULL));
	wr.opcode = DDP_WR_RDMA_WRITE;
	MUST(ddp_post_send(from, &wr, NULL));
	wr.opcode = DDP_WR_RDMA_READ;
	MUST(ddp_post_send(from, &wr, NULL));
	wr.opcode = DDP_WR_SEND;
	MUST(ddp_post_send(from, &wr, NULL));
	complete(a, 3);
	complete(b, 1);
}

static struct ddp_id *expect(const struct side *s, enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	MUST(ddp_get_cm_event(s->ctx, &ev, PATIENCE_MS));
	if (ev->type != type) {
		fprintf(stderr, "idle_sessions: %s: %s\n", ddp_event_str(ev->type), ev->reason);
		exit(1);
	}
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

static void open_session(const struct side *a, const struct side *b, const char *addr,
			 uint16_t port, int rounds)
{
	struct ddp_qp *from, *to;
	struct ddp_id *id, *in;

	MUST(ddp_create_id(a->ctx, NULL, &id));
	from = make_qp(a, id);
	MUST(ddp_connect_name(id, addr, port, NULL));
	in = expect(b, DDP_CM_CONNECT_REQUEST);
	to = make_qp(b, in);
	MUST(ddp_accept(in, NULL));
	expect(b, DDP_CM_ESTABLISHED);
	expect(a, DDP_CM_ESTABLISHED);
	while (rounds-- > 0)
		use(a, b, from, to);
}

static void listen_at(const struct side *s, int port)
{
	struct ddp_id *listener;

	MUST(ddp_create_id(s->ctx, NULL, &listener));
	MUST(ddp_listen(listener, NULL, (uint16_t)port, 0));
}

int main(int argc, char **argv)
{
	int port, n, ports, rounds;
	struct side a, b;
	char byte;

	if (argc < 6 || argc > 10) {
		fprintf(stderr, "usage: idle_sessions SOCKET SOCKET2 ADDRESS PORT N "
				"[PORTS [ROUNDS [BYTES [DEPTH]]]]\n");
		return 2;
	}
	port = atoi(argv[4]);
	n = atoi(argv[5]);
	ports = argc > 6 ? atoi(argv[6]) : 1;
	rounds = argc > 7 ? atoi(argv[7]) : 0;
	if (argc > 8)
		length = (uint32_t)atoi(argv[8]);
	if (argc > 9)
		depth = (uint32_t)atoi(argv[9]);
	alarm(300);
	open_side(&a, argv[1]);
	open_side(&b, argv[2]);
	for (int i = 0; i < ports; i++)
		listen_at(&b, port + i);
	puts("listening");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < n; i++)
		open_session(&a, &b, argv[3], (uint16_t)(port + i % ports), rounds);
	puts("open");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0; /* the daemons free the rest */
}
