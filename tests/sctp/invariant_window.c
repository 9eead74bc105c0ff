/* SPDX-License-Identifier: BSD-2-Clause */
/* When congestion windows grow and shrink: RFC 9260 7.2, and for CUBIC on paced paths RFC 7661. */
#include "tests/sctp/invariant_seen.h"

#include "util/minmax.h"

enum {
	FLOOR = 4,
	CUBIC_LIMIT = 8,
	UNUSED_US = 300 * 1000000, /* RFC 7661 4.4.3 */
	STANDS_ROUNDS = 4,         /* windows that are acknowledged before one must have grown */
	STANDS_US = 3000000,       /* CUBIC: a curve is flat where it began */
};

/* CUBIC judges by round trips when a SACK of a paced path arrives. */
static bool by_round_trips(const struct invariant *v, const struct sctp_path *before)
{
	return v->j.s->cfg.cc == SCTP_CC_CUBIC && before->pacer.rate;
}

/* It did with the last SACK: RFC 7661 holds for what comes. */
static bool validates(const struct invariant *v, const struct sctp_path *before)
{
	return v->j.s->cfg.cc == SCTP_CC_CUBIC && before->cc.paced;
}

/* Nobody used much of the window for 5 minutes. */
static bool is_unused(const struct invariant *v, const struct sctp_path *before)
{
	return validates(v, before) && v->j.s->now - before->cc.validated_us >= UNUSED_US;
}

/* BBR has a model of the path in place of these rules. A timeout leaves one packet to it, too. */
static bool has_model(const struct invariant *v)
{
	return v->j.s->cfg.cc == SCTP_CC_BBR;
}

static bool resized(const struct sctp_path *before, const struct sctp_path *after)
{
	return before->cc.pmdcs != after->cc.pmdcs;
}

/* Duplicates show that a reduction whose recovery is over was needless, and another one followed at
 * once: from a window that is not smaller than the one before the first. */
static bool undone_late(const struct invariant *v, const struct sctp_path *before,
			const struct sctp_path *after)
{
	return v->packet.dups && before->recovery.resent && after->recovery.fast &&
	       after->cc.undo.cwnd >= before->cc.undo.cwnd;
}

/* The last reduction turned out to be needless; perhaps another one followed at once. */
static bool undone(const struct invariant *v, const struct sctp_path *before,
		   const struct sctp_path *after)
{
	bool again = (before->recovery.fast || before->recovery.timed_out) &&
		     (before->recovery.from != after->recovery.from ||
		      after->recovery.resent < before->recovery.resent || after->extra);

	return before->cc.undo.cwnd &&
	       (!after->cc.undo.cwnd || again || undone_late(v, before, after));
}

/* ---- growth ---- */

static void check_avoidance(struct invariant *v, struct invariant_path *p,
			    const struct sctp_path *before, uint32_t growth)
{
	if (v->j.s->cfg.cc != SCTP_CC_RFC9260)
		return;
	holds(v, "7.2.2-04", growth <= before->cc.pmdcs);
	holds(v, "7.2.2-08", p->credit >= before->cc.cwnd);
	p->credit -= min_u32((uint32_t)p->credit, before->cc.cwnd);
}

/* full: the window was in full use when the path was last served, before other SACKs. */
static bool is_full(const struct invariant_path *p, const struct sctp_path *before)
{
	return p->full || before->flight.bytes + before->cc.pmdcs > before->cc.cwnd;
}

static void note_use(struct invariant_seen *e, unsigned i)
{
	const struct sctp_path *before = &e->before[i];
	struct invariant_path *p = &e->path[i];
	struct invariant_use *u = &p->use[0];

	if (!sctp_tsn_before(e->a->tx.cum, u->end)) {
		p->use[1] = *u;
		*u = (struct invariant_use){.end = e->send_tsn};
	}
	u->full |= is_full(p, before);
	u->most = max_u32(u->most, before->flight.bytes);
}

/* It was in use in a round trip: reached, or in slow start half of it. */
static bool was_used(const struct invariant_path *p, const struct sctp_cc *c)
{
	uint32_t most = max_u32(p->use[0].most, p->use[1].most);

	return p->use[0].full || p->use[1].full || (c->cwnd <= c->ssthresh && c->cwnd / 2 < most);
}

