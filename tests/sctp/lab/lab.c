/* SPDX-License-Identifier: BSD-2-Clause */
/* All hosts, in the order of time. */
#include "tests/sctp/lab/lab.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAME_TIME = 100000 }; /* turns at one time: the stacks stand still */

struct lab_config lab_config(const struct lab_link_config *link)
{
	double product = link->rate / 8 * 2 * link->delay_us / 1e6;

	return (struct lab_config){
		.link = {*link},
		.flow = {{.algo = SCTP_CC_CUBIC}},
		.paths = 1,
		.flows = 1,
		.time_s = 6,
		.buffer = product > LAB_BUFFER ? 2 * LAB_BUFFER : LAB_BUFFER,
		.sack_packets = 2,
		.sack_us = 20000,
		.gather_us = link->rate < 5e9 || link->delay_us > 1000 ? 60 : 10,
		.late_us = 60,
		.seed = 1,
	};
}

struct lab *lab_new(const struct lab_config *c)
{
	struct lab *l = calloc(1, sizeof(*l));

	if (!l)
		abort();
	l->c = *c;
	l->now = LAB_SECOND;
	l->rng = c->seed;
	for (unsigned i = 0; i < c->paths; i++)
		lab_link_init(&l->link[i], &c->link[i], c->seed + i);
	for (unsigned i = 0; i < c->flows; i++) {
		struct lab_flow *f = &l->flow[i];

		f->lab = l;
		f->c = c->flow[i];
		f->c.start_s += 1;
		if (!lab_host_open(f, 0) || !lab_host_open(f, 1))
			abort();
	}
	for (unsigned i = 0; i < c->paths; i++) {
		l->link[i].c.out_s += 1;
		l->link[i].c.in_s += 1;
	}
	return l;
}

struct lab *lab_free(struct lab *l)
{
	for (unsigned i = 0; i < l->c.flows; i++) {
		lab_host_close(&l->flow[i].host[0]);
		lab_host_close(&l->flow[i].host[1]);
	}
	for (unsigned i = 0; i < l->c.paths; i++)
		lab_link_deinit(&l->link[i]);
	free(l);
	return NULL;
}

static struct lab_host *next_host(struct lab *l, uint64_t *ret_at)
{
	struct lab_host *ret = NULL;

	*ret_at = UINT64_MAX;
	for (unsigned i = 0; i < 2 * l->c.flows; i++) {
		struct lab_host *h = &l->flow[i / 2].host[i % 2];
		uint64_t at = lab_host_next(h);

		if (at < *ret_at) {
			*ret_at = at;
			ret = h;
		}
	}
	return ret;
}

/* Keeps what had arrived at the end of each second that is over by then. */
static void note_seconds(struct lab *l, uint64_t by)
{
	for (unsigned i = 0; i < l->c.flows; i++) {
		struct lab_flow *f = &l->flow[i];

		while (f->up && f->seconds < LAB_SECONDS &&
		       f->up + (f->seconds + 1) * LAB_SECOND <= by)
			f->done[f->seconds++] = f->bytes;
	}
}

void lab_run(struct lab *l, double until_s)
{
	uint64_t end = (uint64_t)((until_s + 1) * (double)LAB_SECOND);
	unsigned same = 0;

	for (;;) {
		uint64_t at;
		struct lab_host *h = next_host(l, &at);

		if (!h || at > end)
			break;
		same = at > l->now ? 0 : same + 1;
		if (same == SAME_TIME) {
			fprintf(stderr, "lab: flow %d, side %u: a deadline does not end\n",
				(int)(h->flow - l->flow), h->side);
			abort();
		}
		if (at > l->now)
			note_seconds(l, l->now = at);
		lab_host_turn(h);
	}
	l->now = end;
	note_seconds(l, end);
}

double lab_flow_rate(const struct lab_flow *f, unsigned from_s, unsigned to_s)
{
	if (to_s > f->seconds)
		to_s = f->seconds;
	if (from_s >= to_s)
		return 0;
	return (double)(f->done[to_s - 1] - (from_s ? f->done[from_s - 1] : 0)) / 1e6 /
	       (to_s - from_s);
}

double lab_flow_seconds_16m(const struct lab_flow *f)
{
	return (double)f->at_16m / (double)LAB_SECOND;
}
