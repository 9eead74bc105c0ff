/* SPDX-License-Identifier: BSD-2-Clause */
/* T3-rtx, RTO, tail-loss probes, heartbeats and the counters of errors: RFC 9260 6.3, 8. */
#include "tests/sctp/invariant_seen.h"
#include "util/be.h"

static uint32_t most_us(const struct invariant *v)
{
	return v->j.s->cfg.rto_max_us;
}

static uint32_t least_us(const struct invariant *v)
{
	const struct sctp_config *c = &v->j.s->cfg;

	return c->rto_min_us < c->rto_max_us ? c->rto_min_us : c->rto_max_us;
}

/* ---- always ---- */

void invariant_timers_always(struct invariant *v, const struct sctp_assoc *a)
{
	const struct sctp_config *c = &v->j.s->cfg;

	for (unsigned i = 0; i < a->paths.n; i++) {
		const struct sctp_path *p = &a->paths.at[i];

		holds(v, "6.1-27", p->flight.bytes == 0 || p->t3_us != SCTP_NEVER);
		holds(v, "6.3.1-11", p->rto.rto_us <= most_us(v));
		holds(v, "6.3.1-10", !p->rto.srtt_us || p->rto.rto_us >= least_us(v));
		holds(v, "6.3.1-12", !p->rto.srtt_us || p->rto.rttvar_us > 0);
		holds(v, "8.2-03",
		      (p->state == SCTP_PATH_INACTIVE) == (p->errors > c->path_max_retrans &&
							   p->state != SCTP_PATH_UNCONFIRMED));
		/* RFC 8985 7.2: outside recovery only. */
		holds(v, "7.2.1-04",
		      p->probe_us == SCTP_NEVER ||
			      (p->flight.bytes && !p->recovery.timed_out && !p->recovery.fast));
	}
}

/* ---- a packet came ---- */

static void check_sample(struct invariant *v, const struct invariant_seen *e, unsigned i)
{
	const struct sctp_rto *before = &e->before[i].rto, *after = &e->a->paths.at[i].rto;
	uint64_t us = after->srtt_us + 4 * (uint64_t)after->rttvar_us;
	bool heard = e == v->packet.to && v->packet.heartbeat_ack;

	if (after->srtt_us != before->srtt_us)
		holds(v, "6.3.1-08", e->path[i].acked_once || heard);
	if (after->rto_us == before->rto_us)
		return;
	us = us < least_us(v) ? least_us(v) : us > most_us(v) ? most_us(v) : us;
	holds(v, "6.3.1-04", after->rto_us == us);
}

/* By the RTO of now. Several SACKs in a packet: by the RTO of one of them. */
static bool is_restarted(const struct invariant *v, const struct sctp_path *after)
{
	uint64_t now = v->j.s->now;

	if (after->t3_us == now + after->rto.rto_us)
		return true;
	return v->packet.sacks > 1 && after->t3_us >= now + least_us(v) &&
	       after->t3_us <= now + most_us(v);
}

/* 6.3.2 (R2), (R3). Other SACKs leave a running timer as it is. */
static void check_restart(struct invariant *v, const struct invariant_seen *e, unsigned i)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
	const struct sctp_tx *t;

	if (after->flight.bytes == 0) {
		holds(v, "6.3.2-03",
		      after->t3_us == SCTP_NEVER || e->a->window.watched ||
			      after->t3_us == before->t3_us);
		return;
	}
	if (before->flight.bytes == 0 || !e->earliest_out[i] || before->t3_us == SCTP_NEVER)
		return;
	if (!sctp_tsn_before(e->a->tx.cum, e->earliest[i])) {
		holds(v, "6.3.2-04", is_restarted(v, after));
		return;
	}
	t = sctp_queue_at(&e->a->tx, e->earliest[i]);
	if (t->state == SCTP_TX_GAP)
		holds(v, "6.3.2-04", is_restarted(v, after));
	else if (t->state == SCTP_TX_OUT && t->path == i)
		holds(v, "6.1-29", after->t3_us == before->t3_us);
}

static void check_errors(struct invariant *v, const struct invariant_seen *e)
{
	bool heard = v->packet.heartbeat_ack || e->state >= SCTP_SHUTDOWN_PENDING ||
		     e->a->state >= SCTP_SHUTDOWN_PENDING,
	     acked = false;

	for (unsigned i = 0; i < e->npaths; i++) {
		unsigned before = e->before[i].errors, after = e->a->paths.at[i].errors;

		acked |= e->path[i].acked > 0;
		holds(v, "8.2-02", after <= before);
		if (after != before)
			holds(v, "8.2-05", after == 0 && (e->path[i].acked || heard));
	}
	holds(v, "8.1-01", e->a->errors <= e->errors);
	if (e->a->errors != e->errors)
		holds(v, "8.1-08",
		      e->a->errors == 0 && (acked || heard || e->a->window.rwnd < SCTP_PMTU_BASE));
}

