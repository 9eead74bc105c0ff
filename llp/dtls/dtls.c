/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "llp/dtls/dtls_core.h"

int dtls_open(const struct dtls_config *cfg, struct dtls_identity *id, uint64_t now_us,
	      struct dtls **ret)
{
	struct dtls *d = calloc(1, sizeof(*d));
	uint64_t key[2];
	int r;

	if (!d)
		return -ENOMEM;
	d->cfg = *cfg;
	cfg->random(cfg->user, key, sizeof(key));
	r = dtls_table_init(&d->table, cfg->max_links, key);
	if (r == 0 && cfg->jobs > 0)
		r = dtls_worker_new(cfg->jobs, &d->worker);
	if (r < 0) {
		free(d->table.bucket);
		free(d);
		return r;
	}
	d->table.dropped = cfg->dropped;
	d->table.user = cfg->user;
	d->identity = dtls_identity_use(id);
	dtls_cookies_init(&d->cookies, cfg->random, cfg->user, now_us);
	d->now_us = now_us;
	*ret = d;
	return 0;
}

static void take_jobs(struct dtls *d)
{
	struct dtls_job *j;

	while (d->worker && (j = dtls_worker_take(d->worker))) {
		struct dtls_link *l = dtls_link_finish(j, d->now_us);
		struct dtls_pair *p = l ? l->owner : NULL;

		if (!p)
			continue;
		dtls_pair_settle(d, p); /* may free the connection */
		dtls_input_early(d, p);
		dtls_pair_run(d, p);
	}
}

void dtls_close(struct dtls *d)
{
	if (!d)
		return;
	if (d->worker)
		dtls_worker_end(d->worker);
	dtls_table_deinit(&d->table);
	take_jobs(d); /* frees the links that were in the thread */
	dtls_worker_free(d->worker);
	dtls_identity_drop(d->identity);
	free(d);
}

void dtls_set_identity(struct dtls *d, struct dtls_identity *id)
{
	struct dtls_identity *before = d->identity;

	d->identity = dtls_identity_use(id);
	dtls_identity_drop(before);
}

/* ---- links ---- */

int dtls_connect(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);
	int r;

	d->now_us = now_us;
	if (p && (p->now || p->next))
		return 0;
	if (!p && d->table.n >= d->cfg.max_links)
		return -EAGAIN;
	if (!p)
		p = dtls_pair_add(d, flow, false);
	if (!p)
		return -ENOMEM;
	r = dtls_pair_begin(d, p, NULL, NULL);
	if (r < 0 && !p->down)
		dtls_table_remove(&d->table, p);
	return r;
}

int dtls_renew(struct dtls *d, const struct dtls_flow *flow, uint64_t now_us)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);
	int r;

	if (!p || !p->now)
		return dtls_connect(d, flow, now_us);
	d->now_us = now_us;
	if (p->renews && dtls_link_is_in_handshake(p->next))
		return 0;
	r = dtls_pair_begin(d, p, NULL, NULL);
	p->renews = r == 0;
	return r;
}

bool dtls_has_link(const struct dtls *d, const struct dtls_flow *flow)
{
	return dtls_table_find(&d->table, flow);
}

void dtls_keep(struct dtls *d, const struct dtls_flow *flow, void *what)
{
	dtls_table_find(&d->table, flow)->kept = what;
}

void dtls_disconnect(struct dtls *d, const struct dtls_flow *flow)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);

	if (!p)
		return;
	if (p->now)
		dtls_reply_last(d, flow, p->now, false, DTLS_CLOSE_NOTIFY);
	dtls_table_remove(&d->table, p);
}

bool dtls_flows(const struct dtls *d, dtls_flow_fn *fn, void *arg)
{
	list_foreach_safe (it, &d->table.all) {
		const struct dtls_pair *p = list_entry(it, struct dtls_pair, all);
		const struct dtls_flow flow = p->flow;

		if (!fn(arg, &flow))
			return false;
	}
	return true;
}

bool dtls_flows_beginning(const struct dtls *d, dtls_flow_fn *fn, void *arg)
{
	list_foreach_safe (it, &d->table.beginning) {
		const struct dtls_flow flow = list_entry(it, struct dtls_pair, begins)->flow;

		if (!fn(arg, &flow))
			return false;
	}
	return true;
}

bool dtls_is_up(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_pair *p = dtls_table_find(&d->table, flow);

	return p && p->now;
}

const struct dtls_peer *dtls_peer_of(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_pair *p = dtls_table_find(&d->table, flow);

	return p && p->now ? &p->now->peer : NULL;
}

