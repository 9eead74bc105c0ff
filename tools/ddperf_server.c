/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "tools/ddperf.h"
#include "tools/rec.h"
#include "tools/server.h"

enum {
	POLL = 64,
	SENDS = 64,
	MIN_BUF = 64,
	MIN_RECVS = 8,
	LOOK = 4096, /* polls of memory between polls of the completion queue */
	SIGNAL = 16, /* one Write of so many is signaled */
	IDLE_S = 60,
};

struct served {
	struct ddperf_hello hello;
	struct ddp_mr *in;  /* what the client writes, sends, reads and adds to */
	struct ddp_mr *out; /* what is sent and written back */
	uint32_t recvs;     /* posted */
	uint32_t taken;     /* Sends so far */
	uint32_t credited;  /* of these */
};

/* n receives at once. All use the same buffer: the data is not read. */
static int post_recvs(struct session *s, const struct served *p, uint32_t n)
{
	uint32_t len = p->hello.size > MIN_BUF ? p->hello.size : MIN_BUF;
	struct ddp_sge sge = {p->in->iova, len, p->in->lkey};
	struct ddp_recv_wr wr[POLL];

	while (n) {
		uint32_t now = n < POLL ? n : POLL;
		int r;

		for (uint32_t i = 0; i < now; i++)
			wr[i] = (struct ddp_recv_wr){
				.next = i + 1 < now ? &wr[i + 1] : NULL,
				.sg_list = &sge,
				.num_sge = 1,
			};
		r = ddp_post_recv(s->qp, wr, NULL);
		if (r < 0)
			return session_fail("post receives", r);
		n -= now;
	}
	return 0;
}

static unsigned rights(enum ddperf_op op)
{
	if (op == DDPERF_FETCH_ADD)
		return DDP_ACCESS_REMOTE_ATOMIC;
	return DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ;
}

static int set_up(struct session *s, struct served *p)
{
	size_t len = p->hello.size > MIN_BUF ? p->hello.size : MIN_BUF;
	struct session_need need = {.send_wr = SENDS, .max_inline = DDPERF_CREDIT_LEN};
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	int r = ddp_query(s->ctx, &caps);

	if (r < 0)
		return session_fail("query the daemon", r);
	p->recvs = p->hello.op == DDPERF_SEND ? 2 * p->hello.depth : 0;
	p->recvs = p->recvs < MIN_RECVS ? MIN_RECVS : p->recvs;
	need.recv_wr = p->recvs;
	if (ddperf_op_has_response(p->hello.op))
		need.reads =
			(uint16_t)(p->hello.depth < caps.max_ird ? p->hello.depth : caps.max_ird);
	r = session_make_qp(s, &need);
	if (r == 0)
		r = session_alloc(s, len, rights(p->hello.op), &p->in);
	if (r == 0)
		r = session_alloc(s, len, 0, &p->out);
	if (r == 0)
		memset(p->in->addr, 0, len);
	return r == 0 ? post_recvs(s, p, p->recvs) : r;
}

static int on_request(struct session *s, const void *hello, size_t len, struct server_answer *a)
{
	struct ddperf_answer answer;
	struct ddperf_hello h;
	struct served *p = s->state;
	int r = ddperf_hello_get(hello, len, &h);

	if (r == -EPROTONOSUPPORT)
		return server_refuse(a, "this ddperf speaks version %d", DDPERF_VERSION);
	if (r == -ERANGE)
		return server_refuse(a, "this ddperf has no such test, size or depth");
	if (r < 0)
		return server_refuse(a, "ddperf serves ddperf only");
	p->hello = h;
	r = set_up(s, p);
	if (r < 0)
		return r;
	answer = (struct ddperf_answer){p->in->rkey, p->recvs, p->in->iova};
	ddperf_answer_put(a->data, &answer);
	a->len = DDPERF_ANSWER_LEN;
	return 0;
}

static int send_credit(struct session *s, struct served *p)
{
	uint8_t rec[DDPERF_CREDIT_LEN] = {0};
	struct ddp_sge sge = {(uintptr_t)rec, sizeof(rec), 0};
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_SEND,
		.send_flags = DDP_SEND_SIGNALED | DDP_SEND_INLINE,
	};
	int r;

	p->credited = p->taken;
	rec_put32(rec, p->credited);
	r = ddp_post_send(s->qp, &wr, NULL);
	return r < 0 ? session_fail("post a credit", r) : 0;
}