void invariant_timers_input(struct invariant *v, struct invariant_seen *e)
{
	if (e != v->packet.to)
		return;
	for (unsigned i = 0; i < e->npaths; i++) {
		check_sample(v, e, i);
		check_restart(v, e, i);
	}
	check_errors(v, e);
}

/* ---- time passed ---- */

/* No chunk is in flight, or one that tests it. */
static bool waits_for_window(const struct invariant_seen *e, unsigned i)
{
	return e->rwnd < SCTP_PMTU_BASE &&
	       (e->before[i].flight.bytes ? e->probe_out && e->out == 1 : e->in_flight == 0);
}

bool invariant_t3_expired(const struct invariant_seen *e, unsigned i, uint64_t now, bool *asks)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];

	*asks = waits_for_window(e, i);
	if (before->t3_us > now || (before->flight.bytes == 0 && !*asks))
		return false;
	if (before->loss_us > now || before->rto.rto_us != after->rto.rto_us)
		return true;
	/* Time has shown just before that all of it is lost: it is sent again, in a recovery or
	 * after an earlier T3. */
	return !after->recovery.fast && (!before->recovery.timed_out || after->cc.one_packet);
}

static void expired(struct invariant *v, struct invariant_seen *e, unsigned i, bool asks)
{
	const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
	struct invariant_path *p = &e->path[i];
	uint64_t twice = 2 * (uint64_t)before->rto.rto_us;

	twice = twice < least_us(v) ? least_us(v) : twice > most_us(v) ? most_us(v) : twice;
	holds(v, "6.3.3-02", after->rto.rto_us == twice);
	holds(v, "6.3.3-04", after->flight.bytes == 0);
	p->silent = true;
	p->asked = asks;
	p->packets = 0;
	p->extra = p->tail = false;
	p->burst_from = 0;
	e->window_asks = asks || e->rwnd < SCTP_PMTU_BASE;
	if (asks)
		return;
	p->expiries++;
	e->expiries++;
	holds(v, "8.2-02",
	      after->errors == before->errors + 1 || after->state == SCTP_PATH_INACTIVE);
	holds(v, "8.2-03",
	      p->expiries <= v->j.s->cfg.path_max_retrans || after->state != SCTP_PATH_ACTIVE);
	holds(v, "8.1-01", e->a->errors > e->errors);
}

static unsigned max_errors(const struct invariant *v, const struct invariant_seen *e)
{
	const struct sctp_config *c = &v->j.s->cfg;

	return c->assoc_max_retrans ? c->assoc_max_retrans : e->npaths * c->path_max_retrans;
}

static void check_probe(struct invariant *v, const struct invariant_seen *e, unsigned i)
{
	const struct sctp_path *before = &e->before[i];
	struct invariant_path *p = &((struct invariant_seen *)(uintptr_t)e)->path[i];

	if (before->probe_us > v->j.s->now || !e->a->paths.at[i].probed || before->probed)
		return;
	holds(v, "7.2.1-04", !p->silent);
	holds(v, "7.2.1-04", !p->tail);
	p->tail = p->extra = true;
}

void invariant_timers_run(struct invariant *v, struct invariant_seen *e)
{
	for (unsigned i = 0; i < e->npaths; i++) {
		const struct sctp_path *before = &e->before[i], *after = &e->a->paths.at[i];
		bool asks;

		holds(v, "8.2-05", after->errors >= before->errors);
		if (invariant_t3_expired(e, i, v->j.s->timers.now, &asks)) {
			expired(v, e, i, asks);
			holds(v, "6.3.3-06", after->t3_us == SCTP_NEVER);
		} else {
			holds(v, "6.1-29",
			      after->t3_us == before->t3_us || before->t3_us <= v->j.s->now);
			holds(v, "6.3.3-02",
			      after->rto.rto_us == before->rto.rto_us || !before->flight.bytes);
			check_probe(v, e, i);
		}
	}
	holds(v, "8.1-04", e->expiries <= max_errors(v, e));
	holds(v, "8.1-04", e->a->errors <= max_errors(v, e));
}

/* ---- packets left ---- */

void invariant_timers_output(struct invariant *v, const struct invariant_out *o)
{
	for (unsigned i = 0; i < o->e->npaths; i++) {
		const struct sctp_path *before = &o->e->before[i], *after = &o->e->a->paths.at[i];

		holds(v, "6.3.1-04", after->rto.rto_us == before->rto.rto_us);
		if (i == o->p->index && o->started)
			holds(v, "6.1-30", after->t3_us == v->j.s->now + after->rto.rto_us);
		else if (after->flight.bytes || i == o->p->index)
			holds(v, "6.1-29",
			      after->t3_us == before->t3_us || before->t3_us == SCTP_NEVER);
	}
}
