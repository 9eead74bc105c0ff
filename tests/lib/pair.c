/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdmap/hold.h"
#include "tests/lib/early_memory.h"
#include "util/be.h"

/* Like assert(), but in every build. */
#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #cond);   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void *zeroed(size_t size)
{
	void *p = calloc(1, size);

	must(p);
	return p;
}

struct assoc_cfg pair_cfg(bool opener)
{
	return (struct assoc_cfg){
		.streams = 8,
		.even = opener,
		.pending_max = 4,
		.records_max = 64,
		.early_max = 8192,
		.early_memory = early_memory,
		.answer_ms = PAIR_ANSWER_MS,
		.close_ms = PAIR_CLOSE_MS,
	};
}

void pair_init(struct pair_node *n, const struct assoc_cfg *cfg)
{
	struct assoc_cfg own = *cfg;

	*n = (struct pair_node){.mulpdu = 1450, .pool = test_blocks_new(PAIR_BLOCKS)};
	own.pool = &n->pool->blocks;
	must(blocks_reserve(own.pool, assoc_blocks()));
	n->assoc = assoc_init(zeroed(assoc_size(cfg)), &own);
	n->stags = stag_table_init(zeroed(stag_table_size(PAIR_REGIONS)), PAIR_REGIONS);
	assoc_tick(n->assoc, 0);
}

void pair_deinit(struct pair_node *n)
{
	assoc_clear(n->assoc);
	free(n->assoc);
	free(n->stags);
	test_blocks_free(n->pool);
	for (unsigned i = 0; i < n->nqps; i++) {
		free(n->qp[i]->ep);
		free(n->qp[i]->hold);
		free(n->qp[i]);
	}
	for (unsigned i = 0; i < n->nregions; i++)
		free(n->region[i]);
}

/* ---- the environment ---- */

static bool take_send(void *user, struct rdmap_wr *ret)
{
	struct pair_qp *qp = user;

	if (qp->no_room || qp->taken == qp->posted)
		return false;
	*ret = qp->send[qp->taken++];
	return true;
}

static bool keep(void *user, uint32_t reach)
{
	const struct pair_qp *qp = user;

	(void)reach;
	return !qp->no_keep;
}

static bool take_recv(void *user, struct rdmap_recv *ret)
{
	struct pair_qp *qp = user;

	if (qp->recv_taken == qp->recv_posted)
		return false;
	*ret = qp->recv[qp->recv_taken++];
	return true;
}

static uint32_t recvs(void *user)
{
	const struct pair_qp *qp = user;

	return qp->recv_posted - qp->recv_taken;
}

static void complete(void *user, const struct rdmap_done *done)
{
	struct pair_qp *qp = user;

	must(qp->ndone < PAIR_QUEUE);
	qp->done[qp->ndone++] = *done;
}

static int reach(void *user, struct rdmap_reach *r)
{
	const struct pair_qp *qp = user;

	return qp->reach ? qp->reach(r) : RDMAP_AT_HAND;
}

static void wrote(void *user, uint8_t *p, uint32_t len)
{
	struct pair_qp *qp = user;

	qp->wrote = (struct span){p, len};
}

static void written(void *user, uint32_t notice)
{
	struct pair_qp *qp = user;

	qp->written++;
	qp->notice = notice;
}

struct pair_qp *pair_qp(struct pair_node *n)
{
	return pair_qp_reads(n, PAIR_READS, PAIR_READS);
}

struct pair_qp *pair_qp_reads(struct pair_node *n, uint16_t ord, uint16_t ird)
{
	const struct rdmap_cfg like = {.ord = ord, .ird = ird};

	return pair_qp_as(n, &like);
}

struct pair_qp *pair_qp_as(struct pair_node *n, const struct rdmap_cfg *like)
{
	static const struct rdmap_ops ops = {
		.take_send = take_send,
		.take_recv = take_recv,
		.recvs = recvs,
		.complete = complete,
		.reach = reach,
		.keep = keep,
		.written = written,
		.wrote = wrote,
	};
	struct pair_qp *qp = zeroed(sizeof(*qp));
	struct rdmap_cfg cfg = *like;

	cfg.stags = n->stags;
	cfg.pool = &n->pool->blocks;
	cfg.accessor = (struct stag_accessor){.pd = PAIR_PD, .scope = 100 + n->nqps};
	cfg.sq_depth = cfg.sq_depth ? cfg.sq_depth : PAIR_DEPTH;
	cfg.rq_depth = cfg.rq_depth ? cfg.rq_depth : PAIR_DEPTH;
	cfg.max_recv_sge = 2;
	must(n->nqps < PAIR_QPS);
	must(blocks_reserve(cfg.pool, rdmap_blocks(&cfg)));
	qp->node = n;
	qp->scope = cfg.accessor.scope;
	qp->ep = rdmap_init(zeroed(rdmap_size(&cfg)), &cfg, &ops, qp);
	n->qp[n->nqps++] = qp;
	return qp;
}

