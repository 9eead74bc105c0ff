/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SACKs of the peer (RFC 9260 6.2.1, 6.3.2, 6.7, 7.2). A SACK costs time in proportion to the newly
 * acknowledged chunks plus its gap blocks: the blocks of the former SACK are kept, and only the
 * difference is processed. A peer may take its blocks back, but not without end:
 * see RENEGES_EACH.
 */
#include "sctp/transfer/ack.h"

#include <string.h>

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/notify.h"
#include "sctp/assoc/pace.h"
#include "sctp/assoc/path_state.h"
#include "sctp/assoc/states.h"
#include "sctp/path/cc_bbr.h"
#include "sctp/transfer/loss.h"
#include "sctp/transfer/sampling.h"
#include "sctp/transfer/stall.h"
#include "sctp/transfer/write.h"
#include "util/be.h"
#include "util/minmax.h"

enum {
	MAX_GAPS = 512, /* gap blocks of a SACK that are looked at */
	/* How often the peer may renege for each chunk that it acknowledges for good. Two SACKs of
	 * 48 bytes in turn would otherwise make a whole window the difference again and again.
	 * Packets that overtake each other look like it, too, but they cost few chunks each. */
	RENEGES_EACH = 4,
	MAX_RENEGED = RENEGES_EACH * SCTP_TX_WINDOW,
};

/* The effect of one SACK on one path. */
struct acked {
	uint32_t bytes, flight;
	uint32_t kept;     /* flight afterwards, with chunks that the SACK shows to be lost */
	uint32_t rtt_us;   /* of the newest chunk that was sent once; 0: none */
	uint32_t timed_us; /* of the chunk that is timed; 0: it is not among them */
	bool first;        /* the earliest TSN in flight on the path */
	bool any;          /* a chunk that was in flight there, or seemed lost, is among them; */
	uint32_t highest;  /* the last one of these */
	uint64_t sent_us;  /* when the last one of those that count in bytes was sent */
	bool limited;      /* the window was in full use */
	uint64_t late_us;  /* when the last chunk that seemed lost was sent, 0: none did */
	uint32_t late_tsn;
};

struct ack {
	struct sctp_assoc *a;
	uint32_t old_cum;
	bool cut; /* the SACK has as many gap blocks as fit into a packet: there may be more */
	struct acked path[SCTP_MAX_PATHS];
};

static void acknowledge(struct ack *k, uint32_t tsn, enum sctp_tx_state state)
{
	struct sctp_assoc *a = k->a;
	struct sctp_tx *t = sctp_queue_at(&a->tx, tsn);
	struct sctp_path *p = &a->paths.at[t->path];
	struct acked *d = &k->path[t->path];
	enum sctp_tx_state was = t->state;
	bool unknown = sctp_queue_unknown(&a->tx, tsn); /* it may have arrived long ago */
	uint64_t now = a->s->now;

	sctp_flight_acked(&a->flight, &a->tx, &p->flight, tsn, state);
	if (was != SCTP_TX_OUT && was != SCTP_TX_LOST)
		return;
	if (was == SCTP_TX_LOST && !unknown) {
		/* After T3 this could acknowledge a tail-loss probe. A chunk that was acknowledged
		 * before gives no time. */
		if ((!p->recovery.timed_out || t->count == 1) && !t->acked) {
			d->late_us = t->sent_us;
			d->late_tsn = tsn;
		}
	}
	d->first |= tsn == p->flight.first;
	if (!t->acked) {
		d->bytes += sctp_tx_wire(t);
		d->sent_us = max_u64(d->sent_us, t->sent_us);
	}
	if (t->count == 1 && !t->acked && was == SCTP_TX_OUT && !unknown) {
		uint64_t rtt = now - t->sent_us;

		d->rtt_us = rtt == 0 ? 1 : rtt < UINT32_MAX ? (uint32_t)rtt : UINT32_MAX;
		if (p->timing && tsn == p->timed)
			d->timed_us = d->rtt_us;
	}
	if (!unknown)
		sctp_rack_acked(&p->rack, tsn, t->sent_us, t->count > 1, p->rto.min_rtt_us, now);
	sctp_pmtu_arrived(&p->pmtu, sctp_tx_packet(t), now);
	t->acked = true;
	if (!d->any || sctp_tsn_before(d->highest, tsn))
		d->highest = tsn;
	d->any = true;
}

