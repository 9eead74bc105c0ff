/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_memory -s [PORT]
 * own_memory [ADDRESS [PORT]]
 *
 * Both programs have a struct in memory of malloc(), allocated before the daemon is opened. The
 * second one writes its own into that of the first: ddp_reg_mr() registers the memory where it is,
 * without a copy.
 *
 *	cc own_memory.c -lddpclient -o own_memory
 */
#include <ddp/ddp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A measurement; both sides of this example have the same layout. */
struct sample {
	char station[32];
	unsigned n;
	double kelvin[1000];
};

/* Where the first program's struct is. It travels as private data. */
struct remote_memory {
	uint64_t addr;
	uint32_t rkey;
};

enum { PORT = 5043 };

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_id *id;
static struct ddp_qp *qp;
static struct ddp_mr *mr;

static void fail(const char *what, const char *reason)
{
	fprintf(stderr, "own_memory: %s: %s\n", what, reason);
	exit(1);
}

/* Every call returns 0 or more, or a negative errno value; ddp_last_reason() says why. */
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

/* 1. The daemon, and the struct as a memory region. Afterwards the daemon reads and writes the same
 * bytes as this program. ddp_query_mr() reports how they are shared. */
static void set_up(struct sample *s, unsigned access)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_mr_attr found = DDP_INIT(ddp_mr_attr);

	check(ddp_open(NULL, &ctx));
	check(ddp_alloc_pd(ctx, &pd));
	attr.entries = 16;
	attr.spin_us = -1;
	check(ddp_create_cq(ctx, &attr, &cq));
	check(ddp_reg_mr(pd, s, sizeof(*s), access, NULL, &mr));
	check(ddp_query_mr(mr, &found));
	printf("%zu bytes at %p are shared: %s\n", sizeof(*s), (void *)s, found.reason);
}

static void make_qp(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 4;
	check(ddp_create_qp(id, pd, &init, &qp));
}

/* 5. Deregister memory before it is freed. */
static void tear_down(void)
{
	check(ddp_destroy_qp(qp));
	check(ddp_destroy_id(id));
	check(ddp_dereg_mr(mr));
	check(ddp_destroy_cq(cq));
	check(ddp_dealloc_pd(pd));
	check(ddp_close(ctx));
}

/* 2. The owner accepts one session, and sends the address with the answer. The receive is for a
 * message of no bytes: it needs no memory. */
static void accept_one(uint16_t port)
{
	struct remote_memory remote = {.addr = mr->iova, .rkey = mr->rkey};
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct ddp_recv_wr recv = {.num_sge = 0};
	struct ddp_cm_event *ev;
	struct ddp_id *listener;

	check(ddp_create_id(ctx, NULL, &listener));
	check(ddp_listen(listener, NULL, port, 0));
	ev = expect(DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	ddp_ack_cm_event(ev);
	make_qp();
	check(ddp_post_recv(qp, &recv, NULL));
	param.private_data = &remote;
	param.private_len = sizeof(remote);
	check(ddp_accept(id, &param));
	ddp_ack_cm_event(expect(DDP_CM_ESTABLISHED));
	check(ddp_destroy_id(listener));
}

static void own(struct sample *s, uint16_t port)
{
	double sum = 0;

	strcpy(s->station, "none yet");
	set_up(s, DDP_ACCESS_REMOTE_WRITE);
	accept_one(port);
	complete(); /* of the message after the Write: the bytes have arrived */
	for (unsigned i = 0; i < s->n; i++)
		sum += s->kelvin[i];
	printf("%s: %u values, mean %.2f K\n", s->station, s->n, s->n ? sum / s->n : 0);
	ddp_ack_cm_event(expect(DDP_CM_DISCONNECTED));
	tear_down();
}

/* 3. The peer. */
static struct remote_memory connect_to(const char *address, uint16_t port)
{
	struct remote_memory remote;
	struct ddp_cm_event *ev;

	check(ddp_create_id(ctx, NULL, &id));
	make_qp();
	check(ddp_connect_name(id, address, port, NULL));
	ev = expect(DDP_CM_ESTABLISHED);
	if (ev->private_len != sizeof(remote))
		fail("no address", "the server is not own_memory -s");
	memcpy(&remote, ev->private_data, sizeof(remote));
	ddp_ack_cm_event(ev);
	return remote;
}

/* 4. A Write of the whole struct, and a message of no bytes that follows it. */
static void put(const struct sample *s, const char *address, uint16_t port)
{
	struct remote_memory remote = connect_to(address, port);
	struct ddp_sge sge = {(uintptr_t)s, sizeof(*s), mr->lkey};
	struct ddp_send_wr notice = {.opcode = DDP_WR_SEND, .send_flags = DDP_SEND_SIGNALED};
	struct ddp_send_wr write = {
		.next = &notice,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.rdma = {remote.addr, remote.rkey},
	};

	check(ddp_post_send(qp, &write, NULL));
	complete();
	check(ddp_disconnect(id));
	ddp_ack_cm_event(expect(DDP_CM_DISCONNECTED));
}

static void measure(struct sample *s)
{
	strcpy(s->station, "Potsdam");
	for (s->n = 0; s->n < 1000; s->n++)
		s->kelvin[s->n] = 280 + s->n % 7;
}

int main(int argc, char **argv)
{
	struct sample *s = calloc(1, sizeof(*s));

	if (!s)
		fail("calloc", "out of memory");
	if (argc > 1 && strcmp(argv[1], "-s") == 0) {
		own(s, argc > 2 ? (uint16_t)atoi(argv[2]) : PORT);
	} else {
		measure(s);
		set_up(s, 0);
		put(s, argc > 1 ? argv[1] : "127.0.0.1", argc > 2 ? (uint16_t)atoi(argv[2]) : PORT);
		tear_down();
	}
	free(s);
	return 0;
}