void pair_hold(struct pair_qp *qp, uint32_t bytes, uint32_t wait_ms, bool in_order)
{
	qp->hold = zeroed(hold_size(bytes));
	rdmap_set_hold(qp->ep, qp->hold, bytes, wait_ms);
	rdmap_set_options(qp->ep, in_order ? RDMAP_PLACE_IN_ORDER : 0);
}

void pair_credits(struct pair_qp *qp, uint32_t window)
{
	rdmap_set_options(qp->ep, RDMAP_CREDITS);
	rdmap_set_window(qp->ep, window);
}

void pair_rnr(struct pair_qp *qp, unsigned retry, uint32_t timer_ms)
{
	rdmap_set_options(qp->ep, RDMAP_CREDITS | RDMAP_RNR);
	rdmap_set_rnr(qp->ep, retry, timer_ms);
}

uint8_t *pair_region(struct pair_node *n, uint32_t stag, uint64_t to, size_t len, uint32_t rights,
		     uint64_t scope)
{
	struct stag_region r = {
		.stag = stag,
		.rights = rights,
		.pd = PAIR_PD,
		.scope = scope,
		.to = to,
		.len = len,
		.base = zeroed(len),
	};

	must(n->nregions < PAIR_REGIONS);
	must(stag_add(n->stags, &r) == STAG_ADD_OK);
	n->region[n->nregions++] = r.base;
	return r.base;
}

void pair_post(struct pair_qp *qp, const struct rdmap_wr *wr)
{
	must(qp->posted < PAIR_QUEUE);
	qp->send[qp->posted++] = *wr;
	assoc_tx_wake(qp->node->assoc, qp->ep);
}

void pair_post_recv(struct pair_qp *qp, uint64_t cookie, uint32_t stag, uint64_t to, uint32_t len)
{
	must(qp->recv_posted < PAIR_QUEUE);
	qp->recv[qp->recv_posted++] = (struct rdmap_recv){
		.cookie = cookie,
		.nsge = len > 0,
		.sge = {{.to = to, .len = len, .stag = stag}},
	};
}

struct rdmap_done pair_done(struct pair_qp *qp)
{
	if (qp->nseen == qp->ndone)
		return (struct rdmap_done){.status = RDMAP_STATUS_COUNT};
	return qp->done[qp->nseen++];
}

/* ---- the wire ---- */

bool pair_pull(struct pair_node *n, struct pair_msg *ret)
{
	struct assoc_seg seg;
	struct span to;

	if (!assoc_tx_next(n->assoc, n->mulpdu, &seg))
		return false;
	must(seg.len <= PAIR_MSG_MAX && seg.head_len <= seg.len);
	ret->sid = seg.sid;
	ret->ppid = seg.ppid;
	ret->len = seg.len;
	ret->urgent = seg.urgent;
	memcpy(ret->b, seg.head, seg.head_len);
	to = (struct span){ret->b + seg.head_len, seg.len - seg.head_len};
	must(span_total(seg.body, seg.nbody) == to.len);
	must(span_copy(&to, 1, seg.body, seg.nbody, 0, to.len) == to.len);
	assoc_tx_accepted(n->assoc);
	return true;
}

struct pair_msg pair_control(uint16_t sid, uint16_t ssn, uint16_t func, const void *priv,
			     uint32_t len)
{
	struct pair_msg m = {.sid = sid, .ppid = WIRE_PPID_CONTROL, .len = WIRE_CONTROL_LEN + len};

	must(m.len <= PAIR_MSG_MAX);
	be_put16(m.b, ssn);
	be_put16(m.b + WIRE_SSN_LEN, func);
	if (len > 0)
		memcpy(m.b + WIRE_CONTROL_LEN, priv, len);
	return m;
}

struct pair_msg pair_segment(uint16_t sid, uint16_t ssn, const struct wire_ddp *h,
			     const void *payload, uint32_t len)
{
	struct pair_msg m = {.sid = sid, .ppid = WIRE_PPID_SEGMENT};

	be_put16(m.b, ssn);
	m.len = WIRE_SSN_LEN + (uint32_t)wire_ddp_put(m.b + WIRE_SSN_LEN, h);
	must(len <= PAIR_MSG_MAX - m.len);
	if (len > 0)
		memcpy(m.b + m.len, payload, len);
	m.len += len;
	return m;
}

