/* SPDX-License-Identifier: BSD-2-Clause */
/* Links: their names, and what they do with packets. */
#include <stdlib.h>
#include <string.h>

#include "tests/sctp/lab/lab.h"

enum { BURST_NS = 100000000 };

/* ---- names ---- */

#define LINK(a, b, c, d, ...)                                                                      \
	{                                                                                          \
		.rate = a, .delay_us = b, .queue = c, .mtu = d, __VA_ARGS__                        \
	}

/* 300 Mbit/s and less: queues of one product of bandwidth and delay unless the name says else. */
static const struct {
	const char *name;
	struct lab_link_config c;
} links[] = {
	{"lan", LINK(10e9, 50, 1500000, 1500)},
	{"300m10", LINK(300e6, 5000, 375000, 1500)},
	{"300m10-loss0.1", LINK(300e6, 5000, 375000, 1500, .loss = 1000)},
	{"300m10-loss1", LINK(300e6, 5000, 375000, 1500, .loss = 10000)},
	{"300m10-reorder2", LINK(300e6, 5000, 375000, 1500, .reorder = 20000, .early_us = 3000)},
	{"300m10-queue26", LINK(300e6, 5000, 39000, 1500)},
	{"300m100", LINK(300e6, 50000, 3750000, 1500)},
	{"1g50", LINK(1e9, 25000, 6250000, 1500)},
	{"10g100", LINK(10e9, 50000, 125000000, 9000)},
	{"10g100-1500", LINK(10e9, 50000, 125000000, 1500)},
	{"100m20", LINK(100e6, 10000, 250000, 1500)},
	{"100m20-loss5", LINK(100e6, 10000, 250000, 1500, .loss = 50000, .loss_back = 50000)},
	{"100m20-loss20", LINK(100e6, 10000, 250000, 1500, .loss = 200000, .loss_back = 200000)},
	{"100m20-burst256", LINK(100e6, 10000, 250000, 1500, .loss = 60000, .burst = 256)},
	{"100m20-outage5", LINK(100e6, 10000, 250000, 1500, .out_s = 3, .in_s = 8)},
	{"20m40", LINK(20e6, 20000, 100000, 1500)},
};

const struct lab_link_config *lab_link_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (strcmp(links[i].name, name) == 0)
			return &links[i].c;
	return NULL;
}

const char *lab_link_name(unsigned i)
{
	return i < sizeof(links) / sizeof(links[0]) ? links[i].name : NULL;
}

bool lab_link_set(struct lab_link_config *c, const char *key, const char *value)
{
	struct {
		const char *key;
		double *real;
		uint32_t *number;
		uint64_t *big;
	} member[] = {
		{"rate", &c->rate, NULL, NULL},       {"delay", NULL, &c->delay_us, NULL},
		{"queue", NULL, NULL, &c->queue},     {"loss", &c->loss, NULL, NULL},
		{"lossb", &c->loss_back, NULL, NULL}, {"burst", NULL, &c->burst, NULL},
		{"reorder", &c->reorder, NULL, NULL}, {"early", NULL, &c->early_us, NULL},
		{"mtu", NULL, &c->mtu, NULL},         {"out", &c->out_s, NULL, NULL},
		{"in", &c->in_s, NULL, NULL},
	};
	char *end;
	double x = strtod(value, &end);

	if (end == value || *end || x < 0)
		return false;
	for (unsigned i = 0; i < sizeof(member) / sizeof(member[0]); i++) {
		if (strcmp(member[i].key, key) != 0)
			continue;
		if (member[i].real)
			*member[i].real = x;
		else if (member[i].number)
			*member[i].number = (uint32_t)x;
		else
			*member[i].big = (uint64_t)x;
		return true;
	}
	return false;
}

/* ---- figures ---- */

void lab_delays_add(struct lab_delays *d, uint64_t delay_us)
{
	uint64_t i = delay_us / 100;

	d->n++;
	d->sum_us += delay_us;
	d->count[i < LAB_DELAYS ? i : LAB_DELAYS - 1]++;
}

double lab_delays_mean_ms(const struct lab_delays *d)
{
	return d->n ? (double)d->sum_us / (double)d->n / 1e3 : 0;
}

