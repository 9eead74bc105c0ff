/* SPDX-License-Identifier: BSD-2-Clause */
/* The random program: actions of clients, operators and networks. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

enum { EPS_MAX = 5 }; /* open endpoints of a node */

static unsigned live_eps(const struct node *n)
{
	unsigned live = 0;

	list_foreach (it, &n->eps)
		live += list_entry(it, struct ep, link)->state != EP_OVER;
	return live;
}

static struct ep *random_ep(struct node *n)
{
	uint64_t k = random_below(n->w, live_eps(n));

	list_foreach (it, &n->eps) {
		struct ep *ep = list_entry(it, struct ep, link);

		if (ep->state != EP_OVER && k-- == 0)
			return ep;
	}
	return NULL;
}

static struct assoc_end *random_end(struct node *n)
{
	struct assoc_end *found = NULL;
	unsigned seen = 0;

	list_foreach (it, &n->ends) {
		struct assoc_end *p = list_entry(it, struct assoc_end, link);

		if (p->up && random_below(n->w, ++seen) == 0)
			found = p;
	}
	return found;
}

static void new_association(struct node *n)
{
	struct world *w = n->w;
	unsigned to = (n->id + 1 + (unsigned)random_below(w, w->nnodes - 1)) % w->nnodes;

	assoc_end_connect(n, &w->node[to]);
}

/* Messages that wait for a receive do so no longer. */
static void expect_no_buffers(struct ep *ep)
{
	struct ep *other = ep_other(ep);

	for (unsigned i = 0; ep->patient && other && i < other->sq_n; i++)
		if (other->sq[i]->queue == 0 && !other->sq[i]->delivered)
			other->sq[i]->may |= perr_bit(PERR_NO_BUFFER);
}

/* At once, or after what was posted. */
static void close_ep(struct ep *ep)
{
	struct world *w = ep->w;

	if (chance(w, 5000)) {
		assoc_close(ep->end->assoc, ep->r);
		return;
	}
	ep->sq_last = ep->sq_n;
	ep->sq_last_by_us = simclock_now(w->clock) + (uint64_t)w->plan.close_ms * 1000 / 2;
	assoc_close_after(ep->end->assoc, ep->r, ep->sq_n - ep->sq_taken);
}

void program_close(struct ep *ep)
{
	assoc_end_tick(ep->end);
	if (ep->state == EP_OVER)
		return;
	trace(ep->w, "n%u ep%u closes", ep->node->id, ep->id);
	ep->close_requested = true;
	ep->state = EP_CLOSING;
	expect_no_buffers(ep);
	close_ep(ep);
	assoc_end_wake(ep->end);
}

static void new_session(struct node *n)
{
	struct assoc_end *p = random_end(n);
	struct assoc_params params;
	struct ep *ep;
	struct sess *s;

	if (!p || live_eps(n) >= EPS_MAX)
		return;
	ep = ep_new(n, chance(n->w, n->w->plan.raw));
	if (!ep)
		return;
	s = sess_new(ep);
	ep->ord = s->enhanced ? 0 : ep->cfg.ord;
	ep->ird = s->enhanced ? 0 : ep->cfg.ird;
	s->end[0] = p;
	s->end[1] = sim_conn_peer(p->conn)->user;
	ep->end = p;
	op_post_recvs(ep, (unsigned)random_below(n->w, 20));
	assoc_end_tick(p);
	params = sess_params(s, 0);
	if (assoc_connect(p->assoc, ep->r, &params, &s->sid) == ASSOC_E_OK) {
		ep->sid = s->sid;
		ep->state = EP_CONNECTING;
		trace(n->w, "n%u ep%u connects session %u on c%u stream %u", n->id, ep->id, s->id,
		      sim_conn_id(p->conn), s->sid);
		assoc_end_wake(p);
		if (chance(n->w, n->w->plan.close))
			program_close(ep);
		return;
	}
	trace(n->w, "n%u ep%u: no stream", n->id, ep->id);
	list_del(&s->link);
	free(s);
	ep->sess = NULL;
	ep_over(ep);
}

