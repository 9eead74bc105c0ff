/* SPDX-License-Identifier: BSD-2-Clause */
/* How the connections of a pair begin, take over and end. */
#include "llp/dtls/dtls_core.h"

#include <errno.h>
#include <stdio.h>

/* Each handshake that a peer begins costs a signature: in the long run one in so many microseconds
 * may begin, so that clients that never go on use a fraction of a processor, and those of one
 * address an eighth of that. */
enum { EACH_US = 500, EACH_OF_ADDRESS_US = 8 * EACH_US };

#define QUIET_US ((uint64_t)1000000)

/* After a takeover that failed. */
#define RETRY_US ((uint64_t)30 * 1000000)

/* ---- events ---- */

static void add_event(struct dtls *d, struct dtls_pair *p)
{
	if (!list_linked(&p->events))
		list_add_tail(&d->table.events, &p->events);
}

static void go_up(struct dtls *d, struct dtls_pair *p)
{
	p->hinted = p->renews = false;
	p->up = true;
	add_event(d, p);
}

/* One that was not fetched yet keeps its reason if that is graver: a refusal is not closing. */
static void go_down(struct dtls *d, struct dtls_pair *p, enum dtls_end end, const char *reason)
{
	p->renews = false;
	if (!p->down || end >= p->end) {
		p->end = end;
		snprintf(p->reason, sizeof(p->reason), "%s", reason);
	}
	p->down = true;
	add_event(d, p);
}

/* ---- beginning ---- */

static void fire(struct timer *t)
{
	struct dtls_pair *p = list_entry(t, struct dtls_pair, timer);

	dtls_pair_run(p->room, p);
}

struct dtls_pair *dtls_pair_add(struct dtls *d, const struct dtls_flow *flow, bool guest)
{
	struct dtls_pair *p = dtls_table_add(&d->table, flow, guest, fire);

	if (p)
		p->room = d;
	return p;
}

/* Peers may begin three quarters of all, and an eighth from one address: programs here, and
 * takeovers, have the rest. */
static bool leaves_room(unsigned theirs, unsigned of_address, unsigned most)
{
	return theirs < most - most / 4 && of_address < (most + 7) / 8;
}

/* max_handshakes of all may begin at once, and an eighth of these from one address. */
static bool is_in_rate(const struct dtls *d, uint64_t paid_us)
{
	return paid_us <= d->now_us + (uint64_t)d->cfg.max_handshakes * EACH_US;
}

static void pay(const struct dtls *d, uint64_t *paid_us, unsigned us)
{
	*paid_us = (*paid_us > d->now_us ? *paid_us : d->now_us) + us;
}

/* The peer of a link has shown who it is: unknown peers do not use up its rate. */
static bool shares_rate(const struct dtls_pair *p)
{
	return !p || !p->now;
}

/* Nor do a few addresses use up that of one which has begun none lately. */
static bool is_quiet(const struct dtls *d, const struct dtls_share *s)
{
	return s->paid_us + QUIET_US <= d->now_us;
}

static bool has_rate(const struct dtls *d, const struct dtls_pair *p, const struct dtls_share *s)
{
	if (!is_in_rate(d, s->paid_us))
		return false;
	return !shares_rate(p) || is_quiet(d, s) || is_in_rate(d, d->paid_us);
}

/* For a handshake that a peer begins. p: its link, or NULL. ret_evicted: what has to give way, or
 * NULL. */
static bool has_place(const struct dtls *d, const struct dtls_pair *p, const struct dtls_share *s,
		      struct dtls_pair **ret_evicted)
{
	unsigned all = d->table.handshakes - (p && p->counted), most = d->cfg.max_handshakes;
	unsigned theirs = d->table.theirs - (p && p->theirs);
	unsigned own = s->handshakes - (p && p->theirs);

	*ret_evicted = NULL;
	if (all < most && leaves_room(theirs, own, most))
		return true;
	if (leaves_room(0, own, most))
		*ret_evicted = dtls_table_evictable(&d->table, own, d->now_us);
	return *ret_evicted;
}

static bool admits(struct dtls *d, const struct dtls_pair *p, const struct dtls_flow *flow,
		   struct dtls_pair **ret_evicted)
{
	const struct dtls_share *s = dtls_table_share(&d->table, flow);

	if (!p && (d->table.n >= d->cfg.max_links ||
		   !leaves_room(d->table.guests, s->links, d->cfg.max_links)))
		return false;
	return has_rate(d, p, s) && has_place(d, p, s, ret_evicted);
}

bool dtls_pair_admits(struct dtls *d, const struct dtls_pair *p, const struct dtls_flow *flow)
{
	struct dtls_pair *evicted;

	return admits(d, p, flow, &evicted);
}

static bool may_begin(struct dtls *d, const struct dtls_pair *p, bool theirs,
		      struct dtls_pair **ret_evicted)
{
	*ret_evicted = NULL;
	if (theirs)
		return admits(d, p, &p->flow, ret_evicted);
	/* Its peer may cause this one, by HelloRequests or by a takeover that it does not answer.
	 */
	if (p->guest)
		return has_place(d, p, p->share, ret_evicted);
	return d->table.handshakes - p->counted < d->cfg.max_handshakes;
}

