/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello_server [ADDRESS [PORT]]
 *
 * Gives one client access to a part of its memory. The client writes into it and reads from it
 * without any work of this program, and sends "done" at the end.
 *
 *	cc hello_server.c -lddpclient -o hello_server
 */
#include <arpa/inet.h>
#include <ddp/ddp.h>
#include <stdio.h>
#include <stdlib.h>

/* The client needs this to access our memory. The server sends it in an ordinary message; both
 * sides of this example have the same byte order. */
struct remote_memory {
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
};

enum { BUFFER = 4096 };

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_id *listener, *id;
static struct ddp_qp *qp;
static struct ddp_mr *shared, *message;

static void fail(const char *what, const char *reason)
{
	fprintf(stderr, "hello_server: %s: %s\n", what, reason);
	exit(1);
}

/* Every call returns 0 or a negative errno value; ddp_last_reason() says why. */
static void check(int r)
{
	if (r < 0)
		fail("failed", ddp_last_reason());
}

/* Waits for the next event, which must be of this type. */
static struct ddp_cm_event *expect(enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;

	check(ddp_get_cm_event(ctx, &ev, -1));
	while (ev->type == DDP_CM_PATH) { /* the session continues */
		ddp_ack_cm_event(ev);
		check(ddp_get_cm_event(ctx, &ev, -1));
	}
	if (ev->type != type)
		fail(ddp_event_str(ev->type), ev->reason);
	return ev;
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
}

static void listen_at(const char *address, uint16_t port)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, address, &in4.sin_addr) == 1)
		check(ddp_listen(listener, (struct sockaddr *)&in4, port, 0));
	else if (inet_pton(AF_INET6, address, &in6.sin6_addr) == 1)
		check(ddp_listen(listener, (struct sockaddr *)&in6, port, 0));
	else
		fail("no address", address);
}

/* 1. The daemon, the objects that we need, and memory: one piece for the client, one for messages,
 * which no peer can reach. */
static void set_up(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);

	check(ddp_open(NULL, &ctx));
	check(ddp_alloc_pd(ctx, &pd));
	attr.entries = 16;
	attr.spin_us = -1;
	check(ddp_create_cq(ctx, &attr, &cq));
	check(ddp_alloc_mr(pd, BUFFER, DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ, &shared));
	check(ddp_alloc_mr(pd, BUFFER, DDP_ACCESS_LOCAL_WRITE, &message));
}

/* 2. Wait for a client. The request has an id of its own. */
static void await_client(const char *address, uint16_t port)
{
	struct ddp_cm_event *ev;

	check(ddp_create_id(ctx, NULL, &listener));
	listen_at(address, port);
	printf("waiting at %s, port %u\n", address, port);
	fflush(stdout);
	ev = expect(DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	printf("a client connects: %.*s\n", (int)ev->private_len, (const char *)ev->private_data);
	ddp_ack_cm_event(ev);
}

/* 3. A queue pair for it, and a receive for its message before it can send one. */
static void accept_client(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_sge sge = {message->iova, BUFFER, message->lkey};
	struct ddp_recv_wr recv = {.sg_list = &sge, .num_sge = 1};

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 4;
	init.max_inline = sizeof(struct remote_memory);
	check(ddp_create_qp(id, pd, &init, &qp));
	check(ddp_post_recv(qp, &recv, NULL));
	check(ddp_accept(id, NULL));
	ddp_ack_cm_event(expect(DDP_CM_ESTABLISHED));
}

/* 4. Send the address of the memory. With INLINE the data is copied at once and may be anywhere. */
static void send_address(void)
{
	struct remote_memory remote = {shared->iova, shared->length, shared->rkey};
	struct ddp_sge sge = {(uintptr_t)&remote, sizeof(remote), 0};
	struct ddp_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_SEND,
		.send_flags = DDP_SEND_SIGNALED | DDP_SEND_INLINE,
	};

	check(ddp_post_send(qp, &send, NULL));
	complete();
}

/* 6. Free everything in the reverse order of creation. */
static void tear_down(void)
{
	check(ddp_destroy_qp(qp));
	check(ddp_destroy_id(id));
	check(ddp_destroy_id(listener));
	check(ddp_dereg_mr(message));
	check(ddp_dereg_mr(shared));
	check(ddp_destroy_cq(cq));
	check(ddp_dealloc_pd(pd));
	check(ddp_close(ctx));
}

int main(int argc, char **argv)
{
	set_up();
	await_client(argc > 1 ? argv[1] : "127.0.0.1", argc > 2 ? (uint16_t)atoi(argv[2]) : 5043);
	accept_client();
	send_address();

	/* 5. Its "done" arrives after its Write, so the data is in place. */
	complete();
	printf("the client wrote: %.*s\n", BUFFER, (char *)shared->addr);
	printf("the client says: %.*s\n", BUFFER, (char *)message->addr);
	ddp_ack_cm_event(expect(DDP_CM_DISCONNECTED));

	tear_down();
	return 0;
}
