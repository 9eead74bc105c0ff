/* SPDX-License-Identifier: BSD-2-Clause */
/* When congestion windows grow and shrink: RFC 9260 7.2. */
#include "tests/sctp/invariant_seen.h"

#include "util/minmax.h"

enum { FLOOR = 4, CUBIC_LIMIT = 8 };

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

static void check_growth(struct invariant *v, struct invariant_seen *e, unsigned i)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
	struct invariant_path *p = &e->path[i];
	uint32_t growth = after->cc.cwnd - before->cc.cwnd, limit = before->cc.pmdcs;

	if (v->j.s->cfg.cc == SCTP_CC_CUBIC)
		limit = before->pacer.rate ? UINT32_MAX : limit * CUBIC_LIMIT;
	holds(v, "7.2.1-13", p->acked > 0);
	holds(v, "7.2.1-09", !before->recovery.fast);
	/* full: the window was in full use when the path was last served, before other SACKs. */
	holds(v, "7.2.1-08", p->full || before->flight.bytes + before->cc.pmdcs > before->cc.cwnd);
	if (before->cc.cwnd > before->cc.ssthresh) {
		check_avoidance(v, p, before, growth);
		return;
	}
	holds(v, "7.2.1-10", growth <= min_u32(p->acked, limit));
	holds(v, "7.2.1-10", e->a->tx.cum != e->cum);
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
		holds(v, "7.2.4-16", enters || undone(v, before, after));
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
		if (e == v->packet.to && v->packet.sacks <= 1 && !resized(before, after) &&
		    !has_model(v)) {
			if (after->cc.cwnd > before->cc.cwnd && !undone(v, before, after))
				check_growth(v, e, i);
			check_recovery(v, e, i);
		}
		note_entry(e, i, p);
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
	}
}
