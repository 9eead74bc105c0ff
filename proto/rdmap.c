/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap.h"

#include <assert.h>
#include <string.h>

#include "proto/rdmap_atomic.h"
#include "proto/rdmap_ep.h"
#include "util/checked.h"

enum { ALIGN = 16 };

/* Where the parts of an endpoint lie in its memory. */
struct layout {
	size_t rec;
	size_t orq;
	size_t rq;
	size_t slot;
	size_t of_msn;
	size_t ird;
	size_t size;
};

static uint32_t rq_stride(const struct rdmap_cfg *cfg)
{
	size_t elems = cfg->max_recv_sge * sizeof(struct sgl_elem);

	return (uint32_t)checked_round_up(sizeof(struct rdmap_rq_slot) + elems, ALIGN);
}

/* Appends n objects to the layout. Returns their offset. */
static size_t append(struct layout *l, size_t n, size_t size)
{
	size_t at = l->size;

	l->size += checked_round_up(n * size, ALIGN);
	return at;
}

static unsigned rq_count(const struct rdmap_cfg *cfg)
{
	return cfg->raw ? cfg->queues + 1U : 1;
}

static struct layout lay_out(const struct rdmap_cfg *cfg)
{
	struct layout l = {0};

	append(&l, 1, sizeof(struct rdmap));
	l.rec = append(&l, cfg->sq_depth, sizeof(struct rdmap_rec));
	l.orq = append(&l, cfg->ord, sizeof(struct rdmap_orq_entry));
	l.rq = append(&l, rq_count(cfg), sizeof(struct rdmap_rq));
	l.slot = append(&l, (size_t)rq_count(cfg) * cfg->rq_depth, rq_stride(cfg));
	l.of_msn = append(&l, (size_t)rq_count(cfg) * cfg->rq_depth, sizeof(uint32_t));
	l.ird = append(&l, cfg->ird, sizeof(struct rdmap_ird_slot));
	return l;
}

size_t rdmap_size(const struct rdmap_cfg *cfg)
{
	return lay_out(cfg).size;
}

static void init_queues(struct rdmap *ep, const struct rdmap_cfg *cfg, uint8_t *slot,
			uint8_t *of_msn)
{
	uint32_t stride = rq_stride(cfg);

	for (unsigned i = 0; i < rq_count(cfg); i++) {
		struct rdmap_rq *q = &ep->rq[i];

		q->slot = slot + (size_t)i * cfg->rq_depth * stride;
		q->stride = stride;
		q->mask = cfg->rq_depth - 1U;
		q->of_msn = (uint32_t *)(void *)of_msn + (size_t)i * cfg->rq_depth;
	}
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
	uint8_t *base = mem;
	struct rdmap *ep = mem;

	assert(checked_pow2(cfg->sq_depth) && checked_pow2(cfg->rq_depth));
	assert(cfg->max_recv_sge >= 1 && cfg->max_recv_sge <= SGL_MAX);
	assert(!cfg->raw || (cfg->queues >= 1 && cfg->queues <= RDMAP_RAW_QUEUES));
	ep->stags = cfg->stags;
	ep->accessor = cfg->accessor;
	ep->ops = ops;
	ep->user = user;
	ep->max_recv_sge = cfg->max_recv_sge;
	ep->sq.rec = (struct rdmap_rec *)(void *)(base + l.rec);
	ep->sq.mask = cfg->sq_depth - 1U;
	ep->plain = cfg->plain_rdmap;
	ep->raw = cfg->raw;
	ep->queues = queues_of(cfg);
	ep->notify_mask = cfg->notify_mask;
	ep->sq.orq = (struct rdmap_orq_entry *)(void *)(base + l.orq);
	ep->sq.size = ep->sq.ord = cfg->ord;
	ep->rq = (struct rdmap_rq *)(void *)(base + l.rq);
	init_queues(ep, cfg, base + l.slot, base + l.of_msn);
	ep->ird.slot = (struct rdmap_ird_slot *)(void *)(base + l.ird);
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
	q->tail = q->head;
	q->ord = ord;
	q->orq_len = 0;
	q->read_got = 0;
	q->resp_msn = RDMAP_MSN_FIRST;
	q->awaiting = 0;
}

