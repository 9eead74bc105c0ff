/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap.h"

#include <assert.h>
#include <string.h>

#include "proto/rdmap/rdmap_atomic.h"
#include "proto/rdmap/rdmap_ep.h"
#include "util/checked.h"
#include "util/minmax.h"

enum { ALIGN = 16 };

/* Where the parts of an endpoint lie in its memory, and how many blocks it can hold. */
struct layout {
	size_t rec, orq, ird; /* tables of blocks */
	size_t rq;            /* struct rdmap_rq */
	size_t slot;          /* their tables of blocks, one after the other */
	size_t of_msn;
	size_t size;
	uint32_t blocks;
};

static uint32_t slot_size(const struct rdmap_cfg *cfg)
{
	return (uint32_t)(sizeof(struct rdmap_rq_slot) +
			  cfg->max_recv_sge * sizeof(struct sgl_elem));
}

/* Appends n objects to the layout. Returns their offset. */
static size_t layout_add(struct layout *l, size_t n, size_t size)
{
	size_t at = l->size;

	l->size += checked_round_up(n * size, ALIGN);
	return at;
}

/* The same for the table of blocks of n windows. */
static size_t append_blocks(struct layout *l, uint32_t n, uint32_t depth, uint32_t size)
{
	uint32_t blocks = n * block_ring_blocks(depth, size);

	l->blocks += blocks;
	return layout_add(l, blocks, sizeof(uint8_t *));
}

static unsigned rq_count(const struct rdmap_cfg *cfg)
{
	return cfg->raw ? cfg->queues + 1U : 1;
}

/* The depth of a window for n requests. */
static uint32_t depth_for(uint16_t n)
{
	uint32_t depth = 1;

	while (depth < n)
		depth *= 2;
	return depth;
}

static struct layout lay_out(const struct rdmap_cfg *cfg)
{
	struct layout l = {.blocks = 1 /* tx.wr */};

	layout_add(&l, 1, sizeof(struct rdmap));
	l.rq = layout_add(&l, rq_count(cfg), sizeof(struct rdmap_rq));
	l.rec = append_blocks(&l, 1, cfg->sq_depth, sizeof(struct rdmap_rec));
	l.orq = append_blocks(&l, 1, depth_for(cfg->ord), sizeof(struct rdmap_orq_entry));
	l.ird = append_blocks(&l, 1, depth_for(cfg->ird), sizeof(struct rdmap_ird_slot));
	l.slot = append_blocks(&l, rq_count(cfg), cfg->rq_depth, slot_size(cfg));
	l.of_msn = layout_add(&l, (size_t)rq_count(cfg) * cfg->rq_depth, sizeof(uint16_t));
	return l;
}

size_t rdmap_size(const struct rdmap_cfg *cfg)
{
	return lay_out(cfg).size;
}

uint32_t rdmap_blocks(const struct rdmap_cfg *cfg)
{
	return lay_out(cfg).blocks;
}

static void init_queues(struct rdmap *ep, const struct rdmap_cfg *cfg, uint8_t **block,
			uint16_t *of_msn)
{
	uint32_t each = block_ring_blocks(cfg->rq_depth, slot_size(cfg));

	for (unsigned i = 0; i < rq_count(cfg); i++) {
		struct rdmap_rq *q = &ep->rq[i];

		block_ring_init(&q->slot, block + (size_t)i * each, cfg->rq_depth, slot_size(cfg));
		q->of_msn = of_msn + (size_t)i * cfg->rq_depth;
	}
}

static void init_windows(struct rdmap *ep, const struct rdmap_cfg *cfg, const struct layout *l)
{
	uint8_t *base = (uint8_t *)ep;

	block_ring_init(&ep->sq.rec, (uint8_t **)(void *)(base + l->rec), cfg->sq_depth,
			sizeof(struct rdmap_rec));
	block_ring_init(&ep->sq.orq, (uint8_t **)(void *)(base + l->orq), depth_for(cfg->ord),
			sizeof(struct rdmap_orq_entry));
	block_ring_init(&ep->ird.slot, (uint8_t **)(void *)(base + l->ird), depth_for(cfg->ird),
			sizeof(struct rdmap_ird_slot));
	ep->rq = (struct rdmap_rq *)(void *)(base + l->rq);
	init_queues(ep, cfg, (uint8_t **)(void *)(base + l->slot),
		    (uint16_t *)(void *)(base + l->of_msn));
}