static void check_growth(struct invariant *v, struct invariant_seen *e, unsigned i)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
	struct invariant_path *p = &e->path[i];
	uint32_t growth = after->cc.cwnd - before->cc.cwnd,
		 most = min_u32(p->acked, before->cc.pmdcs);
	bool rounds = by_round_trips(v, before);

	if (v->j.s->cfg.cc == SCTP_CC_CUBIC)
		most = rounds ? p->held : min_u32(p->acked, before->cc.pmdcs * CUBIC_LIMIT);
	holds(v, "7.2.1-13", p->acked > 0);
	holds(v, "7.2.1-09", !before->recovery.fast);
	holds(v, "7.2.1-08", rounds ? was_used(p, &before->cc) : is_full(p, before));
	if (before->cc.cwnd > before->cc.ssthresh) {
		check_avoidance(v, p, before, growth);
		return;
	}
	holds(v, "7.2.1-10", growth <= most);
	holds(v, "7.2.1-10", e->a->tx.cum != e->cum);
}

/* A window in full use does grow outside of recovery: in slow start, in each round trip by RFC
 * 9260's rules unless all was acknowledged (7.2.2), and after a while with CUBIC. */
static void check_that_it_grows(struct invariant *v, struct invariant_seen *e, unsigned i)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
	struct invariant_path *p = &e->path[i];
	uint64_t now = v->j.s->now;
	bool cubic = v->j.s->cfg.cc == SCTP_CC_CUBIC && before->cc.cwnd > before->cc.ssthresh;

	if (after->cc.cwnd != before->cc.cwnd || before->recovery.fast || after->recovery.fast ||
	    !is_full(p, before) || e->a->tx.cum == e->cum || after->flight.bytes == 0 ||
	    before->cc.cwnd >= before->cc.max_cwnd) {
		p->stands = 0;
		p->stands_us = now;
		return;
	}
	p->stands += p->acked;
	if (!cubic)
		holds(v, "7.2.1-10", p->stands <= (uint64_t)STANDS_ROUNDS * before->cc.cwnd);
	else
		holds(v, "7.2.1-10",
		      p->stands <= (uint64_t)STANDS_ROUNDS * before->cc.cwnd ||
			      now - p->stands_us <= STANDS_US + 8 * (uint64_t)before->rto.srtt_us);
}

/* ---- reductions ---- */

/* 7.2.3 by SACK: once in a recovery, which ends when what was out then is acknowledged. */
static void check_recovery(struct invariant *v, const struct invariant_seen *e, unsigned i)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
	bool over = !sctp_tsn_before(e->a->tx.cum, before->recovery.end);
	bool enters = after->recovery.fast && (!before->recovery.fast || over);

	if (before->recovery.fast && !after->recovery.fast)
		holds(v, "7.2.4-15", over || undone(v, before, after) || after->recovery.timed_out);
	if (enters)
		holds(v, "7.2.4-14", after->recovery.end == e->send_tsn - 1);
	if (enters && (!before->recovery.timed_out || over)) {
		holds(v, "7.2.3-01", after->cc.ssthresh >= FLOOR * after->cc.pmdcs);
		holds(v, "7.2.3-01", after->cc.cwnd <= after->cc.ssthresh);
	}
	if (before->recovery.fast && after->recovery.fast && !over && !undone(v, before, after))
		holds(v, "7.2.4-16",
		      after->cc.cwnd == before->cc.cwnd &&
			      after->cc.ssthresh == before->cc.ssthresh);
	/* A SACK may show that the recovery was needless, and that another chunk is lost. */
	if (after->cc.cwnd < before->cc.cwnd)
		holds(v, "7.2.4-16", enters || undone(v, before, after) || is_unused(v, before));
}

static void note_entry(const struct invariant_seen *e, unsigned i, struct invariant_path *p)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];

	/* The last one may have turned out to be needless, and another one begun at once. */
	bool again = after->recovery.end != before->recovery.end ||
		     after->recovery.resent < before->recovery.resent;

	if (after->recovery.fast && (!before->recovery.fast || again))
		p->extra = true;
}