static void work(struct node *n)
{
	struct ep *ep = random_ep(n);
	uint64_t count = 1 + random_below(n->w, 8);

	if (!ep)
		return;
	if (chance(n->w, 4000))
		op_post_recvs(ep, (unsigned)count);
	while (count-- > 0 && ep->state != EP_CLOSING)
		op_post_random(ep);
}

static void close_some(struct node *n)
{
	struct ep *ep = random_ep(n);

	if (ep && ep->state != EP_CLOSING)
		program_close(ep);
}

void program_release(struct ep *ep)
{
	assoc_end_tick(ep->end);
	if (ep->state == EP_OVER)
		return;
	trace(ep->w, "n%u ep%u disappears", ep->node->id, ep->id);
	ep->sess->released[ep->side] = true;
	ep->unbound = true;
	ep->state = EP_OVER;
	assoc_unbind(ep->end->assoc, ep->r);
	ep_over(ep);
	assoc_end_wake(ep->end);
}

static void unbind_some(struct node *n)
{
	struct ep *ep = random_ep(n);

	if (ep)
		program_release(ep);
}

static void revoke_some(struct node *n)
{
	struct ep *ep = random_ep(n);
	struct region *rg;

	if (!ep)
		return;
	rg = (struct region *[]){ep->local_region, ep->open_region, ep->scoped_region,
				 ep->windowed_region}[random_below(n->w, 4)];
	if (!rg->dead)
		region_revoke(rg, true);
}

static void crash_some(struct node *n)
{
	struct assoc_end *p = random_end(n);

	if (!p)
		return;
	if (chance(n->w, 5000)) {
		if (n->stack) {
			lower_crash(n);
			return;
		}
		trace(n->w, "n%u c%u breaks", n->id, sim_conn_id(p->conn));
		simconn_break(p->conn, chance(n->w, 5000));
		return;
	}
	if (n->w->plan.strict)
		return;
	trace(n->w, "n%u c%u is aborted", n->id, sim_conn_id(p->conn));
	llp_abort(p->conn, "aborted by the test");
	assoc_end_lost(p);
}

static void act(struct world *w)
{
	struct node *n = &w->node[random_below(w, w->nnodes)];

	if (chance(w, w->plan.close))
		close_some(n);
	else if (chance(w, w->plan.unbind))
		unbind_some(n);
	else if (chance(w, w->plan.revoke))
		revoke_some(n);
	else if (chance(w, w->plan.crash))
		crash_some(n);
	else if (w->plan.extensions && chance(w, 300))
		atomic_local(n);
	else if (chance(w, random_end(n) ? 20 : 2000))
		new_association(n);
	else if (chance(w, live_eps(n) ? 1200 : 6000))
		new_session(n);
	else
		work(n);
}

static void action(void *obj, void *arg)
{
	struct world *w = obj;

	(void)arg;
	act(w);
	if (--w->actions_left > 0)
		simclock_after(w->clock, random_below(w, w->plan.gap_us + 1), action, w, NULL);
}

void program_begin(struct world *w)
{
	w->actions_left = w->plan.actions;
	for (unsigned i = 0; i < w->nnodes; i++)
		if (i == 0 || chance(w, 5000))
			new_association(&w->node[i]);
	simclock_after(w->clock, 0, action, w, NULL);
}

void program_end(struct world *w)
{
	for (unsigned i = 0; i < w->nnodes; i++) {
		list_foreach (it, &w->node[i].eps) {
			struct ep *ep = list_entry(it, struct ep, link);

			if (ep->state == EP_CONNECTING ||
			    (ep->state == EP_OPEN && (ep->side == 0 || chance(w, 5000))))
				program_close(ep);
		}
	}
}
