/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpc -s [PORT]
 * rpc [ADDRESS [PORT]]
 *
 * Calls of functions of another program. Requests and replies are Sends. Long data stays out of
 * them: the server reads a long argument from the memory of its caller by RDMA Read, and puts a
 * long result there by RDMA Write, before the reply. Many calls of many clients are in progress at
 * a time, and replies have the number of their call. The server runs until it is ended.
 *
 *	cc rpc.c -lddpclient -o rpc
 */
#include <ddp/ddp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 32, LONG = 4096, PORT = 5043 };

enum function {
	SQUARE, /* of the number */
	SUM,    /* of the numbers in the memory of the caller */
	PRIMES  /* writes those below the number there, and returns how many there are */
};

/* Both sides have the same byte order. */
struct request {
	uint32_t call, function;
	uint64_t number;
	uint64_t addr; /* memory of the caller */
	uint32_t length, rkey;
};

struct reply {
	uint32_t call;
	int32_t error;
	uint64_t number;
};

/* A call, in registered memory; the server has one for each request that it can hold. */
struct call {
	struct request request;
	struct reply reply;
	uint64_t numbers[LONG / sizeof(uint64_t)];
};

/* The work request of a completion. */
enum step { REQUEST, READ, REPLY };

static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_mr *mr;
static struct call *calls;

static void fail(const char *what, const char *reason)
{
	fprintf(stderr, "rpc: %s: %s\n", what, reason);
	exit(1);
}

/* Every call of the library returns 0 or more, or a negative errno value. */
static int check(int r)
{
	if (r < 0)
		fail("failed", ddp_last_reason());
	return r;
}

static struct ddp_sge part(const void *p, size_t length)
{
	return (struct ddp_sge){mr->iova + (uint64_t)((const char *)p - (const char *)mr->addr),
				(uint32_t)length, mr->lkey};
}

static void set_up(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);

	check(ddp_open(NULL, &ctx));
	check(ddp_alloc_pd(ctx, &pd));
	attr.entries = 4 * CALLS;
	attr.spin_us = -1;
	check(ddp_create_cq(ctx, &attr, &cq));
	check(ddp_alloc_mr(pd, CALLS * sizeof(*calls),
			   DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_WRITE, &mr));
	calls = mr->addr;
}

/* ---- server ---- */

static struct ddp_srq *srq;
static struct ddp_qp *qp_of[CALLS]; /* of the caller */

static void await_request(unsigned i)
{
	struct ddp_sge sge = part(&calls[i].request, sizeof(calls[i].request));
	struct ddp_recv_wr recv = {.wr_id = i << 2 | REQUEST, .sg_list = &sge, .num_sge = 1};

	check(ddp_post_srq_recv(srq, &recv, NULL));
}

/* 1. Posts a step of a call. If the session has ended, so has the call. */
static void post(unsigned i, enum step step, enum ddp_wr_opcode opcode, struct ddp_sge sge)
{
	const struct request *r = &calls[i].request;
	struct ddp_send_wr wr = {
		.wr_id = i << 2 | step,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		/* A Write needs no completion of its own: it fails with the reply. */
		.send_flags = opcode == DDP_WR_RDMA_WRITE ? 0 : DDP_SEND_SIGNALED,
		.rdma = {r->addr, r->rkey},
	};

	if (ddp_post_send(qp_of[i], &wr, NULL) < 0 && opcode != DDP_WR_RDMA_WRITE)
		await_request(i);
}

static void answer(unsigned i, uint64_t number, int error)
{
	calls[i].reply = (struct reply){calls[i].request.call, error, number};
	post(i, REPLY, DDP_WR_SEND, part(&calls[i].reply, sizeof(calls[i].reply)));
}

