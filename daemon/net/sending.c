/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/sending.h"

#include "daemon/net/association.h"

enum { BUDGET = 1 << 19 /* bytes of a run: other steps of the turn wait meanwhile */ };

/* The turn of this share: a user, its client, and one of its associations. */
static unsigned send_share(struct association *assoc, struct assoc_share *share, int64_t *budget)
{
	uint64_t before = assoc->dp.sent;
	struct worker *w = assoc->worker;

	if (!list_linked(&assoc->served))
		list_add_tail(&w->served, &assoc->served);
	w->alone &= !w->user || w->user == w->users.ready.next;
	w->user = w->users.ready.next;
	if (assoc->state != ASSOCIATION_UP)
		assoc->full = true;
	if (!assoc->full)
		assoc->full = dp_tx_turn(&assoc->dp, share, budget) == DP_FULL;
	if (assoc->full)
		assoc_share_hold(share);
	return (unsigned)(assoc->dp.sent - before);
}

static unsigned send_shares(struct worker *w)
{
	int64_t budget = BUDGET;
	unsigned sent = 0;
	struct drr *leaf;

	w->user = NULL;
	w->alone = true;
	while (budget > 0 && (leaf = drr_next(&w->users))) {
		struct assoc_share *share = assoc_share_of(leaf);

		sent += send_share(assoc_share_user(share), share, &budget);
	}
	return sent;
}

unsigned sending_run(struct worker *w)
{
	struct list turn, *l;
	unsigned sent;

	/* Those that become active meanwhile have their turn next time. */
	list_init(&turn);
	list_splice_tail(&turn, &w->active);
	while ((l = list_pop(&turn))) {
		struct association *assoc = list_entry(l, struct association, active);

		if (association_begin_turn(assoc))
			list_add_tail(&w->served, &assoc->served);
	}
	sent = send_shares(w);
	while ((l = list_pop(&w->served)))
		association_end_turn(list_entry(l, struct association, served));
	return sent;
}

bool sending_is_alone(const struct worker *w)
{
	return w->alone && list_linked(&w->users.ready) &&
	       w->users.ready.next == w->users.ready.prev;
}

bool sending_is_due(const struct worker *w)
{
	return !list_empty(&w->active) || drr_has_work(&w->users);
}
