/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows of type 2: bound and invalidated in the send queue, or invalidated by the peer. */
#include <stdlib.h>

#include "tests/lib/names.h"
#include "tests/sim/world.h"

enum { REMOTE = STAG_REMOTE_WRITE | STAG_REMOTE_READ | STAG_REMOTE_ATOMIC };

void window_init(struct ep *ep)
{
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct stag_region r = {.kind = STAG_WINDOW_STREAM, .pd = ep->cfg.accessor.pd};

		region_enter(ep->node, &r);
		ep->window[i] = (struct window){.stag = r.stag};
		region_retire(ep->node, r.stag, false); /* it is not bound yet */
	}
}

/* The entry is in the table with one of its values. reuse: no request that may still
 * be carried out names its index. */
static void remove_window(struct ep *ep, struct window *w, bool reuse)
{
	const struct stag_region *r = stag_find_any_key(ep->node->stags, w->stag);
	uint32_t stag = r ? r->stag : 0;

	if (!r || r->kind != STAG_WINDOW_STREAM || !stag_remove(ep->node->stags, stag))
		fail(ep->w, "ep%u: window 0x%08x is not in the table", ep->id, w->stag);
	region_retire(ep->node, w->stag, reuse);
	w->gone = true;
}

void window_deinit(struct ep *ep)
{
	for (unsigned i = 0; i < WINDOWS; i++)
		if (ep->window[i].stag && !ep->window[i].gone)
			remove_window(ep, &ep->window[i], true);
	list_foreach (it, &ep->grants) {
		struct grant *g = list_entry(it, struct grant, link);

		g->state = GRANT_OVER;
		g->rg = NULL;
	}
}

void window_free(struct ep *ep)
{
	struct list *it;

	while ((it = list_pop(&ep->grants)))
		free(list_entry(it, struct grant, link));
}

/* ---- use by the peer ---- */

static bool usable(const struct grant *g, uint32_t right, uint32_t len)
{
	if (g->state != GRANT_OPEN || g->rg->dead || g->rg->revoke_due)
		return false;
	return (g->rights & right) == right && g->len >= len && !(len == 0 && g->held);
}

struct grant *window_pick(struct ep *owner, uint32_t right, uint32_t len)
{
	struct grant *found = NULL;
	unsigned seen = 0;

	if (owner->state != EP_OPEN)
		return NULL;
	list_foreach (it, &owner->grants) {
		struct grant *g = list_entry(it, struct grant, link);

		if (usable(g, right, len) && random_below(owner->w, ++seen) == 0)
			found = g;
	}
	return found;
}

struct grant *window_of_others(const struct ep *ep)
{
	list_foreach (it, &ep->node->eps) {
		struct ep *e = list_entry(it, struct ep, link);
		struct grant *g = e == ep ? NULL : window_pick(e, 0, 0);

		if (g && e->cfg.accessor.pd == ep->cfg.accessor.pd)
			return g;
	}
	return NULL;
}

struct slice *window_slice(struct grant *g, uint32_t len, uint32_t align)
{
	return slice_new_in(g->rg, g->off, g->len, len, align);
}

void window_seen_by_peer(struct ep *owner, const struct op *op)
{
	list_foreach (it, &owner->grants) {
		struct grant *g = list_entry(it, struct grant, link);

		if (g->state == GRANT_POSTED && g->bind->at < op->at && !g->bind->uncertain)
			g->state = GRANT_OPEN;
	}
}

/* True if requests of the peer use it. */
static bool in_use(const struct grant *g)
{
	struct ep *other = ep_other(g->owner);

	if (!other)
		return false;
	ep_settle_writes(other, other->sq_n, false);
	for (unsigned i = 0; i < other->sq_n; i++)
		if (other->sq[i]->via == g && other->sq[i]->target)
			return true;
	return false;
}

static void mark_users(const struct grant *g)
{
	struct ep *other = ep_other(g->owner);

	for (unsigned i = 0; other && i < other->sq_n; i++)
		if (other->sq[i]->via == g && other->sq[i]->target)
			region_op_uncertain(other->sq[i], false);
}

void window_over(struct grant *g)
{
	struct ep *other = ep_other(g->owner);

	if (g->state == GRANT_OVER)
		return;
	g->state = GRANT_OVER;
	region_retire(g->owner->node, g->stag, false);
	for (unsigned i = 0; other && i < other->sq_n; i++)
		if (other->sq[i]->via == g && other->sq[i]->target)
			slice_settle(other->sq[i]->target);
}

/* ---- requests of the owner ---- */

static struct region *draw_region(struct ep *ep)
{
	struct region *rg = chance(ep->w, 7000) ? ep->windowed_region : ep->open_region;

