/* SPDX-License-Identifier: BSD-2-Clause */
/* The tests that the command line asks for, one after the other. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddperf/ddperf.h"
#include "tools/ddperf/ddperf_lane.h"
#include "tools/ddperf/ddperf_report.h"

enum { FIRST_SIZE = 64, LAST_SIZE = 1 << 20 };

struct client {
	struct ddperf_report report;
	/* The sessions of the next test begin before those of this one end: so the server knows
	 * that its client stays. */
	struct ddperf_lanes *now, *next;
	uint64_t id;
};

/* All runs of one test. */
static int measure_runs(struct ddperf_lanes *l, struct ddperf_result *res)
{
	int r = ddperf_lanes_warm_up(l);

	for (uint32_t i = 0; r == 0 && i < l->o.runs && !res->interrupted; i++)
		r = ddperf_lanes_measure(l, res);
	return r;
}

static int run_test(struct client *c, const struct ddperf_opts *o)
{
	struct ddperf_result res = {.interrupted = false};
	struct ddperf_lanes *l = c->next;
	int r = ddperf_lanes_open(l, o, c->id);

	c->next = c->now;
	c->now = l;
	ddperf_lanes_close(c->next);
	if (r == 0)
		r = measure_runs(l, &res);
	if (r == 0) {
		r = ddperf_report_add(&c->report, &l->v[0].run, &res);
		if (r < 0)
			message_error("report: %s", message_strerror(r));
	}
	if (r == 0 && res.interrupted)
		r = -EINTR;
	ddperf_result_free(&res);
	return r;
}

/* One operation, in all sizes that are asked for. */
static int run_sizes(struct client *c, const struct ddperf_opts *all)
{
	struct ddperf_opts o = *all;
	int r = 0;

	if (o.op == DDPERF_FETCH_ADD)
		o.size = DDPERF_CELL;
	if (!o.all || o.op == DDPERF_FETCH_ADD)
		return run_test(c, &o);
	for (o.size = FIRST_SIZE; r == 0 && o.size <= LAST_SIZE; o.size *= 2)
		r = run_test(c, &o);
	return r;
}

static int run_operations(struct client *c, const struct ddperf_opts *o)
{
	struct ddperf_opts one = *o;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < o->nops; i++) {
		one.op = o->ops[i];
		r = run_sizes(c, &one);
	}
	/* When the user stops the program, the complete tests have been reported. */
	return r == -EINTR && c->report.tests ? 0 : r;
}

static int start_client(struct client *c, const struct ddperf_opts *o)
{
	c->now = calloc(1, sizeof(*c->now));
	c->next = calloc(1, sizeof(*c->next));
	if (!c->now || !c->next)
		return message_fail("start", -ENOMEM, NULL);
	if (getrandom(&c->id, sizeof(c->id), 0) != sizeof(c->id))
		return message_fail("start", -errno, NULL);
	return ddperf_report_begin(&c->report, o);
}

int ddperf_client(const struct ddperf_opts *o)
{
	struct client c = {.id = 0};
	int r = start_client(&c, o);

	if (r == 0) {
		r = run_operations(&c, o);
		if (ddperf_report_end(&c.report, r == 0) < 0 && r == 0)
			r = -EIO;
	}
	if (c.now)
		ddperf_lanes_close(c.now);
	if (c.next)
		ddperf_lanes_close(c.next);
	free(c.now);
	free(c.next);
	return r == 0 ? TOOL_OK : TOOL_FAILED;
}
