/* SPDX-License-Identifier: BSD-2-Clause */
/* Associations: a transport connection and a struct assoc, connected by the datapath of the daemon.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/early_memory.h"
#include "tests/lib/llp_one.h"
#include "tests/sim/world.h"

enum { PORT = 4711, EARLY_MAX = 1000 };

static void on_event(void *user, const struct assoc_event *ev)
{
	sess_event(user, ev);
}

static void on_trace(void *user, uint16_t sid, const char *from, const char *to, const char *event)
{
	struct assoc_end *p = user;

	trace(p->node->w, "n%u c%u stream %u: %s -> %s on %s", p->node->id, sim_conn_id(p->conn),
	      sid, from, to, event);
	if (strcmp(to, "dead") == 0 && !p->gone && !p->node->w->plan.tight)
		fail(p->node->w, "node %u: stream %u: the peer did not end the session",
		     p->node->id, sid);
}

static struct assoc_end *peer_new(struct node *n, bool opener)
{
	struct world *w = n->w;
	struct assoc_cfg cfg = {
		.streams = w->plan.streams,
		.even = opener,
		.pending_max = w->plan.pending_max,
		.records_max = w->plan.records_max,
		.early_max = w->plan.early_max,
		.early_memory = early_memory,
		.answer_ms = w->plan.answer_ms,
		.close_ms = w->plan.close_ms,
		.plain_only = n->plain_only,
		.acks = true,
		.pool = &n->pool->blocks,
	};
	struct assoc_end *p = alloc_zeroed(sizeof(*p));

	p->node = n;
	p->opener = opener;
	p->timer_us = UINT64_MAX;
	if (!blocks_reserve(cfg.pool, assoc_blocks()))
		fail(w, "n%u: no blocks", n->id);
	p->blocks = assoc_blocks();
	p->assoc = assoc_init(alloc_zeroed(assoc_size(&cfg)), &cfg);
	assoc_set_trace(p->assoc, on_trace, p);
	p->dp = (struct datapath){.ddp = p->assoc, .on_event = on_event, .user = p};
	list_add_tail(&n->ends, &p->link);
	return p;
}

static void peer_up(struct assoc_end *p)
{
	p->up = true;
	p->dp.conn = p->conn;
	dp_update_mulpdu(&p->dp);
	llp_report_acks(p->conn);
	trace(p->node->w, "n%u c%u up, mulpdu %u", p->node->id, sim_conn_id(p->conn), p->dp.mulpdu);
}

/* ---- turns ---- */

static void check_order(const struct assoc_end *p)
{
	list_foreach (it, &p->node->eps) {
		const struct ep *ep = list_entry(it, struct ep, link);

		if (ep->end == p && ep->in_order && ep->state == EP_OPEN)
			ep_check_in_order(ep);
		ep_check_window(ep);
	}
}

static void turn(void *obj, void *arg);

void assoc_end_wake(struct assoc_end *p)
{
	struct world *w = p->node->w;

	if (p->turn_due || p->gone)
		return;
	p->turn_due = true;
	simclock_after(w->clock, random_below(w, w->plan.turn_us + 1), turn, p, NULL);
}

static void timer(void *obj, void *arg)
{
	struct assoc_end *p = obj;

	(void)arg;
	if (simclock_now(p->node->w->clock) >= p->timer_us)
		p->timer_us = UINT64_MAX;
	assoc_end_wake(p);
}

static void plan_timer(struct assoc_end *p)
{
	struct world *w = p->node->w;
	uint64_t now = simclock_now(w->clock), due = assoc_expiry(p->assoc);

	if (due == UINT64_MAX)
		return;
	p->early = due * 1000 <= now ? p->early + 1 : 0;
	if (p->early > EARLY_MAX)
		fail(w, "node %u: assoc_expiry() stays in the past", p->node->id);
	due = due * 1000 <= now ? now + 1 : due * 1000;
	if (due >= p->timer_us)
		return;
	p->timer_us = due;
	simclock_after(w->clock, due - now, timer, p, NULL);
}

void assoc_end_tick(struct assoc_end *p)
{
	assoc_tick(p->assoc, simclock_now(p->node->w->clock) / 1000);
	dp_events(&p->dp);
}