/* The peer has dropped a chunk that it had reported (6.2.1): it is in flight again. */
static void renege_chunk(struct ack *k, uint32_t tsn)
{
	struct sctp_assoc *a = k->a;
	struct sctp_tx *t = sctp_queue_at(&a->tx, tsn);

	if (t->state != SCTP_TX_GAP)
		return;
	sctp_flight_reneged(&a->flight, &a->tx, &a->paths.at[t->path].flight, tsn);
	a->tx.reneged++;
}

/* The peer lacks the first chunk after cum, whatever gap blocks say: it would never be repeated. */
static void renege_next(struct ack *k, uint32_t cum)
{
	if (sctp_tsn_before(cum + 1, k->a->tx.send_tsn))
		renege_chunk(k, cum + 1);
}

/* ---- gap blocks ---- */

/* For each TSN of x that is in no range of y. Both are sorted; y is walked along with x. */
static void each_new(struct ack *k, struct sctp_range x, const struct sctp_range *y, unsigned ny,
		     unsigned *at, void (*fn)(struct ack *k, uint32_t tsn))
{
	uint32_t tsn = x.first;

	while (*at < ny && sctp_tsn_before(y[*at].last, tsn))
		++*at;
	for (unsigned i = *at; !sctp_tsn_before(x.last, tsn);) {
		if (i < ny && !sctp_tsn_before(tsn, y[i].first))
			tsn = y[i++].last + 1;
		else
			fn(k, tsn++);
	}
}

static void gap_acknowledge(struct ack *k, uint32_t tsn)
{
	acknowledge(k, tsn, SCTP_TX_GAP);
}

/* The blocks as TSNs, ascending and apart, without malformed ones. */
static unsigned read_gaps(const struct sctp_sack *sack, struct sctp_range ret[MAX_GAPS])
{
	uint32_t floor = 2; /* offset 1 would be the cumulative one + 1: a gap begins after it */
	unsigned n = 0;

	for (unsigned i = 0; i < sack->ngaps && n < MAX_GAPS; i++) {
		uint32_t first = be_get16(sack->gaps + 4 * i),
			 last = be_get16(sack->gaps + 4 * i + 2);

		if (first < floor || last < first)
			continue;
		ret[n++] = (struct sctp_range){sack->cum + first, sack->cum + last};
		floor = last + 1;
	}
	return n;
}

static bool were_sent(const struct sctp_queue *q, const struct sctp_range *gap, unsigned n)
{
	return n == 0 || sctp_tsn_before(gap[n - 1].last, q->send_tsn);
}

static void compare_gaps(struct ack *k, const struct sctp_range *gap, unsigned n, bool all)
{
	struct sctp_queue *q = &k->a->tx;
	unsigned at = 0;

	for (unsigned i = 0; i < n; i++)
		each_new(k, gap[i], q->gap, q->ngaps, &at, gap_acknowledge);
	at = 0;
	for (unsigned i = 0; i < q->ngaps; i++) {
		struct sctp_range r = q->gap[i];

		if (!sctp_tsn_before(q->cum, r.first))
			r.first = q->cum + 1;
		/* Blocks that were not looked at may confirm it. */
		if (!all && n && sctp_tsn_before(gap[n - 1].last, r.last))
			r.last = gap[n - 1].last;
		if (!sctp_tsn_before(r.last, r.first))
			each_new(k, r, gap, n, &at, renege_chunk);
	}
	sctp_queue_keep_gaps(q, &k->a->origin.account, gap, n, all);
}

/* ---- consequences ---- */

static void advance_cum(struct ack *k, uint32_t cum)
{
	struct sctp_queue *q = &k->a->tx;

	q->reneged -= min_u32(q->reneged, RENEGES_EACH * (cum - q->cum));
	while (q->cum != cum) {
		sctp_queue_advance(q);
		acknowledge(k, q->cum, SCTP_TX_ACKED);
	}
}