static uint64_t find_primes(uint64_t *ret, uint64_t below, uint64_t room)
{
	uint64_t n = 0;

	for (uint64_t p = 2; p < below && n < room; p++) {
		uint64_t d = 2;

		while (d * d <= p && p % d)
			d++;
		if (d * d > p)
			ret[n++] = p;
	}
	return n;
}

/* 2. A request that has arrived. Its numbers are the client's: check them. */
static void on_request(unsigned i)
{
	const struct request *r = &calls[i].request;
	uint64_t *numbers = calls[i].numbers, n;

	if (r->length > LONG || r->length % sizeof(*numbers)) {
		answer(i, 0, EMSGSIZE);
	} else if (r->function == SQUARE) {
		answer(i, r->number * r->number, 0);
	} else if (r->function == SUM && r->length > 0) {
		post(i, READ, DDP_WR_RDMA_READ, part(numbers, r->length));
	} else if (r->function == PRIMES) {
		n = find_primes(numbers, r->number, r->length / sizeof(*numbers));
		if (n > 0)
			post(i, REPLY, DDP_WR_RDMA_WRITE, part(numbers, n * sizeof(*numbers)));
		answer(i, n, 0); /* arrives after the Write */
	} else {
		answer(i, 0, ENOSYS);
	}
}

static void on_argument(unsigned i)
{
	uint64_t sum = 0;

	for (unsigned n = 0; n < calls[i].request.length / sizeof(sum); n++)
		sum += calls[i].numbers[n];
	answer(i, sum, 0);
}

static void on_step(const struct ddp_wc *wc)
{
	unsigned i = (unsigned)wc->wr_id >> 2;
	enum step step = wc->wr_id & 3;
	struct ddp_id *id = ddp_find_id(ctx, wc->qp_num);

	if (i >= CALLS)
		return;
	if (wc->status != DDP_WC_SUCCESS || step == REPLY || !id) {
		await_request(i);
		return;
	}
	qp_of[i] = ddp_id_qp(id);
	if (step == READ)
		on_argument(i);
	else if (wc->byte_len == sizeof(struct request))
		on_request(i);
	else
		await_request(i); /* not one of our clients */
}

/* 3. Clients join and leave. All their requests take the receives of the shared queue; while those
 * are used up, requests wait in the hold of their session. */
static void accept_client(struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = 2 * CALLS;
	init.srq = srq;
	init.hold_bytes = 65536;
	init.hold_ms = 10000;
	if (ddp_create_qp(id, pd, &init, &qp) < 0 || ddp_accept(id, NULL) < 0) {
		fprintf(stderr, "rpc: a client was refused: %s\n", ddp_last_reason());
		ddp_destroy_qp(ddp_id_qp(id));
		ddp_destroy_id(id);
	}
}

/* The completions of a session precede its end. */
static void on_client(struct ddp_cm_event *ev)
{
	enum ddp_cm_event_type type = ev->type;
	struct ddp_id *id = ev->id;

	ddp_ack_cm_event(ev);
	if (type == DDP_CM_CONNECT_REQUEST) {
		accept_client(id);
	} else if (type == DDP_CM_DISCONNECTED || type == DDP_CM_CONNECT_ERROR ||
		   type == DDP_CM_REQUEST_GONE) {
		check(ddp_destroy_qp(ddp_id_qp(id)));
		check(ddp_destroy_id(id));
	}
}

static void serve(uint16_t port)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_id *listener;

	attr.max_wr = CALLS;
	check(ddp_create_srq(pd, &attr, &srq));
	for (unsigned i = 0; i < CALLS; i++)
		await_request(i);
	check(ddp_create_id(ctx, NULL, &listener));
	check(ddp_listen(listener, NULL, port, 0));
	for (;;) {
		struct ddp_cm_event *ev;
		struct ddp_wc wc[16];
		int n = check(ddp_wait(cq, 16, wc, &ev, -1));

		for (int i = 0; i < n; i++)
			on_step(&wc[i]);
		if (ev)
			on_client(ev);
	}
}

