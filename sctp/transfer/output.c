/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next packets of an association: lost chunks first, then new ones, as many in a packet as fit
 * (RFC 9260 6.10), and as many packets of equal size in a batch as the windows allow (6.1).
 */
#include "sctp/transfer/output.h"

#include "sctp/assoc/heartbeat.h"
#include "sctp/assoc/pace.h"
#include "sctp/base/path_select.h"
#include "sctp/transfer/loss.h"
#include "sctp/transfer/sampling.h"
#include "sctp/transfer/stall.h"
#include "sctp/transfer/write.h"

enum {
	EVEN_OUT = 256, /* bytes of padding at most that make a packet as long as the others */
	SACK_HEAD = 16,
	SACK_SPACE = 1024,    /* bytes of gap blocks beside data */
	SMALL = 2,            /* a window of so many SACKs is small, */
	SMALL_BYTES = 131072, /* and one of so many bytes */
};

/* Padding and probes: any number of zeros. */
static const uint8_t zeros[16384];

/* A batch under construction. */
struct build {
	struct sctp_assoc *a;
	struct sctp_path *p;
	struct sctp_batch *b;
	uint32_t size;   /* of the present packet at most */
	uint32_t len;    /* of the present packet */
	unsigned first;  /* its first span */
	unsigned chunks; /* DATA chunks in it */
	uint32_t last;   /* TSN of the last one */
	uint32_t wire;   /* bytes of them */
	unsigned before; /* packets of other associations in the batch */
};

/* ---- spans ---- */

static bool add_span(struct build *w, const uint8_t *p, uint32_t len)
{
	struct sctp_batch *b = w->b;
	struct span *last = b->nspans > w->first ? &b->span[b->nspans - 1] : NULL;

	if (last && last->p + last->len == p) {
		last->len += len;
	} else {
		if (b->nspans == SCTP_BATCH_SPANS)
			return false;
		b->span[b->nspans++] = (struct span){(uint8_t *)(uintptr_t)p, len};
	}
	w->len += len;
	return true;
}

static void add_zeros(struct build *w, uint32_t len)
{
	while (len) {
		uint32_t n = len < sizeof(zeros) ? len : sizeof(zeros);

		/* Never joined with the same zeros before. */
		w->b->span[w->b->nspans++] = (struct span){(uint8_t *)(uintptr_t)zeros, n};
		w->len += n;
		len -= n;
	}
}

static struct sctp_writer batch_space(struct build *w)
{
	return (struct sctp_writer){.p = w->b->space + w->b->used,
				    .size = SCTP_BATCH_SPACE - w->b->used};
}

static void use_space(struct build *w, const struct sctp_writer *wr)
{
	add_span(w, wr->p, wr->len);
	w->b->used += wr->len;
}

/* head: where its common header is put; NULL: in the batch. */
static void begin_packet(struct build *w, uint32_t size, uint8_t *head)
{
	const struct sctp_head h = {w->a->id.own_port, w->a->id.peer_port, w->a->id.peer_tag};
	struct sctp_writer wr = batch_space(w);

	if (head)
		wr = (struct sctp_writer){.p = head, .size = SCTP_HEAD};
	w->first = w->b->nspans;
	w->size = size;
	w->len = 0;
	w->chunks = w->wire = 0;
	sctp_put_head(&wr, &h);
	add_span(w, wr.p, wr.len);
	w->b->used += head ? 0 : SCTP_HEAD;
}

static void end_packet(struct build *w)
{
	struct sctp_batch *b = w->b;

	if (!sctp_omits_checksum(w->a))
		sctp_seal(b->span + w->first, b->nspans - w->first);
	if (b->packets++ == 0)
		b->segment = w->len;
	b->len += w->len;
}

static void drop_packet(struct build *w)
{
	w->b->nspans = w->first;
}

