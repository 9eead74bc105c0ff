/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/transfer/loss.h"

#include "sctp/assoc/heartbeat.h"
#include "sctp/assoc/notify.h"
#include "sctp/assoc/pace.h"
#include "sctp/assoc/path_state.h"
#include "sctp/base/path_select.h"
#include "sctp/transfer/sampling.h"

enum { MISSES = 3 };

static void enter_recovery(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	if (sctp_recovery_runs(&p->recovery))
		return;
	sctp_recovery_begin(&p->recovery, a->tx.send_tsn - 1, a->tx.cum);
	p->probe_us = SCTP_NEVER;
	/* 7.2.4 (3): the first retransmission ignores the window, if it goes there. */
	p->extra = p == sctp_path_choose(a);
	sctp_cc_lost(&p->cc, p->flight.bytes);
}

void sctp_loss_mark(struct sctp_assoc *a, uint32_t tsn)
{
	struct sctp_tx *t = sctp_queue_at(&a->tx, tsn);
	struct sctp_path *p = &a->paths.at[t->path];

	enter_recovery(p);
	sctp_sampling_lost(p, t, tsn);
	sctp_flight_lost(&a->flight, &a->tx, &p->flight, tsn);
	if (sctp_queue_unknown(&a->tx, tsn))
		return; /* it left the network: lost, or not reported */
	a->s->st.fast_retransmits++;
	sctp_pmtu_lost(&p->pmtu, sctp_tx_packet(t), false, t->sent_us, a->s->now);
}

/* ---- by miss indications ---- */

static bool missed_often(struct sctp_tx *t)
{
	t->misses += t->misses < MISSES;
	return t->misses == MISSES;
}

/* Only while packets keep their order, and only first transmissions: time decides the rest. */
void sctp_loss_missed(struct sctp_path *p, uint32_t highest)
{
	struct sctp_assoc *a = p->assoc;
	const struct sctp_tx_list *out = &a->flight.out;
	uint32_t tsn = out->first, next;

	for (uint32_t n = out->n; n && !p->rack.reordering; n--, tsn = next) {
		struct sctp_tx *t = sctp_queue_at(&a->tx, tsn);

		next = t->next;
		if (t->count > 1)
			continue;
		if (!sctp_tsn_before(tsn, highest))
			return;
		if (t->path == p->index && missed_often(t))
			sctp_loss_mark(a, tsn);
	}
}

/* ---- by time ---- */

static uint32_t reorder_window(const struct sctp_path *p)
{
	return sctp_rack_window(&p->rack, p->rto.min_rtt_us, p->rto.srtt_us, p->recovery.fast);
}

/* Chunks are in flight on another path as well. */
static bool others_in_flight(const struct sctp_path *p)
{
	const struct sctp_assoc *a = p->assoc;

	for (unsigned i = 0; i < a->paths.n; i++)
		if (i != p->index && a->paths.at[i].flight.bytes)
			return true;
	return false;
}

/* True if later chunks of the list may be lost as well. */
static bool check_one(struct sctp_assoc *a, uint32_t tsn)
{
	struct sctp_tx *t = sctp_queue_at(&a->tx, tsn);
	struct sctp_path *p = &a->paths.at[t->path];
	uint64_t at;

	if (!sctp_rack_before(&p->rack, t->sent_us, tsn))
		return others_in_flight(p);
	at = sctp_rack_deadline(&p->rack, t->sent_us, reorder_window(p));
	if (at <= a->s->now) {
		sctp_loss_mark(a, tsn);
		return true;
	}
	if (at < p->loss_us)
		p->loss_us = at;
	return others_in_flight(p);
}

void sctp_loss_detect(struct sctp_assoc *a)
{
	const struct sctp_tx_list *out = &a->flight.out;
	uint32_t tsn, next;

	for (unsigned i = 0; i < a->paths.n; i++)
		a->paths.at[i].loss_us = SCTP_NEVER;
	tsn = out->first;
	for (uint32_t n = out->n; n; n--, tsn = next) {
		next = sctp_queue_at(&a->tx, tsn)->next;
		if (!check_one(a, tsn))
			return;
	}
}