static void end_recovery(struct sctp_path *p, uint32_t cum)
{
	if (!sctp_recovery_advance(&p->recovery, cum))
		return;
	sctp_rack_recovered(&p->rack);
	sctp_cc_recovered(&p->cc);
	sctp_cc_bbr_recovered(&p->cc);
}

static void grow_window(struct ack *k, struct sctp_path *p)
{
	const struct acked *d = &k->path[p->index];
	struct sctp_queue *q = &k->a->tx;
	const struct sctp_cc_ack ack = {
		.bytes = d->bytes,
		.flight = d->flight,
		.cum_advanced = q->cum != k->old_cum,
		.recovery = p->recovery.fast,
		.limited = d->limited,
		.paced = p->pacer.rate != 0,
		.all_acked = p->flight.bytes == 0,
		.rtt_us = d->rtt_us,
		.srtt_us = p->rto.srtt_us,
		.cum = q->cum,
		.next_tsn = q->send_tsn,
	};

	sctp_cc_acked(&p->cc, &ack, k->a->s->now);
}

/* One chunk is timed in each round trip (6.3.1 (C4)). The first one of several that arrives would
 * often be one that overtook others, and SRTT too short. A round trip that exceeds the timeout is
 * taken at once: a queue that grows to twice the delay within one would let T3 expire. */
static void sample_rtt(struct sctp_path *p, const struct acked *d)
{
	const struct sctp_assoc *a = p->assoc;

	if (!p->timing || sctp_rto_exceeded(&p->rto, d->rtt_us))
		sctp_rto_sample(&p->rto, d->rtt_us, a->s->now);
	else if (d->timed_us)
		sctp_rto_sample(&p->rto, d->timed_us, a->s->now);
	else if (sctp_tsn_before(a->tx.cum, p->timed))
		return;
	p->timing = true;
	p->timed = a->tx.send_tsn;
}

static void sample_paths(struct ack *k)
{
	for (unsigned i = 0; i < k->a->paths.n; i++) {
		const struct acked *d = &k->path[i];
		const struct sctp_sampling_acked acked = {.bytes = d->bytes,
							  .sent_us = d->sent_us,
							  .rtt_us = d->rtt_us,
							  .limited = d->limited};

		if (d->bytes)
			sctp_sampling_acked(&k->a->paths.at[i], &acked);
	}
}

static void update_paths(struct ack *k)
{
	struct sctp_assoc *a = k->a;

	for (unsigned i = 0; i < a->paths.n; i++) {
		struct sctp_path *p = &a->paths.at[i];
		struct acked *d = &k->path[i];

		if (d->rtt_us)
			sample_rtt(p, d);
		if (d->bytes) {
			d->limited = p->limited || d->flight + sctp_path_pmdcs(p) > p->cc.cwnd;
			grow_window(k, p);
			sctp_ack_rate_add(&p->ack_rate, d->bytes, p->rto.srtt_us, a->s->now);
			p->heard_us = a->s->now;
			p->probed = false;
			if (p->state != SCTP_PATH_UNCONFIRMED)
				sctp_path_answered(p);
		}
		end_recovery(p, a->tx.cum);
		k->path[i].kept = p->flight.bytes;
	}
}

/* What may leave in fast recovery, now that losses are known. A SACK whose last gap blocks did not
 * fit into it was sent because of a packet that it does not report (RFC 9937: as a duplicate
 * acknowledgement without SACK). */
static void recover(const struct ack *k, struct sctp_path *p)
{
	const struct acked *d = &k->path[p->index];
	const struct sctp_prr_ack ack = {
		.delivered = d->bytes || !k->cut ? d->bytes : p->cc.pmdcs,
		.flight = p->flight.bytes,
		.safe = p->assoc->tx.cum != k->old_cum && p->flight.bytes == d->kept,
	};

	if (p->recovery.fast)
		sctp_cc_recover(&p->cc, &ack);
}

static void notify_user(struct sctp_assoc *a)
{
	if (a->events.each_ack || sctp_queue_empty(&a->tx))
		sctp_assoc_note(a, SCTP_ACKED);
	sctp_write_made_room(a);
}

