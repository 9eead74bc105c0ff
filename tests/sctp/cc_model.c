/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sctp/cc_model.h"

#include <assert.h>
#include <stddef.h>

#include "sctp/path/rack.h"
#include "sctp/path/rto.h"
#include "tests/sctp/cc_textbook.h"

enum {
	P = MODEL_PACKET,
	RING = 1 << 14, /* TSNs in use at once */
	MASK = RING - 1,
	FLOWS = 2,
	EVENTS = 1 << 16,
	S = MODEL_SECOND,
	BURST = 40,
};

struct chunk {
	uint64_t sent_us;
	unsigned times;
	unsigned misses;
	bool acked, out; /* out: counts as in flight; neither: lost, to be sent again */
	bool arrived;    /* at the receiver */
};

struct flow {
	enum model_kind kind;
	struct sctp_cc cc;
	struct sctp_rack rack;
	struct sctp_rto rto;
	struct cc_textbook textbook;
	struct chunk ring[RING];
	uint32_t cum, next, lost_from; /* TSNs; nothing before lost_from is to be sent again */
	uint32_t flight;
	uint32_t exit; /* of the recovery */
	bool recovery, after_t3, limited, probed;
	unsigned resent; /* in this recovery, without a proof that it was needless */
	uint64_t t3_us, rack_us, probe_us, sample_us, needless_us;
	uint32_t receiver_cum, measured_from;
	struct model_counts counts;
};

struct event {
	uint64_t at;
	uint32_t tsn, cum;
	uint8_t flow;
	bool ack, duplicate;
};

static struct {
	struct model_link link;
	double packet_us; /* at the link's rate */
	uint64_t now, free_at, measured_at;
	uint64_t seed;
	struct event heap[EVENTS];
	unsigned events;
	struct flow flow[FLOWS];
	unsigned flows;
} net;

/* xorshift64*: the same numbers everywhere */
static double chance(void)
{
	net.seed ^= net.seed >> 12;
	net.seed ^= net.seed << 25;
	net.seed ^= net.seed >> 27;
	return (double)(net.seed * 0x2545f4914f6cdd1d >> 11) / (double)(UINT64_C(1) << 53);
}

static void push(struct event e)
{
	unsigned i = net.events++;

	assert(i < EVENTS);
	for (; i && net.heap[(i - 1) / 2].at > e.at; i = (i - 1) / 2)
		net.heap[i] = net.heap[(i - 1) / 2];
	net.heap[i] = e;
}

static struct event pop(void)
{
	struct event top = net.heap[0], last = net.heap[--net.events];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < net.events) {
		if (child + 1 < net.events && net.heap[child + 1].at < net.heap[child].at)
			child++;
		if (net.heap[child].at >= last.at)
			break;
		net.heap[i] = net.heap[child];
		i = child;
	}
	net.heap[i] = last;
	return top;
}

static struct chunk *chunk(struct flow *f, uint32_t tsn)
{
	return &f->ring[tsn & MASK];
}

/* ---- the link ---- */

static void link_take(struct flow *f, uint32_t tsn)
{
	double start = net.free_at > net.now ? (double)net.free_at : (double)net.now;
	uint64_t extra = 0;

	/* A little jitter, so that two flows do not fall into step. */
	if ((start - (double)net.now) / net.packet_us > net.link.queue - chance() ||
	    chance() < net.link.loss)
		return;
	net.free_at = (uint64_t)(start + net.packet_us * (0.95 + 0.1 * chance()));
	if (chance() < net.link.reorder)
		extra = (uint64_t)((double)net.link.extra_us * chance());
	push((struct event){.at = net.free_at + net.link.rtt_us / 2 + extra,
			    .tsn = tsn,
			    .flow = (uint8_t)(f - net.flow)});
}

