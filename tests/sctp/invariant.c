/* SPDX-License-Identifier: BSD-2-Clause */
/* The observer: what it remembers, and what it reads in packets. */
#include "tests/sctp/invariant_seen.h"

#include <stdlib.h>
#include <string.h>

#include "util/be.h"
#include "util/crc32c.h"

enum { WALK = 64 }; /* TSNs that are looked at for the earliest one in flight */

/* ---- associations ---- */

struct invariant *invariant_new(const struct judge *j)
{
	struct invariant *v = calloc(1, sizeof(*v));

	if (!v)
		abort();
	v->j = *j;
	return v;
}

static void forget(struct invariant_seen *e)
{
	free(e->chunk);
	free(e);
}

struct invariant *invariant_free(struct invariant *v)
{
	while (v && v->n)
		forget(v->seen[--v->n]);
	free(v);
	return NULL;
}

static bool is_same(const struct invariant_seen *e, const struct sctp_assoc *a)
{
	return e->a == a && e->own_tag == a->id.own_tag && e->own_tsn == a->tx.initial_tsn;
}

static struct invariant_seen *find(struct invariant *v, const struct sctp_assoc *a)
{
	for (unsigned i = 0; i < v->n; i++)
		if (is_same(v->seen[i], a))
			return v->seen[i];
	return NULL;
}

static struct invariant_seen *add(struct invariant *v, const struct sctp_assoc *a)
{
	struct invariant_seen *e;

	if (v->n == JUDGE_ASSOCS || !(e = calloc(1, sizeof(*e))))
		return NULL;
	e->a = a;
	e->own_tag = a->id.own_tag;
	e->own_tsn = a->tx.initial_tsn;
	e->blind = true;
	v->seen[v->n++] = e;
	return e;
}

bool invariant_lives(const struct invariant *v, const struct invariant_seen *e)
{
	if (e->state < SCTP_ESTABLISHED || e->blind)
		return false;
	list_foreach (it, &v->j.s->assocs) {
		const struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);

		if (e->a == a)
			return is_same(e, a) && a->state >= SCTP_ESTABLISHED &&
			       a->paths.n >= e->npaths;
	}
	return false;
}

/* ---- before a call ---- */

/* In flight: what counts as lost waits for its turn. */
static void find_earliest(struct invariant_seen *e, unsigned i)
{
	const struct sctp_queue *q = &e->a->tx;
	uint32_t tsn = q->cum + 1;

	e->earliest_out[i] = false;
	for (unsigned n = 0; n < WALK && tsn != q->send_tsn; n++, tsn++) {
		const struct sctp_tx *t = sctp_queue_at(q, tsn);

		if (t->path != i || (t->state != SCTP_TX_OUT && t->state != SCTP_TX_LOST))
			continue;
		e->earliest_out[i] = t->state == SCTP_TX_OUT;
		e->earliest[i] = tsn;
		return;
	}
}

static void note_rto(struct invariant_seen *e)
{
	for (unsigned i = 0; i < e->npaths; i++) {
		uint32_t us = e->a->paths.at[i].rto.rto_us;

		if (e->path[i].least_rto == 0 || us < e->path[i].least_rto)
			e->path[i].least_rto = us;
	}
}

static void remember(struct invariant_seen *e)
{
	const struct sctp_assoc *a = e->a;
	const struct sctp_queue *q = &a->tx;

	e->live = true;
	e->blind &= !sctp_queue_empty(q);
	e->state = a->state;
	if (a->state < SCTP_ESTABLISHED)
		return; /* it holds no queue any more, or none yet */
	e->moved |= a->moved.us != SCTP_NEVER;
	e->errors = a->errors;
	e->npaths = a->paths.n;
	e->unsacked = a->acks.packets;
	e->out = a->flight.out.n;
	e->primary = a->paths.primary;
	e->probe_out = a->window.probe_out;
	e->cum = q->cum;
	e->send_tsn = q->send_tsn;
	e->in_flight = a->flight.payload;
	e->rwnd = a->window.rwnd;
	invariant_rwnd_note(e);
	memcpy(e->before, a->paths.at, a->paths.n * sizeof(a->paths.at[0]));
	note_rto(e);
	for (unsigned i = 0; i < a->paths.n; i++)
		if (a->paths.at[i].flight.bytes)
			find_earliest(e, i);
}

