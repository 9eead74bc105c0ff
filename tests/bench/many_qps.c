/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes over many queue pairs, between two daemons or within one. This program is a client of
 * both. All queue pairs write from one buffer to one buffer, as ddperf does with one queue pair.
 *
 *   many_qps [-a] [-n QPS] [-s SIZE] [-d DEPTH] [-t SECONDS] SOCKET SOCKET2 ADDRESS PORT
 *
 * -a: each queue pair has an association of its own, to a port of its own from PORT on.
 * DEPTH is the number of Writes in flight on all queue pairs together, at least one on each.
 * Prints a JSON object. At the end each queue pair posts a Read; when it completes, all Writes
 * before it have arrived. The measured time includes this.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <ddp/ddp.h>

#include "tests/lib/must.h"

enum {
	POLL = 64,
	WAIT_MS = 20000,
	WARM_UP_MS = 200,
	LAST_READ = UINT16_MAX, /* wr_id of the Reads at the end; the others are indices */
};

struct side {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq;
	struct ddp_mr *mr;
};

static struct {
	uint32_t qps, size, depth;
	double seconds;
	bool apart;
} opt = {.qps = 16, .size = 65536, .depth = 64, .seconds = 1};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Writes in flight on one queue pair. */
static uint32_t window(void)
{
	return opt.depth > opt.qps ? opt.depth / opt.qps : 1;
}

static void open_side(struct side *s, const char *socket)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_cq_attr cq = DDP_INIT(ddp_cq_attr);
	unsigned rights = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ;

	attr.socket = socket;
	cq.entries = opt.qps * (window() + 1);
	MUST(ddp_open(&attr, &s->ctx));
	MUST(ddp_alloc_pd(s->ctx, &s->pd));
	MUST(ddp_create_cq(s->ctx, &cq, &s->cq));
	MUST(ddp_alloc_mr(s->pd, opt.size, rights, &s->mr));
	for (uint32_t i = 0; i < opt.size; i++)
		((uint8_t *)s->mr->addr)[i] = (uint8_t)i; /* the pages are there before the test */
}

static struct ddp_qp *make_qp(const struct side *s, struct ddp_id *id)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = s->cq;
	init.max_send_wr = window() + 1;
	init.max_recv_wr = 1;
	init.max_send_sge = init.max_recv_sge = 1;
	MUST(ddp_create_qp(id, s->pd, &init, &qp));
	return qp;
}

static struct ddp_id *expect(const struct side *s, enum ddp_cm_event_type type)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;

	MUST(ddp_get_cm_event(s->ctx, &ev, WAIT_MS));
	if (ev->type != type) {
		fprintf(stderr, "many_qps: %s: %s\n", ddp_event_str(ev->type), ev->reason);
		exit(1);
	}
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

static struct ddp_qp *open_session(const struct side *a, const struct side *b, const char *addr,
				   uint16_t port)
{
	struct ddp_id *id, *in;
	struct ddp_qp *qp;

	MUST(ddp_create_id(a->ctx, NULL, &id));
	qp = make_qp(a, id);
	MUST(ddp_connect_name(id, addr, port, NULL));
	in = expect(b, DDP_CM_CONNECT_REQUEST);
	make_qp(b, in);
	MUST(ddp_accept(in, NULL));
	expect(b, DDP_CM_ESTABLISHED);
	expect(a, DDP_CM_ESTABLISHED);
	return qp;
}

static void post(const struct side *a, const struct side *b, struct ddp_qp *qp,
		 enum ddp_wr_opcode op, uint64_t wr_id)
{
	struct ddp_sge sge = {a->mr->iova, op == DDP_WR_RDMA_READ ? 1 : opt.size, a->mr->lkey};
	struct ddp_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = DDP_SEND_SIGNALED,
		.rdma = {b->mr->iova, b->mr->rkey},
	};

	MUST(ddp_post_send(qp, &wr, NULL));
}

