/* SPDX-License-Identifier: BSD-2-Clause */
/* How the connections of a pair begin, take over and end. */
#include "llp/dtls/dtls_core.h"

#include <errno.h>
#include <stdio.h>

/* After a takeover that failed. */
#define RETRY_US ((uint64_t)30 * 1000000)

static bool is_up(const struct dtls_link *l)
{
	return l && l->state == DTLS_LINK_UP;
}

static bool is_in_handshake(const struct dtls_link *l)
{
	return l && l->state == DTLS_LINK_HANDSHAKE;
}

/* ---- beginning ---- */

static unsigned count_handshakes(const struct dtls *d)
{
	unsigned n = 0;

	list_foreach (it, &d->table.moving)
		n += is_in_handshake(list_entry(it, struct dtls_pair, moving)->next);
	return n;
}

int dtls_pair_begin(struct dtls *d, struct dtls_pair *p, const struct dtls_hello *hello,
		    const struct span *datagram)
{
	if (count_handshakes(d) >= d->cfg.max_handshakes)
		return -EAGAIN;
	dtls_pair_drop(&p->next);
	p->next = dtls_link_new(d->identity, d->worker, p, hello, datagram ? datagram->p : NULL,
				datagram ? datagram->len : 0, d->cfg.resend_us, d->now_us);
	if (!p->next)
		return -ENOMEM;
	d->stats.begun++;
	dtls_pair_settle(d, p);
	return 0;
}

/* ---- moving on ---- */

static void add_event(struct dtls *d, struct dtls_pair *p)
{
	if (!list_linked(&p->events))
		list_add_tail(&d->table.events, &p->events);
}

static void go_down(struct dtls *d, struct dtls_pair *p, const char *reason)
{
	p->down = true;
	snprintf(p->reason, sizeof(p->reason), "%s", reason);
	add_event(d, p);
}

static void note_moving(struct dtls *d, struct dtls_pair *p)
{
	bool moves = p->next || p->old || (p->now && dtls_link_has_output(p->now));

	if (moves && !list_linked(&p->moving))
		list_add_tail(&d->table.moving, &p->moving);
	else if (!moves)
		list_del(&p->moving);
}

void dtls_pair_promote(struct dtls *d, struct dtls_pair *p)
{
	dtls_pair_drop(&p->old);
	p->old = p->now;
	p->now = p->next;
	p->next = NULL;
	p->old_until_us = d->now_us + d->cfg.linger_us;
	d->stats.takeovers++;
	note_moving(d, p);
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
	} else if (!p->now) {
		p->now = l;
		p->next = NULL;
		p->up = true;
		add_event(d, p);
	}
}

/* A handshake has failed, or its peer was refused. */
static void drop_next(struct dtls *d, struct dtls_pair *p)
{
	d->stats.failed++;
	p->retry_us = d->now_us + RETRY_US;
	dtls_reply_last(d, &p->flow, p->next, true, DTLS_ACCESS_DENIED);
	if (!p->now)
		go_down(d, p, p->next->reason);
	dtls_pair_drop(&p->next);
}

void dtls_pair_settle(struct dtls *d, struct dtls_pair *p)
{
	if (is_up(p->next) && !p->next->judged)
		judge_peer(d, p);
	if (p->next && p->next->state == DTLS_LINK_DOWN)
		drop_next(d, p);
	note_moving(d, p);
}

void dtls_pair_lose(struct dtls *d, struct dtls_pair *p, struct dtls_link *l, const char *reason)
{
	if (l == p->old) {
		dtls_pair_drop(&p->old);
	} else if (l == p->next) {
		dtls_pair_drop(&p->next);
	} else {
		dtls_pair_drop(&p->now);
		if (is_up(p->next)) {
			p->now = p->next;
			p->next = NULL;
		} else if (!p->next) {
			go_down(d, p, reason);
		}
	}
	note_moving(d, p);
}

/* ---- time ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t dtls_pair_expiry(const struct dtls *d, const struct dtls_pair *p)
{
	uint64_t at = p->old ? p->old_until_us : UINT64_MAX;

	if (is_in_handshake(p->next)) {
		at = earlier(at, dtls_link_expiry(p->next));
		at = earlier(at, p->next->begun_us + d->cfg.handshake_us);
	}
	return at;
}

static void give_up_handshake(struct dtls *d, struct dtls_pair *p)
{
	struct dtls_link *l = p->next;

	snprintf(l->reason, sizeof(l->reason), "the handshake was not completed in %llu ms",
		 (unsigned long long)d->cfg.handshake_us / 1000);
	l->state = DTLS_LINK_DOWN;
	dtls_pair_settle(d, p);
}

void dtls_pair_run(struct dtls *d, struct dtls_pair *p)
{
	if (p->old && d->now_us >= p->old_until_us) {
		dtls_reply_last(d, &p->flow, p->old, false, DTLS_CLOSE_NOTIFY);
		dtls_pair_drop(&p->old);
	}
	if (is_in_handshake(p->next)) {
		dtls_link_run(p->next, d->now_us);
		dtls_pair_settle(d, p);
	}
	if (is_in_handshake(p->next) && d->now_us >= p->next->begun_us + d->cfg.handshake_us)
		give_up_handshake(d, p);
	note_moving(d, p);
}

/* The end that began the connection begins the next one; the other one does if that does not. */
static bool takeover_is_due(const struct dtls *d, const struct dtls_pair *p)
{
	const struct dtls_link *l = p->now;
	uint64_t age = d->now_us - l->up_us;

	if (p->next || d->now_us < p->retry_us)
		return false;
	if (l->tx.blocks >= DTLS_SOFT_BLOCKS)
		return true;
	return age >= d->cfg.takeover_us + (l->server ? d->cfg.takeover_us / 4 : 0);
}

void dtls_pair_sweep(struct dtls *d, struct dtls_pair *p)
{
	if (!p->now)
		return;
	if (d->now_us - p->heard_us >= d->cfg.idle_us) {
		dtls_reply_last(d, &p->flow, p->now, false, DTLS_CLOSE_NOTIFY);
		dtls_pair_lose(d, p, p->now, "the peer was silent for too long");
	} else if (p->now->rx.forged >= DTLS_MAX_FORGED) {
		dtls_pair_lose(d, p, p->now, "too many forged records");
	} else if (takeover_is_due(d, p) && dtls_pair_begin(d, p, NULL, NULL) < 0) {
		p->retry_us = d->now_us + RETRY_US;
	}
}