static void drop_dead(struct invariant *v)
{
	for (unsigned i = 0; i < v->n;) {
		if (v->seen[i]->live) {
			i++;
			continue;
		}
		forget(v->seen[i]);
		v->seen[i] = v->seen[--v->n];
	}
}

void invariant_before(struct invariant *v)
{
	for (unsigned i = 0; i < v->n; i++)
		v->seen[i]->live = false;
	if (v->j.s->nassocs > JUDGE_ASSOCS) {
		drop_dead(v);
		return;
	}
	list_foreach (it, &v->j.s->assocs) {
		const struct sctp_assoc *a = list_entry(it, struct sctp_assoc, all);
		struct invariant_seen *e = find(v, a);

		if (!e && a->state != SCTP_CLOSED && a->id.own_tag)
			e = add(v, a);
		if (e)
			remember(e);
	}
	drop_dead(v);
}

/* ---- packets that come ---- */

static bool is_odd(const struct sctp_chunk *c)
{
	switch (c->type) {
	case SCTP_DATA:
		return c->len <= SCTP_DATA_HEAD;
	case SCTP_SACK:
	case SCTP_HEARTBEAT:
	case SCTP_HEARTBEAT_ACK:
	case SCTP_SHUTDOWN:
	case SCTP_COOKIE_ACK:
	case SCTP_PAD:
		return false;
	}
	return true;
}

static void read_chunks(struct invariant_packet *k, const uint8_t *pkt, size_t len)
{
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk chunk;
	enum sctp_next r;

	while ((r = sctp_chunk_next(&c, &chunk)) == SCTP_NEXT_OK) {
		k->sacks += chunk.type == SCTP_SACK || chunk.type == SCTP_SHUTDOWN;
		k->dups |= chunk.type == SCTP_SACK && chunk.len >= 16 && be_get16(chunk.p + 14);
		k->heartbeat_ack |= chunk.type == SCTP_HEARTBEAT_ACK;
		k->data |= chunk.type == SCTP_DATA;
		if (chunk.type == SCTP_DATA && chunk.len > SCTP_DATA_HEAD)
			k->payload += chunk.len - SCTP_DATA_HEAD;
		k->prompt |= chunk.type == SCTP_DATA && (chunk.flags & SCTP_DATA_I);
		k->odd |= is_odd(&chunk);
	}
	k->odd |= r == SCTP_NEXT_BAD;
}

/* The check changes the packet. */
static bool is_whole(const struct sctp_flow *from, const uint8_t *pkt, size_t len)
{
	static uint8_t copy[SCTP_MAX_PACKET];

	if (len < SCTP_HEAD + SCTP_CHUNK_HEAD || len > SCTP_MAX_PACKET)
		return false;
	if (from->covered && pkt[SCTP_HEAD] != SCTP_INIT && be_get32(pkt + SCTP_CHECKSUM) == 0)
		return true;
	memcpy(copy, pkt, len);
	return crc32c_check(copy, len);
}

void invariant_arrives(struct invariant *v, const struct sctp_flow *from, const uint8_t *pkt,
		       size_t len)
{
	struct invariant_packet *k = &v->packet;

	invariant_before(v);
	*k = (struct invariant_packet){0};
	v->arriving = true;
	if (!is_whole(from, pkt, len))
		return;
	for (unsigned n = 0; n < v->n; n++) {
		struct invariant_seen *e = v->seen[n];

		if (e->own_tag != be_get32(pkt + 4) || e->a->id.own_port != be_get16(pkt + 2) ||
		    e->a->id.peer_port != be_get16(pkt) || e->state < SCTP_ESTABLISHED)
			continue;
		for (unsigned i = 0; i < e->npaths; i++) {
			if (!sctp_addr_equal(&e->before[i].flow.peer, &from->peer) ||
			    e->before[i].flow.covered != from->covered)
				continue;
			k->to = e;
			k->path = i;
			read_chunks(k, pkt, len);
			return;
		}
	}
}