static void pad(struct build *w, uint32_t len)
{
	struct sctp_writer wr = batch_space(w);

	sctp_put8(&wr, SCTP_PAD);
	sctp_put8(&wr, 0);
	sctp_put16(&wr, (uint16_t)len);
	use_space(w, &wr);
	add_zeros(w, len - SCTP_CHUNK_HEAD);
}

/* ---- rules for sending ---- */

static bool has_chunk(const struct sctp_assoc *a)
{
	return sctp_flight_waits(&a->flight, &a->tx);
}

static uint32_t next_chunk(const struct sctp_assoc *a)
{
	return sctp_flight_next(&a->flight, &a->tx);
}

static bool fits_rwnd(const struct sctp_assoc *a, const struct sctp_tx *t)
{
	return sctp_window_admits(&a->window, a->flight.payload, t->size - SCTP_DATA_HEAD);
}

/* 6.1 (B): cwnd, which one packet may overshoot; and bursts are bounded. After T3 there is no other
 * packet beside the first (7.2.1). */
static bool fits_cwnd(const struct sctp_path *p)
{
	return (p->extra && !p->cc.one_packet) || sctp_cc_room(&p->cc, p->flight.bytes) != 0;
}

/* True if the windows admit the next chunk. */
static bool windows_admit(struct sctp_assoc *a, const struct sctp_path *p)
{
	return sctp_sends_data(a) && has_chunk(a) && p->state != SCTP_PATH_UNCONFIRMED &&
	       fits_cwnd(p) && fits_rwnd(a, sctp_queue_at(&a->tx, next_chunk(a)));
}

/* A packet that goes although the window is full does not wait for the pacer either. */
static bool can_send_data(struct sctp_assoc *a, const struct sctp_path *p)
{
	return windows_admit(a, p) && (p->extra || sctp_pacer_ready(&p->pacer, a->s->now));
}

/* The path for the next chunk. A chunk that became too long for the best path goes another way that
 * works, if it fits there. */
static struct sctp_path *data_path(struct sctp_assoc *a)
{
	struct sctp_path *p = sctp_path_choose(a);
	const struct sctp_tx *t;

	if (a->paths.n == 1 || !has_chunk(a))
		return p;
	t = sctp_queue_at(&a->tx, next_chunk(a));
	for (unsigned i = 0; i < a->paths.n && !sctp_stall_fits(p, t); i++)
		if (a->paths.at[i].state == SCTP_PATH_ACTIVE && sctp_stall_fits(&a->paths.at[i], t))
			p = &a->paths.at[i];
	return p;
}

/* A turn that sends them follows when the pacer allows it. */
static void wait_for_pacer(struct sctp_assoc *a)
{
	struct sctp_path *p = data_path(a);
	bool waits = windows_admit(a, p) && !can_send_data(a, p);

	p->release_us = waits ? sctp_pacer_wait(&p->pacer) : SCTP_NEVER;
}

static struct sctp_path *probing(struct sctp_assoc *a)
{
	for (unsigned i = 0; i < a->paths.n; i++)
		if (a->paths.at[i].probe_wanted)
			return &a->paths.at[i];
	return NULL;
}

bool sctp_assoc_has_output(struct sctp_assoc *a)
{
	return a->state != SCTP_CLOSED &&
	       (a->acks.now || probing(a) || can_send_data(a, data_path(a)));
}

/* ---- chunks ---- */