static void receiver_take(struct flow *f, struct event e)
{
	struct chunk *c = chunk(f, e.tsn);

	/* A TSN that left the ring was acknowledged cumulatively long ago. */
	e.duplicate = (int32_t)(e.tsn - f->receiver_cum) <= 0 || c->arrived;
	if (!e.duplicate)
		c->arrived = true;
	while (f->receiver_cum + 1 != f->next && chunk(f, f->receiver_cum + 1)->arrived)
		f->receiver_cum++;
	e.cum = f->receiver_cum;
	e.ack = true;
	e.at = net.now + net.link.rtt_us / 2;
	push(e);
}

/* ---- sender: windows ---- */

static bool has_room(struct flow *f)
{
	if (f->next - f->cum >= RING - 1)
		return false;
	if (f->kind == TEXTBOOK)
		return f->flight / P < (uint32_t)f->textbook.cwnd;
	return sctp_cc_room(&f->cc, f->flight) > 0;
}

/* ---- sender: transmission ---- */

static void transmit(struct flow *f, uint32_t tsn)
{
	struct chunk *c = chunk(f, tsn);

	if (tsn == f->next) {
		*c = (struct chunk){0};
		f->next++;
	} else if (f->recovery) {
		f->resent++;
	}
	c->sent_us = net.now;
	c->times++;
	c->misses = 0;
	c->out = true;
	f->flight += P;
	sctp_cc_sent(&f->cc, P);
	if (f->t3_us == UINT64_MAX || tsn == f->cum + 1)
		f->t3_us = net.now + f->rto.rto_us;
	link_take(f, tsn);
}

/* The earliest chunk that is to be sent again, else a new one. */
static uint32_t next_chunk(struct flow *f)
{
	while (f->lost_from != f->next &&
	       (chunk(f, f->lost_from)->out || chunk(f, f->lost_from)->acked))
		f->lost_from++;
	return f->lost_from;
}

static void send_all(struct flow *f)
{
	uint32_t probe = sctp_rack_probe_us(f->rto.srtt_us, f->flight <= P, 0);

	if (f->kind != TEXTBOOK)
		sctp_cc_burst(&f->cc, f->flight, BURST);
	while (has_room(f))
		transmit(f, next_chunk(f));
	f->limited = f->kind == TEXTBOOK || f->flight >= f->cc.cwnd;
	if (!f->flight)
		f->t3_us = UINT64_MAX;
	f->probe_us = f->kind == TEXTBOOK || f->probed || probe == UINT32_MAX || f->recovery
			      ? UINT64_MAX
			      : net.now + probe;
}

/* ---- sender: loss ---- */

static void mark_lost(struct flow *f, uint32_t tsn)
{
	chunk(f, tsn)->out = false;
	f->flight -= P;
	if ((int32_t)(tsn - f->lost_from) < 0)
		f->lost_from = tsn;
}

/* flight: with what is lost. */
static void enter_recovery(struct flow *f, uint32_t flight)
{
	if (f->recovery || f->after_t3)
		return;
	f->recovery = true;
	f->exit = f->next - 1;
	f->resent = 0;
	f->counts.reductions++;
	if (f->kind == TEXTBOOK)
		cc_textbook_reduce(&f->textbook, false);
	else
		sctp_cc_lost(&f->cc, flight);
	transmit(f, next_chunk(f)); /* ignores the window */
}

/* Three miss indications, once for each chunk. */
static bool textbook_detect(struct flow *f, uint32_t newest)
{
	bool found = false;

	for (uint32_t tsn = f->cum + 1; (int32_t)(newest - tsn) > 0; tsn++) {
		struct chunk *c = chunk(f, tsn);

		if (c->out && c->times == 1 && ++c->misses >= 3) {
			mark_lost(f, tsn);
			found = true;
		}
	}
	return found;
}

static bool rack_detect(struct flow *f)
{
	uint32_t acked = 0, window;
	bool found = false, misses = f->recovery;

	for (uint32_t tsn = f->cum + 1; tsn != f->next && acked < 3; tsn++)
		acked += chunk(f, tsn)->acked;
	misses |= acked >= 3;
	window = sctp_rack_window(&f->rack, f->rto.min_rtt_us, f->rto.srtt_us, misses);
	f->rack_us = UINT64_MAX;
	for (uint32_t tsn = f->cum + 1; tsn != f->next; tsn++) {
		struct chunk *c = chunk(f, tsn);
		uint64_t at = sctp_rack_deadline(&f->rack, c->sent_us, window);

		if (!c->out || !sctp_rack_before(&f->rack, c->sent_us, tsn))
			continue;
		if (at <= net.now) {
			mark_lost(f, tsn);
			found = true;
		} else if (at < f->rack_us) {
			f->rack_us = at;
		}
	}
	return found;
}

