/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello_client [ADDRESS [PORT]]
 *
 * Writes into the memory of a hello_server, reads it back, and says that it is done.
 *
 *	cc hello_client.c -lddpclient -o hello_client
 */
#include <ddp/ddp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in hello_server.c. */
struct invitation {
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
};

/* Our memory: the invitation, what we write, and what we read back. */
struct memory {
	struct invitation inv;
	char text[256];
	char copy[256];
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "hello_client: %s: %s\n", what, why);
	exit(1);
}

/* Every call returns 0 or a negative errno value; the sentence says what it was about. */
static void check(int r)
{
	if (r < 0)
		fail("failed", ddp_last_reason());
}

/* Waits for the next event, which must be of this type. */
static void expect(struct ddp_ctx *ctx, enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;

	check(ddp_get_cm_event(ctx, &ev, -1));
	if (ev->type != type)
		fail(ddp_event_str(ev->type), ev->reason);
	ddp_ack_cm_event(ev);
}

/* Waits for one completion, which must be a success. */
static void complete(struct ddp_cq *cq)
{
	struct ddp_wc wc;
	char why[256];

	check(ddp_wait_cq(cq, 1, &wc, -1));
	ddp_explain(&wc, why, sizeof(why));
	if (wc.status != DDP_WC_SUCCESS)
		fail(ddp_wc_status_str(wc.status), why);
	printf("%s\n", why);
}

/* Address of something in our memory, as work requests know it. */
static uint64_t at(const struct ddp_mr *mr, const void *p)
{
	return mr->iova + (uint64_t)((const char *)p - (const char *)mr->addr);
}

int main(int argc, char **argv)
{
	const char *address = argc > 1 ? argv[1] : "127.0.0.1";
	uint16_t port = (uint16_t)(argc > 2 ? atoi(argv[2]) : 5043);
	struct ddp_cq_attr cq_attr = DDP_INIT(ddp_cq_attr);
	struct ddp_qp_init qp_init = DDP_INIT(ddp_qp_init);
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_mr *mr;
	struct memory *mem;

	/* 1. The daemon, and what we need from it. */
	check(ddp_open(NULL, &ctx));
	check(ddp_alloc_pd(ctx, &pd));
	cq_attr.entries = 16;
	cq_attr.spin_us = -1;
	check(ddp_create_cq(ctx, &cq_attr, &cq));
	check(ddp_alloc_mr(pd, sizeof(*mem), DDP_ACCESS_LOCAL_WRITE, &mr));
	mem = mr->addr;

	/* 2. A queue pair, with a receive for the invitation before it can come. */
	check(ddp_create_id(ctx, NULL, &id));
	qp_init.send_cq = qp_init.recv_cq = cq;
	qp_init.max_send_wr = qp_init.max_recv_wr = 4;
	qp_init.max_inline = 64;
	check(ddp_create_qp(id, pd, &qp_init, &qp));
	struct ddp_sge sge = {at(mr, &mem->inv), sizeof(mem->inv), mr->lkey};
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
	check(ddp_post_recv(qp, &recv, NULL));

	/* 3. Connect, with a few words for whoever decides there, and wait for the invitation. */
	param.private_data = "somebody who reads examples";
	param.private_len = strlen(param.private_data);
	check(ddp_connect_name(id, address, port, &param));
	expect(ctx, DDP_CM_ESTABLISHED);
	complete(cq);

	/* 4. Write into the server's memory: it does not notice. */
	strcpy(mem->text, "Hello, memory of another program!");
	sge = (struct ddp_sge){at(mr, mem->text), (uint32_t)strlen(mem->text) + 1, mr->lkey};
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = DDP_SEND_SIGNALED,
		.rdma = {mem->inv.addr, mem->inv.rkey},
	};
	check(ddp_post_send(qp, &wr, NULL));
	complete(cq);

	/* 5. Read it back. Reads find what Writes before them have left. */
	sge.addr = at(mr, mem->copy);
	wr.opcode = DDP_WR_RDMA_READ;
	check(ddp_post_send(qp, &wr, NULL));
	complete(cq);
	printf("the server's memory holds: %s\n", mem->copy);

	/* 6. Say so. With INLINE the data is copied at once and may be anywhere. */
	sge = (struct ddp_sge){(uintptr_t) "done", 5, 0};
	wr.opcode = DDP_WR_SEND;
	wr.send_flags = DDP_SEND_SIGNALED | DDP_SEND_INLINE;
	check(ddp_post_send(qp, &wr, NULL));
	complete(cq);

	/* 7. Disconnect. What was completed arrives. */
	check(ddp_disconnect(id));
	expect(ctx, DDP_CM_DISCONNECTED);
	check(ddp_destroy_qp(qp));
	check(ddp_destroy_id(id));
	check(ddp_dereg_mr(mr));
	check(ddp_destroy_cq(cq));
	check(ddp_dealloc_pd(pd));
	check(ddp_close(ctx));
	return 0;
}
