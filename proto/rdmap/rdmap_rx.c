/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_rx.h"

#include <string.h>

#include "proto/rdmap/rdmap_atomic.h"
#include "proto/rdmap/rdmap_raw.h"
#include "proto/rdmap/rdmap_term.h"
#include "util/be.h"
#include "util/checked.h"
#include "util/minmax.h"

/* A segment being examined, and the spans for its payload. */
struct target {
	const uint8_t *body;
	uint32_t avail;
	struct span *dst;
	unsigned n;
};

static void one_span(struct target *t, uint8_t *p, uint32_t len)
{
	if (len > 0)
		t->dst[t->n++] = (struct span){p, len};
}

/* ---- Write ---- */

static enum perr place_write(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	uint8_t *p = NULL;
	enum perr perr;

	perr = ddp_rx_tagged(ep->stags, &ep->accessor, STAG_REMOTE_WRITE, c->ddp.stag, c->ddp.to,
			     len, &p);
	if (perr == PERR_NONE)
		one_span(t, p, len);
	return perr;
}

/* A program takes the sum for one range of its memory, whatever the peer sends: a segment that does
 * not continue the one before is the first of another sum. UINT32_MAX is no length (ddp.h). */
static void count_written(struct rdmap *ep, const struct ssn_rec *c)
{
	struct rdmap_written *w = &ep->written;
	uint32_t len = ddp_rx_payload(c);

	if (!w->goes_on || c->ddp.stag != w->stag || c->ddp.to != w->to)
		w->len = 0;
	w->len += min_u32(len, UINT32_MAX - 1 - w->len);
	w->goes_on = !c->ddp.last;
	w->stag = c->ddp.stag;
	w->to = c->ddp.to + len;
}

/* A Write is placed and never delivered to the ULP (RFC 5040 5.1), except that the owner of the
 * region may ask for notices. The STag of an empty Write was not checked. */
static enum perr deliver_write(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	uint32_t notice = 0;

	(void)ret_wake_tx;
	count_written(ep, c);
	if (c->ddp.last && ep->ops->written)
		notice = stag_notice(ep->stags, c->ddp.stag, &ep->accessor, c->ddp.to);
	if (notice)
		ep->ops->written(ep->user, notice);
	return PERR_NONE;
}

/* ---- Read Response ---- */

/*
 * A response may only go to the sink of our Read, so the sink needs no remote write right. STag and
 * offset of an empty segment are not checked.
 */
static enum perr in_sink(const struct rdmap_sq *q, const struct rdmap_orq_entry *a,
			 const struct ssn_rec *c)
{
	const struct rdmap_rec *r = rdmap_orq_rec(q, a);
	uint32_t len = ddp_rx_payload(c);

	if (r->op != RDMAP_READ && !r->probed)
		return PERR_OPCODE;
	if (len == 0)
		return PERR_NONE;
	if (c->ddp.stag != a->sink.stag)
		return PERR_TAGGED_STAG;
	if (checked_add_wraps(c->ddp.to, len))
		return PERR_TAGGED_WRAP;
	if (c->ddp.to < a->sink.to || !checked_range(c->ddp.to - a->sink.to, len, a->sink.len))
		return PERR_TAGGED_BOUNDS;
	return PERR_NONE;
}

/* Segments may arrive out of order: checks the sinks of all outstanding Reads. */
static enum perr in_some_sink(const struct rdmap_sq *q, const struct ssn_rec *c)
{
	enum perr perr = PERR_OPCODE; /* no such Read */
	const struct rdmap_orq_entry *a;

	for (unsigned i = 0; (a = rdmap_orq_at(q, i)); i++) {
		enum perr here = in_sink(q, a, c);

		if (here == PERR_NONE)
			return here;
		if (perr == PERR_OPCODE || perr == PERR_TAGGED_STAG)
			perr = here; /* prefer the error for a matching STag */
	}
	return perr;
}

static enum perr place_read_resp(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	enum perr perr = in_some_sink(&ep->sq, c);
	uint8_t *p = NULL;

	if (perr == PERR_NONE)
		perr = ddp_rx_tagged(ep->stags, &ep->accessor, STAG_LOCAL_WRITE, c->ddp.stag,
				     c->ddp.to, len, &p);
	if (perr == PERR_NONE)
		one_span(t, p, len);
	return perr;
}