static void examine(struct pair_node *n, const struct assoc_msg *in)
{
	struct span src = {(uint8_t *)in->head, in->len};
	struct assoc_place place;

	if (assoc_rx(n->assoc, in, &place) == ASSOC_RX_PLACE) {
		must(span_total(place.dst, place.ndst) == place.len);
		must(span_copy(place.dst, place.ndst, &src, 1, place.skip, place.len) == place.len);
	}
	assoc_rx_placed(n->assoc);
}

static void examine_early(struct pair_node *n)
{
	struct assoc_msg in;

	while (assoc_rx_early(n->assoc, &in))
		examine(n, &in);
}

void pair_push(struct pair_node *n, const struct pair_msg *m)
{
	uint8_t *exact =
		zeroed(m->len +
		       1U); /* of exactly its size, so that sanitizers detect reads after its end */
	uint32_t head = m->len;
	struct assoc_msg in;

	if (m->ppid != WIRE_PPID_CONTROL && head > WIRE_HEAD_MAX)
		head = WIRE_HEAD_MAX; /* the contract makes no more of it readable */
	in = (struct assoc_msg){m->sid, m->ppid, m->len, exact + 1, head};
	memcpy(exact + 1, m->b, m->len);
	examine(n, &in);
	free(exact);
	examine_early(n);
}

void pair_wake(struct pair_qp *qp)
{
	assoc_rx_wake(qp->node->assoc, qp->ep);
	examine_early(qp->node);
}

void pair_tick(struct pair_node *n, uint64_t now_ms)
{
	assoc_tick(n->assoc, now_ms);
	examine_early(n);
}

void pair_pump(struct pair_node *a, struct pair_node *b)
{
	struct pair_msg m;
	bool any = true;

	while (any) {
		any = false;
		while (pair_pull(a, &m)) {
			pair_push(b, &m);
			any = true;
		}
		while (pair_pull(b, &m)) {
			pair_push(a, &m);
			any = true;
		}
	}
}

void pair_fake_connect(struct pair_node *n, struct pair_qp *qp, uint16_t sid)
{
	struct pair_msg m = pair_control(sid, 0, WIRE_INITIATE, NULL, 0);
	struct assoc_event ev;

	pair_push(n, &m);
	must(pair_event(n, &ev) && ev.type == ASSOC_EV_REQUEST && ev.sid == sid);
	must(pair_plain_accept(n->assoc, sid, qp->ep, NULL, 0) == ASSOC_E_OK);
	must(pair_pull(n, &m) && m.ppid == WIRE_PPID_CONTROL && m.sid == sid);
}

bool pair_event(struct pair_node *n, struct assoc_event *ret)
{
	if (!assoc_event(n->assoc, ret))
		return false;
	if (ret->priv_len > 0)
		memcpy(n->priv, ret->priv, ret->priv_len);
	ret->priv = n->priv;
	return true;
}

int pair_plain_connect(struct assoc *a, struct rdmap *ep, const void *priv, size_t len,
		       uint16_t *ret_sid)
{
	struct assoc_params o = {.priv = priv, .len = len};

	return assoc_connect(a, ep, &o, ret_sid);
}

int pair_plain_accept(struct assoc *a, uint16_t sid, struct rdmap *ep, const void *priv, size_t len)
{
	struct assoc_params o = {.priv = priv, .len = len};

	return assoc_accept(a, sid, ep, &o);
}

int pair_plain_reject(struct assoc *a, uint16_t sid, const void *priv, size_t len)
{
	struct assoc_params o = {.priv = priv, .len = len};

	return assoc_reject(a, sid, &o);
}

uint16_t pair_connect(struct pair_node *a, struct pair_qp *qa, struct pair_node *b,
		      struct pair_qp *qb)
{
	struct assoc_event ev;
	uint16_t sid;

	must(pair_plain_connect(a->assoc, qa->ep, NULL, 0, &sid) == ASSOC_E_OK);
	pair_pump(a, b);
	must(pair_event(b, &ev) && ev.type == ASSOC_EV_REQUEST && ev.sid == sid);
	must(pair_plain_accept(b->assoc, sid, qb->ep, NULL, 0) == ASSOC_E_OK);
	pair_pump(a, b);
	must(pair_event(a, &ev) && ev.type == ASSOC_EV_ACCEPTED && ev.ep == qa->ep);
	return sid;
}