/* A retransmission was needless. When all of a recovery were, its reduction is undone. */
static void needless(struct flow *f)
{
	if (f->kind == TEXTBOOK)
		return;
	if (net.now >= f->needless_us) {
		sctp_rack_needless(&f->rack);
		f->needless_us = net.now + f->rto.srtt_us;
	}
	if (f->resent && !--f->resent) {
		f->counts.undone += f->cc.undo.cwnd != 0;
		sctp_cc_undo(&f->cc);
	}
}

/* ---- sender: acknowledgements ---- */

static void measure(struct flow *f, const struct chunk *c)
{
	if (c->times != 1 || c->sent_us < f->sample_us)
		return;
	sctp_rto_sample(&f->rto, (uint32_t)(net.now - c->sent_us), net.now);
	f->sample_us = net.now;
}

static void grow(struct flow *f, const struct chunk *c, uint32_t flight, bool advanced)
{
	if (f->kind == TEXTBOOK) {
		if (!f->recovery)
			cc_textbook_acked(&f->textbook, 1, (double)net.now / S,
					  (double)f->rto.srtt_us / S);
		return;
	}
	sctp_cc_acked(&f->cc,
		      &(struct sctp_cc_ack){
			      .bytes = P,
			      .flight = flight,
			      .cum_advanced = advanced,
			      .recovery = f->recovery,
			      .limited = f->limited,
			      .all_acked = !f->flight,
			      .rtt_us = c->times == 1 ? (uint32_t)(net.now - c->sent_us) : 0,
			      .srtt_us = f->rto.srtt_us,
			      .cum = f->cum,
			      .next_tsn = f->next,
		      },
		      net.now);
}

static void newly_acked(struct flow *f, uint32_t tsn, uint32_t cum)
{
	struct chunk *c = chunk(f, tsn);
	uint32_t flight = f->flight;
	bool advanced = cum != f->cum;

	c->acked = true;
	if (c->out)
		f->flight -= P;
	c->out = false;
	measure(f, c);
	sctp_rack_acked(&f->rack, tsn, c->sent_us, c->times > 1, f->rto.min_rtt_us, net.now);
	if (c->times > 1 && net.now - c->sent_us < f->rto.min_rtt_us)
		needless(f);
	f->cum = cum;
	if ((int32_t)(f->lost_from - cum) <= 0)
		f->lost_from = cum + 1;
	if (advanced)
		f->t3_us = f->next - 1 == cum ? UINT64_MAX : net.now + f->rto.rto_us;
	f->probed = false;
	grow(f, c, flight, advanced);
}

static void end_recovery(struct flow *f)
{
	if (!(f->recovery || f->after_t3) || (int32_t)(f->cum - f->exit) < 0)
		return;
	if (f->recovery)
		sctp_rack_recovered(&f->rack);
	f->recovery = f->after_t3 = false;
	sctp_cc_recovered(&f->cc);
}

static void sender_take(struct flow *f, const struct event *e)
{
	uint32_t old = f->cum, delivered = 0, flight;
	bool lost;

	if (e->duplicate) {
		needless(f);
	} else if (!chunk(f, e->tsn)->acked) {
		newly_acked(f, e->tsn, e->cum);
		delivered = P;
	}
	end_recovery(f);
	flight = f->flight;
	lost = f->kind == TEXTBOOK ? textbook_detect(f, e->tsn) : rack_detect(f);
	if (lost)
		enter_recovery(f, flight);
	if (f->recovery && f->kind != TEXTBOOK)
		sctp_cc_recover(&f->cc, &(struct sctp_prr_ack){.delivered = delivered,
							       .flight = f->flight,
							       .safe = f->cum != old && !lost});
	send_all(f);
}