static void chunk_sent(struct build *w, uint32_t tsn)
{
	struct sctp_assoc *a = w->a;
	struct sctp_queue *q = &a->tx;
	struct sctp_path *p = w->p;
	struct sctp_tx *t = sctp_queue_at(q, tsn);
	struct sctp_path *old = t->state == SCTP_TX_LOST ? &a->paths.at[t->path] : p;

	if (t->state == SCTP_TX_LOST) {
		a->s->st.retransmits++;
		sctp_recovery_repeat(&p->recovery);
	} else if (tsn == q->cum + 1) {
		sctp_stall_progress(a);
	}
	/* Before the state changes: the compiler reads the byte of the state with these
	 * (util/words.h). */
	t->misses = 0;
	t->acked = false;
	t->words = w->len / 4 & 0x3fff;
	t->sent_us = a->s->now;
	/* 6.3.2 (R1), and 6.1: a repeated earliest chunk starts T3 again. */
	if (sctp_flight_sent(&a->flight, q, &p->flight, p->index, tsn))
		p->t3_us = a->s->now + p->rto.rto_us;
	w->wire += sctp_tx_wire(t);
	if (tsn == q->cum + 1)
		sctp_stall_sent(p, t);
	if (old != p)
		sctp_loss_left(old, tsn);
}

static bool add_chunk(struct build *w, const struct sctp_tx *t)
{
	const struct sctp_tx_block *b = t->block;
	uint32_t left = sctp_tx_wire(t), off = t->off;

	if (w->b->nspans + 1 + left / sizeof(b->data) + 2 > SCTP_BATCH_SPANS)
		return false;
	while (left) {
		uint32_t n = sizeof(b->data) - off;

		n = n < left ? n : left;
		add_span(w, b->data + off, n);
		left -= n;
		off = 0;
		b = b->next;
	}
	return true;
}

/* Puts as many chunks as fit. */
static void add_chunks(struct build *w)
{
	struct sctp_assoc *a = w->a;

	while (has_chunk(a)) {
		uint32_t tsn = next_chunk(a);
		const struct sctp_tx *t = sctp_queue_at(&a->tx, tsn);

		/* 6.10: TSNs ascend in a packet. */
		if (w->chunks && sctp_tsn_before(tsn, w->last))
			return;
		if (w->len + sctp_tx_wire(t) > w->size || !fits_rwnd(a, t) || !add_chunk(w, t))
			return;
		sctp_window_sent(&a->window);
		chunk_sent(w, tsn);
		w->last = tsn;
		w->chunks++;
	}
}

/* A chunk that became longer than the path MTU after it was queued: IP has to fragment it. Over
 * IPv6 only the sender does, and Linux does not before a packet exceeds the MTU of the route. */
static bool add_too_long(struct build *w)
{
	const struct sctp_tx *t = sctp_queue_at(&w->a->tx, next_chunk(w->a));
	uint32_t beyond = w->p->pmtu.max + SCTP_CHUNK_HEAD;

	if (w->b->packets || w->len != SCTP_HEAD || sctp_stall_fits(w->p, t) || !add_chunk(w, t))
		return false;
	w->last = next_chunk(w->a);
	chunk_sent(w, w->last);
	w->chunks = 1;
	if (!sctp_addr_is_v4(&w->p->flow.peer) && w->len < beyond && beyond <= sctp_path_most(w->p))
		pad(w, beyond - w->len);
	w->b->fragment = true;
	return true;
}

static void add_sack(struct build *w)
{
	struct sctp_assoc *a = w->a;
	struct sctp_writer wr = batch_space(w);
	uint32_t most = w->size - w->len;

	if (a->map.ndups && most > SCTP_MIN_PACKET - SCTP_HEAD)
		most = SCTP_MIN_PACKET - SCTP_HEAD;
	if (most > SACK_SPACE && has_chunk(a) && sctp_sends_data(a))
		most = SACK_SPACE;
	sctp_tsn_map_sack(&a->map, sctp_data_rwnd(a), &wr, most);
	use_space(w, &wr);
	sctp_acks_sent(&a->acks, sctp_data_rwnd(a));
}

/* ---- batches ---- */

/* The first packet has the length that it needs, the others that one at most. */
static uint32_t packet_size(const struct build *w)
{
	return w->b->packets ? w->b->segment : w->p->pmtu.size;
}

