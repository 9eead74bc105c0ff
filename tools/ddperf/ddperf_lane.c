/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_lane.h"

#include <errno.h>

#include "tools/common/clock.h"
#include "tools/common/message.h"
#include "tools/common/samples.h"
#include "tools/ddperf/ddperf_source.h"
#include "util/limit_text.h"

static int prepare_lane(struct ddperf_lane *lane, const struct ddperf_opts *o,
			struct ddperf_hello *h)
{
	if (lane->reverse) {
		int r = ddperf_sink_set_up(&lane->sink, &lane->session, h);

		if (r < 0)
			return r;
		h->flags = DDPERF_REVERSE | (o->inline_data ? DDPERF_INLINE : 0);
		h->stag = lane->sink.in->rkey;
		h->to = lane->sink.in->iova;
		h->credits = lane->sink.recvs;
		return 0;
	}
	lane->run = (struct ddperf_run){.o = o, .s = &lane->session};
	if (ddperf_source_set_up(&lane->run) < 0)
		return -EINVAL;
	h->stag = lane->run.in->rkey;
	h->to = lane->run.in->iova;
	return 0;
}

static int connect_lane(struct ddperf_lane *lane, const struct ddperf_opts *o,
			const struct ddperf_hello *h)
{
	uint8_t buf[DDPERF_HELLO_LEN];
	const struct session_target target = {
		.host = o->host,
		.port = o->port,
		.bind = o->bind,
		.on_path = session_note_path,
		.hello = buf,
		.hello_len = sizeof(buf),
		.server = "ddperf -s",
	};
	struct ddperf_answer answer;
	int r;

	ddperf_hello_put(buf, h);
	r = session_connect(&lane->session, &target);
	if (r < 0)
		return r;
	r = ddperf_answer_get(lane->session.reply, lane->session.reply_len, &answer);
	if (r < 0)
		message_error("%s is not a ddperf server", lane->session.peer);
	lane->run.peer = answer;
	lane->run.credits = answer.credits;
	return r;
}

static int open_lane(struct ddperf_lane *lane, const struct ddperf_opts *o, uint64_t client)
{
	struct ddperf_hello h = {
		.op = o->op,
		.metric = o->metric,
		.size = o->size,
		.depth = o->depth,
		.client = client,
	};
	int r = session_open(&lane->session, o->socket);

	lane->session.own_memory = o->own_memory;
	if (r == 0)
		r = prepare_lane(lane, o, &h);
	return r == 0 ? connect_lane(lane, o, &h) : r;
}

int ddperf_lanes_open(struct ddperf_lanes *l, const struct ddperf_opts *o, uint64_t client)
{
	unsigned n = o->both ? 2 * o->qps : o->qps;
	int r = 0;

	*l = (struct ddperf_lanes){.o = *o};
	while (r == 0 && l->n < n) {
		struct ddperf_lane *lane = &l->v[l->n++];

		lane->reverse = l->n > o->qps;
		r = open_lane(lane, &l->o, client);
	}
	return r;
}

void ddperf_lanes_close(struct ddperf_lanes *l)
{
	while (l->n)
		session_close(&l->v[--l->n].session);
}

/* ---- a phase ---- */

/* The server measures. */
static int run_reverse(struct ddperf_lane *lane)
{
	const struct ddperf_go go = {(uint64_t)(lane->seconds * 1e9), lane->count};
	struct ddperf_done done;
	int r;

	ddperf_go_put(lane->sink.out->addr, &go);
	r = session_post_send(&lane->session, lane->sink.out, 0, DDPERF_GO_LEN, 0,
			      DDP_SEND_SIGNALED);
	if (r == 0)
		r = ddperf_sink_take(&lane->sink, &done);
	if (r > 0) {
		message_error("%s ended the session", lane->session.peer);
		return -ECONNRESET;
	}
	if (r == 0)
		lane->res.back = (struct ddperf_way){done.messages, (double)done.ns / 1e9};
	return r;
}

static void *run_lane(void *arg)
{
	struct ddperf_lane *lane = arg;

	lane->r = lane->reverse ? run_reverse(lane)
				: ddperf_source_phase(&lane->run, lane->seconds, lane->count,
						      lane->warm_up ? NULL : &lane->res);
	return NULL;
}

/* The first failure; an interruption, if there is no other. */
static int first_failure(const struct ddperf_lanes *l)
{
	int worst = 0;

	for (unsigned i = 0; i < l->n; i++)
		if (l->v[i].r && (!worst || worst == -EINTR))
			worst = l->v[i].r;
	return worst;
}

