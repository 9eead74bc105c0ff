/* SPDX-License-Identifier: BSD-2-Clause */
/* DATA that leaves: RFC 9260 6.1, 6.3.3, 7.2.1, 7.2.4. */
#include "sctp/assoc/pace.h"
#include "tests/sctp/invariant_seen.h"
#include "util/be.h"
#include "util/minmax.h"

/* 6.1 (A): the peer's window. With nothing in flight one chunk may go that is longer than it, if
 * the window is not small, or after a T3 that asks. */
static void check_rwnd(struct invariant *v, struct invariant_out *o, uint32_t payload)
{
	struct invariant_seen *e = o->e;
	bool fits = o->in_flight <= e->rwnd && payload <= e->rwnd - o->in_flight;

	if (!fits) {
		holds(v, "6.1-01", o->in_flight == 0);
		holds(v, "6.1-06", e->rwnd >= SCTP_PMTU_BASE || e->window_asks);
	}
	e->window_asks = false;
}

static void send_chunk(struct invariant *v, struct invariant_out *o, const struct sctp_chunk *c)
{
	uint32_t tsn = be_get32(c->p + 4), payload = c->len - SCTP_DATA_HEAD;
	struct invariant_chunk *k = invariant_chunk(o->e, tsn);
	bool fresh = !sctp_tsn_before(tsn, o->e->send_tsn);

	check_rwnd(v, o, payload);
	if (fresh)
		*k = (struct invariant_chunk){0};
	else if (k->path != o->p->index)
		o->left |= 1u << k->path;
	holds(v, "6.1-14", !fresh || !sctp_flight_repeats(&o->e->a->flight, &o->e->a->tx));
	k->path = o->p->index;
	k->count += k->count < UINT8_MAX;
	k->acked = false;
	k->wire = (c->len + 3) & ~3u;
	/* 6.3.2 (R1), and 6.1: the earliest one that is sent again. */
	if (o->flight == 0 || !sctp_tsn_before(o->first, tsn)) {
		o->started = true;
		o->first = tsn;
	}
	o->flight += k->wire;
	o->in_flight += payload;
}

/* RFC 9937 6: in proportion to what was delivered, until no more than ssthresh is in flight. */
static bool is_in_proportion(const struct invariant_out *o, uint32_t flight)
{
	const struct sctp_path *before = &o->e->before[o->p->index];
	const struct sctp_prr *r = &before->cc.prr;
	uint64_t out = r->out + (flight - before->flight.bytes);

	return r->runs && out * r->recover_fs < r->delivered * before->cc.ssthresh;
}

/* 6.1 (B), (D): what was in flight before the packet. */
static void check_cwnd(struct invariant *v, const struct invariant_out *o, uint32_t flight)
{
	const struct sctp_cc *c = &o->p->cc;

	if (o->seen->extra)
		return;
	holds(v, "6.1-11", flight < c->cwnd || is_in_proportion(o, flight));
	if (o->p->pacer.rate)
		holds(v, "6.1-17", o->seen->paced_ns < (v->j.s->now + SCTP_PACER_BATCH_US) * 1000);
	else
		holds(v, "6.1-17", flight < o->seen->burst_from + SCTP_BURST * c->pmdcs);
}

/* The rate is used up until paced_ns. Time that passes gives no more than a batch. */
static void use_rate(struct invariant *v, const struct invariant_out *o, uint32_t bytes)
{
	uint64_t since = (v->j.s->now - min_u64(v->j.s->now, SCTP_PACER_BATCH_US)) * 1000;

	if (o->p->pacer.rate)
		o->seen->paced_ns = max_u64(o->seen->paced_ns, since) +
				    bytes * UINT64_C(1000000000) / o->p->pacer.rate;
}

/* What became too long for the primary path may go another way. */
static void check_packet(struct invariant *v, const struct invariant_out *o, uint32_t flight,
			 size_t len)
{
	struct invariant_path *p = o->seen;
	const struct sctp_path *before = &o->e->before[o->p->index];

	check_cwnd(v, o, flight);
	use_rate(v, o, o->flight - flight);
	p->extra = false;
	p->packets++;
	holds(v, "7.2.1-04", !p->silent || p->packets <= 1);
	holds(v, "5.4-13", before->state != SCTP_PATH_UNCONFIRMED);
	holds(v, "6.4-02",
	      o->e->before[o->e->primary].state != SCTP_PATH_ACTIVE ||
		      o->p->index == o->e->primary || len > o->e->before[o->e->primary].pmtu.size);
	p->data_us = v->j.s->now;
}

void invariant_out_data(struct invariant *v, struct invariant_out *o, const uint8_t *pkt,
			size_t len)
{
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk chunk;
	uint32_t flight, last = 0;
	bool any = false;

	if (o->e->before[o->p->index].flight.bytes == 0 && o->flight == 0)
		o->seen->burst_from = 0;
	flight = o->flight;
	while (sctp_chunk_next(&c, &chunk) == SCTP_NEXT_OK) {
		if (chunk.type != SCTP_DATA || chunk.len <= SCTP_DATA_HEAD)
			continue;
		holds(v, "6.10-05", !any || sctp_tsn_before(last, be_get32(chunk.p + 4)));
		last = be_get32(chunk.p + 4);
		any = true;
		send_chunk(v, o, &chunk);
	}
	o->data |= any;
	if (any)
		check_packet(v, o, flight, len);
}

void invariant_out_batch(struct invariant *v, const struct invariant_out *o)
{
	const struct sctp_assoc *a = o->e->a;

	holds(v, "7.1-02", o->p->flight.bytes == o->flight);
	holds(v, "6.2.1-02", a->flight.payload == o->in_flight);
	for (unsigned i = 0; i < o->e->npaths; i++)
		if ((o->left & 1u << i) && a->paths.at[i].flight.bytes == 0)
			o->e->path[i].tail = false; /* it went another way */
	if (o->data)
		o->seen->full = sctp_flight_waits(&a->flight, &a->tx) && o->flight >= o->p->cc.cwnd;
}
