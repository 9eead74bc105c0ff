/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_source.h"

#include <errno.h>
#include <string.h>

#include "tools/common/clock.h"
#include "tools/common/message.h"
#include "tools/ddperf/ddperf_sink.h"
#include "util/minmax.h"

enum {
	MIN_BUF = 1024, /* room for credits */
	MAX_BATCH = 32,
	BATCH_BYTES = 1 << 20,
	RECVS = 16,
	SLACK = 64, /* work requests beyond the depth */
};

#define SECOND_NS UINT64_C(1000000000)
#define MAX_NS (86400 * SECOND_NS)

static uint16_t reads_in_flight(const struct ddperf_run *run)
{
	uint32_t n = run->o->depth;

	if (!ddperf_op_has_response(run->o->op))
		return 0;
	n = n < run->caps.max_ord ? n : run->caps.max_ord;
	n = n < run->caps.max_ird ? n : run->caps.max_ird;
	return (uint16_t)n;
}

static int make_memory(struct ddperf_run *run)
{
	size_t len = run->o->size > MIN_BUF ? run->o->size : MIN_BUF;
	int r = session_alloc(run->s, len, DDP_ACCESS_LOCAL_WRITE, &run->out);

	if (r == 0)
		r = session_alloc(run->s, len, DDP_ACCESS_REMOTE_WRITE, &run->in);
	if (r == 0) /* pages are there before anything is measured */
		memset(run->out->addr, 0, len);
	if (r == 0 && run->o->metric != DDPERF_LAT)
		r = ddperf_post_credit_recvs(run);
	return r;
}

/* A batch has one completion. To wake the program for each message of 64 KiB took a sixth of the
 * daemon's time. */
static uint32_t batch_size(const struct ddperf_opts *o)
{
	uint32_t n = min_u32(min_u32(o->depth / 4, MAX_BATCH), BATCH_BYTES / o->size);

	return n ? n : 1;
}

int ddperf_source_set_up(struct ddperf_run *run)
{
	struct session_need need = {.send_wr = run->o->depth + SLACK, .recv_wr = RECVS};
	int r;

	run->batch = batch_size(run->o);
	run->caps.struct_size = sizeof(run->caps);
	r = ddp_query(run->s->ctx, &run->caps);
	if (r < 0)
		return session_fail("query the daemon", r);
	if (run->o->op == DDPERF_FETCH_ADD && !(run->caps.features & DDP_CAP_ATOMIC)) {
		message_error("fetch-add: the local daemon does not support atomics");
		return -EOPNOTSUPP;
	}
	need.reads = reads_in_flight(run);
	need.max_inline = run->o->inline_data ? run->o->size : 0;
	if (need.max_inline > run->caps.max_inline) {
		message_error("--inline: at most %u bytes, see --size", run->caps.max_inline);
		return -EINVAL;
	}
	r = session_make_qp(run->s, &need);
	return r == 0 ? make_memory(run) : r;
}

int ddperf_source_phase(struct ddperf_run *run, double seconds, uint64_t count,
			struct ddperf_result *res)
{
	uint64_t began = clock_now_ns();
	int r;

	run->deadline = count ? 0 : began + (uint64_t)(seconds * 1e9);
	run->limit = count ? count : UINT64_MAX;
	run->res = res;
	r = run->o->metric == DDPERF_LAT ? ddperf_pingpong(run) : ddperf_stream(run);
	if (res && run->o->metric != DDPERF_LAT)
		res->there.messages = run->completed;
	if (res)
		res->there.elapsed = (double)(clock_now_ns() - began) / 1e9;
	return r;
}

int ddperf_source_await_go(struct ddperf_run *run, struct ddperf_go *ret)
{
	struct ddp_wc wc;
	int n, r;

	do {
		n = session_wait(run->s, 1, &wc, -1);
		r = n < 0 ? n : ddperf_sink_check(run->s, &wc);
	} while (r == 0 && wc.opcode != DDP_WC_RECV);
	if (r)
		return r;
	r = ddperf_go_get(ddperf_credit_slot(run, &wc), wc.byte_len, ret);
	if (r < 0)
		message_error("%s: malformed start of a measurement", run->s->peer);
	return r == 0 ? ddperf_post_credit_recv(run, wc.wr_id) : r;
}

int ddperf_source_serve_go(struct ddperf_run *run, const struct ddperf_go *go)
{
	uint64_t began = clock_now_ns(), ns = go->ns < MAX_NS ? go->ns : MAX_NS;
	struct ddperf_done done;
	int r = ddperf_source_phase(run, (double)ns / 1e9, go->count, NULL);

	if (r < 0)
		return r;
	done = (struct ddperf_done){run->completed, clock_now_ns() - began};
	ddperf_done_put(run->out->addr, &done);
	return session_post_send(run->s, run->out, 0, DDPERF_DONE_LEN, 0,
				 DDP_SEND_SIGNALED | DDP_SEND_SOLICITED);
}