static int run_phase(struct ddperf_lanes *l, double seconds, uint64_t count, bool warm_up)
{
	char words[LIMIT_TEXT_MAX];
	unsigned started = 1;
	int r = 0;

	for (unsigned i = 0; i < l->n; i++) {
		struct ddperf_lane *lane = &l->v[i];

		lane->seconds = seconds;
		lane->count = count;
		lane->warm_up = warm_up;
		lane->res = (struct ddperf_result){.interrupted = false};
		lane->r = 0;
	}
	while (r == 0 && started < l->n) {
		r = -pthread_create(&l->v[started].thread, NULL, run_lane, &l->v[started]);
		started += r == 0;
	}
	if (r == 0)
		run_lane(&l->v[0]);
	else
		message_fail("start a thread", r, limit_text_of_thread(-r, words, sizeof(words)));
	while (started > 1)
		pthread_join(l->v[--started].thread, NULL);
	return r == 0 ? first_failure(l) : r;
}

int ddperf_lanes_warm_up(struct ddperf_lanes *l)
{
	return l->o.warm_up > 0 ? run_phase(l, l->o.warm_up, 0, true) : 0;
}

/* ---- results ---- */

static void add_way(struct ddperf_way *to, const struct ddperf_way *way)
{
	to->messages += way->messages;
	if (to->elapsed < way->elapsed)
		to->elapsed = way->elapsed;
}

/* Samples of the same interval are added up: they begin at the same time. */
static int add_samples(struct samples *to, const struct samples *s, bool first)
{
	int r = 0;

	if (!first && s->n < to->n)
		to->n = s->n;
	for (size_t i = 0; r == 0 && i < (first ? s->n : to->n); i++) {
		if (first)
			r = samples_add(to, s->v[i]);
		else
			to->v[i] += s->v[i];
	}
	return r;
}

static int append_samples(struct samples *to, const struct samples *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n; i++)
		r = samples_add(to, s->v[i]);
	return r;
}

/* Adds the results of all queue pairs in one run. Samples of a single direction would not be those
 * of both. */
static int add_lanes(struct ddperf_lanes *l, struct ddperf_result *run)
{
	int r = 0;

	for (unsigned i = 0; i < l->n; i++) {
		struct ddperf_result *res = &l->v[i].res;

		add_way(&run->there, &res->there);
		add_way(&run->back, &res->back);
		if (r == 0 && l->o.metric == DDPERF_LAT)
			r = append_samples(&run->samples, &res->samples);
		else if (r == 0 && !l->o.both)
			r = add_samples(&run->samples, &res->samples, i == 0);
		samples_free(&res->samples);
	}
	return r;
}

/* Reads the daemon's counters; counters that cannot be read count as 0. */
static struct ddp_caps daemon_now(struct ddperf_lanes *l)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	ddp_query(l->v[0].session.ctx, &caps);
	return caps;
}

static double seconds_since(uint64_t before_us, uint64_t now_us)
{
	return now_us > before_us ? (double)(now_us - before_us) / 1e6 : 0;
}

/* Runs, and measures the CPU time. */
static int run_and_account(struct ddperf_lanes *l, struct ddperf_result *run)
{
	struct ddp_caps before = daemon_now(l), after;
	double user, system;
	int r;

	clock_cpu(&user, &system);
	r = run_phase(l, l->o.seconds, l->o.count, false);
	clock_cpu(&run->user, &run->system);
	after = daemon_now(l);
	run->user -= user;
	run->system -= system;
	run->daemon_user = seconds_since(before.cpu_user_us, after.cpu_user_us);
	run->daemon_system = seconds_since(before.cpu_system_us, after.cpu_system_us);
	run->retransmits = after.retransmits - before.retransmits;
	return r;
}

int ddperf_lanes_measure(struct ddperf_lanes *l, struct ddperf_result *res)
{
	struct ddperf_result run = {.interrupted = false};
	int r = run_and_account(l, &run), e = add_lanes(l, &run);

	run.interrupted = r == -EINTR;
	if (e == 0 && (r == 0 || (run.interrupted && run.there.messages && !l->o.both))) {
		r = 0;
		e = ddperf_result_add(res, &l->o, &run);
	}
	samples_free(&run.samples);
	return e < 0 ? message_fail("results", e, NULL) : r;
}