double lab_delays_ms(const struct lab_delays *d, double percent)
{
	uint64_t seen = 0;
	unsigned i = 0;

	for (; i < LAB_DELAYS - 1; i++) {
		seen += d->count[i];
		if ((double)seen >= percent / 100 * (double)d->n)
			break;
	}
	return (i + 1) / 10.0;
}

/* ---- packets ---- */

struct lab_packet *lab_link_packet(struct lab_link *l)
{
	struct lab_packet *p = l->unused;

	if (p) {
		l->unused = p->next;
		return p;
	}
	p = malloc(sizeof(*p) + l->c.mtu);
	if (!p)
		abort();
	return p;
}

void lab_link_free(struct lab_link *l, struct lab_packet *p)
{
	p->next = l->unused;
	l->unused = p;
}

static unsigned burst_of(const struct lab_link_config *c)
{
	return c->burst ? c->burst : 1;
}

void lab_link_init(struct lab_link *l, const struct lab_link_config *c, uint64_t seed)
{
	l->c = *c;
	for (unsigned i = 0; i < 2; i++)
		l->way[i] = (struct lab_way){.c = &l->c, .rng = seed * 4 + i * 2 + 1};
	l->way[0].loss = c->loss / burst_of(c);
	l->way[1].loss = c->loss_back / burst_of(c);
}

void lab_link_deinit(struct lab_link *l)
{
	while (l->unused) {
		struct lab_packet *p = l->unused;

		l->unused = p->next;
		free(p);
	}
}

/* ---- the bottleneck ---- */

/* xorshift64*; true for so many of a million. */
static bool happens(struct lab_way *w, double of_million)
{
	if (of_million <= 0)
		return false;
	w->rng ^= w->rng >> 12;
	w->rng ^= w->rng << 25;
	w->rng ^= w->rng >> 27;
	return (double)((w->rng * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0 * 1e6 <
	       of_million;
}

static bool is_lost(struct lab_way *w, uint64_t now)
{
	double now_s = (double)now / (double)LAB_SECOND;

	if (now_s >= w->c->out_s && now_s < w->c->in_s)
		return true;
	if (now > w->burst_end)
		w->losing = 0;
	if (!w->losing && happens(w, w->loss)) {
		w->losing = burst_of(w->c);
		w->burst_end = now + BURST_NS;
	}
	if (!w->losing)
		return false;
	w->losing--;
	return true;
}

double lab_link_backlog(const struct lab_way *w, uint64_t now)
{
	return w->busy > now ? (double)(w->busy - now) * w->c->rate / 8e9 : 0;
}

/* False: the queue has no room. */
static bool pass_bottleneck(struct lab_way *w, uint32_t len, uint64_t now)
{
	if (lab_link_backlog(w, now) + len > (double)w->c->queue) {
		w->dropped++;
		return false;
	}
	if (w->busy < now)
		w->busy = now;
	lab_delays_add(&w->wait, (w->busy - now) / 1000);
	w->busy += (uint64_t)(len * 8e9 / w->c->rate);
	w->bytes += len;
	return true;
}

static void append(struct lab_lane *lane, struct lab_packet *p)
{
	p->next = NULL;
	if (lane->first)
		lane->last->next = p;
	else
		lane->first = p;
	lane->last = p;
}

void lab_link_send(struct lab_link *l, unsigned way, struct lab_packet *p, struct lab_lane lane[2],
		   uint32_t extra_us, uint64_t now)
{
	struct lab_way *w = &l->way[way];
	bool early = way == 0 && happens(w, l->c.reorder);
	uint64_t delay_us = l->c.delay_us + extra_us;

	w->in++;
	if (is_lost(w, now)) {
		w->lost++;
		lab_link_free(l, p);
		return;
	}
	if (!pass_bottleneck(w, p->len + LAB_IP_HEAD, now)) {
		lab_link_free(l, p);
		return;
	}
	if (early)
		delay_us = delay_us > l->c.early_us ? delay_us - l->c.early_us : 0;
	p->due = w->busy + delay_us * 1000;
	append(&lane[early], p);
}
