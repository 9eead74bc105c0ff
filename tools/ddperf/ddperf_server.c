/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "tools/common/clock.h"
#include "tools/common/server.h"
#include "tools/common/tool.h"
#include "tools/ddperf/ddperf.h"
#include "tools/ddperf/ddperf_sink.h"
#include "tools/ddperf/ddperf_source.h"
#include "util/yield.h"

enum {
	LOOK = 4096, /* polls of memory between polls of the completion queue */
	SIGNAL = 16, /* one Write of so many is signaled */
	IDLE_S = 60,
	MAX_SESSIONS =
		4 *
		DDPERF_MAX_QPS, /* in both directions, and of the next size before this one ends */
};

/* Of the server, which serves one client after the other. */
struct serving {
	uint64_t client;
};

struct served {
	struct ddperf_hello hello;
	struct ddperf_sink sink;
	struct ddperf_run source; /* DDPERF_REVERSE */
	struct ddperf_opts opts;  /* of the source */
};

static int set_up_source(struct session *s, struct served *p)
{
	const struct ddperf_hello *h = &p->hello;

	p->opts = (struct ddperf_opts){
		.op = h->op,
		.metric = h->metric,
		.size = h->size,
		.depth = h->depth,
		.inline_data = h->flags & DDPERF_INLINE,
		.interval_ms = 1,
	};
	p->source = (struct ddperf_run){
		.o = &p->opts,
		.s = s,
		.peer = {.stag = h->stag, .credits = h->credits, .to = h->to},
		.credits = h->credits,
	};
	return ddperf_source_set_up(&p->source);
}

static int prepare_test(struct session *s, const void *hello, size_t len, struct server_answer *a)
{
	struct ddperf_answer answer;
	struct ddperf_hello h;
	struct serving *serving = s->user;
	struct served *p = s->state;
	int r = ddperf_hello_get(hello, len, &h);

	if (r == -EPROTONOSUPPORT)
		return server_refuse(a, "this ddperf speaks version %d", DDPERF_VERSION);
	if (r == -ERANGE)
		return server_refuse(a, "unsupported test, size, depth or flags");
	if (r < 0)
		return server_refuse(a, "ddperf serves ddperf only");
	if (s->others && h.client != serving->client)
		return server_refuse(a, "busy: another client is being served");
	p->hello = h;
	serving->client = h.client;
	r = h.flags & DDPERF_REVERSE ? set_up_source(s, p) : ddperf_sink_set_up(&p->sink, s, &h);
	if (r < 0)
		return r;
	answer = (struct ddperf_answer){0, 1, 0};
	if (!(h.flags & DDPERF_REVERSE))
		answer = (struct ddperf_answer){p->sink.in->rkey, p->sink.recvs, p->sink.in->iova};
	ddperf_answer_put(a->data, &answer);
	a->len = DDPERF_ANSWER_LEN;
	return 0;
}

/* Bandwidth and rate, Reads and atomics. Such a source does not report results. */
static int serve_stream(struct served *p)
{
	struct ddperf_done none;
	int r;

	do
		r = ddperf_sink_take(&p->sink, &none);
	while (r == 0);
	return r > 0 || r == -EINTR ? TOOL_OK : TOOL_FAILED;
}

/* The server is the source: a phase for each "go". */
static int serve_reverse(struct served *p)
{
	struct ddperf_go go;
	int r;

	do {
		r = ddperf_source_await_go(&p->source, &go);
		if (r == 0)
			r = ddperf_source_serve_go(&p->source, &go);
	} while (r == 0);
	return r > 0 || r == -EINTR ? TOOL_OK : TOOL_FAILED;
}

/* Echoes each Send. */
static int serve_send_lat(struct session *s, struct served *p)
{
	struct ddp_wc wc;
	uint32_t turn = 0;
	int n, r = 0;

	while (r == 0 && (n = session_wait(s, 1, &wc, -1)) > 0) {
		r = ddperf_sink_check(s, &wc);
		if (r || wc.opcode != DDP_WC_RECV)
			continue;
		r = ddperf_sink_post(&p->sink, 1);
		if (r == 0)
			r = session_post_send(s, p->sink.out, 0, p->hello.size, 0,
					      ++turn % SIGNAL ? 0 : DDP_SEND_SIGNALED);
	}
	return r > 0 || n == -EINTR ? TOOL_OK : TOOL_FAILED;
}

static int write_back(struct session *s, struct served *p, uint32_t turn)
{
	struct ddp_sge sge = {p->sink.out->iova, p->hello.size, p->sink.out->lkey};
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = turn % SIGNAL ? 0 : DDP_SEND_SIGNALED,
		.rdma = {p->hello.to, p->hello.stag},
	};
	int r;

	((uint8_t *)p->sink.out->addr)[p->hello.size - 1] = ddperf_mark(turn);
	r = ddp_post_send(s->qp, &wr, NULL);
	return r < 0 ? session_fail("post a write", r) : 0;
}

/* Returns 0, 1 at the end of the session, or a negative errno value. */
static int check_queue(struct session *s)
{
	struct ddp_wc wc[SIGNAL];
	int n = ddp_poll_cq(s->cq, SIGNAL, wc), r = 0;

	for (int i = 0; i < n && r == 0; i++)
		r = ddperf_sink_check(s, &wc[i]);
	if (n < 0)
		return session_fail("poll for completions", n);
	return r == 0 && tool_stopped() ? 1 : r;
}

/* Polls the last byte of its memory for the next mark and writes that back. */
static int serve_write_lat(struct session *s, struct served *p)
{
	const uint8_t *in = (uint8_t *)p->sink.in->addr + p->hello.size - 1;
	uint64_t polls = 0, idle_since = clock_now_ns();
	const bool vain = yield_is_vain();
	uint32_t turn = 0;
	int r = 0;

	while (r == 0) {
		if (ddperf_load(in) == ddperf_mark(turn)) {
			r = write_back(s, p, turn++);
			idle_since = clock_now_ns();
			if (r == 0 && turn % SIGNAL == 0)
				r = check_queue(s);
		} else {
			yield_cpu(vain);
		}
		if (r == 0 && ++polls % LOOK == 0)
			r = clock_now_ns() - idle_since > IDLE_S * UINT64_C(1000000000)
				    ? 1
				    : check_queue(s);
	}
	return r > 0 ? TOOL_OK : TOOL_FAILED;
}

static int serve_test(struct session *s)
{
	struct served *p = s->state;

	if (p->hello.flags & DDPERF_REVERSE)
		return serve_reverse(p);
	if (p->hello.metric != DDPERF_LAT || ddperf_op_has_response(p->hello.op))
		return serve_stream(p);
	return p->hello.op == DDPERF_SEND ? serve_send_lat(s, p) : serve_write_lat(s, p);
}

int ddperf_server(const struct ddperf_opts *o)
{
	struct serving serving = {0};
	const struct server_conf conf = {
		.socket = o->socket,
		.port = o->port,
		.bind = o->bind,
		.max_sessions = MAX_SESSIONS,
		.one_client = true,
		.user = &serving,
		.once = o->once,
		.own_memory = o->own_memory,
		.state_size = sizeof(struct served),
		.request = prepare_test,
		.run = serve_test,
	};

	return server_run(&conf);
}
