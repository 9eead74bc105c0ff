/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack as a whole: opening, closing, time, events, messages, output. */
#include <assert.h>
#include <string.h>

#include "sctp/assoc/deadlines.h"
#include "sctp/base/reply.h"
#include "sctp/transfer/expiry.h"
#include "sctp/transfer/output.h"
#include "util/minmax.h"

enum {
	MIN_BUFFER = 65536,
	FIRST_WINDOW = 2 << 20,
	TRIM_US = 1000000,
};

static void trim_pool(struct timer *t)
{
	struct sctp *s = list_entry(t, struct sctp, trim);

	s->trimming = sctp_pool_trim(&s->pool);
	if (s->trimming)
		timer_set(&s->timers, t, s->now + TRIM_US);
}

static void trim_later(struct sctp *s)
{
	if (s->trimming || s->pool.nfree <= 1)
		return;
	s->trimming = true;
	timer_set(&s->timers, &s->trim, s->now + TRIM_US);
}

/* ---- open ---- */

static uint32_t first_window(const struct sctp_config *c, uint32_t wanted)
{
	return max_u32(min_u32(wanted ? wanted : FIRST_WINDOW, c->recv_buffer),
		       2 * SCTP_MAX_MESSAGE);
}

static void normalize_config(struct sctp_config *c)
{
	if (c->streams == 0)
		c->streams = 1;
	if (c->sack_packets == 0)
		c->sack_packets = 1;
	if (c->sack_us > 500000)
		c->sack_us = 500000; /* 6.2: MUST NOT be longer */
	if (c->send_buffer < MIN_BUFFER)
		c->send_buffer = MIN_BUFFER;
	c->recv_buffer = max_u32(c->recv_buffer, 2 * SCTP_MAX_MESSAGE);
	c->recv_first = first_window(c, c->recv_first);
	if (c->max_windows == 0)
		c->max_windows = c->max_memory / 2;
	if (c->handshakes_per_s == 0)
		c->handshakes_per_s = 1;
}

int sctp_open(const struct sctp_config *cfg, uint64_t now_us, struct sctp **ret)
{
	struct sctp *s = cfg->mem.alloc(cfg->mem.user, sizeof(*s));

	if (!s)
		return SCTP_E_MEMORY;
	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	normalize_config(&s->cfg);
	s->now = now_us;
	timer_init(&s->trim, trim_pool);
	s->expire = sctp_assoc_expire;
	list_init(&s->assocs);
	list_init(&s->pending);
	list_init(&s->eventful);
	list_init(&s->listeners);
	s->windows = (struct sctp_rwnd_limits){.first = s->cfg.recv_first,
					       .most = s->cfg.recv_buffer,
					       .budget = s->cfg.max_windows};
	sctp_pool_init(&s->pool, &s->cfg.mem, cfg->max_memory);
	sctp_cookie_keys_init(&s->keys, &s->cfg, now_us);
	s->cfg.random(s->cfg.random_user, s->hash_key, sizeof(s->hash_key));
	s->cfg.random(s->cfg.random_user, &s->next_port, sizeof(s->next_port));
	sctp_budget_init(&s->budget, s->cfg.handshakes_per_s, s->hash_key, now_us);
	*ret = s;
	return SCTP_E_OK;
}

void sctp_set_cc(struct sctp *s, enum sctp_cc_algo cc, const struct sctp_cc_rule *rule, unsigned n)
{
	assert(n <= SCTP_MAX_CC_RULES);
	s->cfg.cc = cc;
	s->cfg.ncc_rules = n;
	for (unsigned i = 0; i < n; i++)
		s->cfg.cc_rule[i] = rule[i];
}

void sctp_set_udp_port(struct sctp *s, uint16_t port)
{
	s->cfg.udp_port = port;
}

void sctp_set_recv_first(struct sctp *s, uint32_t bytes)
{
	s->cfg.recv_first = first_window(&s->cfg, bytes);
	s->windows.first = s->cfg.recv_first;
}

/* ---- addresses of ours ---- */

void sctp_set_local(struct sctp *s, uint8_t i, const struct sctp_addr *addr)
{
	assert(i < SCTP_MAX_OWN);
	s->cfg.local[i] = *addr;
	s->dropped[i] = false;
}

void sctp_drop_local(struct sctp *s, uint8_t i)
{
	s->dropped[i] = true;
}

static bool names_local(const struct sctp_listener *l, uint8_t i)
{
	return l->n > 0 && memchr(l->local, i, l->n);
}

bool sctp_uses_local(const struct sctp *s, uint8_t i)
{
	list_foreach (it, &s->assocs) {
		if (sctp_assoc_has_local(list_entry(it, struct sctp_assoc, all), i))
			return true;
	}
	list_foreach (it, &s->listeners) {
		if (names_local(list_entry(it, struct sctp_listener, all), i))
			return true;
	}
	return false;
}

/* ---- close ---- */

struct sctp *sctp_close(struct sctp *s)
{
	struct sctp_mem mem;

	if (!s)
		return NULL;
	list_foreach_safe (it, &s->assocs) {
		struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		a->state = SCTP_CLOSED;
		sctp_assoc_free(a);
	}
	list_foreach_safe (it, &s->listeners) {
		sctp_unlisten(s, list_entry(it, struct sctp_listener, all));
	}
	sctp_pool_deinit(&s->pool);
	mem = s->cfg.mem;
	mem.free(mem.user, s, sizeof(*s));
	return NULL;
}

/* ---- time ---- */

uint64_t sctp_expiry(const struct sctp *s)
{
	return timer_expiry(&s->timers);
}