static enum perr deliver_read_resp(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	const struct rdmap_orq_entry *a = rdmap_orq_at(&ep->sq, 0);
	enum perr perr = a ? in_sink(&ep->sq, a, c) : PERR_OPCODE;

	if (perr != PERR_NONE)
		return perr;
	ep->sq.read_got += ddp_rx_payload(c);
	if (!c->ddp.last)
		return PERR_NONE;
	if (ep->sq.read_got != a->sink.len)
		return PERR_RDMAP_LENGTH;
	rdmap_orq_pop(ep);
	rdmap_sq_report(ep);
	*ret_wake_tx = true; /* a request that waits for ORD, a fence or the window may go on */
	return PERR_NONE;
}

/* ---- Send, with or without Invalidate and Solicited Event ---- */

static enum perr place_send(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	return rdmap_rq_place(ep, ep->rq, c, t->dst, &t->n);
}

/* RFC 5040 5.3: part of delivery; refused unless the STag is scoped to this stream. */
static enum perr invalidate(struct rdmap *ep, uint32_t stag)
{
	switch (stag_invalidate(ep->stags, stag, &ep->accessor)) {
	case STAG_E_OK:
		return PERR_NONE;
	case STAG_E_SCOPE:
		return PERR_INV_SCOPE;
	default:
		return PERR_INV_STAG;
	}
}

static enum perr deliver_send(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	uint8_t op = c->ddp.opcode;
	struct rdmap_done done = {
		.solicited = op == WIRE_OP_SEND_SE || op == WIRE_OP_SEND_SE_INV,
		.invalidated = op == WIRE_OP_SEND_INV || op == WIRE_OP_SEND_SE_INV,
		.len = (uint32_t)ddp_rx_end(c),
	};
	struct rdmap_rq_slot *s = rdmap_rq_find(ep->rq, c->ddp.msn);
	bool whole = false;
	enum perr perr;

	(void)ret_wake_tx;
	perr = s ? ddp_rx_gather(&s->in, ep->gaps, c, &whole) : PERR_MSN_RANGE;
	if (perr != PERR_NONE || !whole)
		return perr;
	if (c->ddp.msn != ep->rq->msn)
		return PERR_MSN_RANGE; /* an earlier message is incomplete */
	if (done.invalidated) {
		done.inv_stag = c->ddp.inv_stag;
		perr = invalidate(ep, c->ddp.inv_stag);
		if (perr != PERR_NONE)
			return perr;
	}
	done.immediate = s->has_imm;
	done.imm = s->has_imm ? be_get64(s->imm) : 0;
	rdmap_rq_complete(ep, ep->rq, &done);
	return PERR_NONE;
}

/* ---- Read Request and Atomic Request ---- */

static uint32_t request_len(const struct ssn_rec *c)
{
	return c->ddp.opcode == WIRE_OP_READ_REQ ? WIRE_READ_REQ_LEN : WIRE_ATOMIC_REQ_LEN;
}

static enum perr place_request(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	struct rdmap_ird_slot *s;
	enum perr perr = rdmap_ird_slot(ep, c->ddp.msn, &s);

	if (perr != PERR_NONE)
		return perr;
	if (!checked_range(c->ddp.mo, len, request_len(c)) || len > t->avail)
		return PERR_RDMAP_LENGTH;
	memcpy(s->body + c->ddp.mo, t->body, len);
	return PERR_NONE;
}

/* RFC 5040 7.2, RFC 7306 8.2. Memory may change until the response, which checks it again. */
static enum perr check_request(const struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body)
{
	struct wire_read_req req;
	uint8_t *p;

	if (c->ddp.opcode == WIRE_OP_ATOMIC_REQ)
		return rdmap_atomic_check(ep, body);
	wire_read_req_get(body, &req);
	return rdmap_ird_access(ep, STAG_REMOTE_READ, req.src_stag, req.src_to, req.size, &p);
}

