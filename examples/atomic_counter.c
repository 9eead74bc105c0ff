/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * atomic_counter -s [PORT]
 * atomic_counter [ADDRESS [PORT]]
 *
 * One counter, in the memory of the first program. Both add to it at the same time: the first with
 * atomic operations of the compiler, the second with FetchAdd. No addition is lost.
 *
 *	cc atomic_counter.c -lddpclient -o atomic_counter
 */
#include <ddp/ddp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the counter is. It travels as private data; both sides have the same byte order. */
struct remote_memory {
	uint64_t addr;
	uint32_t rkey;
};

enum { ROUNDS = 1000, PORT = 5043 };

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_id *id;
static struct ddp_qp *qp;
static struct ddp_mr *mr; /* the owner's */

static void fail(const char *what, const char *reason)
{
	fprintf(stderr, "atomic_counter: %s: %s\n", what, reason);
	exit(1);
}

/* Every call returns 0 or more, or a negative errno value; ddp_last_reason() says why. */
static int check(int r)
{
	if (r < 0)
		fail("failed", ddp_last_reason());
	return r;
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

/* Checks that a request has succeeded. */
static void good(const struct ddp_wc *wc)
{
	char reason[256];

	ddp_explain(wc, reason, sizeof(reason));
	if (wc->status != DDP_WC_SUCCESS)
		fail(ddp_wc_status_str(wc->status), reason);
}

/* 1. The daemon, and the objects that both sides need. Atomics may be switched off. */
static void set_up(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	check(ddp_open(NULL, &ctx));
	check(ddp_query(ctx, &caps));
	if (!(caps.features & DDP_CAP_ATOMIC))
		fail("cannot begin", "this daemon does not support atomics");
	check(ddp_alloc_pd(ctx, &pd));
	attr.entries = 16;
	attr.spin_us = -1;
	check(ddp_create_cq(ctx, &attr, &cq));
}

static void make_qp(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 4;
	check(ddp_create_qp(id, pd, &init, &qp));
}

/* 2. The owner accepts one session, and sends the address of the counter with the answer. The
 * receive is for Immediate Data, which need no memory. */
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

/* 3. The owner adds until the peer has sent how often it added. */
static void own(uint16_t port)
{
	uint64_t mine = 0, all;
	uint64_t *counter;
	struct ddp_wc wc;

	check(ddp_alloc_mr(pd, sizeof(*counter), DDP_ACCESS_REMOTE_ATOMIC, &mr));
	counter = mr->addr;
	accept_one(port);
	for (; check(ddp_poll_cq(cq, 1, &wc)) == 0; mine++)
		__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
	good(&wc);
	ddp_ack_cm_event(expect(DDP_CM_DISCONNECTED));
	all = __atomic_load_n(counter, __ATOMIC_SEQ_CST);
	printf("%llu here and %llu there make %llu\n", (unsigned long long)mine,
	       (unsigned long long)wc.imm_data, (unsigned long long)all);
	if (all != mine + wc.imm_data)
		fail("wrong sum", "additions were lost");
}

/* 4. The peer. The completion carries the previous value of the counter. */
static uint64_t post(struct ddp_send_wr *wr)
{
	struct ddp_wc wc;

	wr->send_flags = DDP_SEND_SIGNALED;
	check(ddp_post_send(qp, wr, NULL));
	check(ddp_wait_cq(cq, 1, &wc, -1));
	good(&wc);
	return wc.imm_data;
}

static void add(const char *address, uint16_t port)
{
	struct ddp_send_wr one = {.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD, .atomic.compare_add = 1};
	struct ddp_send_wr done = {.opcode = DDP_WR_IMM_DATA, .imm_data = ROUNDS};
	struct remote_memory remote;
	struct ddp_cm_event *ev;
	uint64_t was = 0;

	check(ddp_create_id(ctx, NULL, &id));
	make_qp();
	check(ddp_connect_name(id, address, port, NULL));
	ev = expect(DDP_CM_ESTABLISHED);
	if (ev->private_len != sizeof(remote))
		fail("connected", "but not to an atomic_counter");
	memcpy(&remote, ev->private_data, sizeof(remote));
	ddp_ack_cm_event(ev);
	one.rdma.remote_addr = remote.addr;
	one.rdma.rkey = remote.rkey;
	for (int i = 0; i < ROUNDS; i++)
		was = post(&one);
	printf("the last of %d additions found %llu\n", ROUNDS, (unsigned long long)was);
	post(&done);
	check(ddp_disconnect(id));
	ddp_ack_cm_event(expect(DDP_CM_DISCONNECTED));
}

/* 5. Free everything in the reverse order of creation. NULL is allowed. */
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
	bool owner = argc > 1 && strcmp(argv[1], "-s") == 0;
	uint16_t port = argc > 2 ? (uint16_t)atoi(argv[2]) : PORT;

	set_up();
	if (owner)
		own(port);
	else
		add(argc > 1 ? argv[1] : "127.0.0.1", port);
	tear_down();
	return 0;
}