	return rg->dead || rg->revoke_due ? NULL : rg;
}

static struct op *bind_op(struct ep *ep, const struct window *w, const struct region *rg)
{
	uint32_t units = rg->len / UNIT, first = (uint32_t)random_below(ep->w, units);
	struct op *op = op_new(ep, RDMAP_BIND, 0);

	op->wr.rstag = (w->stag & ~(uint32_t)STAG_KEY) | ((w->stag + 1) & STAG_KEY);
	op->wr.bind.region = rg->stag;
	op->wr.bind.rights = chance(ep->w, 5000) ? REMOTE : (uint32_t)random_below(ep->w, 8) * 2;
	op->wr.rto = rg->to + (uint64_t)first * UNIT;
	op->wr.bind.len = (1 + random_below(ep->w, units - first)) * UNIT;
	return op;
}

static void post_bind(struct ep *ep, struct window *w)
{
	struct region *rg = draw_region(ep);
	struct grant *g;
	struct op *op;

	if (!rg)
		return;
	op = bind_op(ep, w, rg);
	g = alloc_zeroed(sizeof(*g));
	*g = (struct grant){
		.owner = ep,
		.stag = op->wr.rstag,
		.rg = rg,
		.off = rg->off + (uint32_t)(op->wr.rto - rg->to),
		.len = (uint32_t)op->wr.bind.len,
		.rights = op->wr.bind.rights,
		.bind = op,
	};
	list_add_tail(&ep->grants, &g->link);
	w->stag = g->stag;
	w->grant = g;
	op->grant = g;
	ep_post(op);
}

/* A bind with one error has no effect. */
static void bad_bind(struct op *op)
{
	struct ep *ep = op->ep;
	struct region *foreign_domain = ep->node->shared[2 - ep->cfg.accessor.pd];
	struct region *no_access = ep->node->no_access[ep->cfg.accessor.pd - 1];

	switch (random_below(ep->w, 7)) {
	case 6: /* writing through a window needs the local right as well */
		op->wr.bind.region = no_access->stag;
		op->wr.bind.rights |= STAG_REMOTE_WRITE;
		op->wr.rto = no_access->to;
		op->wr.bind.len = no_access->len;
		break;
	case 0:
		op->wr.bind.region = foreign_domain->stag;
		break;
	case 1: /* it has a scope of its own */
		op->wr.bind.region = ep->scoped_region->stag;
		break;
	case 2:
		op->wr.bind.region = ep->local_region->stag; /* and does not permit windows */
		op->wr.rto = ep->local_region->to;
		break;
	case 3:
		op->wr.bind.rights |= STAG_LOCAL_WRITE;
		break;
	case 4:
		op->wr.bind.len = ep->local_region->len * UINT64_C(2);
		break;
	default:
		op->wr.bind.len = 0;
	}
}

/* The window of one of these is open, so it cannot be bound; or the bind has another error. */
static void post_bad_bind(struct ep *ep, struct window *w)
{
	bool open_region =
		w->grant && w->grant->state == GRANT_OPEN && w->grant->bind->state == OP_DONE;
	struct region *rg = draw_region(ep);
	struct op *op;

	if (!rg)
		return;
	op = bind_op(ep, w, rg);
	op->local = RDMAP_MW_BIND_ERR;
	w->stag = op->wr.rstag; /* a key that is not used again */
	if (open_region) {
		op->grant = w->grant;
		w->grant->held++;
	} else {
		bad_bind(op);
	}
	ep_post(op);
}

static void post_local_inv(struct ep *ep, struct grant *g)
{
	bool despite_use = ep->w->plan.revoke > 0 && chance(ep->w, 2000);
	struct op *op;

	if ((g->state != GRANT_OPEN && g->state != GRANT_POSTED) || g->held || g->bind->uncertain)
		return;
	if (!despite_use && in_use(g))
		return;
	if (despite_use)
		mark_users(g);
	op = op_new(ep, RDMAP_LOCAL_INV, 0);
	op->wr.inv_stag = g->stag;
	op->grant = g;
	g->state = GRANT_CLOSING;
	g->by_owner = true;
	ep_post(op);
}

static void post_bad_inv(struct ep *ep)
{
	const struct region *rg = ep->node->shared[ep->cfg.accessor.pd - 1];
	const struct grant *g = window_of_others(ep);
	struct op *op = op_new(ep, RDMAP_LOCAL_INV, 0);
	bool scope = chance(ep->w, 5000);

	op->wr.inv_stag = scope ? rg->stag : region_stale_stag(ep->node);
	if (g && !scope &&
	    chance(ep->w, 5000)) { /* it may end earlier, which makes no difference here */
		op->wr.inv_stag = g->stag;
		op->uncertain = true;
		op->grant = NULL;
	}
	op->local = scope ? RDMAP_LOC_PD_ERR : RDMAP_LOC_KEY_ERR;
	ep_post(op);
}