/* ---- needless retransmissions and reductions ---- */

/* Once per round trip (rack.h). */
static void widen_window(struct sctp_path *p)
{
	uint64_t now = p->assoc->s->now;

	if (now < p->needless_us)
		return;
	sctp_rack_needless(&p->rack);
	p->needless_us = now + p->rto.srtt_us;
}

/* Data was limited only by the reduced window. */
static void restore_window(struct sctp_path *p)
{
	sctp_cc_undo(&p->cc);
	p->limited = false;
}

/* All chunks that the present recovery repeated had arrived: it was reordering. */
static void undo_reduction(struct sctp_path *p)
{
	if (p->recovery.resent || p->assoc->flight.lost.n)
		return;
	restore_window(p);
	sctp_recovery_cancel(&p->recovery);
}

/* If T3 took it out of flight, the round trip was longer than RTO (RFC 5682 3.1): chunks that were
 * not repeated are in flight again. */
void sctp_loss_late(struct sctp_path *p, uint32_t tsn, uint64_t sent_us)
{
	struct sctp_assoc *a = p->assoc;

	if (p->recovery.timed_out) {
		sctp_rack_late(&p->rack, tsn, sent_us, a->s->now);
		sctp_recovery_cancel(&p->recovery);
		restore_window(p);
		sctp_rto_restore(&p->rto);
		sctp_flight_restore(&a->flight, &a->tx, &p->flight, p->index);
	} else {
		widen_window(p);
		if (p->recovery.fast)
			undo_reduction(p);
	}
}

void sctp_loss_duplicate(struct sctp_assoc *a, uint32_t tsn)
{
	a->s->st.spurious += sctp_flight_duplicate(&a->flight);
	for (unsigned i = 0; i < a->paths.n; i++) {
		struct sctp_path *p = &a->paths.at[i];

		if (!sctp_recovery_needless(&p->recovery, tsn))
			continue;
		widen_window(p);
		undo_reduction(p);
	}
}

/* ---- timers ---- */

/* The earliest TSN in flight on the path moved on. */
static void settle_first(struct sctp_path *p)
{
	sctp_flight_settle(&p->assoc->tx, &p->flight, p->index);
}

/* RFC 8985 7.2: a tail is probed once, outside recovery, and where data goes now. After T3 a single
 * packet is in flight until something is acknowledged (7.2.1), which may be long after recovery if
 * data went another way in between. */
static bool may_probe_tail(const struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	return p->flight.bytes && !p->probed && !sctp_recovery_runs(&p->recovery) &&
	       !p->cc.one_packet && !sctp_window_closed(&a->window) && p == sctp_path_choose(a);
}

static void set_probe(struct sctp_path *p)
{
	const struct sctp *s = p->assoc->s;
	bool single = p->assoc->flight.out.n == 1;
	uint32_t us = sctp_rack_probe_us(p->rto.srtt_us, single, s->cfg.sack_us);

	p->probe_us = may_probe_tail(p) && us != UINT32_MAX ? s->now + us : SCTP_NEVER;
}

static void stop_timers(struct sctp_path *p)
{
	if (!p->assoc->window.watched)
		p->t3_us = SCTP_NEVER;
	p->probe_us = p->loss_us = SCTP_NEVER;
	p->probed = p->extra = false;
}

void sctp_loss_left(struct sctp_path *p, uint32_t tsn)
{
	if (p->flight.bytes == 0)
		stop_timers(p);
	else if (tsn == p->flight.first)
		settle_first(p);
}

