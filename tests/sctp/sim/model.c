/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold between the calls. */
#include "tests/sctp/sim/world.h"

static void model_wrong(void *w, const char *file, int line, const char *what)
{
	fail(w, file, line, what);
}

static struct judge judge_of(struct world *w, unsigned host)
{
	return (struct judge){.s = w->host[host].s, .wrong = model_wrong, .user = w};
}

struct invariant *model_watch(struct world *w, unsigned host)
{
	const struct judge j = judge_of(w, host);

	return invariant_new(&j);
}

/* ---- calls ---- */

unsigned model_before(struct world *w, unsigned host, struct judge_before ret[JUDGE_ASSOCS])
{
	const struct judge j = judge_of(w, host);

	return judge_before(&j, ret);
}

void model_input(struct world *w, unsigned host, const struct judge_before *b, unsigned n)
{
	const struct judge j = judge_of(w, host);

	judge_input(&j, b, n);
}

void model_output(struct world *w, unsigned host, const struct judge_before *b, unsigned n)
{
	const struct judge j = judge_of(w, host);

	w->sum.batches++;
	w->sum.probes += w->batch.probe;
	w->sum.fragments += w->batch.fragment;
	judge_batch(&j, &w->batch);
	judge_output(&j, b, n, &w->batch);
}

/* ---- between turns ---- */

/* What is outstanding arrives some time, or the association ends; unless the peer's window is
 * closed. */
static void model_progress(struct world *w, struct conn *c)
{
	const struct sctp_queue *q = &c->a->tx;
	uint64_t most = PROGRESS;

	if (q->cum != c->cum || sctp_queue_empty(q) || c->a->window.rwnd < SCTP_MAX_PACKET)
		c->progress_us = w->now;
	c->cum = q->cum;
	/* RTO may have grown so much that the limit of tries takes longer. Fewer are no proof: on a
	 * path with losses a good association would end. */
	if (c->a->stall.tries <= c->a->s->cfg.path_max_retrans)
		most += c->a->s->cfg.rto_max_us;
	check(w, w->now - c->progress_us <= most);
}

void model_host(struct world *w, unsigned host)
{
	struct host *h = &w->host[host];
	const struct judge j = judge_of(w, host);

	check(w, sctp_memory(h->s) == h->allocated);
	check(w, h->s->pool.used <= h->cfg.max_memory);
	list_foreach (it, &h->s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		judge_deadlines(&j, a);
		if (w->sizes && a->state >= SCTP_ESTABLISHED && conn_of(w, a))
			model_progress(w, conn_of(w, a));
		if (a->state >= SCTP_ESTABLISHED && (a->tx.bytes < 20000 || chance(w, 300)))
			judge_sums(&j, a);
	}
}

/* ---- what arrived ---- */

void model_received(struct world *w, struct conn *c)
{
	const struct sctp_tsn_map *m = &c->a->map;
	uint32_t base;

	if (c->replay || c->peer < 0)
		return;
	if (!w->conn[c->peer]->a)
		return;
	base = w->conn[c->peer]->a->tx.initial_tsn;
	check(w, m->cum == base - 1 + c->prefix);
	check(w, m->highest == (c->top > c->prefix ? base - 1 + c->top : m->cum));
	if (m->highest == m->cum || !chance(w, 1000))
		return;
	for (uint32_t i = c->prefix; i < c->top; i++) {
		uint32_t tsn = base + i;
		bool bit = m->bits[tsn / 64 % (SCTP_BLOCK / 8)] >> tsn % 64 & 1;

		check(w, bit == c->got[i]);
	}
}

void model_end(struct world *w)
{
	for (unsigned h = 0; h < 2; h++) {
		const struct sctp *s = w->host[h].s;

		check(w, list_empty(&s->assocs) && s->nassocs == 0);
		check(w, s->pool.used == (s->pool.scratch ? SCTP_SCRATCH : 0));
	}
}