/* False: we lack a certificate, or the pre-shared key for the peer. */
static bool choose_key(const struct dtls *d, const struct dtls_pair *p, const struct dtls_psk **ret)
{
	const char *path = d->cfg.psk ? d->cfg.psk(d->cfg.user, &p->flow) : NULL;

	*ret = path ? dtls_identity_psk(d->identity, path) : NULL;
	return *ret || (!path && d->identity->ctx);
}

/* The client that is left without an answer begins again. */
static void give_way(struct dtls *d, struct dtls_pair *p)
{
	d->stats.failed++;
	dtls_pair_drop(&p->next);
	if (!p->now || p->renews)
		go_down(d, p, DTLS_END_CLOSED, "another peer has the place of this handshake");
	dtls_pair_note(d, p);
}

static void pay_for(struct dtls *d, const struct dtls_pair *p)
{
	pay(d, &p->share->paid_us, EACH_OF_ADDRESS_US);
	if (shares_rate(p))
		pay(d, &d->paid_us, EACH_US);
}

int dtls_pair_begin(struct dtls *d, struct dtls_pair *p, const struct dtls_hello *hello,
		    const struct span *datagram)
{
	const struct dtls_psk *psk;
	struct dtls_pair *evicted;

	if (!may_begin(d, p, hello != NULL, &evicted))
		return -EAGAIN;
	if (!choose_key(d, p, &psk))
		return -EACCES;
	if (evicted)
		give_way(d, evicted);
	/* Its client may seal with these keys already: its Finished was right. */
	if (dtls_link_is_up(p->next))
		dtls_pair_promote(d, p);
	dtls_pair_drop(&p->next);
	p->hinted = false;
	p->next =
		dtls_link_new(d->identity, psk, d->worker, p, hello, datagram ? datagram->p : NULL,
			      datagram ? datagram->len : 0, d->cfg.resend_us, d->now_us);
	if (!p->next) {
		dtls_pair_note(d, p);
		return -ENOMEM;
	}
	d->stats.begun++;
	if (hello)
		pay_for(d, p);
	dtls_pair_settle(d, p);
	return 0;
}

/* ---- moving on ---- */

void dtls_pair_promote(struct dtls *d, struct dtls_pair *p)
{
	dtls_pair_drop(&p->old);
	p->old = p->now;
	p->now = p->next;
	p->next = NULL;
	p->old_until_us = d->now_us + d->cfg.linger_us;
	d->stats.takeovers++;
	if (p->hinted || p->renews)
		go_up(d, p);
	dtls_pair_note(d, p);
}

/* The peer of a handshake that has ended well is accepted or refused. */
static void judge_peer(struct dtls *d, struct dtls_pair *p)
{
	struct dtls_link *l = p->next;

	l->judged = true;
	if (!d->cfg.accept(d->cfg.user, &p->flow, &l->peer, !l->server, l->reason,
			   sizeof(l->reason))) {
		l->state = DTLS_LINK_DOWN;
		return;
	}
	d->stats.up++;
	p->heard_us = d->now_us;
	if (p->now && !l->server) {
		dtls_pair_promote(d, p);
		dtls_reply_proof(d, &p->flow, l);
	} else if (p->now) {
		dtls_link_repeat(l, d->now_us);
	} else {
		p->now = l;
		p->next = NULL;
		go_up(d, p);
	}
}

/* A handshake has failed, or its peer was refused. */
static void drop_next(struct dtls *d, struct dtls_pair *p)
{
	d->stats.failed++;
	p->retry_us = d->now_us + RETRY_US;
	dtls_reply_last(d, &p->flow, p->next, true, DTLS_ACCESS_DENIED);
	if (!p->now || p->renews)
		go_down(d, p, DTLS_END_FAILED, p->next->reason);
	dtls_pair_drop(&p->next);
}

void dtls_pair_settle(struct dtls *d, struct dtls_pair *p)
{
	if (dtls_link_is_up(p->next) && !p->next->judged)
		judge_peer(d, p);
	if (p->next && p->next->state == DTLS_LINK_DOWN)
		drop_next(d, p);
	dtls_pair_note(d, p);
}

/* True: the link is down. */
static bool lose_current(struct dtls_pair *p)
{
	dtls_pair_drop(&p->now);
	if (!dtls_link_is_up(p->next))
		return !p->next;
	p->now = p->next;
	p->next = NULL;
	return false;
}

void dtls_pair_return(struct dtls *d, struct dtls_pair *p, const char *reason)
{
	dtls_pair_drop(&p->now);
	p->now = p->old;
	p->old = NULL;
	p->retry_us = d->now_us + RETRY_US;
	go_down(d, p, DTLS_END_REFUSED, reason);
	dtls_pair_note(d, p);
}