static void begin_rq(struct rdmap *ep)
{
	for (unsigned i = 0; i < rdmap_rqs(ep); i++) {
		ep->rq[i].tail = ep->rq[i].head;
		ep->rq[i].open = 0;
		ep->rq[i].msn = RDMAP_MSN_FIRST;
	}
	ep->rq_taken = 0;
}

static void begin_ird(struct rdmap_ird *q, uint16_t ird)
{
	q->msn = RDMAP_MSN_FIRST;
	q->limit = ird;
	q->head = 0;
	q->busy = 0;
	for (unsigned i = 0; i < q->size; i++) {
		q->slot[i].in = (struct ddp_gather){0};
		q->slot[i].executed = false;
	}
}

static void begin_tx(struct rdmap_tx *tx, uint8_t rtr)
{
	for (unsigned qn = 0; qn < RDMAP_RAW_QUEUES; qn++)
		tx->msn[qn] = RDMAP_MSN_FIRST;
	tx->kind = RDMAP_NOTHING;
	tx->held = false;
	tx->finishing = false;
	tx->burst = 0;
	tx->rtr = rtr;
	tx->term_len = 0;
}

void rdmap_bind(struct rdmap *ep, const struct enh_terms *terms)
{
	assert(terms->ord <= ep->sq.size && terms->ird <= ep->ird.size);
	begin_sq(&ep->sq, terms->ord);
	begin_rq(ep);
	begin_ird(&ep->ird, terms->ird);
	begin_tx(&ep->tx, terms->rtr);
	ep->wait = terms->wait ? terms->wait_rtr : 0;
	ep->term_gather = (struct ddp_gather){0};
	memset(ep->gaps, 0, sizeof(ep->gaps));
	ep->tagged_len = 0;
	ep->at = (struct perr_at){0};
	ep->reason = (struct wire_term){0};
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_BIND);
}

void rdmap_stop(struct rdmap *ep)
{
	if (ep->tx.kind != RDMAP_TERMINATE && ep->tx.msg.off == 0)
		ep->tx.kind = RDMAP_NOTHING; /* chosen, but nothing of it was sent */
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_STOP);
}

static void flush(struct rdmap *ep)
{
	ep->tx.kind = RDMAP_NOTHING;
	ep->tx.held = false;
	ep->tx.finishing = false;
	ep->wait = 0;
	rdmap_sq_flush(ep, 0);
	if (!ep->keeps_recvs)
		rdmap_rq_flush(ep);
}

void rdmap_abort(struct rdmap *ep)
{
	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_FAIL);
	flush(ep);
}

void rdmap_report(struct rdmap *ep)
{
	struct rdmap_tx *tx = &ep->tx;

	ep->state = rdmap_fsm_next(ep->state, RDMAP_EV_REPORT);
	if (ep->state != RDMAP_REPORTED || tx->kind == RDMAP_NOTHING || tx->msg.off == 0) {
		flush(ep);
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
	flush(ep);
}

void rdmap_query(const struct rdmap *ep, struct rdmap_info *ret)
{
	*ret = (struct rdmap_info){
		.ord = ep->sq.ord,
		.ird = ep->ird.limit,
		.reads_out = ep->sq.orq_len,
		.reads_in = ep->ird.busy,
		.in_flight = ep->sq.tail - ep->sq.head,
		.tx_msgs = ep->tx_msgs,
		.rx_msgs = ep->rx_msgs,
		.tx_bytes = ep->tx_bytes,
		.rx_bytes = ep->rx_bytes,
		.held_bytes = ep->hold.bytes,
		.held_msgs = ep->held_msgs,
	};
}