/* A SACK that is due, or a delayed one that costs no packet. */
static bool takes_sack(const struct build *w, const struct sctp_tx *next)
{
	const struct sctp_assoc *a = w->a;

	if (w->b->packets != w->before)
		return false;
	if (a->acks.now || a->acks.packets == 0 || a->acks.path != w->p->index)
		return a->acks.now;
	return SCTP_HEAD + SACK_HEAD + sctp_tx_wire(next) <= packet_size(w);
}

/* A small window is full (6.1), or the pacer is: no data leaves before the next SACK, or for a
 * while, and the peer could delay that SACK for packets that do not come soon. That of one packet
 * after T3 is full with any packet. */
static bool wants_sack(const struct build *w)
{
	const struct sctp_path *p = w->p;
	bool small = p->flight.bytes <= SMALL_BYTES ||
		     p->flight.bytes <= SMALL * w->a->s->cfg.sack_packets * p->cc.pmdcs;

	if (p->cc.one_packet)
		return true;
	return small &&
	       (p->flight.bytes >= p->cc.cwnd || !sctp_pacer_ready(&p->pacer, w->a->s->now));
}

static void ask_for_sack(struct build *w)
{
	const struct sctp_tx *t = sctp_queue_at(&w->a->tx, w->last);

	t->block->data[t->off + 1] |= SCTP_DATA_I;
}

/* True if another packet may follow in the batch. */
static bool data_packet(struct build *w)
{
	struct sctp_batch *b = w->b;
	struct sctp_path *p = w->p;
	const struct sctp_tx *next = sctp_queue_at(&w->a->tx, next_chunk(w->a));
	bool sack = takes_sack(w, next);

	begin_packet(w, packet_size(w), sack ? NULL : sctp_tx_headroom(next));
	if (sack)
		add_sack(w);
	add_chunks(w);
	if (w->chunks == 0 && !sack && !add_too_long(w)) {
		drop_packet(w);
		return false;
	}
	p->extra = false;
	sctp_pacer_sent(&p->pacer, w->wire, w->a->s->now);
	sctp_cc_sent(&p->cc, w->wire);
	if (w->chunks && wants_sack(w))
		ask_for_sack(w);
	if (b->packets && w->len + SCTP_CHUNK_HEAD <= b->segment &&
	    b->segment - w->len <= EVEN_OUT && w->a->agreed.takes_batches && can_send_data(w->a, p))
		pad(w, b->segment - w->len);
	end_packet(w);
	return w->len == b->segment && w->chunks && !b->fragment;
}

static bool enough_room(const struct sctp_batch *b, uint32_t cover)
{
	return b->packets < SCTP_BATCH_PACKETS && b->nspans + 16 < SCTP_BATCH_SPANS &&
	       b->used + SCTP_HEAD + SACK_HEAD + SCTP_CHUNK_HEAD <= SCTP_BATCH_SPACE &&
	       b->len + b->segment + (b->packets + 1) * cover <= SCTP_MAX_PACKET;
}

static void after_data(struct build *w)
{
	struct sctp_path *p = w->p;

	p->last_sent_us = w->a->s->now;
	sctp_loss_rearm(p, false);
}

static bool data_batch(struct build *w)
{
	struct sctp_path *p = w->p;
	uint64_t now = w->a->s->now;
	uint32_t before = p->flight.bytes;
	bool more;

	if (p->flight.bytes == 0) {
		sctp_sampling_begin(p);
		if (p->last_sent_us && now > p->last_sent_us)
			sctp_cc_idle(&p->cc, now - p->last_sent_us, p->rto.rto_us, now);
		sctp_path_pace(p);
		sctp_path_burst(p);
	}
	do
		more = data_packet(w);
	while (more && enough_room(w->b, sctp_path_cover(p)) && data_path(w->a) == p &&
	       can_send_data(w->a, p));
	p->limited = has_chunk(w->a) && p->flight.bytes >= p->cc.cwnd;
	sctp_sampling_sent(p, before);
	wait_for_pacer(w->a);
	if (p->flight.bytes)
		after_data(w);
	sctp_write_made_room(w->a);
	return w->b->packets != w->before;
}

