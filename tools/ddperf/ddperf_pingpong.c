/* SPDX-License-Identifier: BSD-2-Clause */
/* Latency: one message at a time. */
#include <errno.h>
#include <poll.h>

#include "tools/common/clock.h"
#include "tools/common/message.h"
#include "tools/common/samples.h"
#include "tools/common/tool.h"
#include "tools/ddperf/ddperf.h"
#include "util/yield.h"

enum {
	LOOK = 4096, /* polls of memory between polls of the completion queue */
	SIGNAL = 16, /* one Write or Send of so many is signaled: more would wake the program
			needlessly */
	STALL_MS = 30000,
	MAX_SAMPLES = 1 << 24,
};

/* The next completion that the test waits for. */
static int await_completion(struct ddperf_run *run, enum ddp_wc_opcode what)
{
	struct ddp_wc wc;

	do {
		int n = session_wait(run->s, 1, &wc, STALL_MS);

		if (n == 0)
			message_error("no answer for %d s", STALL_MS / 1000);
		if (n <= 0)
			return n ? n : -ETIMEDOUT;
		if (wc.status != DDP_WC_SUCCESS)
			return session_wc_fail(run->s, ddperf_op_str(run->o->op), &wc);
	} while (wc.opcode != what);
	return 0;
}

/* Looks at the completion queue while memory is polled: for completed Writes, or the end of the
 * session. */
static int poll_queue(struct ddperf_run *run)
{
	struct ddp_wc wc[SIGNAL];
	int n = ddp_poll_cq(run->s->cq, SIGNAL, wc);

	if (n < 0)
		return session_fail("poll for completions", n);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != DDP_WC_SUCCESS)
			return session_wc_fail(run->s, "write", &wc[i]);
		if (wc[i].opcode == DDP_WC_RDMA_WRITE)
			run->completed += SIGNAL;
	}
	return tool_stopped() ? -EINTR : 0;
}

static int post_one(struct ddperf_run *run, enum ddp_wr_opcode op, unsigned flags)
{
	struct ddp_sge sge = {run->out->iova, run->o->size, run->out->lkey};
	struct ddp_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = flags,
		.rdma = {run->peer.to, run->peer.stag},
		.atomic = {.compare_add = 1},
	};
	int r;

	if (run->o->inline_data)
		wr.send_flags |= DDP_SEND_INLINE;
	r = ddp_post_send(run->s->qp, &wr, NULL);
	return r < 0 ? session_fail("post", r) : 0;
}

/* A Write whose last byte is the mark; then the server's, with the same one. */
static int write_round(struct ddperf_run *run)
{
	uint64_t last = run->o->size - 1, polls = 0;
	const uint8_t *in = (uint8_t *)run->in->addr + last;
	uint8_t mark = ddperf_mark(run->turn++);
	uint64_t end = clock_now_ns() + STALL_MS * UINT64_C(1000000);
	int r = 0;

	((uint8_t *)run->out->addr)[last] = mark;
	run->posted++;
	r = post_one(run, DDP_WR_RDMA_WRITE, run->posted % SIGNAL ? 0 : DDP_SEND_SIGNALED);
	while (r == 0 && ddperf_load(in) != mark) {
		if (++polls % LOOK == 0)
			r = clock_now_ns() < end ? poll_queue(run) : -ETIMEDOUT;
		yield_cpu(run->vain);
	}
	if (r == -ETIMEDOUT)
		message_error("the server did not write back within %d s", STALL_MS / 1000);
	/* The queue has room for four times this. */
	while (r == 0 && run->posted - run->completed >= 2 * SIGNAL)
		r = poll_queue(run);
	return r;
}

static int send_round(struct ddperf_run *run)
{
	int r = session_post_recv(run->s, run->in, 0, run->o->size, 0);

	if (r == 0)
		r = post_one(run, DDP_WR_SEND, ++run->posted % SIGNAL ? 0 : DDP_SEND_SIGNALED);
	return r == 0 ? await_completion(run, DDP_WC_RECV) : r;
}

static int read_round(struct ddperf_run *run)
{
	int r = post_one(run, DDP_WR_RDMA_READ, DDP_SEND_SIGNALED);

	return r == 0 ? await_completion(run, DDP_WC_RDMA_READ) : r;
}

static int add_round(struct ddperf_run *run)
{
	int r = post_one(run, DDP_WR_ATOMIC_FETCH_AND_ADD, DDP_SEND_SIGNALED);

	return r == 0 ? await_completion(run, DDP_WC_FETCH_ADD) : r;
}

static int one_round(struct ddperf_run *run)
{
	switch (run->o->op) {
	case DDPERF_READ:
		return read_round(run);
	case DDPERF_FETCH_ADD:
		return add_round(run);
	case DDPERF_SEND:
		return send_round(run);
	default:
		return write_round(run);
	}
}

/* Sparse traffic: the rest before a round, which is not a part of it. A signal ends it. Returns the
 * time when the round begins. */
static uint64_t rest(const struct ddperf_run *run, uint64_t now_ns)
{
	if (!run->o->pause_ms || !run->res)
		return now_ns;
	poll(NULL, 0, (int)run->o->pause_ms);
	return clock_now_ns();
}

int ddperf_pingpong(struct ddperf_run *run)
{
	double ways =
		ddperf_op_has_response(run->o->op) ? 1 : 2; /* a Read is measured there and back */
	uint64_t rounds = 0, t0 = clock_now_ns();
	int r = 0;

	run->vain = yield_is_vain();
	while (r == 0 && rounds < run->limit && (!run->deadline || t0 < run->deadline) &&
	       !tool_stopped()) {
		uint64_t t1;

		t0 = rest(run, t0);
		r = one_round(run);
		t1 = clock_now_ns();
		if (r == 0 && run->res && run->res->samples.n < MAX_SAMPLES)
			r = samples_add(&run->res->samples, (double)(t1 - t0) / ways / 1000);
		if (r == 0)
			rounds++;
		t0 = t1;
	}
	if (run->res)
		run->res->there.messages = rounds;
	return r == 0 && tool_stopped() ? -EINTR : r;
}
