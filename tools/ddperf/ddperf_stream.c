/* SPDX-License-Identifier: BSD-2-Clause */
/* Bandwidth and rate: keep as many messages in flight as the depth says. */
#include <errno.h>

#include "tools/common/clock.h"
#include "tools/common/message.h"
#include "tools/common/samples.h"
#include "tools/common/tool.h"
#include "tools/ddperf/ddperf.h"
#include "util/be.h"

enum {
	POLL = 64,
	CREDIT_RECVS = 8, /* the server credits a quarter at a time: never more than 5 in flight */
	CREDIT_SLOT = 64,
	STALL_MS = 30000,
};

struct interval {
	uint64_t began; /* ns */
	uint64_t done;  /* messages completed then */
};

int ddperf_post_credit_recv(struct ddperf_run *run, uint64_t slot)
{
	return session_post_recv(run->s, run->in, slot * CREDIT_SLOT, CREDIT_SLOT, slot);
}

const void *ddperf_credit_slot(const struct ddperf_run *run, const struct ddp_wc *wc)
{
	return (uint8_t *)run->in->addr + wc->wr_id * CREDIT_SLOT;
}

int ddperf_post_credit_recvs(struct ddperf_run *run)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < CREDIT_RECVS; i++)
		r = ddperf_post_credit_recv(run, i);
	return r;
}

static int on_credit(struct ddperf_run *run, const struct ddp_wc *wc)
{
	uint32_t total = be_get32(ddperf_credit_slot(run, wc));
	uint32_t more = total - run->credited;

	if (wc->byte_len != DDPERF_CREDIT_LEN || more > run->peer.credits - run->credits) {
		message_error("the server returned more credits than it received Sends");
		return -EPROTO;
	}
	run->credits += more;
	run->credited = total;
	return ddperf_post_credit_recv(run, wc->wr_id);
}

/* Takes completions and waits for the first one. */
static int await_completions(struct ddperf_run *run)
{
	struct ddp_wc wc[POLL];
	int n = session_wait(run->s, POLL, wc, STALL_MS), r = 0;

	if (n == 0) {
		message_error("no progress for %d s", STALL_MS / 1000);
		return -ETIMEDOUT;
	}
	for (int i = 0; i < n && r == 0; i++) {
		if (wc[i].status != DDP_WC_SUCCESS)
			r = session_wc_fail(run->s, ddperf_op_str(run->o->op), &wc[i]);
		else if (wc[i].opcode == DDP_WC_RECV)
			r = on_credit(run, &wc[i]);
		else
			run->completed += wc[i].wr_id;
	}
	return n < 0 ? n : r;
}

static enum ddp_wr_opcode wr_opcode(const struct ddperf_run *run)
{
	switch (run->o->op) {
	case DDPERF_READ:
		return DDP_WR_RDMA_READ;
	case DDPERF_SEND:
		return DDP_WR_SEND;
	case DDPERF_FETCH_ADD:
		return DDP_WR_ATOMIC_FETCH_AND_ADD;
	default:
		return DDP_WR_RDMA_WRITE;
	}
}

/* Posts n messages, at most a batch. The last is signaled; its wr_id is their number. */
static int post_batch(struct ddperf_run *run, uint32_t n)
{
	unsigned flags = run->o->inline_data ? DDP_SEND_INLINE : 0;
	struct ddp_sge sge = {run->out->iova, run->o->size, run->out->lkey};
	struct ddp_send_wr wr[POLL];
	int r;

	for (uint32_t i = 0; i < n; i++)
		wr[i] = (struct ddp_send_wr){
			.wr_id = n,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = wr_opcode(run),
			.send_flags = flags | (i + 1 < n ? 0 : DDP_SEND_SIGNALED),
			.rdma = {run->peer.to, run->peer.stag},
			.atomic = {.compare_add = 1},
		};
	r = ddp_post_send(run->s->qp, wr, NULL);
	if (r < 0)
		return session_fail("post", r);
	run->posted += n;
	if (run->o->op == DDPERF_SEND)
		run->credits -= n;
	return 0;
}

/* How many messages the next batch can have now; one credit stays for synchronize(). */
static uint32_t batch_room(const struct ddperf_run *run)
{
	uint64_t in_flight = run->posted - run->completed;
	uint64_t left = run->limit - run->posted;
	uint32_t n = run->batch;

	if (left < n)
		n = (uint32_t)left;
	if (run->o->depth - in_flight < n)
		return 0;
	return run->o->op == DDPERF_SEND && run->credits < n + 1 ? 0 : n;
}

static bool phase_over(const struct ddperf_run *run, uint64_t now)
{
	return tool_stopped() || run->posted >= run->limit ||
	       (run->deadline && now >= run->deadline);
}

static int add_sample(struct ddperf_run *run, struct interval *iv, uint64_t now)
{
	double seconds = (double)(now - iv->began) / 1e9;
	double messages = (double)(run->completed - iv->done);
	double v = messages / seconds;

	if (!run->res || now - iv->began < (uint64_t)run->o->interval_ms * 1000000)
		return 0;
	*iv = (struct interval){now, run->completed};
	if (run->o->metric == DDPERF_BW)
		v *= (double)run->o->size / 1e6;
	return samples_add(&run->res->samples, v);
}

/* A solicited Send, which is answered when all before it has been taken. */
static int synchronize(struct ddperf_run *run)
{
	uint64_t done = run->completed;
	int r = session_post_send(run->s, run->out, 0, 1, 1,
				  DDP_SEND_SIGNALED | DDP_SEND_SOLICITED);

	run->credits--;
	while (r == 0 && (run->credits < run->peer.credits || run->completed == done))
		r = await_completions(run);
	run->completed = done; /* the solicited Send does not count */
	return r;
}

int ddperf_stream(struct ddperf_run *run)
{
	struct interval iv = {clock_now_ns(), 0};
	uint64_t now;
	int r = 0;

	run->posted = run->completed = 0;
	while (r == 0 && !phase_over(run, now = clock_now_ns())) {
		uint32_t n;

		while (r == 0 && (n = batch_room(run)) > 0)
			r = post_batch(run, n);
		if (r == 0)
			r = await_completions(run);
		if (r == 0)
			r = add_sample(run, &iv, now);
	}
	/* There can be many messages in flight: a user who stops the program does not wait for
	 * them. */
	while (r == 0 && run->posted > run->completed && !tool_stopped())
		r = await_completions(run);
	if (r == 0 && tool_stopped())
		return -EINTR;
	return r == 0 ? synchronize(run) : r;
}