static int take(const struct side *a, struct ddp_wc *wc)
{
	int n = ddp_wait_cq(a->cq, POLL, wc, WAIT_MS);

	if (n <= 0) {
		fprintf(stderr, "many_qps: %s\n", n ? ddp_last_reason() : "no progress");
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		char text[256];

		if (wc[i].status == DDP_WC_SUCCESS)
			continue;
		ddp_explain(&wc[i], text, sizeof(text));
		fprintf(stderr, "many_qps: %s\n", text);
		exit(1);
	}
	return n;
}

/* Writes until the end, then waits until all have arrived. Returns how many were written. */
static uint64_t write_until(const struct side *a, const struct side *b, struct ddp_qp **qp,
			    uint64_t end)
{
	uint64_t posted = 0, done = 0;
	struct ddp_wc wc[POLL];

	for (; posted < (uint64_t)opt.qps * window(); posted++)
		post(a, b, qp[posted % opt.qps], DDP_WR_RDMA_WRITE, posted % opt.qps);
	while (done < posted) {
		int n = take(a, wc);
		bool over = now_ns() >= end;

		done += (unsigned)n;
		for (int i = 0; i < n && !over; i++, posted++)
			post(a, b, qp[wc[i].wr_id], DDP_WR_RDMA_WRITE, wc[i].wr_id);
	}
	for (uint32_t i = 0; i < opt.qps; i++)
		post(a, b, qp[i], DDP_WR_RDMA_READ, LAST_READ);
	for (uint32_t i = 0; i < opt.qps;)
		i += (unsigned)take(a, wc);
	return posted;
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "an:s:d:t:")) != -1) {
		if (c == 'a')
			opt.apart = true;
		else if (c == 'n')
			opt.qps = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 's')
			opt.size = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'd')
			opt.depth = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 't')
			opt.seconds = strtod(optarg, NULL);
		else
			optind = argc;
	}
	if (argc - optind != 4 || !opt.qps || opt.qps >= LAST_READ || !opt.size) {
		fprintf(stderr, "usage: many_qps [-a] [-n QPS] [-s SIZE] [-d DEPTH] [-t SECONDS] "
				"SOCKET SOCKET2 ADDRESS PORT\n");
		exit(2);
	}
}

/* A session on the i-th port, on which b listens for the first session with it. */
static struct ddp_qp *open_nth(const struct side *a, const struct side *b, uint32_t i,
			       const char *addr, uint16_t port)
{
	struct ddp_id *listener;

	port = (uint16_t)(port + (opt.apart ? i : 0));
	if (i == 0 || opt.apart) {
		MUST(ddp_create_id(b->ctx, NULL, &listener));
		MUST(ddp_listen(listener, NULL, port, 0));
	}
	return open_session(a, b, addr, port);
}

int main(int argc, char **argv)
{
	struct ddp_qp **qp;
	struct side a, b;
	uint64_t began, writes, warm;
	uint16_t port;
	double s;

	options(argc, argv);
	alarm((unsigned)opt.seconds + 60);
	qp = calloc(opt.qps, sizeof(*qp));
	if (!qp)
		return 1;
	port = (uint16_t)atoi(argv[optind + 3]);
	open_side(&a, argv[optind]);
	open_side(&b, argv[optind + 1]);
	for (uint32_t i = 0; i < opt.qps; i++)
		qp[i] = open_nth(&a, &b, i, argv[optind + 2], port);
	warm = write_until(&a, &b, qp, now_ns() + WARM_UP_MS * UINT64_C(1000000));
	began = now_ns();
	writes = write_until(&a, &b, qp, began + (uint64_t)(opt.seconds * 1e9));
	s = (double)(now_ns() - began) / 1e9;
	printf("{\"qps\": %u, \"size\": %u, \"depth\": %u, \"mb_per_s\": %.1f, \"writes_per_s\": "
	       "%.0f, "
	       "\"all_bytes\": %llu}\n",
	       opt.qps, opt.size, opt.qps * window(), (double)(writes * opt.size) / s / 1e6,
	       (double)writes / s, (unsigned long long)((writes + warm) * opt.size));
	return 0; /* the daemons release what is left */
}