/* ---- client ---- */

static struct ddp_id *id;
static struct ddp_qp *qp;

static void connect_to(const char *address, uint16_t port)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_cm_event *ev;

	check(ddp_create_id(ctx, NULL, &id));
	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = CALLS;
	check(ddp_create_qp(id, pd, &init, &qp));
	check(ddp_connect_name(id, address, port, NULL));
	check(ddp_get_cm_event(ctx, &ev, -1));
	if (ev->type != DDP_CM_ESTABLISHED)
		fail(ddp_event_str(ev->type), ev->reason);
	ddp_ack_cm_event(ev);
}

/* 4. Starts a call; its numbers are the argument, or the place for the result. A reply takes any
 * receive, so its place is not that of its call. */
static void start(unsigned i, enum function function, uint64_t number, uint32_t length)
{
	struct call *c = &calls[i];
	struct ddp_sge in = part(&c->reply, sizeof(c->reply));
	struct ddp_sge out = part(&c->request, sizeof(c->request));
	struct ddp_recv_wr recv = {.wr_id = i, .sg_list = &in, .num_sge = 1};
	struct ddp_send_wr send = {.sg_list = &out, .num_sge = 1};

	c->request = (struct request){.call = i,
				      .function = function,
				      .number = number,
				      .addr = part(c->numbers, 0).addr,
				      .length = length,
				      .rkey = mr->rkey};
	check(ddp_post_recv(qp, &recv, NULL));
	check(ddp_post_send(qp, &send, NULL));
}

static void show(const struct reply *r)
{
	const struct call *c = &calls[r->call];
	unsigned long long number = r->number, argument = c->request.number;

	if (r->error)
		printf("call %u: %s\n", r->call, strerror(r->error));
	else if (c->request.function == SQUARE)
		printf("the square of %llu is %llu\n", argument, number);
	else if (c->request.function == SUM)
		printf("the sum of the numbers to %llu is %llu\n", argument, number);
	else
		printf("%llu primes are below %llu, the last is %llu\n", number, argument,
		       number ? (unsigned long long)c->numbers[number - 1] : 0);
}

/* 5. All calls are in progress at a time. */
static void call_all(void)
{
	for (unsigned i = 0; i < CALLS - 1; i++) {
		if (i % 3 == SUM)
			for (unsigned n = 0; n <= i; n++)
				calls[i].numbers[n] = n;
		start(i, i % 3, i % 3 == PRIMES ? 100 * i : i, i % 3 == SUM ? (i + 1) * 8 : LONG);
	}
	start(CALLS - 1, 77, 0, 0); /* which the server does not have */
	for (unsigned left = CALLS; left > 0; left--) {
		struct ddp_wc wc;
		char reason[256];

		check(ddp_wait_cq(cq, 1, &wc, -1));
		ddp_explain(&wc, reason, sizeof(reason));
		if (wc.status != DDP_WC_SUCCESS || calls[wc.wr_id].reply.call >= CALLS)
			fail(ddp_wc_status_str(wc.status), reason);
		show(&calls[wc.wr_id].reply);
	}
}

int main(int argc, char **argv)
{
	uint16_t port = argc > 2 ? (uint16_t)atoi(argv[2]) : PORT;
	struct ddp_cm_event *ev;

	set_up();
	if (argc > 1 && strcmp(argv[1], "-s") == 0)
		serve(port);
	connect_to(argc > 1 ? argv[1] : "127.0.0.1", port);
	call_all();
	check(ddp_disconnect(id));
	check(ddp_get_cm_event(ctx, &ev, -1));
	ddp_ack_cm_event(ev);
	check(ddp_destroy_qp(qp));
	check(ddp_destroy_id(id));
	check(ddp_dereg_mr(mr));
	check(ddp_destroy_cq(cq));
	check(ddp_dealloc_pd(pd));
	check(ddp_close(ctx));
	return 0;
}