static void acknowledge(struct invariant_seen *e, uint32_t tsn)
{
	struct invariant_chunk *c = invariant_chunk(e, tsn);
	struct invariant_path *p = &e->path[c->path];

	if (c->acked)
		return;
	c->acked = true;
	p->acked += c->wire;
	p->acked_once |= c->count == 1;
}

static void take_range(struct invariant_seen *e, struct sctp_range r)
{
	const struct sctp_queue *q = &e->a->tx;

	for (uint32_t tsn = r.first; !sctp_tsn_before(r.last, tsn); tsn++)
		if (sctp_tsn_before(q->cum, tsn) && sctp_tsn_before(tsn, q->send_tsn) &&
		    sctp_queue_at(q, tsn)->state == SCTP_TX_GAP)
			acknowledge(e, tsn);
}

/* A later SACK of the packet took it back. */
static void take_reneged(struct invariant_seen *e)
{
	const struct sctp_queue *q = &e->a->tx;

	for (uint32_t tsn = q->cum + 1; sctp_tsn_before(tsn, q->send_tsn); tsn++)
		if (sctp_queue_at(q, tsn)->acked)
			acknowledge(e, tsn);
}

/* What the stack takes for acknowledged now. Without memory it does not keep the gap blocks. */
static void take_acks(struct invariant_seen *e, unsigned sacks)
{
	const struct sctp_queue *q = &e->a->tx;

	for (unsigned i = 0; i < e->npaths; i++) {
		e->path[i].acked = 0;
		e->path[i].acked_once = false;
	}
	if (!e->chunk)
		return;
	for (uint32_t tsn = e->cum + 1; !sctp_tsn_before(q->cum, tsn); tsn++)
		acknowledge(e, tsn);
	for (unsigned i = 0; i < q->ngaps; i++)
		take_range(e, q->gap[i]);
	if (sacks && q->ngaps == 0 && q->cum + 1 != q->send_tsn)
		take_range(e, (struct sctp_range){q->cum + 1, q->send_tsn - 1});
	if (sacks > 1)
		take_reneged(e);
}

/* The peer answers: what waited for that ends. A packet that this observer takes for foreign may
 * count as well: then what the stack took for acknowledged says so. */
static void end_silence(struct invariant_seen *e, const struct invariant_packet *k)
{
	bool sack = e == k->to && k->sacks, heard = e == k->to && k->heartbeat_ack;

	for (unsigned i = 0; i < e->npaths; i++) {
		struct invariant_path *p = &e->path[i];
		const struct sctp_path *after = &e->a->paths.at[i];

		if (p->acked || (p->asked && (sack || e->a->window.rwnd != e->rwnd)))
			p->silent = p->asked = p->tail = false;
		if (p->acked || heard || after->errors < e->before[i].errors)
			p->expiries = e->expiries = 0;
		if (sack || p->acked)
			p->burst_from = after->flight.bytes;
		if (heard)
			p->heartbeat_answered |= !after->heartbeat_out;
		if (after->flight.bytes == 0)
			p->extra = p->tail = false;
	}
}

void invariant_arrived(struct invariant *v)
{
	struct invariant_packet *k = &v->packet;

	if (!v->arriving)
		return;
	v->arriving = false;
	for (unsigned i = 0; i < v->n; i++) {
		struct invariant_seen *e = v->seen[i];

		if (!invariant_lives(v, e))
			continue;
		take_acks(e, e == k->to ? k->sacks : 0);
		invariant_windows_input(v, e);
		invariant_timers_input(v, e);
		end_silence(e, k);
		invariant_timers_always(v, e->a);
	}
	invariant_sack_input(v);
	invariant_rwnd_input(v);
}

/* ---- time ---- */

void invariant_ran(struct invariant *v)
{
	v->ran_us = v->j.s->now;
	v->packet = (struct invariant_packet){0};
	for (unsigned i = 0; i < v->n; i++) {
		struct invariant_seen *e = v->seen[i];

		if (!invariant_lives(v, e))
			continue;
		invariant_windows_run(v, e);
		invariant_timers_run(v, e);
		invariant_timers_always(v, e->a);
	}
	invariant_rwnd_run(v);
}

/* ---- packets that leave ---- */

