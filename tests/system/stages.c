/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session step by step, for stages.sh to look at the daemons in between: prints "stage", a name
 * and its data, and continues when it reads a line.
 *
 *   stages SOCKET-A SOCKET-B ADDRESS-B
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

static struct end a, b;

static void stage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void stage(const char *fmt, ...)
{
	va_list ap;
	int c;

	va_start(ap, fmt);
	printf("stage ");
	vprintf(fmt, ap);
	puts("");
	va_end(ap);
	fflush(stdout);
	while ((c = getchar()) != '\n')
		if (c == EOF)
			_exit(3);
}

/* Creates nothing else: no domain, no queue, no memory. */
static void listen_only(const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);

	b = (struct end){.name = "b", .socket = socket};
	attr.socket = socket;
	MUST(ddp_open(&attr, &b.ctx));
	end_listen(&b);
}

static void make_the_rest(void)
{
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	cq.entries = 64;
	MUST(ddp_alloc_pd(b.ctx, &b.pd));
	MUST(ddp_create_cq(b.ctx, &cq, &b.cq));
	MUST(ddp_alloc_mr(b.pd, RIG_SIZE, RIG_ALL, &b.mr));
}

/* No call gives the session another domain. */
static void other_domains(struct session *s)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_pd *other;
	struct ddp_qp *qp;

	MUST(ddp_alloc_pd(b.ctx, &other));
	init.send_cq = init.recv_cq = b.cq;
	init.max_send_wr = init.max_recv_wr = 1;
	REFUSED("a second queue pair for a session", ddp_create_qp(s->id[1], other, &init, &qp),
		EINVAL);
	attr.pd = other;
	MUST(ddp_rereg_mr(b.mr, DDP_REREG_PD, &attr));
	stage("region-moved %u", ddp_qp_num(s->qp[1]));
	attr.pd = b.pd;
	MUST(ddp_rereg_mr(b.mr, DDP_REREG_PD, &attr));
	MUST(ddp_dealloc_pd(other));
}

static void message(struct session *s, enum ddp_wr_opcode op, uint32_t len, const char *name)
{
	struct ddp_send_wr wr = {.opcode = op, .rdma = {b.mr->iova, b.mr->rkey}};

	end_fill(&a, 0, len, len);
	if (op == DDP_WR_SEND)
		session_recv(s, 1, 0, len);
	session_send(s, 0, wr, 0, len);
	end_done(&a, op == DDP_WR_SEND ? DDP_WC_SEND : DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
	if (op == DDP_WR_SEND)
		end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	stage("%s", name);
}

/* As much as fits into one message of the transport, and a byte more. */
static void sizes(struct session *s)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	MUST(ddp_query_qp(s->qp[0], &attr));
	is("both kinds of segments are as large with their headers", attr.max_tagged + 14,
	   attr.max_untagged + 18);
	stage("sizes %u", attr.max_tagged + 14);
	message(s, DDP_WR_SEND, attr.max_untagged, "largest-send");
	message(s, DDP_WR_SEND, attr.max_untagged + 1, "larger-send");
	message(s, DDP_WR_RDMA_WRITE, attr.max_tagged, "largest-write");
	message(s, DDP_WR_RDMA_WRITE, attr.max_tagged + 1, "larger-write");
}

int main(int argc, char **argv)
{
	struct session s;

	if (argc != 4) {
		fprintf(stderr, "usage: stages SOCKET-A SOCKET-B ADDRESS-B\n");
		return 2;
	}
	alarm(LIFE_S);
	end_open(&a, "a", argv[1]);
	listen_only(argv[2]);
	session_connect(&s, &a, &b, argv[3], NULL);
	ddp_ack_cm_event(session_request(&s));
	stage("requested");
	make_the_rest();
	session_make_qp(&s, 1, NULL);
	stage("made %u", ddp_qp_num(s.qp[1]));
	MUST(ddp_accept(s.id[1], NULL));
	end_expect(&b, DDP_CM_ESTABLISHED);
	end_expect(&a, DDP_CM_ESTABLISHED);
	stage("established %u", ddp_qp_num(s.qp[1]));
	other_domains(&s);
	sizes(&s);
	session_close(&s, 0);
	end_close(&a);
	end_close(&b);
	return 0;
}