static uint8_t queues_of(const struct rdmap_cfg *cfg)
{
	if (cfg->raw)
		return cfg->queues;
	return cfg->plain_rdmap ? RDMAP_QUEUES - 1 : RDMAP_QUEUES;
}

struct rdmap *rdmap_init(void *mem, const struct rdmap_cfg *cfg, const struct rdmap_ops *ops,
			 void *user)
{
	struct layout l = lay_out(cfg);
	struct rdmap *ep = mem;

	assert(checked_pow2(cfg->sq_depth) && checked_pow2(cfg->rq_depth));
	assert(cfg->max_recv_sge >= 1 && cfg->max_recv_sge <= SGL_MAX);
	assert(!cfg->raw || (cfg->queues >= 1 && cfg->queues <= RDMAP_RAW_QUEUES));
	ep->pool = cfg->pool;
	ep->stags = cfg->stags;
	ep->accessor = cfg->accessor;
	ep->owner = cfg->owner;
	ep->ops = ops;
	ep->user = user;
	list_init(&ep->rnr.wait);
	rdmap_set_rnr(ep, RDMAP_RNR_NO_END, 1);
	ep->max_recv_sge = cfg->max_recv_sge;
	ep->plain = cfg->plain_rdmap;
	ep->raw = cfg->raw;
	ep->queues = queues_of(cfg);
	ep->notify_mask = cfg->notify_mask;
	init_windows(ep, cfg, &l);
	ep->sq.size = ep->sq.ord = cfg->ord;
	ep->ird.size = ep->ird.limit = cfg->ird;
	ep->tries = RDMAP_ATOMIC_TRIES;
	return ep;
}

void rdmap_set_hold(struct rdmap *ep, void *mem, uint32_t bytes, uint32_t wait_ms)
{
	assert(ep->state == RDMAP_UNBOUND && !ep->raw);
	hold_init(&ep->hold, mem, bytes);
	ep->hold_ms = wait_ms;
}

void rdmap_set_options(struct rdmap *ep, unsigned options)
{
	assert(ep->state == RDMAP_UNBOUND && !ep->raw);
	ep->options = options;
}

void rdmap_set_window(struct rdmap *ep, uint32_t bytes)
{
	assert(ep->state == RDMAP_UNBOUND && !ep->raw);
	ep->window = bytes;
}

void rdmap_set_rnr(struct rdmap *ep, unsigned retry, uint32_t timer_ms)
{
	ep->rnr.retry = (uint8_t)min_u32(retry, RDMAP_RNR_NO_END);
	ep->rnr.timer_ms = timer_ms > 0 ? timer_ms : 1;
}

void rdmap_set_access(struct rdmap *ep, uint32_t rights)
{
	ep->accessor.withheld = STAG_REMOTE_ALL & ~rights;
}

bool rdmap_keeps_recvs(const struct rdmap *ep)
{
	return ep->keeps_recvs;
}

void rdmap_flush_recvs(struct rdmap *ep)
{
	ep->keeps_recvs = false;
	rdmap_rq_flush(ep);
}

void *rdmap_user(const struct rdmap *ep)
{
	return ep->user;
}

struct enh_terms rdmap_terms(const struct rdmap *ep)
{
	return (struct enh_terms){.ird = ep->ird.size, .ord = ep->sq.size};
}

static void begin_sq(struct rdmap_sq *q, uint16_t ord)
{
	q->ord = ord;
	q->read_got = 0;
	q->resp_msn = RDMAP_MSN_FIRST;
	q->awaiting = 0;
}

static void begin_rq(struct rdmap *ep)
{
	for (unsigned i = 0; i < rdmap_rqs(ep); i++) {
		ep->rq[i].open = 0;
		ep->rq[i].msn = RDMAP_MSN_FIRST;
	}
	ep->rq_taken = 0;
}

static void begin_ird(struct rdmap_ird *q, uint16_t ird)
{
	q->msn = RDMAP_MSN_FIRST;
	q->limit = ird;
	q->busy = 0;
}