static bool sack_batch(struct build *w)
{
	begin_packet(w, packet_size(w), NULL);
	add_sack(w);
	end_packet(w);
	return true;
}

/* HEARTBEAT and PAD of the size under test (RFC 8899, RFC 4820). */
static bool probe_batch(struct build *w)
{
	struct sctp_path *p = w->p;
	uint32_t size = sctp_pmtu_due(&p->pmtu, w->a->s->now);
	struct sctp_writer wr;

	p->probe_wanted = false;
	if (size == 0 || !sctp_path_probes(p))
		return false;
	begin_packet(w, size, NULL);
	wr = batch_space(w);
	sctp_put_probe(&wr, p, size);
	use_space(w, &wr);
	if (size >= w->len + SCTP_CHUNK_HEAD)
		pad(w, size - w->len);
	end_packet(w);
	w->b->probe = true;
	sctp_pmtu_sent(&p->pmtu, p->rto.rto_us, w->a->s->now);
	p->probe_wanted = sctp_pmtu_due(&p->pmtu, w->a->s->now) != 0;
	return true;
}

static bool build_batch(struct sctp_assoc *a, struct sctp_path *p, struct sctp_batch *b,
			bool (*fn)(struct build *w))
{
	struct build w = {.a = a, .p = p, .b = b, .before = b->packets};

	b->to = p->flow;
	b->takes_batches = a->agreed.takes_batches;
	return fn(&w);
}

/* The peer repeats chunks that have arrived: our SACK was lost, perhaps because its packet was too
 * long. It goes without data. */
static bool repeats_sack(const struct sctp_assoc *a)
{
	return a->acks.now && a->map.ndups;
}

bool sctp_assoc_output(struct sctp_assoc *a, struct sctp_batch *b)
{
	struct sctp_path *p = probing(a);

	if (a->state == SCTP_CLOSED)
		return false;
	if (p && build_batch(a, p, b, probe_batch))
		return true;
	if (repeats_sack(a))
		return build_batch(a, &a->paths.at[a->acks.path], b, sack_batch);
	p = data_path(a);
	if (can_send_data(a, p))
		return build_batch(a, p, b, data_batch);
	wait_for_pacer(a);
	sctp_loss_watch(a);
	return a->acks.now && build_batch(a, &a->paths.at[a->acks.path], b, sack_batch);
}

/* ---- batches of several associations ---- */

/* Another packet of the same length or a shorter one may follow those in the batch. */
static bool takes_others(const struct sctp_batch *b, uint32_t cover)
{
	return b->takes_batches && !b->probe && !b->fragment && b->packets &&
	       b->len == b->packets * b->segment && enough_room(b, cover);
}

/* It sends to the address of the batch, and has one packet at most of that length, which its path
 * takes. A SACK with gaps may be longer, and so may lost chunks. */
static bool has_short_packet(struct sctp_assoc *a, const struct sctp_batch *b)
{
	struct sctp_path *p = data_path(a);
	bool data = can_send_data(a, p), gaps = a->map.cum != a->map.highest || a->map.ndups;
	uint32_t len = SCTP_HEAD + (a->acks.now ? SACK_HEAD : 0) + (data ? a->tx.unsent : 0);

	if (!data && a->acks.now)
		p = &a->paths.at[a->acks.path];
	return (data || a->acks.now) && sctp_flow_equal(&p->flow, &b->to) && len <= b->segment &&
	       b->segment <= p->pmtu.size && !gaps &&
	       !(data && sctp_flight_repeats(&a->flight, &a->tx));
}

bool sctp_assoc_joins(struct sctp_assoc *a, const struct sctp_batch *b)
{
	return takes_others(b, sctp_path_cover(sctp_primary(a))) && a->state != SCTP_CLOSED &&
	       a->agreed.takes_batches && !probing(a) && has_short_packet(a, b);
}
