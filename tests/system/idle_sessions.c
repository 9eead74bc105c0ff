/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens sessions between two daemons and keeps them idle until standard input ends.
 *
 *   idle_sessions SOCKET SOCKET2 ADDRESS PORT N      prints a line "open" when all N are
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ddp/ddp.h>

struct side {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
};

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) < 0) {                                                                  \
			fprintf(stderr, "idle_sessions: %s: %s\n", #call, ddp_last_reason());      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void open_side(struct side *s, const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	attr.socket = socket;
	cq.entries = 16;
	MUST(ddp_open(&attr, &s->ctx));
	MUST(ddp_alloc_pd(s->ctx, &s->pd));
	MUST(ddp_create_cq(s->ctx, &cq, &s->cq));
}

static void make_qp(const struct side *s, struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = s->cq;
	init.max_send_wr = init.max_recv_wr = 128;
	init.max_send_sge = init.max_recv_sge = 4;
	MUST(ddp_create_qp(id, s->pd, &init, &qp));
}

static struct ddp_id *expect(const struct side *s, enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	MUST(ddp_get_cm_event(s->ctx, &ev, 20000));
	if (ev->type != type) {
		fprintf(stderr, "idle_sessions: %s: %s\n", ddp_event_str(ev->type), ev->reason);
		exit(1);
	}
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

static void open_session(const struct side *a, const struct side *b, const char *addr,
			 uint16_t port)
{
	struct ddp_id *id, *in;

	MUST(ddp_create_id(a->ctx, NULL, &id));
	make_qp(a, id);
	MUST(ddp_connect_name(id, addr, port, NULL));
	in = expect(b, DDP_CM_CONNECT_REQUEST);
	make_qp(b, in);
	MUST(ddp_accept(in, NULL));
	expect(b, DDP_CM_ESTABLISHED);
	expect(a, DDP_CM_ESTABLISHED);
}

int main(int argc, char **argv)
{
	struct ddp_id *listener;
	struct side a, b;
	char byte;

	if (argc != 6) {
		fprintf(stderr, "usage: idle_sessions SOCKET SOCKET2 ADDRESS PORT N\n");
		return 2;
	}
	alarm(120);
	open_side(&a, argv[1]);
	open_side(&b, argv[2]);
	MUST(ddp_create_id(b.ctx, NULL, &listener));
	MUST(ddp_listen(listener, NULL, (uint16_t)atoi(argv[4]), 0));
	for (int i = atoi(argv[5]); i > 0; i--)
		open_session(&a, &b, argv[3], (uint16_t)atoi(argv[4]));
	puts("open");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0; /* the daemons free the rest */
}