static enum perr deliver_request(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	struct rdmap_ird_slot *s;
	bool whole = false;
	enum perr perr;

	perr = rdmap_ird_slot(ep, c->ddp.msn, &s);
	if (perr == PERR_NONE)
		perr = ddp_rx_gather(&s->in, ep->gaps, c, &whole);
	if (perr != PERR_NONE || !whole)
		return perr;
	if (c->ddp.msn != ep->ird.msn)
		return PERR_MSN_RANGE;
	if (ddp_rx_end(c) != request_len(c))
		return PERR_RDMAP_LENGTH;
	perr = check_request(ep, c, s->body);
	if (perr != PERR_NONE) {
		rdmap_term_fail(ep, perr, c, s->body);
		return perr;
	}
	s->seg = *c;
	rdmap_ird_deliver(&ep->ird);
	*ret_wake_tx = true;
	return PERR_NONE;
}

/* ---- the other messages of RFC 7306 ---- */

static enum perr place_imm(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	return rdmap_atomic_place_imm(ep, c, t->body, t->avail);
}

static enum perr deliver_imm(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	(void)ret_wake_tx;
	return rdmap_atomic_deliver_imm(ep, c);
}

static enum perr place_atomic_resp(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	return rdmap_atomic_place_resp(ep, c, t->body, t->avail);
}

/* ---- Terminate ---- */

static enum perr place_terminate(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	enum perr perr = ddp_rx_msn(c->ddp.msn, RDMAP_MSN_FIRST, 1);

	if (perr != PERR_NONE || c->ddp.mo >= WIRE_TERM_MAX)
		return perr;
	if (len > WIRE_TERM_MAX - c->ddp.mo)
		len = WIRE_TERM_MAX - c->ddp.mo; /* further bytes are ignored */
	if (len > t->avail)
		return PERR_RDMAP_LENGTH;
	memcpy(ep->term_in + c->ddp.mo, t->body, len);
	return PERR_NONE;
}

static enum perr deliver_terminate(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	bool whole = false;
	enum perr perr = ddp_rx_gather(&ep->term_gather, ep->gaps, c, &whole);

	(void)ret_wake_tx;
	if (perr != PERR_NONE || !whole)
		return perr;
	return rdmap_term_received(ep, c->ddp.mo + ddp_rx_payload(c));
}

/* ---- the table, RFC 5040 figure 4 and RFC 7306 4.1 ---- */

struct row {
	bool tagged;
	bool payload; /* carries ULP payload, which is counted */
	uint8_t qn;
	enum perr (*place)(struct rdmap *ep, const struct ssn_rec *c, struct target *t);
	enum perr (*deliver)(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx);
};

static const struct row rows[] = {
	[WIRE_OP_WRITE] = {true, true, 0, place_write, deliver_write},
	[WIRE_OP_READ_REQ] = {false, false, WIRE_QN_READ_REQ, place_request, deliver_request},
	[WIRE_OP_READ_RESP] = {true, true, 0, place_read_resp, deliver_read_resp},
	[WIRE_OP_SEND] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_SEND_INV] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_SEND_SE] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_SEND_SE_INV] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_TERMINATE] = {false, false, WIRE_QN_TERMINATE, place_terminate, deliver_terminate},
	[WIRE_OP_IMM] = {false, false, WIRE_QN_SEND, place_imm, deliver_imm},
	[WIRE_OP_IMM_SE] = {false, false, WIRE_QN_SEND, place_imm, deliver_imm},
	[WIRE_OP_ATOMIC_REQ] = {false, false, WIRE_QN_READ_REQ, place_request, deliver_request},
	[WIRE_OP_ATOMIC_RESP] = {false, false, WIRE_QN_ATOMIC_RESP, place_atomic_resp,
				 rdmap_atomic_deliver_resp},
};

/* The row of an opcode; NULL for an unexpected one. */
static const struct row *row_of(const struct rdmap *ep, const struct wire_ddp *h)
{
	unsigned n = ep->plain ? WIRE_OP_IMM : sizeof(rows) / sizeof(rows[0]);
	const struct row *row = h->opcode < n ? &rows[h->opcode] : NULL;

	if (!row || row->tagged != h->tagged || (!row->tagged && row->qn != h->qn))
		return NULL;
	return row;
}