uint64_t dtls_heard_us(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_pair *p = dtls_table_find(&d->table, flow);

	return p ? p->heard_us : 0;
}

uint64_t dtls_begun_us(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_pair *p = dtls_table_find(&d->table, flow);

	return p && p->now ? p->now->begun_us : 0;
}

unsigned dtls_alert_of(const struct dtls *d, const struct dtls_flow *flow)
{
	const struct dtls_pair *p = dtls_table_find(&d->table, flow);

	return p && p->next ? p->next->alert : 0;
}

size_t dtls_seal(struct dtls *d, const struct dtls_flow *flow, const struct span *part, unsigned n,
		 uint32_t segment, uint8_t *to)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);
	size_t len;

	if (!p || !p->now)
		return 0;
	len = dtls_tx_seal_batch(&p->now->tx, part, n, segment, to);
	if (p->now->tx.blocks >= DTLS_SOFT_BLOCKS && !dtls_link_is_in_handshake(p->next))
		dtls_pair_note(d, p); /* a takeover is due */
	return len;
}

/* ---- out ---- */

static bool take_reply(struct dtls *d, struct dtls_flow *ret_flow, uint8_t *to, size_t *ret_len)
{
	const struct dtls_reply *r = &d->reply[d->first_reply];

	if (d->nreplies == 0)
		return false;
	d->first_reply = (d->first_reply + 1) % DTLS_REPLIES;
	d->nreplies--;
	*ret_flow = r->flow;
	*ret_len = r->len;
	memcpy(to, r->p, r->len);
	return r->len > 0;
}

static size_t take_flight(struct dtls *d, struct dtls_pair *p, uint8_t *to, size_t size)
{
	size_t n = p->next ? dtls_link_output(p->next, to, size) : 0;

	if (n == 0 && p->now)
		n = dtls_link_output(p->now, to, size);
	/* Datagrams that arrived meanwhile may be read now. */
	if (n > 0)
		dtls_pair_run(d, p);
	else
		list_del(&p->writing);
	return n;
}

bool dtls_output(struct dtls *d, struct dtls_flow *ret_flow, uint8_t *to, size_t size,
		 size_t *ret_len)
{
	if (take_reply(d, ret_flow, to, ret_len))
		return true;
	while (!list_empty(&d->table.writing)) {
		struct dtls_pair *p = list_entry(d->table.writing.next, struct dtls_pair, writing);

		*ret_flow = p->flow;
		*ret_len = take_flight(d, p, to, size);
		if (*ret_len > 0)
			return true;
	}
	return false;
}

bool dtls_wants_output(const struct dtls *d)
{
	return dtls_reply_is_crowded(d);
}

/* ---- time ---- */

int dtls_fd(const struct dtls *d)
{
	return d->worker ? dtls_worker_fd(d->worker) : -1;
}

bool dtls_is_busy(const struct dtls *d)
{
	return d->worker && dtls_worker_busy(d->worker);
}

uint64_t dtls_expiry(const struct dtls *d)
{
	return timer_expiry(&d->table.timers);
}

/* In their order, as long as the worker has room. */
static void run_waiting(struct dtls *d)
{
	while (!list_empty(&d->table.waiting)) {
		struct list *first = d->table.waiting.next;

		dtls_pair_run(d, list_entry(first, struct dtls_pair, waiting));
		if (d->table.waiting.next == first)
			return;
	}
}

void dtls_run(struct dtls *d, uint64_t now_us)
{
	d->now_us = now_us;
	take_jobs(d);
	run_waiting(d);
	(void)timer_run(&d->table.timers, now_us);
}

/* ---- events ---- */

static void fill_event(struct dtls_pair *p, struct dtls_event *ret)
{
	*ret = (struct dtls_event){.flow = p->flow, .up = p->up};
	if (p->up) {
		p->up = false;
		return;
	}
	ret->closed = p->end == DTLS_END_CLOSED;
	ret->refused = p->end == DTLS_END_REFUSED;
	memcpy(ret->reason, p->reason, sizeof(ret->reason));
	p->down = false;
}

bool dtls_event(struct dtls *d, struct dtls_event *ret)
{
	struct dtls_pair *p;

	if (list_empty(&d->table.events))
		return false;
	p = list_entry(d->table.events.next, struct dtls_pair, events);
	fill_event(p, ret);
	if (p->up || p->down)
		return true;
	list_del(&p->events);
	if (!p->now && !p->next)
		dtls_table_remove(&d->table, p);
	return true;
}

void dtls_stats(const struct dtls *d, struct dtls_stats *ret)
{
	*ret = d->stats;
	ret->links = d->table.n;
	ret->handshakes = d->table.handshakes;
}