static void finish_ack(struct ack *k)
{
	struct sctp_assoc *a = k->a;
	uint32_t old = k->old_cum;

	update_paths(k);
	for (unsigned i = 0; i < a->paths.n; i++)
		if (k->path[i].late_us)
			sctp_loss_late(&a->paths.at[i], k->path[i].late_tsn, k->path[i].late_us);
	for (unsigned i = 0; i < a->paths.n; i++)
		if (k->path[i].any)
			sctp_loss_missed(&a->paths.at[i], k->path[i].highest);
	sctp_loss_detect(a);
	sample_paths(k);
	for (unsigned i = 0; i < a->paths.n; i++) {
		recover(k, &a->paths.at[i]);
		sctp_loss_rearm(&a->paths.at[i], k->path[i].first);
		sctp_path_pace(&a->paths.at[i]);
		sctp_path_burst(&a->paths.at[i]);
	}
	if (a->tx.cum != old) {
		sctp_stall_progress(a);
		sctp_queue_free(&a->tx, &a->origin.account, old);
		notify_user(a);
	}
	sctp_assoc_touch(a);
	if (sctp_queue_empty(&a->tx))
		sctp_assoc_step(a, SCTP_EV_ALL_ACKED);
}

static struct ack begin_ack(struct sctp_assoc *a)
{
	struct ack k = {.a = a, .old_cum = a->tx.cum};

	sctp_sampling_check(a);
	for (unsigned i = 0; i < a->paths.n; i++)
		k.path[i].flight = a->paths.at[i].flight.bytes;
	return k;
}

/* A SACK that is long may have more gaps than had room in it. */
static bool is_complete(const struct sctp_sack *sack, const struct sctp_chunk *c)
{
	return sack->ngaps <= MAX_GAPS && c->len < SCTP_MIN_PACKET - SCTP_HEAD - 4;
}

static void break_off(struct sctp_assoc *a, const char *text)
{
	sctp_assoc_break(a, SCTP_END_PROTOCOL, SCTP_CAUSE_PROTOCOL, text, (uint32_t)strlen(text),
			 text);
}

static void never_sent(struct sctp_assoc *a)
{
	break_off(a, "acknowledgement of a TSN that was never sent");
}

void sctp_got_sack(struct sctp_path *from, const struct sctp_chunk *c)
{
	struct sctp_assoc *a = from->assoc;
	struct sctp_range gap[MAX_GAPS];
	struct sctp_sack sack;
	struct ack k;
	unsigned n;

	if (!sctp_sends_data(a))
		return;
	if (!sctp_sack_get(c, &sack)) {
		a->s->st.bad_packets++;
		return;
	}
	if (sctp_tsn_before(sack.cum, a->tx.cum))
		return; /* an old one that was overtaken */
	n = read_gaps(&sack, gap);
	if (!sctp_tsn_before(sack.cum, a->tx.send_tsn) || !were_sent(&a->tx, gap, n)) {
		never_sent(a);
		return;
	}
	k = begin_ack(a);
	advance_cum(&k, sack.cum);
	k.cut = !is_complete(&sack, c);
	if (n || a->tx.ngaps)
		compare_gaps(&k, gap, n, !k.cut);
	renege_next(&k, sack.cum);
	if (a->tx.reneged > MAX_RENEGED) {
		break_off(a, "gap blocks that are taken back again and again");
		return;
	}
	sctp_window_sack(&a->window, sack.a_rwnd);
	if (sctp_window_closed(&a->window))
		a->errors = 0; /* it answers: 6.1 (A) */
	for (unsigned i = 0; i < sack.ndups; i++)
		sctp_loss_duplicate(a, be_get32(sack.dups + 4 * i));
	finish_ack(&k);
}

void sctp_got_cum_ack(struct sctp_path *from, uint32_t cum)
{
	struct sctp_assoc *a = from->assoc;
	struct ack k;

	if (sctp_tsn_before(cum, a->tx.cum))
		return;
	if (!sctp_tsn_before(cum, a->tx.send_tsn)) {
		never_sent(a);
		return;
	}
	k = begin_ack(a);
	advance_cum(&k, cum);
	renege_next(&k, cum);
	finish_ack(&k);
}