void sctp_run(struct sctp *s, uint64_t now_us)
{
	if (now_us > s->now)
		s->now = now_us;
	timer_run(&s->timers, s->now);
}

/* ---- output ---- */

/* True if the association has sent packets. It waits for its next turn then, if it has more. */
static bool output_turn(struct sctp *s, struct sctp_assoc *a, struct sctp_batch *ret)
{
	bool any = sctp_assoc_output(a, ret);

	if (any && sctp_assoc_has_output(a))
		list_add_tail(&s->pending, &a->pending);
	sctp_assoc_arm(a);
	return any;
}

/* With many associations to one peer each has little to send: their packets share a batch. */
static void join_others(struct sctp *s, struct sctp_batch *b)
{
	while (!list_empty(&s->pending)) {
		struct sctp_assoc *a = list_entry(s->pending.next, struct sctp_assoc, pending);

		if (!sctp_assoc_joins(a, b))
			return;
		list_del(&a->pending);
		if (!output_turn(s, a, b))
			return;
	}
}

/* The associations take turns, a batch each. */
static bool next_batch(struct sctp *s, struct sctp_batch *ret)
{
	struct list *l;

	while ((l = list_pop(&s->pending))) {
		if (!output_turn(s, list_entry(l, struct sctp_assoc, pending), ret))
			continue;
		join_others(s, ret);
		return true;
	}
	return false;
}

bool sctp_output(struct sctp *s, struct sctp_batch *ret, uint64_t now_us)
{
	if (now_us > s->now)
		s->now = now_us;
	ret->packets = ret->nspans = 0;
	ret->used = ret->segment = ret->len = 0;
	ret->probe = ret->fragment = ret->takes_batches = false;
	if (!sctp_reply_next(s, ret) && !next_batch(s, ret) && !sctp_reply_next(s, ret)) {
		trim_later(s);
		return false;
	}
	s->st.tx_packets += ret->packets;
	return true;
}

/* ---- events ---- */

static bool take_path(struct sctp_assoc *a, struct sctp_event *ret)
{
	for (unsigned i = 0; i < a->paths.n; i++) {
		struct sctp_path *p = &a->paths.at[i];

		if (!p->changed && !p->became_primary)
			continue;
		ret->type = SCTP_PATH;
		ret->addr = p->flow.peer;
		ret->state = p->state;
		ret->became_primary = p->became_primary;
		p->changed = false;
		p->became_primary = false;
		return true;
	}
	return false;
}

static void fill_down(const struct sctp_assoc *a, struct sctp_event *ret)
{
	ret->end = a->events.end;
	ret->cause = a->events.cause;
	memcpy(ret->text, a->events.text, sizeof(a->events.text));
}

static void fill_incoming(struct sctp_assoc *a, struct sctp_event *ret)
{
	ret->listener = a->origin.listener;
	ret->user = a->origin.listener ? a->origin.listener->user : NULL;
	a->origin.listener = NULL;
}

static bool fetch_event(struct sctp_assoc *a, struct sctp_event *ret)
{
	static const enum sctp_event_type order[] = {SCTP_INCOMING, SCTP_UP,       SCTP_PATH,
						     SCTP_RESIZED,  SCTP_WRITABLE, SCTP_ACKED,
						     SCTP_DOWN};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		/* It is due until all paths were looked at. */
		if (order[i] == SCTP_PATH && sctp_events_due(&a->events, SCTP_PATH) &&
		    take_path(a, ret))
			return true;
		if (!sctp_events_take(&a->events, order[i]) || order[i] == SCTP_PATH)
			continue;
		ret->type = order[i];
		if (ret->type == SCTP_INCOMING)
			fill_incoming(a, ret);
		if (ret->type == SCTP_DOWN)
			fill_down(a, ret);
		return true;
	}
	return false;
}

bool sctp_event(struct sctp *s, struct sctp_event *ret)
{
	struct list *l;

	while ((l = list_pop(&s->eventful))) {
		struct sctp_assoc *a = list_entry(l, struct sctp_assoc, events.link);

		/* It ended before anybody knew it. */
		if (sctp_events_due(&a->events, SCTP_INCOMING) &&
		    sctp_events_due(&a->events, SCTP_DOWN)) {
			sctp_assoc_free(a);
			continue;
		}
		memset(ret, 0, sizeof(*ret));
		ret->assoc = a;
		ret->user = a->user;
		if (fetch_event(a, ret)) {
			/* It may have more: its turn ends when it has none. */
			sctp_events_again(&a->events, &s->eventful);
			return true;
		}
	}
	return false;
}

bool sctp_recv(struct sctp *s, struct sctp_msg *ret)
{
	struct sctp_assoc *a = s->rx_assoc;

	if (!a)
		return false;
	if (s->rx_pos < s->nrx) {
		const struct sctp_rx *r = &s->rx[s->rx_pos++];

		ret->sid = r->sid;
		ret->ppid = r->ppid;
		ret->ordered = r->ordered;
		ret->len = r->len;
		ret->n = 1;
		ret->part[0] = (struct span){(uint8_t *)(uintptr_t)r->p, r->len};
	} else if (!s->rx_queued || !sctp_recv_next(&a->recv, ret)) {
		s->rx_queued = false;
		return false;
	}
	ret->assoc = a;
	ret->user = a->user;
	return true;
}

void sctp_stats(const struct sctp *s, struct sctp_stats *ret)
{
	*ret = s->st;
}

uint64_t sctp_memory(const struct sctp *s)
{
	return sizeof(*s) + s->held + s->pool.held;
}