static void t3_expired(struct flow *f)
{
	f->counts.timeouts++;
	for (uint32_t tsn = f->cum + 1; tsn != f->next; tsn++)
		if (chunk(f, tsn)->out)
			mark_lost(f, tsn);
	if (f->kind == TEXTBOOK)
		cc_textbook_reduce(&f->textbook, true);
	else
		sctp_cc_timed_out(&f->cc, f->flight);
	sctp_rto_back_off(&f->rto);
	f->t3_us = UINT64_MAX;
	f->recovery = false;
	f->after_t3 = true;
	f->exit = f->next - 1;
	f->resent = 0;
	send_all(f);
}

static void run_timers(struct flow *f)
{
	if (net.now >= f->t3_us) {
		t3_expired(f);
	} else if (net.now >= f->rack_us) {
		uint32_t flight = f->flight;

		if (rack_detect(f))
			enter_recovery(f, flight);
		send_all(f);
	} else if (net.now >= f->probe_us) {
		f->probe_us = UINT64_MAX;
		f->probed = true;
		transmit(f, f->next);
	}
}

/* ---- runs ---- */

static uint64_t next_timer(const struct flow *f)
{
	uint64_t at = f->t3_us < f->rack_us ? f->t3_us : f->rack_us;

	return at < f->probe_us ? at : f->probe_us;
}

void model_run_until(uint64_t end)
{
	for (;;) {
		uint64_t at = net.events ? net.heap[0].at : UINT64_MAX;
		struct flow *timer = NULL;

		for (unsigned i = 0; i < net.flows; i++)
			if (next_timer(&net.flow[i]) < at) {
				timer = &net.flow[i];
				at = next_timer(timer);
			}
		if (at >= end)
			break;
		net.now = at;
		if (timer) {
			run_timers(timer);
		} else {
			struct event e = pop();

			if (e.ack)
				sender_take(&net.flow[e.flow], &e);
			else
				receiver_take(&net.flow[e.flow], e);
		}
	}
	net.now = end;
}

unsigned model_start(enum model_kind kind, uint32_t first_tsn)
{
	struct sctp_config cfg = {.rto_initial_us = S, .rto_min_us = 200000, .rto_max_us = 60 * S};
	struct flow *f = &net.flow[net.flows];

	assert(net.flows < FLOWS);
	*f = (struct flow){.kind = kind,
			   .textbook = {.cwnd = 3, .ssthresh = 1e9, .epoch_s = -1},
			   .cum = first_tsn - 1,
			   .receiver_cum = first_tsn - 1,
			   .measured_from = first_tsn - 1,
			   .next = first_tsn,
			   .lost_from = first_tsn,
			   .rack_us = UINT64_MAX,
			   .probe_us = UINT64_MAX,
			   .t3_us = UINT64_MAX};
	sctp_rto_init(&f->rto, &cfg);
	sctp_rack_init(&f->rack);
	sctp_cc_init(&f->cc, kind == RFC9260 ? SCTP_CC_RFC9260 : SCTP_CC_CUBIC, P, false, 1 << 25);
	send_all(f);
	return net.flows++;
}

void model_set_up(const struct model_link *link, uint64_t seed)
{
	net.link = *link;
	net.packet_us = 8.0 * P / link->mbit;
	net.now = net.free_at = net.measured_at = 0;
	net.events = net.flows = 0;
	net.seed = seed * 0x9e3779b97f4a7c15 + 1;
}

void model_measure(void)
{
	net.measured_at = net.now;
	for (unsigned i = 0; i < net.flows; i++)
		net.flow[i].measured_from = net.flow[i].receiver_cum;
}

double model_goodput(unsigned flow)
{
	const struct flow *f = &net.flow[flow];

	return (f->receiver_cum - f->measured_from) * 8.0 * P / (double)(net.now - net.measured_at);
}

struct model_counts model_counts(unsigned flow)
{
	return net.flow[flow].counts;
}
