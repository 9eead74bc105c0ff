/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A user's programs beside those of another user: each shares the daemon with the others.
 *
 *   neighbor serve SOCKET PORT...                 takes sessions, whose peers write to its memory
 *   neighbor bulk SOCKET ADDRESS PORT CLIENTS SESSIONS SIZE DEPTH
 *                                                  Writes, as many in flight in each session
 *   neighbor ping SOCKET ADDRESS PORT SECONDS     Reads of 8 bytes, one at a time: prints the
 * median and the 99th percentile in microseconds neighbor bells SOCKET rings for queue pairs
 * without work neighbor KIND SOCKET ADDRESS PORT             again and again: connect, query,
 * attach, qps, cqs neighbor burn SOCKET                          computes neighbor sink SOCKET
 * has a queue pair for datagrams without receives: prints "number N" neighbor flood SOCKET ADDRESS
 * NUMBER              datagrams, as many as it can; NUMBER 0: to itself
 *
 * bulk has CLIENTS programs with so many sessions each. Those without SECONDS print "ready" and go
 * on until they are ended.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <ddp/ddp.h>

#include "ipc/doorbell.h"
#include "tests/lib/must.h"
#include "tests/lib/patience.h"
#include "tests/system/bad_rig.h"

enum {
	RIGHTS = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ,
	BYTES = 1 << 20, /* of the server's memory */
	MOST = 256,      /* sessions of a program */
	SAMPLES = 1 << 20,
};

/* The server's memory, in the private data of its Accept. */
struct offer {
	uint64_t iova;
	uint32_t rkey;
};

struct program {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_mr *mr;
};

struct peer {
	struct ddp_qp *qp;
	struct offer at;
};

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void attach_program(struct program *p, const char *socket, unsigned entries)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);

	attr.socket = socket;
	cq.entries = entries;
	MUST(ddp_open(&attr, &p->ctx));
	MUST(ddp_alloc_pd(p->ctx, &p->pd));
	MUST(ddp_create_cq(p->ctx, &cq, &p->cq));
	MUST(ddp_alloc_mr(p->pd, BYTES, RIGHTS, &p->mr));
}

static struct ddp_qp *queue_pair(const struct program *p, struct ddp_id *id, unsigned depth)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = p->cq;
	init.max_send_wr = init.max_recv_wr = depth;
	MUST(ddp_create_qp(id, p->pd, &init, &qp));
	return qp;
}

/* ---- the server ---- */

static void serve_event(const struct program *p, struct ddp_cm_event *ev)
{
	const struct offer at = {p->mr->iova, p->mr->rkey};
	struct ddp_conn_param answer = DDP_INIT(ddp_conn_param);

	answer.private_data = &at;
	answer.private_len = sizeof(at);
	if (ev->type == DDP_CM_CONNECT_REQUEST) {
		ddp_id_set_user(ev->id, queue_pair(p, ev->id, 1));
		(void)ddp_accept(ev->id, &answer); /* the peer may have gone meanwhile */
	} else if (ev->type == DDP_CM_DISCONNECTED || ev->type == DDP_CM_CONNECT_ERROR) {
		struct ddp_id *id = ev->id;

		ddp_ack_cm_event(ev);
		MUST(ddp_destroy_qp(ddp_id_user(id)));
		MUST(ddp_destroy_id(id));
		return;
	}
	ddp_ack_cm_event(ev);
}

static void serve(const char *socket, char **port)
{
	struct ddp_cm_event *ev;
	struct program p;
	struct ddp_id *id;

	attach_program(&p, socket, 4 * MOST);
	for (; *port; port++) {
		MUST(ddp_create_id(p.ctx, NULL, &id));
		MUST(ddp_listen(id, NULL, (uint16_t)atoi(*port), 0));
	}
	ready();
	for (;;) {
		MUST(ddp_get_cm_event(p.ctx, &ev, -1));
		serve_event(&p, ev);
	}
}

/* ---- sessions ---- */