/* Returns 1 at the end of the session, which is not a failure. */
static int check(struct session *s, const struct ddp_wc *wc)
{
	if (wc->status == DDP_WC_SUCCESS)
		return 0;
	return wc->status == DDP_WC_FLUSH_ERR ? 1 : session_wc_fail(s, s->peer, wc);
}

/* Bandwidth and rate, Reads and atomics: takes Sends and credits them. */
static int serve_stream(struct session *s, struct served *p)
{
	struct ddp_wc wc[POLL];
	int n, r = 0;

	while (r == 0 && (n = session_wait(s, POLL, wc, -1)) > 0) {
		uint32_t recvs = 0;
		bool now = false;

		for (int i = 0; i < n && r == 0; i++) {
			r = check(s, &wc[i]);
			if (r || wc[i].opcode != DDP_WC_RECV)
				continue;
			recvs++;
			now |= wc[i].wc_flags & DDP_WC_SOLICITED;
		}
		p->taken += recvs;
		if (r == 0)
			r = post_recvs(s, p, recvs);
		if (r == 0 && (now || p->taken - p->credited >= p->recvs / 4))
			r = send_credit(s, p);
	}
	return r > 0 || n == -EINTR ? COMMON_OK : COMMON_FAILED;
}

/* Echoes each Send. */
static int serve_send_lat(struct session *s, struct served *p)
{
	struct ddp_wc wc;
	uint32_t turn = 0;
	int n, r = 0;

	while (r == 0 && (n = session_wait(s, 1, &wc, -1)) > 0) {
		r = check(s, &wc);
		if (r || wc.opcode != DDP_WC_RECV)
			continue;
		r = post_recvs(s, p, 1);
		if (r == 0)
			r = session_post_send(s, p->out, 0, p->hello.size, 0,
					      ++turn % SIGNAL ? 0 : DDP_SEND_SIGNALED);
	}
	return r > 0 || n == -EINTR ? COMMON_OK : COMMON_FAILED;
}

static int write_back(struct session *s, struct served *p, uint32_t turn)
{
	struct ddp_sge sge = {p->out->iova, p->hello.size, p->out->lkey};
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = turn % SIGNAL ? 0 : DDP_SEND_SIGNALED,
		.rdma = {p->hello.to, p->hello.stag},
	};
	int r;

	((uint8_t *)p->out->addr)[p->hello.size - 1] = ddperf_mark(turn);
	r = ddp_post_send(s->qp, &wr, NULL);
	return r < 0 ? session_fail("post a write", r) : 0;
}

/* Returns 0, 1 at the end of the session, or a negative errno value. */
static int look(struct session *s)
{
	struct ddp_wc wc[SIGNAL];
	int n = ddp_poll_cq(s->cq, SIGNAL, wc), r = 0;

	for (int i = 0; i < n && r == 0; i++)
		r = check(s, &wc[i]);
	if (n < 0)
		return session_fail("poll for completions", n);
	return r == 0 && common_stopped() ? 1 : r;
}

/* Polls the last byte of its memory for the next mark and writes that back. */
static int serve_write_lat(struct session *s, struct served *p)
{
	const uint8_t *in = (uint8_t *)p->in->addr + p->hello.size - 1;
	uint64_t polls = 0, idle_since = common_now_ns();
	uint32_t turn = 0;
	int r = 0;

	while (r == 0) {
		if (ddperf_load(in) == ddperf_mark(turn)) {
			r = write_back(s, p, turn++);
			idle_since = common_now_ns();
			if (r == 0 && turn % SIGNAL == 0)
				r = look(s);
		} else {
			sched_yield();
		}
		if (r == 0 && ++polls % LOOK == 0)
			r = common_now_ns() - idle_since > IDLE_S * UINT64_C(1000000000) ? 1
											 : look(s);
	}
	return r > 0 ? COMMON_OK : COMMON_FAILED;
}

static int serve(struct session *s)
{
	struct served *p = s->state;

	if (p->hello.metric != DDPERF_LAT || ddperf_op_has_response(p->hello.op))
		return serve_stream(s, p);
	return p->hello.op == DDPERF_SEND ? serve_send_lat(s, p) : serve_write_lat(s, p);
}

int ddperf_server(const struct ddperf_opts *o)
{
	const struct server_conf conf = {
		.socket = o->socket,
		.port = o->port,
		.bind = o->bind,
		.max_sessions = 1,
		.once = o->once,
		.own_memory = o->own_memory,
		.state_size = sizeof(struct served),
		.request = on_request,
		.run = serve,
	};

	return server_run(&conf);
}