static void turn(void *obj, void *arg)
{
	struct assoc_end *p = obj;
	struct world *w = p->node->w;
	bool more = false;

	(void)arg;
	p->turn_due = false;
	if (p->gone || !p->up)
		return;
	assoc_end_tick(p);
	if (p->readable && !p->node->stack)
		p->readable = more = dp_rx(&p->dp, 1 + (unsigned)random_below(w, 16));
	more |= dp_resume(&p->dp, 1 + (unsigned)random_below(w, 16));
	check_order(p);
	more |= dp_tx(&p->dp, 1 + (unsigned)random_below(w, 16));
	dp_events(&p->dp);
	if (more)
		assoc_end_wake(p);
	plan_timer(p);
}

/* ---- upcalls of the transport ---- */

static void *on_incoming(void *user, struct llp_conn *c)
{
	struct assoc_end *p = peer_new(user, false);
	struct assoc_end *other = sim_conn_peer(c)->user;

	p->conn = c;
	p->other = other->node;
	peer_up(p);
	return p;
}

static void on_up(void *user)
{
	struct assoc_end *p = user;

	peer_up(p);
	assoc_end_wake(p);
}

static void on_down(void *user, int err, const char *reason)
{
	struct assoc_end *p = user;

	trace(p->node->w, "n%u c%u down: %d %s", p->node->id, sim_conn_id(p->conn), err, reason);
	if (p->node->w->plan.strict && err && p->up)
		fail(p->node->w, "node %u: an association was lost: %s", p->node->id, reason);
	assoc_end_lost(p);
}

static bool on_readable(void *user)
{
	struct assoc_end *p = user;

	if (p->node->stack) {
		/* The messages are in a packet that goes after this call. */
		assoc_end_tick(p);
		p->readable = dp_rx(&p->dp, 1 + (unsigned)random_below(p->node->w, 16));
	} else {
		p->readable = true;
	}
	assoc_end_wake(p);
	return p->readable && p->node->stack;
}

static void on_writable(void *user)
{
	assoc_end_wake(user);
}

static void on_acked(void *user)
{
	struct assoc_end *p = user;

	trace(p->node->w, "n%u c%u all acked", p->node->id, sim_conn_id(p->conn));
	p->acked = p->sent;
	assoc_tx_acked(p->assoc);
	assoc_tx_report(p->assoc);
	assoc_end_wake(p);
}

static void on_progress(void *user, uint32_t unacked)
{
	struct assoc_end *p = user;

	p->acked = p->sent - unacked;
	assoc_tx_progress(p->assoc, unacked);
	assoc_tx_report(p->assoc);
	assoc_end_wake(p);
}

static void on_resized(void *user)
{
	struct assoc_end *p = user;

	if (p->up)
		dp_update_mulpdu(&p->dp);
}

const struct llp_events assoc_end_events = {
	.incoming = on_incoming,
	.up = on_up,
	.down = on_down,
	.readable = on_readable,
	.writable = on_writable,
	.acked = on_acked,
	.progress = on_progress,
	.resized = on_resized,
};

/* ---- beginning and end ---- */

struct assoc_end *assoc_end_connect(struct node *from, struct node *to)
{
	struct assoc_end *p = peer_new(from, true);
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	p->other = to;
	in.sin_addr.s_addr = htonl(to->id + 1);
	if (llp_connect(from->llp, (struct sockaddr *)&in, p, &p->conn) != 0)
		fail(from->w, "node %u: llp_connect() failed", from->id);
	return p;
}

static void check_no_session(struct assoc_end *p)
{
	list_foreach (it, &p->node->eps) {
		struct ep *ep = list_entry(it, struct ep, link);

		if (ep->end == p && ep->state != EP_OVER)
			fail(p->node->w, "ep%u: the loss of the association was not reported",
			     ep->id);
	}
	if (p->pending > 0)
		fail(p->node->w, "node %u: %u requests outlive their association", p->node->id,
		     p->pending);
}

static void count(const struct assoc_end *p)
{
	const struct assoc_counters *c = assoc_counters(p->assoc);

	p->node->w->sum.ahead += (unsigned)c->rx_ahead;
	p->node->w->sum.early += (unsigned)c->rx_early;
}

void assoc_end_lost(struct assoc_end *p)
{
	if (p->gone)
		return;
	p->gone = true;
	p->up = false;
	assoc_lost(p->assoc);
	dp_events(&p->dp);
	check_no_session(p);
	if (!assoc_idle(p->assoc) || assoc_sessions(p->assoc) != 0)
		fail(p->node->w, "node %u: a lost association is not idle", p->node->id);
	count(p);
	llp_conn_free(p->conn);
	assoc_clear(p->assoc);
	blocks_unreserve(&p->node->pool->blocks, p->blocks);
	free(p->assoc);
	p->assoc = NULL;
}