static void begin_tx(struct rdmap_tx *tx, uint8_t rtr)
{
	for (unsigned qn = 0; qn < RDMAP_RAW_QUEUES; qn++)
		tx->msn[qn] = RDMAP_MSN_FIRST;
	tx->kind = RDMAP_NOTHING;
	tx->held = false;
	tx->last_ones = false;
	tx->no_answers = false;
	tx->failed = false;
	tx->finishing = false;
	tx->burst = 0;
	tx->rtr = rtr;
	tx->term_len = 0;
}

void rdmap_clear(struct rdmap *ep)
{
	rdmap_drop_wr(ep);
	block_ring_clear(&ep->sq.rec, ep->pool);
	block_ring_clear(&ep->sq.orq, ep->pool);
	block_ring_clear(&ep->ird.slot, ep->pool);
	for (unsigned i = 0; i < rdmap_rqs(ep); i++)
		block_ring_clear(&ep->rq[i].slot, ep->pool);
}

void rdmap_bind(struct rdmap *ep, const struct enh_terms *terms)
{
	assert(terms->ord <= ep->sq.size && terms->ird <= ep->ird.size);
	rdmap_clear(ep); /* of a session that was left without completions */
	begin_sq(&ep->sq, terms->ord);
	begin_rq(ep);
	begin_ird(&ep->ird, terms->ird);
	begin_tx(&ep->tx, terms->rtr);
	ep->wait = terms->wait ? terms->wait_rtr : 0;
	ep->term_gather = (struct ddp_gather){0};
	memset(ep->gaps, 0, sizeof(ep->gaps));
	ep->tagged_len = 0;
	ep->written = (struct rdmap_written){0};
	ep->at = (struct perr_at){0};
	ep->reason = (struct wire_term){0};
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_BIND);
}

void rdmap_stop(struct rdmap *ep)
{
	if (ep->tx.kind != RDMAP_TERMINATE && ep->tx.msg.off == 0)
		ep->tx.kind = RDMAP_NOTHING; /* chosen, but none of it was sent */
	ep->tx.last_ones = false;
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_STOP);
}

void rdmap_stop_after(struct rdmap *ep, uint32_t n)
{
	ep->tx.last_ones = true;
	ep->tx.left = n;
}

static void flush_requests(struct rdmap *ep)
{
	ep->tx.kind = RDMAP_NOTHING;
	ep->tx.last_ones = false;
	ep->tx.finishing = false;
	ep->wait = 0;
	rdmap_drop_wr(ep);
	rdmap_sq_flush(ep, 0);
	block_ring_clear(&ep->ird.slot, ep->pool);
	ep->ird.busy = 0;
	if (!ep->keeps_recvs)
		rdmap_rq_flush(ep);
}

void rdmap_abort(struct rdmap *ep)
{
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_FAIL);
	flush_requests(ep);
}

void rdmap_report(struct rdmap *ep)
{
	struct rdmap_tx *tx = &ep->tx;

	if (tx->last_ones)
		rdmap_stop(ep); /* the ULP has sent its last message */
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_REPORT);
	if (ep->state != RDMAP_REPORTED || tx->kind == RDMAP_NOTHING || tx->msg.off == 0) {
		flush_requests(ep);
		return;
	}
	tx->finishing = true; /* half a message would be our own error */
	rdmap_sq_flush(ep, 1);
	rdmap_rq_flush(ep);
}

void rdmap_unbind(struct rdmap *ep, bool by_peer)
{
	ep->keeps_recvs = by_peer && ep->options & RDMAP_KEEP_RECVS;
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_UNBIND);
	ep->tx.term_len = 0;
	flush_requests(ep);
}

void rdmap_query(const struct rdmap *ep, struct rdmap_info *ret)
{
	*ret = (struct rdmap_info){
		.ord = ep->sq.ord,
		.ird = ep->ird.limit,
		.reads_out = (uint16_t)rdmap_orq_len(&ep->sq),
		.reads_in = ep->ird.busy,
		.in_flight = block_ring_len(&ep->sq.rec),
		.tx_msgs = ep->tx_msgs,
		.rx_msgs = ep->rx_msgs,
		.tx_bytes = ep->tx_bytes,
		.rx_bytes = ep->rx_bytes,
		.held_bytes = ep->hold.bytes,
		.held_msgs = ep->held_msgs,
		.not_ready = ep->rnr.heard,
	};
}