void sctp_loss_rearm(struct sctp_path *p, bool first_acked)
{
	if (p->flight.bytes == 0) {
		stop_timers(p);
		return;
	}
	if (first_acked) {
		p->t3_us = p->assoc->s->now + p->rto.rto_us;
		settle_first(p);
	} else if (p->t3_us == SCTP_NEVER) {
		p->t3_us = p->assoc->s->now + p->rto.rto_us;
	}
	set_probe(p);
}

/* All chunks in flight on the path are lost. Their packets may have been too large. */
static void mark_all(struct sctp_path *p, bool timeout)
{
	struct sctp_assoc *a = p->assoc;
	const struct sctp_queue *q = &a->tx;

	for (uint32_t tsn = q->cum + 1; sctp_tsn_before(tsn, q->send_tsn); tsn++) {
		const struct sctp_tx *t = sctp_queue_at(q, tsn);

		if (t->state != SCTP_TX_OUT || t->path != p->index)
			continue;
		sctp_pmtu_lost(&p->pmtu, sctp_tx_packet(t), timeout, t->sent_us, a->s->now);
		if (timeout)
			sctp_sampling_lost(p, t, tsn);
	}
	sctp_flight_lost_all(&a->flight, &a->tx, &p->flight, p->index);
	sctp_queue_timed_out(&a->tx);
}

/* Probes the peer's closed window. That is no error of the path while SACKs arrive, and no
 * congestion (6.1 (A)). */
static void ask_again(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;
	bool any = !sctp_queue_empty(&a->tx);

	if (p->flight.bytes)
		mark_all(p, false);
	/* 6.1 (A): as if it were idle */
	sctp_cc_idle(&p->cc, p->rto.rto_us, p->rto.rto_us, a->s->now);
	sctp_rto_back_off(&p->rto);
	if (!sctp_window_ask(&a->window, any) && any)
		(void)sctp_path_failed(p);
}

void sctp_loss_watch(struct sctp_assoc *a)
{
	struct sctp_path *p = sctp_path_choose(a);

	if (a->flight.payload || a->window.watched || sctp_queue_empty(&a->tx) ||
	    !sctp_window_closed(&a->window) || !sctp_sends_data(a))
		return;
	sctp_window_watch(&a->window);
	p->t3_us = a->s->now + p->rto.rto_us;
}

/* The window is closed, and no chunk is in flight except one that probes it. */
static bool waits_for_window(const struct sctp_path *p)
{
	const struct sctp_flight *f = &p->assoc->flight;
	const struct sctp_window *w = &p->assoc->window;

	return sctp_window_closed(w) &&
	       (p->flight.bytes ? w->probe_out && f->out.n == 1 : f->payload == 0);
}

void sctp_loss_t3(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	p->t3_us = p->loss_us = p->probe_us = SCTP_NEVER;
	sctp_assoc_touch(a);
	if (waits_for_window(p)) {
		ask_again(p);
		return;
	}
	if (p->flight.bytes == 0)
		return; /* all of it is known to be lost: its turn to be sent starts T3 again */
	sctp_rto_back_off(&p->rto);
	a->s->st.timeouts++;
	sctp_cc_timed_out(&p->cc, p->flight.bytes);
	sctp_recovery_time_out(&p->recovery, a->tx.send_tsn - 1);
	p->extra = false;
	mark_all(p, true);
	sctp_path_pace(p);
	sctp_path_burst(p);
	sctp_window_timed_out(&a->window);
	if (sctp_path_failed(p) && p->pmtu.lost_large > 0 && !p->heartbeat_out)
		sctp_send_heartbeat(p); /* a small packet: is the path dead, or narrow? */
}

void sctp_loss_probe(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp_flight *f = &a->flight;

	if (!may_probe_tail(p))
		return;
	p->probed = true;
	p->extra = true;
	a->s->st.tail_probes++;
	/* New data serves as well as a repetition of the last chunk. */
	if (!sctp_flight_waits(f, &a->tx))
		sctp_flight_lost(f, &a->tx, &p->flight, sctp_flight_last(f, &a->tx, p->index));
	sctp_assoc_touch(a);
}