/* RFC 5040 4.1: 1, or 0 for the older dialect, which has no messages of RFC 7306. */
static bool version_is_known(const struct wire_ddp *h)
{
	return h->rv == 1 || (h->rv == 0 && h->opcode < WIRE_OP_IMM);
}

/* ---- the ready-to-receive message, RFC 6581 9.2 ---- */

/* An empty Write or Read has no visible effect; a Send would take a receive. The result is the same
 * at placement and at delivery, because no Send is placed before it. */
static bool is_rtr_send(const struct rdmap *ep, const struct ssn_rec *c)
{
	return ep->wait & WIRE_RTR_SEND && !c->ddp.tagged && c->ddp.opcode == WIRE_OP_SEND &&
	       c->ddp.qn == WIRE_QN_SEND && c->ddp.msn == RDMAP_MSN_FIRST && c->ddp.mo == 0 &&
	       c->ddp.last && ddp_rx_payload(c) == 0;
}

/* The peer's first message arrived: from now on we may send. True if it needs no delivery. */
static bool end_wait(struct rdmap *ep, const struct ssn_rec *c)
{
	bool swallow = is_rtr_send(ep, c);

	if (swallow)
		ep->rq->msn++;
	ep->wait = 0;
	return swallow;
}

/* ---- any segment ---- */

static enum perr find_target(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
			     uint32_t avail, struct span dst[SGL_MAX], unsigned *ret_n)
{
	struct target t = {.body = body, .avail = avail, .dst = dst};
	enum perr perr = ddp_rx_header(&c->ddp, ep->queues);
	const struct row *row;

	if (perr != PERR_NONE)
		return perr;
	if (ep->raw)
		return rdmap_raw_place(ep, c, dst, ret_n);
	if (!version_is_known(&c->ddp))
		return PERR_RDMAP_VERSION;
	row = row_of(ep, &c->ddp);
	if (!row)
		return PERR_OPCODE;
	if (is_rtr_send(ep, c))
		return PERR_NONE;
	perr = row->place(ep, c, &t);
	if (perr == PERR_NONE)
		*ret_n = t.n;
	return perr;
}

enum perr rdmap_rx_place(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
			 uint32_t avail, struct span dst[SGL_MAX], unsigned *ret_n)
{
	unsigned n = 0;
	enum perr perr = find_target(ep, c, body, avail, dst, &n);

	if (perr == PERR_NONE && !rdmap_may_touch(ep, dst, n))
		perr = PERR_MEMORY;
	if (perr == PERR_NONE)
		*ret_n = n;
	return perr;
}

static enum perr deliver_by_opcode(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx)
{
	const struct row *row;

	ep->rx_msgs += c->ddp.last;
	if (ep->raw) {
		ep->rx_bytes += ddp_rx_payload(c);
		return rdmap_raw_deliver(ep, c);
	}
	row = row_of(ep, &c->ddp);
	ep->rx_bytes += row->payload ? ddp_rx_payload(c) : 0;
	if (ep->wait) {
		*ret_wake_tx = true;
		if (end_wait(ep, c))
			return PERR_NONE;
	}
	return row->deliver(ep, c, ret_wake_tx);
}

int rdmap_rx_deliver(struct rdmap *ep, const struct ssn_rec *c)
{
	enum perr perr = (enum perr)c->perr;
	bool wake_tx = false;

	if (!rdmap_fsm_may_receive(ep->state))
		return RDMAP_RX_DONE;
	if (perr == PERR_NONE)
		perr = deliver_by_opcode(ep, c, &wake_tx);
	if (perr != PERR_NONE) {
		rdmap_term_fail(ep, perr, c, NULL);
		return ep->raw ? RDMAP_RX_REPORTED : RDMAP_RX_FAILED;
	}
	if (ep->state == RDMAP_FAILED)
		return RDMAP_RX_TERMINATED;
	return wake_tx ? RDMAP_RX_WAKE_TX : RDMAP_RX_DONE;
}