static void lose_link(struct dtls *d, struct dtls_pair *p, struct dtls_link *l, enum dtls_end end,
		      const char *reason)
{
	bool down = false;

	if (l == p->old) {
		dtls_pair_drop(&p->old);
	} else if (l == p->next) {
		down = p->renews || end == DTLS_END_REFUSED;
		dtls_pair_drop(&p->next);
	} else {
		down = lose_current(p);
	}
	if (down)
		go_down(d, p, end, reason);
	dtls_pair_note(d, p);
}

void dtls_pair_lose(struct dtls *d, struct dtls_pair *p, struct dtls_link *l, const char *reason)
{
	lose_link(d, p, l, DTLS_END_REFUSED, reason);
}

void dtls_pair_close(struct dtls *d, struct dtls_pair *p, struct dtls_link *l, const char *reason)
{
	lose_link(d, p, l, DTLS_END_CLOSED, reason);
}

/* ---- time ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When a new connection has to take over. The end that began this one begins the next one; the
 * other one does if that does not. One whose client is silent does not prevent that. */
static uint64_t takeover_at(const struct dtls *d, const struct dtls_pair *p)
{
	const struct dtls_link *l = p->now;
	uint64_t at = l->up_us + d->cfg.takeover_us + (l->server ? d->cfg.takeover_us / 4 : 0);

	if (dtls_link_is_in_handshake(p->next))
		return UINT64_MAX;
	if (l->tx.blocks >= DTLS_SOFT_BLOCKS)
		at = 0;
	return at > p->retry_us ? at : p->retry_us;
}

/* The deadlines of the connection that seals. */
static uint64_t current_expiry(const struct dtls *d, const struct dtls_pair *p)
{
	if (p->now->rx.forged >= DTLS_MAX_FORGED)
		return 0;
	return earlier(p->heard_us + d->cfg.idle_us, takeover_at(d, p));
}

static uint64_t pair_expiry(const struct dtls *d, const struct dtls_pair *p)
{
	uint64_t at = p->now ? current_expiry(d, p) : UINT64_MAX;

	if (p->old)
		at = earlier(at, p->old_until_us);
	if (p->next)
		at = earlier(at, dtls_link_expiry(p->next));
	if (dtls_link_is_in_handshake(p->next))
		at = earlier(at, p->next->begun_us + d->cfg.handshake_us);
	return at;
}

static void note_list(struct list *head, struct list *link, bool member)
{
	if (!member)
		list_del(link);
	else if (!list_linked(link))
		list_add_tail(head, link);
}

static bool has_output(const struct dtls_pair *p)
{
	return (p->next && dtls_link_has_output(p->next)) ||
	       (p->now && dtls_link_has_output(p->now));
}

void dtls_pair_note(struct dtls *d, struct dtls_pair *p)
{
	struct dtls_table *t = &d->table;
	bool counted = dtls_link_is_in_handshake(p->next),
	     theirs = counted && (p->next->server || p->guest);

	dtls_table_count(t, p, counted, theirs, d->now_us);
	note_list(&t->writing, &p->writing, has_output(p));
	note_list(&t->beginning, &p->begins, counted);
	note_list(&t->waiting, &p->waiting, counted && p->next->waits);
	timer_set(&t->timers, &p->timer, pair_expiry(d, p));
}

static void explain_silence(const struct dtls *d, struct dtls_link *l)
{
	char last[DTLS_REASON / 2];

	snprintf(last, sizeof(last), "%.127s", l->reason);
	snprintf(l->reason, sizeof(l->reason),
		 "the handshake was not completed in %llu ms%s%.0u%s%s",
		 (unsigned long long)d->cfg.handshake_us / 1000,
		 l->alert ? "; the peer sent alert " : "", l->alert,
		 *last ? "; the last try: " : "", last);
}

static void give_up_handshake(struct dtls *d, struct dtls_pair *p)
{
	explain_silence(d, p->next);
	drop_next(d, p);
}

/* Begins a takeover, or ends a link that is idle. */
static void run_current(struct dtls *d, struct dtls_pair *p)
{
	if (d->now_us - p->heard_us >= d->cfg.idle_us) {
		dtls_reply_last(d, &p->flow, p->now, false, DTLS_CLOSE_NOTIFY);
		dtls_pair_close(d, p, p->now, "the peer was silent for too long");
	} else if (p->now->rx.forged >= DTLS_MAX_FORGED) {
		dtls_pair_close(d, p, p->now, "too many forged records");
	} else if (d->now_us >= takeover_at(d, p) && dtls_pair_begin(d, p, NULL, NULL) < 0) {
		p->retry_us = d->now_us + RETRY_US;
	}
}

void dtls_pair_run(struct dtls *d, struct dtls_pair *p)
{
	if (p->old && d->now_us >= p->old_until_us) {
		dtls_reply_last(d, &p->flow, p->old, false, DTLS_CLOSE_NOTIFY);
		dtls_pair_drop(&p->old);
	}
	if (p->next) {
		dtls_link_run(p->next, d->now_us);
		dtls_pair_settle(d, p);
	}
	if (dtls_link_is_in_handshake(p->next) &&
	    d->now_us >= p->next->begun_us + d->cfg.handshake_us)
		give_up_handshake(d, p);
	if (p->now)
		run_current(d, p);
	dtls_pair_note(d, p);
}