static void begin_batch(struct invariant_out *o, struct invariant_seen *e,
			const struct sctp_path *p)
{
	*o = (struct invariant_out){
		.e = e,
		.p = p,
		.seen = &e->path[p->index],
		.flight = e->before[p->index].flight.bytes,
		.in_flight = e->in_flight,
		.first = e->before[p->index].flight.first,
	};
	if (!e->chunk && !(e->chunk = calloc(INVARIANT_RING, sizeof(*e->chunk))))
		abort();
}

/* Packets of one association in a batch. */
struct part {
	const struct sctp_batch *b;
	unsigned first, end; /* spans */
};

/* The span after the packet that begins with this one. */
static unsigned packet_end(const struct sctp_batch *b, unsigned i)
{
	uint32_t len = 0;

	while (i < b->nspans && len < b->segment)
		len += (uint32_t)b->span[i++].len;
	return i;
}

/* Ports and tag: a header is in one span. */
static bool same_assoc(const struct sctp_batch *b, unsigned i, unsigned k)
{
	return memcmp(b->span[i].p, b->span[k].p, SCTP_CHECKSUM) == 0;
}

static struct part part_at(const struct sctp_batch *b, unsigned first)
{
	unsigned end = packet_end(b, first);

	while (end < b->nspans && same_assoc(b, first, end))
		end = packet_end(b, end);
	return (struct part){b, first, end};
}

static void each_packet(struct invariant *v, struct invariant_out *o, const struct part *part)
{
	static uint8_t pkt[SCTP_MAX_PACKET];

	for (unsigned i = part->first, end; i < part->end; i = end) {
		uint32_t len = 0;

		end = packet_end(part->b, i);
		for (unsigned k = i; k < end; k++) {
			memcpy(pkt + len, part->b->span[k].p, part->b->span[k].len);
			len += (uint32_t)part->b->span[k].len;
		}
		invariant_sack_output(v, o->e, pkt, len);
		invariant_out_data(v, o, pkt, len);
	}
}

/* NULL: they belong to no association that is up. */
static const struct sctp_path *path_of(struct invariant *v, const struct part *part,
				       struct invariant_seen **ret)
{
	const uint8_t *head = part->b->span[part->first].p;

	for (unsigned n = 0; n < v->n; n++) {
		const struct invariant_seen *e = v->seen[n];

		if (!invariant_lives(v, e) || e->a->id.own_port != be_get16(head) ||
		    e->a->id.peer_port != be_get16(head + 2) ||
		    e->a->id.peer_tag != be_get32(head + 4))
			continue;
		for (unsigned i = 0; i < e->npaths; i++)
			if (sctp_addr_equal(&e->a->paths.at[i].flow.peer, &part->b->to.peer)) {
				*ret = v->seen[n];
				return &e->a->paths.at[i];
			}
	}
	return NULL;
}

/* The stack sent something in between: what the present packet did is not known. */
static void lose_track(struct invariant *v)
{
	v->arriving = false;
	while (v->n)
		forget(v->seen[--v->n]);
}

static void sent_part(struct invariant *v, const struct part *part)
{
	struct invariant_seen *e = NULL;
	const struct sctp_path *p = path_of(v, part, &e);
	struct invariant_out o;

	if (!p)
		return;
	begin_batch(&o, e, p);
	each_packet(v, &o, part);
	invariant_out_batch(v, &o);
	invariant_windows_output(v, e);
	invariant_timers_output(v, &o);
	invariant_timers_always(v, e->a);
}

void invariant_sent(struct invariant *v, const struct sctp_batch *b)
{
	struct part part;

	if (v->arriving)
		lose_track(v);
	for (unsigned i = 0; i < b->nspans; i = part.end) {
		part = part_at(b, i);
		sent_part(v, &part);
	}
}

void invariant_idle(struct invariant *v)
{
	for (unsigned n = 0; n < v->n; n++) {
		struct invariant_seen *e = v->seen[n];

		if (!invariant_lives(v, e))
			continue;
		invariant_sack_idle(v, e);
		for (unsigned i = 0; i < e->npaths; i++)
			e->path[i].least_rto = e->a->paths.at[i].rto.rto_us;
	}
}
