/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "tools/ddperf.h"

enum {
	MIN_BUF = 1024, /* room for credits */
	RATE_BATCH = 32,
	RECVS = 16,
	SLACK = 64, /* work requests beyond the depth */
};

static uint16_t reads(const struct ddperf_run *run)
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
	int r = session_alloc(&run->s, len, DDP_ACCESS_LOCAL_WRITE, &run->out);

	if (r == 0)
		r = session_alloc(&run->s, len, DDP_ACCESS_REMOTE_WRITE, &run->in);
	if (r == 0) /* pages are there before anything is measured */
		memset(run->out->addr, 0, len);
	if (r == 0 && run->o->metric != DDPERF_LAT)
		r = ddperf_post_credit_recvs(run);
	return r;
}

static int connect_server(struct ddperf_run *run)
{
	uint8_t buf[DDPERF_HELLO_LEN];
	const struct ddperf_hello hello = {
		.op = run->o->op,
		.metric = run->o->metric,
		.size = run->o->size,
		.depth = run->o->depth,
		.stag = run->in->rkey,
		.to = run->in->iova,
	};
	const struct session_target target = {
		.host = run->o->host,
		.port = run->o->port,
		.bind = run->o->bind,
		.on_path = session_note_path,
		.hello = buf,
		.hello_len = sizeof(buf),
	};
	int r;

	ddperf_hello_put(buf, &hello);
	r = session_connect(&run->s, &target);
	if (r < 0)
		return r;
	r = ddperf_answer_get(run->s.reply, run->s.reply_len, &run->peer);
	if (r < 0)
		common_error("%s is not a ddperf server", run->s.peer);
	run->credits = run->peer.credits;
	return r;
}

static int set_up(struct ddperf_run *run)
{
	struct session_need need = {.send_wr = run->o->depth + SLACK, .recv_wr = RECVS};
	int r = session_open(&run->s, run->o->socket);

	run->s.own_memory = run->o->own_memory;

	run->caps.struct_size = sizeof(run->caps);
	if (r == 0)
		r = ddp_query(run->s.ctx, &run->caps);
	if (r < 0)
		return r;
	if (run->o->op == DDPERF_FETCH_ADD && !(run->caps.features & DDP_CAP_ATOMIC)) {
		common_error("fetch-add: the local daemon does not support atomics");
		return -EOPNOTSUPP;
	}
	need.reads = reads(run);
	need.max_inline = run->o->inline_data ? run->o->size : 0;
	if (need.max_inline > run->caps.max_inline) {
		common_error("--inline: at most %u bytes, see --size", run->caps.max_inline);
		return -EINVAL;
	}
	r = session_make_qp(&run->s, &need);
	if (r == 0)
		r = make_memory(run);
	return r == 0 ? connect_server(run) : r;
}

static int phase(struct ddperf_run *run, double seconds, uint64_t count, struct ddperf_result *res)
{
	run->deadline = count ? 0 : common_now_ns() + (uint64_t)(seconds * 1e9);
	run->limit = count ? count : UINT64_MAX;
	run->res = res;
	if (run->o->metric == DDPERF_LAT)
		return ddperf_pingpong(run);
	return ddperf_stream(run);
}

/* Reads the daemon's counter; what cannot be read counts as 0. */
static uint64_t retransmits(struct ddperf_run *run)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	return ddp_query(run->s.ctx, &caps) == 0 ? caps.retransmits : 0;
}

static int measure(struct ddperf_run *run, struct ddperf_result *res)
{
	uint64_t before = retransmits(run);
	double user, system;
	uint64_t began;
	int r;

	common_cpu(&user, &system);
	began = common_now_ns();
	r = phase(run, run->o->seconds, run->o->count, res);
	res->elapsed = (double)(common_now_ns() - began) / 1e9;
	common_cpu(&res->user, &res->system);
	res->user -= user;
	res->system -= system;
	res->retransmits = retransmits(run) - before;
	res->interrupted = r == -EINTR;
	if (run->o->metric != DDPERF_LAT)
		res->messages = run->completed;
	return res->interrupted && res->messages ? 0 : r;
}

int ddperf_client(const struct ddperf_opts *o)
{
	struct ddperf_run run = {.o = o, .batch = 1};
	struct ddperf_result res = {0};
	int r;

	if (o->metric == DDPERF_RATE)
		run.batch = o->depth / 4 < RATE_BATCH ? o->depth / 4 : RATE_BATCH;
	if (run.batch == 0)
		run.batch = 1;
	r = set_up(&run);
	if (r == 0 && o->warm_up > 0)
		r = phase(&run, o->warm_up, 0, NULL);
	if (r == 0)
		r = measure(&run, &res);
	if (r == 0) {
		r = ddperf_report(&run, &res);
		if (r < 0)
			common_error("report: %s", common_strerror(r));
	}
	session_close(&run.s);
	common_samples_free(&res.samples);
	return r == 0 ? COMMON_OK : COMMON_FAILED;
}