static void connect_to(const struct program *p, const char *address, const char *port,
		       unsigned depth, struct peer *ret)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	MUST(ddp_create_id(p->ctx, NULL, &id));
	ret->qp = queue_pair(p, id, depth);
	MUST(ddp_connect_name(id, address, (uint16_t)atoi(port), NULL));
	MUST(ddp_get_cm_event(p->ctx, &ev, PATIENCE_MS));
	if (ev->type != DDP_CM_ESTABLISHED || ev->private_len < sizeof(ret->at))
		MUST_FAIL("%s: %s", ddp_event_str(ev->type), ev->reason);
	memcpy(&ret->at, ev->private_data, sizeof(ret->at));
	ddp_ack_cm_event(ev);
}

static void post(const struct program *p, const struct peer *to, enum ddp_wr_opcode opcode,
		 uint32_t size, uint64_t wr_id)
{
	struct ddp_sge here = {p->mr->iova, size, p->mr->lkey};
	struct ddp_send_wr wr = {.wr_id = wr_id,
				 .opcode = opcode,
				 .sg_list = &here,
				 .num_sge = 1,
				 .send_flags = DDP_SEND_SIGNALED};

	wr.rdma.remote_addr = to->at.iova;
	wr.rdma.rkey = to->at.rkey;
	MUST(ddp_post_send(to->qp, &wr, NULL));
}

static unsigned completions(const struct program *p, struct ddp_wc *wc, unsigned n)
{
	int got = MUST(ddp_wait_cq(p->cq, (int)n, wc, PATIENCE_MS));

	for (int i = 0; i < got; i++)
		if (wc[i].status != DDP_WC_SUCCESS)
			MUST_FAIL("%s", ddp_wc_status_str(wc[i].status));
	return (unsigned)got;
}

static void bulk(const char *socket, char **arg)
{
	unsigned clients = (unsigned)atoi(arg[2]), n = (unsigned)atoi(arg[3]);
	uint32_t size = (uint32_t)atoi(arg[4]), depth = (uint32_t)atoi(arg[5]);
	static struct peer to[MOST];
	struct program p;
	struct ddp_wc wc[64];

	while (--clients > 0 && fork() != 0)
		;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	HOLDS(n <= MOST && size <= BYTES);
	attach_program(&p, socket, n * depth);
	for (unsigned i = 0; i < n; i++)
		connect_to(&p, arg[0], arg[1], depth, &to[i]);
	for (unsigned i = 0; i < n * depth; i++)
		post(&p, &to[i % n], DDP_WR_RDMA_WRITE, size, i % n);
	ready();
	for (;;) {
		unsigned got = completions(&p, wc, 64);

		for (unsigned i = 0; i < got; i++)
			post(&p, &to[wc[i].wr_id], DDP_WR_RDMA_WRITE, size, wc[i].wr_id);
	}
}

/* ---- latency ---- */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void ping(const char *socket, char **arg)
{
	static float us[SAMPLES];
	double end;
	struct peer to;
	struct program p;
	struct ddp_wc wc;
	unsigned n = 0;

	attach_program(&p, socket, 16);
	connect_to(&p, arg[0], arg[1], 16, &to);
	end = now_us() + atof(arg[2]) * 1e6;
	while (n < SAMPLES && now_us() < end) {
		double begin = now_us();

		post(&p, &to, DDP_WR_RDMA_READ, 8, 0);
		completions(&p, &wc, 1);
		us[n++] = (float)(now_us() - begin);
	}
	HOLDS(n > 0);
	qsort(us, n, sizeof(us[0]), compare);
	printf("ping %u %.1f %.1f\n", n, (double)us[n / 2], (double)us[n - 1 - n / 100]);
}

/* ---- datagrams ---- */

enum { QKEY = 5, FLIGHT = 64 };

static struct ddp_qp *datagrams(const struct program *p)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.qp_type = DDP_QP_DATAGRAM;
	init.send_cq = init.recv_cq = p->cq;
	init.max_send_wr = init.max_recv_wr = FLIGHT;
	init.qkey = QKEY;
	MUST(ddp_create_qp(NULL, p->pd, &init, &qp));
	return qp;
}

static void sink(const char *socket)
{
	struct program p;

	attach_program(&p, socket, FLIGHT);
	printf("number %u\n", ddp_qp_num(datagrams(&p)));
	ready();
	for (;;)
		pause();
}