void window_post(struct ep *ep)
{
	struct window *w = &ep->window[random_below(ep->w, WINDOWS)];
	struct grant *g = w->grant;

	if (ep->cfg.raw || w->gone)
		return;
	if (chance(ep->w, ep->w->plan.bad_op))
		post_bad_inv(ep);
	else if (chance(ep->w, ep->w->plan.bad_op * 2))
		post_bad_bind(ep, w);
	else if (!g || g->state == GRANT_OVER || (g->state == GRANT_CLOSING && g->by_owner))
		post_bind(ep, w);
	else if (chance(ep->w, g->state == GRANT_OPEN ? 4000 : 500))
		post_local_inv(ep, g);
}

/* ---- results ---- */

static void check_bound(const struct grant *g)
{
	const struct ep *ep = g->owner;
	const struct stag_region *r = stag_find(ep->node->stags, g->stag);
	uint64_t to = g->rg->to + (g->off - g->rg->off);

	if (!r || !r->valid || r->rights != g->rights || r->scope != ep->cfg.accessor.scope ||
	    r->pd != ep->cfg.accessor.pd || r->to != to || r->len != g->len ||
	    r->base != ep->node->mem + g->off)
		fail(ep->w, "ep%u: window 0x%08x does not have its bound range", ep->id, g->stag);
}

static void check_old_keys(const struct grant *g)
{
	const struct ep *ep = g->owner;

	list_foreach (it, &ep->grants) {
		const struct grant *old = list_entry(it, struct grant, link);

		if (old == g)
			return;
		if ((old->stag ^ g->stag) <= STAG_KEY && stag_find(ep->node->stags, old->stag))
			fail(ep->w, "ep%u: window 0x%08x still has its old key", ep->id, old->stag);
	}
}

void window_done(struct op *op)
{
	struct grant *g = op->grant;
	const struct stag_region *r;
	struct ep *ep = op->ep;

	if (op->uncertain)
		return;
	if (op->kind == RDMAP_BIND) {
		if (g->state == GRANT_POSTED || (g->state == GRANT_OPEN && !g->by_owner))
			check_bound(g);
		check_old_keys(g);
		if (g->state == GRANT_POSTED)
			g->state = GRANT_OPEN;
		ep->w->sum.binds++;
		return;
	}
	r = stag_find(ep->node->stags, g->stag);
	if (r && r->valid)
		fail(ep->w, "ep%u: window 0x%08x is valid after its invalidation", ep->id, g->stag);
	window_over(g);
	ep->w->sum.unbinds++;
}

void window_revoke(struct region *rg)
{
	struct ep *ep = rg->owner;

	for (unsigned i = 0; ep && i < WINDOWS; i++) {
		struct window *w = &ep->window[i];
		const struct stag_region *r = stag_find_any_key(ep->node->stags, w->stag);

		if (w->gone || !r || !r->valid || r->parent != rg->stag)
			continue;
		list_foreach (it, &ep->grants) {
			struct grant *g = list_entry(it, struct grant, link);

			if ((g->stag ^ w->stag) > STAG_KEY)
				continue;
			mark_users(g);
			window_over(g);
		}
		for (unsigned k = ep->sq_done; k < ep->sq_n; k++)
			if (op_is_local(ep->sq[k]->kind))
				region_op_uncertain(ep->sq[k], true);
		remove_window(ep, w, false);
	}
}

/* ---- fences ---- */

static bool has_happened(const struct op *op)
{
	const struct grant *g = op->grant;
	const struct stag_region *r = stag_find(op->ep->node->stags, g->stag);

	if (op->kind == RDMAP_BIND)
		return r && r->valid;
	return g->bind->status == RDMAP_SUCCESS && g->bind->state == OP_DONE && (!r || !r->valid);
}

void window_check_fence(const struct ep *ep, const struct op *before)
{
	for (unsigned i = before->at + 1; i < ep->sq_taken; i++) {
		const struct op *op = ep->sq[i];

		if (!op_is_local(op->kind) || !(op->wr.flags & RDMAP_FENCE))
			continue;
		if (!op->local && !op->uncertain && has_happened(op))
			fail(ep->w, "ep%u: %s #%llu overtakes its fence", ep->id,
			     names_op(op->kind), (unsigned long long)op->cookie);
	}
}
