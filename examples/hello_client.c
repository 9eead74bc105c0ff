/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello_client [ADDRESS [PORT]]
 *
 * Writes into the memory of a hello_server, reads it back, and sends "done".
 *
 *	cc hello_client.c -lddpclient -o hello_client
 */
#include <ddp/ddp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in hello_server.c. */
struct remote_memory {
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
};

/* Our memory: the address of the server's memory, the text that we write, and the text that we read
 * back. */
struct memory {
	struct remote_memory remote;
	char text[256];
	char copy[256];
};

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_id *id;
static struct ddp_qp *qp;
static struct ddp_mr *mr;
static struct memory *mem;

static void fail(const char *what, const char *reason)
{
	fprintf(stderr, "hello_client: %s: %s\n", what, reason);
	exit(1);
}

/* Every call returns 0 or a negative errno value; ddp_last_reason() says why. */
static void check(int r)
{
	if (r < 0)
		fail("failed", ddp_last_reason());
}

/* Waits for the next event, which must be of this type. */
static void expect(enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;

	check(ddp_get_cm_event(ctx, &ev, -1));
	while (ev->type == DDP_CM_PATH) { /* the session continues */
		ddp_ack_cm_event(ev);
		check(ddp_get_cm_event(ctx, &ev, -1));
	}
	if (ev->type != type)
		fail(ddp_event_str(ev->type), ev->reason);
	ddp_ack_cm_event(ev);
}

/* Waits for one completion, which must be a success. */
static void complete(void)
{
	struct ddp_wc wc;
	char reason[256];

	check(ddp_wait_cq(cq, 1, &wc, -1));
	ddp_explain(&wc, reason, sizeof(reason));
	if (wc.status != DDP_WC_SUCCESS)
		fail(ddp_wc_status_str(wc.status), reason);
	printf("%s\n", reason);
}

/* Address of something in our memory, as work requests know it. */
static uint64_t at(const void *p)
{
	return mr->iova + (uint64_t)((const char *)p - (const char *)mr->addr);
}

/* 1. The daemon, and the objects that we need. */
static void set_up(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);

	check(ddp_open(NULL, &ctx));
	check(ddp_alloc_pd(ctx, &pd));
	attr.entries = 16;
	attr.spin_us = -1;
	check(ddp_create_cq(ctx, &attr, &cq));
	check(ddp_alloc_mr(pd, sizeof(*mem), DDP_ACCESS_LOCAL_WRITE, &mr));
	mem = mr->addr;
}

/* 2. A queue pair, with a receive for the server's first message before it can arrive. Then
 * connect, with private data for the server. */
static void connect_to(const char *address, uint16_t port)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct ddp_sge sge = {at(&mem->remote), sizeof(mem->remote), mr->lkey};
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};

	check(ddp_create_id(ctx, NULL, &id));
	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 4;
	init.max_inline = 64;
	check(ddp_create_qp(id, pd, &init, &qp));
	check(ddp_post_recv(qp, &recv, NULL));
	param.private_data = "a reader of the examples";
	param.private_len = strlen(param.private_data);
	check(ddp_connect_name(id, address, port, &param));
	expect(DDP_CM_ESTABLISHED);
	complete();
}

/* Posts one request and waits until it is done. */
static void work(enum ddp_wr_opcode opcode, unsigned flags, struct ddp_sge sge)
{
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = DDP_SEND_SIGNALED | flags,
		.rdma = {mem->remote.addr, mem->remote.rkey}, /* not used by Sends */
	};

	check(ddp_post_send(qp, &wr, NULL));
	complete();
}

/* 6. Free everything in the reverse order of creation. */
static void tear_down(void)
{
	check(ddp_destroy_qp(qp));
	check(ddp_destroy_id(id));
	check(ddp_dereg_mr(mr));
	check(ddp_destroy_cq(cq));
	check(ddp_dealloc_pd(pd));
	check(ddp_close(ctx));
}

int main(int argc, char **argv)
{
	static const char hello[] = "Hello, memory of another program!";

	set_up();
	connect_to(argc > 1 ? argv[1] : "127.0.0.1", argc > 2 ? (uint16_t)atoi(argv[2]) : 5043);

	/* 3. Write into the server's memory, without its program. */
	memcpy(mem->text, hello, sizeof(hello));
	work(DDP_WR_RDMA_WRITE, 0, (struct ddp_sge){at(mem->text), sizeof(hello), mr->lkey});

	/* 4. Read it back. A Read returns the data of the Writes before it. */
	work(DDP_WR_RDMA_READ, 0, (struct ddp_sge){at(mem->copy), sizeof(hello), mr->lkey});
	printf("the server's memory holds: %s\n", mem->copy);

	/* 5. Send "done", and disconnect. With INLINE the data is copied at once and may be
	 * anywhere. */
	work(DDP_WR_SEND, DDP_SEND_INLINE, (struct ddp_sge){(uintptr_t) "done", 5, 0});
	check(ddp_disconnect(id));
	expect(DDP_CM_DISCONNECTED);

	tear_down();
	return 0;
}