static void flood(const char *socket, char **arg)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .send_flags = DDP_SEND_SIGNALED};
	uint32_t number = (uint32_t)strtoul(arg[1], NULL, 10);
	struct ddp_wc wc[FLIGHT];
	struct ddp_sge here;
	struct ddp_qp *qp;
	struct program p;
	unsigned room = FLIGHT;

	HOLDS(inet_pton(AF_INET, arg[0], &to.sin_addr) == 1);
	attach_program(&p, socket, FLIGHT);
	qp = datagrams(&p);
	here = (struct ddp_sge){p.mr->iova, DDP_DATAGRAM_MAX, p.mr->lkey};
	wr.sg_list = &here;
	wr.num_sge = 1;
	wr.ud.remote_qp = number ? number : ddp_qp_num(qp);
	wr.ud.remote_qkey = QKEY;
	MUST(ddp_create_ah(p.pd, (struct sockaddr *)&to, NULL, &wr.ud.ah));
	ready();
	for (;;) {
		for (; room > 0; room--)
			MUST(ddp_post_send(qp, &wr, NULL));
		room += completions(&p, wc, FLIGHT);
	}
}

/* ---- work that is no traffic ---- */

static void bells(const char *socket)
{
	struct bad b = {.path = socket};
	struct ring sq;

	b.fd = attach(socket);
	hello(&b);
	for (unsigned i = 0; i < 64; i++)
		make_qp(&b, &sq);
	ready();
	for (;;) {
		bool asleep = false;

		for (unsigned i = 0; i < 64; i++)
			asleep |= bell_ring(b.page, i);
		if (asleep)
			doorbell_ring(b.bell);
	}
}

/* Not answered, or refused: both are fine. */
static void try_session(const struct program *p, char **arg)
{
	struct ddp_cm_event *ev;
	struct ddp_qp *qp;
	struct ddp_id *id;

	MUST(ddp_create_id(p->ctx, NULL, &id));
	qp = queue_pair(p, id, 16);
	if (ddp_connect_name(id, arg[0], (uint16_t)atoi(arg[1]), NULL) == 0 &&
	    ddp_get_cm_event(p->ctx, &ev, PATIENCE_MS) == 0)
		ddp_ack_cm_event(ev);
	MUST(ddp_destroy_qp(qp));
	MUST(ddp_destroy_id(id));
}

static void make_cqs(const struct program *p)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq *cq;

	attr.entries = 1024;
	MUST(ddp_create_cq(p->ctx, &attr, &cq));
	MUST(ddp_destroy_cq(cq));
}

static void make_qps(const struct program *p)
{
	struct ddp_id *id;

	MUST(ddp_create_id(p->ctx, NULL, &id));
	MUST(ddp_destroy_qp(queue_pair(p, id, 128)));
	MUST(ddp_destroy_id(id));
}

static void again(const char *kind, const char *socket, char **arg)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	struct program p, more;

	attach_program(&p, socket, 64);
	ready();
	for (;;) {
		if (strcmp(kind, "connect") == 0) {
			try_session(&p, arg);
		} else if (strcmp(kind, "query") == 0) {
			MUST(ddp_query(p.ctx, &caps));
		} else if (strcmp(kind, "qps") == 0) {
			make_qps(&p);
		} else if (strcmp(kind, "cqs") == 0) {
			make_cqs(&p);
		} else {
			attach_program(&more, socket, 64);
			MUST(ddp_dereg_mr(more.mr));
			MUST(ddp_destroy_cq(more.cq));
			MUST(ddp_dealloc_pd(more.pd));
			MUST(ddp_close(more.ctx));
		}
	}
}

static void burn(void)
{
	volatile uint64_t sink = 0;

	ready();
	while (sink < UINT64_MAX)
		sink++;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[1] : "";

	alarm(600);
	if (strcmp(kind, "serve") == 0 && argc > 3)
		serve(argv[2], argv + 3);
	else if (strcmp(kind, "bulk") == 0 && argc == 9)
		bulk(argv[2], argv + 3);
	else if (strcmp(kind, "ping") == 0 && argc == 6)
		ping(argv[2], argv + 3);
	else if (strcmp(kind, "bells") == 0)
		bells(argv[2]);
	else if (strcmp(kind, "sink") == 0)
		sink(argv[2]);
	else if (strcmp(kind, "flood") == 0 && argc == 5)
		flood(argv[2], argv + 3);
	else if (strcmp(kind, "burn") == 0)
		burn();
	else if (argc == 5)
		again(kind, argv[2], argv + 3);
	else
		return 2;
	return 0;
}