void invariant_windows_input(struct invariant *v, struct invariant_seen *e)
{
	for (unsigned i = 0; i < e->npaths; i++) {
		const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
		struct invariant_path *p = &e->path[i];

		if (before->cc.cwnd > before->cc.ssthresh || after->cc.cwnd > after->cc.ssthresh)
			p->credit += p->acked;
		else
			p->credit = 0;
		p->held += p->acked;
		note_use(e, i);
		if (e == v->packet.to && v->packet.sacks <= 1 && !resized(before, after) &&
		    !has_model(v)) {
			if (after->cc.cwnd > before->cc.cwnd && !undone(v, before, after))
				check_growth(v, e, i);
			if (p->acked)
				check_that_it_grows(v, e, i);
			check_recovery(v, e, i);
		}
		note_entry(e, i, p);
		if (p->acked && (e->a->tx.cum != e->cum || after->recovery.fast))
			p->held = 0;
		if (sctp_queue_empty(&e->a->tx))
			p->credit = 0;
	}
}

static void check_timeout(struct invariant *v, const struct sctp_path *before,
			  const struct sctp_path *after)
{
	const struct sctp_cc *b = &before->cc, *c = &after->cc;
	uint32_t floor = FLOOR * b->pmdcs, half = b->cwnd / 2;

	holds(v, "7.2.1-03", c->cwnd <= c->pmdcs);
	if (has_model(v))
		return;
	holds(v, "7.2.3-02", c->partial == 0);
	if (b->one_packet) {
		holds(v, "6.3.3-01", c->ssthresh <= (b->ssthresh > floor ? b->ssthresh : floor));
		return;
	}
	if (v->j.s->cfg.cc == SCTP_CC_CUBIC)
		half = (uint32_t)((uint64_t)b->cwnd * 7 / 10);
	half = half > floor ? half : floor;
	/* RFC 7661 4.4.1: of what was in use. */
	if (validates(v, before) && b->cwnd / 2 > before->flight.bytes) {
		holds(v, "6.3.3-01", c->ssthresh >= floor && c->ssthresh <= half);
		return;
	}
	/* In the same instant some of it was found to be lost: that has halved it before. */
	holds(v, "6.3.3-01",
	      c->ssthresh == half || (before->loss_us <= v->j.s->now && c->ssthresh >= floor &&
				      c->ssthresh < half));
}

void invariant_windows_run(struct invariant *v, struct invariant_seen *e)
{
	for (unsigned i = 0; i < e->npaths; i++) {
		const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
		bool asks, expired = invariant_t3_expired(e, i, v->j.s->timers.now, &asks);

		if (resized(before, after))
			continue;
		holds(v, "7.2.1-09", after->cc.cwnd <= before->cc.cwnd);
		if (expired && !asks)
			check_timeout(v, before, after);
		else if (expired) /* 6.1 (A): as if it were idle */
			holds(v, "6.1-09",
			      after->cc.cwnd >= min_u32(before->cc.cwnd, FLOOR * before->cc.pmdcs));
		else if (!has_model(v))
			check_recovery(v, e, i);
		note_entry(e, i, &e->path[i]);
	}
}

/* Before data leaves after a time of rest (7.2.1). */
void invariant_windows_output(struct invariant *v, const struct invariant_seen *e)
{
	for (unsigned i = 0; i < e->npaths; i++) {
		const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
		uint64_t since = v->j.s->now - before->last_sent_us;

		if (resized(before, after) || before->cc.cwnd == after->cc.cwnd || has_model(v))
			continue;
		holds(v, "7.2.1-14", after->cc.cwnd < before->cc.cwnd);
		holds(v, "7.2.1-14", before->flight.bytes == 0 && since >= before->rto.rto_us);
		holds(v, "7.2.1-14", after->cc.cwnd >= FLOOR * after->cc.pmdcs);
		holds(v, "7.2.1-14", !validates(v, before) || is_unused(v, before));
	}
}
