/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap_rx.h"

#include <string.h>

#include "proto/rdmap_term.h"
#include "util/checked.h"

/* A segment under examination, and where its payload is to go. */
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

	perr = ddp_rx_tagged(ep->stags, &ep->who, STAG_REMOTE_WRITE, c->ddp.stag, c->ddp.to, len,
			     &p);
	if (perr == PERR_NONE)
		one_span(t, p, len);
	return perr;
}

/* A Write is placed, never delivered to the ULP (RFC 5040 5.1). */
static enum perr deliver_write(struct rdmap *ep, const struct ssn_rec *c, bool *ret_news)
{
	(void)ep;
	(void)c;
	(void)ret_news;
	return PERR_NONE;
}

/* ---- Read Response ---- */

/*
 * A response goes where our Read asked for it and nowhere else, so the sink needs no
 * remote write right. An empty segment may name anything.
 */
static enum perr in_sink(const struct rdmap_rec *r, const struct ssn_rec *c)
{
	uint32_t len = ddp_rx_payload(c);

	if (len == 0)
		return PERR_NONE;
	if (c->ddp.stag != r->sink.stag)
		return PERR_TAGGED_STAG;
	if (checked_add_wraps(c->ddp.to, len))
		return PERR_TAGGED_WRAP;
	if (c->ddp.to < r->sink.to || !checked_range(c->ddp.to - r->sink.to, len, r->sink.len))
		return PERR_TAGGED_BOUNDS;
	return PERR_NONE;
}

/* Any outstanding Read will do while segments may come ahead of their turn. */
static enum perr in_some_sink(const struct rdmap_sq *q, const struct ssn_rec *c)
{
	const struct rdmap_rec *r = rdmap_sq_read(q, 0);
	enum perr perr = PERR_OPCODE; /* unasked for */

	for (unsigned i = 0; r; r = rdmap_sq_read(q, ++i)) {
		enum perr here = in_sink(r, c);

		if (here == PERR_NONE)
			return here;
		if (perr == PERR_OPCODE || perr == PERR_TAGGED_STAG)
			perr = here; /* the right STag outside its range tells more */
	}
	return perr;
}

static enum perr place_read_resp(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	enum perr perr = in_some_sink(&ep->sq, c);
	uint8_t *p = NULL;

	if (perr == PERR_NONE)
		perr = ddp_rx_tagged(ep->stags, &ep->who, STAG_LOCAL_WRITE, c->ddp.stag, c->ddp.to,
				     len, &p);
	if (perr == PERR_NONE)
		one_span(t, p, len);
	return perr;
}

static enum perr deliver_read_resp(struct rdmap *ep, const struct ssn_rec *c, bool *ret_news)
{
	const struct rdmap_rec *r = rdmap_sq_read(&ep->sq, 0);
	enum perr perr = r ? in_sink(r, c) : PERR_OPCODE;

	if (perr != PERR_NONE)
		return perr;
	ep->sq.read_got += ddp_rx_payload(c);
	if (!c->ddp.last)
		return PERR_NONE;
	if (ep->sq.read_got != r->len)
		return PERR_RDMAP_LENGTH;
	rdmap_sq_read_ended(&ep->sq);
	rdmap_sq_report(ep);
	*ret_news = true; /* a fence, the limit on Reads or a full window may have opened */
	return PERR_NONE;
}

/* ---- Send, with or without Invalidate and Solicited Event ---- */

static enum perr place_send(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	const struct sgl_elem *bad;
	struct rdmap_rq_slot *s;
	enum perr perr;
	int n, why;

	perr = rdmap_rq_reach(ep, c->ddp.msn, &s);
	if (perr == PERR_NONE)
		perr = ddp_rx_offset(c->ddp.mo, len, s->size);
	if (perr != PERR_NONE)
		return perr;
	n = sgl_resolve(s->sge, s->nsge, c->ddp.mo, len, ep->stags, &ep->who, STAG_LOCAL_WRITE,
			t->dst, &bad, &why);
	if (n < 0)
		return PERR_CATASTROPHIC; /* our receive's memory is gone; not the peer's fault */
	t->n = (unsigned)n;
	return PERR_NONE;
}

/* RFC 5040 5.3: part of delivery, and refused for what is not this stream's alone. */
static enum perr invalidate(struct rdmap *ep, uint32_t stag)
{
	switch (stag_invalidate(ep->stags, stag, &ep->who)) {
	case STAG_E_OK:
		return PERR_NONE;
	case STAG_E_SCOPE:
		return PERR_INV_SCOPE;
	default:
		return PERR_INV_STAG;
	}
}

static enum perr deliver_send(struct rdmap *ep, const struct ssn_rec *c, bool *ret_news)
{
	uint8_t op = c->ddp.opcode;
	struct rdmap_done done = {
		.solicited = op == WIRE_OP_SEND_SE || op == WIRE_OP_SEND_SE_INV,
		.invalidated = op == WIRE_OP_SEND_INV || op == WIRE_OP_SEND_SE_INV,
		.len = c->ddp.mo + ddp_rx_payload(c),
	};
	struct rdmap_rq_slot *s = rdmap_rq_find(&ep->rq, c->ddp.msn);
	bool whole = false;
	enum perr perr;

	(void)ret_news;
	perr = s ? ddp_rx_gather(&s->in, c, &whole) : PERR_MSN_RANGE;
	if (perr != PERR_NONE || !whole)
		return perr;
	if (c->ddp.msn != ep->rq.msn)
		return PERR_MSN_RANGE; /* an earlier message was never finished */
	if (done.invalidated) {
		done.inv_stag = c->ddp.inv_stag;
		perr = invalidate(ep, c->ddp.inv_stag);
		if (perr != PERR_NONE)
			return perr;
	}
	rdmap_rq_complete(ep, &done);
	return PERR_NONE;
}

/* ---- Read Request ---- */

static enum perr place_read_req(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	struct rdmap_ird_slot *s;
	enum perr perr = rdmap_ird_slot(&ep->ird, c->ddp.msn, &s);

	if (perr != PERR_NONE)
		return perr;
	if (!checked_range(c->ddp.mo, len, WIRE_READ_REQ_LEN) || len > t->avail)
		return PERR_RDMAP_LENGTH;
	memcpy(s->body + c->ddp.mo, t->body, len);
	return PERR_NONE;
}

static enum perr deliver_read_req(struct rdmap *ep, const struct ssn_rec *c, bool *ret_news)
{
	struct rdmap_ird_slot *s;
	struct wire_read_req req;
	bool whole = false;
	enum perr perr;
	uint8_t *p;

	perr = rdmap_ird_slot(&ep->ird, c->ddp.msn, &s);
	if (perr == PERR_NONE)
		perr = ddp_rx_gather(&s->in, c, &whole);
	if (perr != PERR_NONE || !whole)
		return perr;
	if (c->ddp.msn != ep->ird.msn)
		return PERR_MSN_RANGE;
	if (c->ddp.mo + ddp_rx_payload(c) != WIRE_READ_REQ_LEN)
		return PERR_RDMAP_LENGTH;
	wire_read_req_get(s->body, &req);
	perr = rdmap_ird_source(ep, req.src_stag, req.src_to, req.size, &p);
	if (perr != PERR_NONE) {
		rdmap_term_fail(ep, perr, c, s->body);
		return perr;
	}
	s->seg = *c;
	rdmap_ird_deliver(&ep->ird);
	*ret_news = true;
	return PERR_NONE;
}

/* ---- Terminate ---- */

static enum perr place_terminate(struct rdmap *ep, const struct ssn_rec *c, struct target *t)
{
	uint32_t len = ddp_rx_payload(c);
	enum perr perr = ddp_rx_msn(c->ddp.msn, RDMAP_MSN_FIRST, 1);

	if (perr != PERR_NONE || c->ddp.mo >= WIRE_TERM_MAX)
		return perr;
	if (len > WIRE_TERM_MAX - c->ddp.mo)
		len = WIRE_TERM_MAX - c->ddp.mo; /* surplus bytes mean nothing */
	if (len > t->avail)
		return PERR_RDMAP_LENGTH;
	memcpy(ep->term_in + c->ddp.mo, t->body, len);
	return PERR_NONE;
}

static enum perr deliver_terminate(struct rdmap *ep, const struct ssn_rec *c, bool *ret_news)
{
	bool whole = false;
	enum perr perr = ddp_rx_gather(&ep->term_gather, c, &whole);

	(void)ret_news;
	if (perr != PERR_NONE || !whole)
		return perr;
	return rdmap_term_received(ep, c->ddp.mo + ddp_rx_payload(c));
}

/* ---- the table, RFC 5040 figure 4 ---- */

struct row {
	bool tagged;
	bool payload; /* its bytes are the ULP's: counted */
	uint8_t qn;
	enum perr (*place)(struct rdmap *ep, const struct ssn_rec *c, struct target *t);
	enum perr (*deliver)(struct rdmap *ep, const struct ssn_rec *c, bool *ret_news);
};

static const struct row rows[] = {
	[WIRE_OP_WRITE] = {true, true, 0, place_write, deliver_write},
	[WIRE_OP_READ_REQ] = {false, false, WIRE_QN_READ_REQ, place_read_req, deliver_read_req},
	[WIRE_OP_READ_RESP] = {true, true, 0, place_read_resp, deliver_read_resp},
	[WIRE_OP_SEND] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_SEND_INV] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_SEND_SE] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_SEND_SE_INV] = {false, true, WIRE_QN_SEND, place_send, deliver_send},
	[WIRE_OP_TERMINATE] = {false, false, WIRE_QN_TERMINATE, place_terminate, deliver_terminate},
	/* RFC 7306, opcodes 8 to B, would stand here; without rows they are PERR_OPCODE. */
};

static const struct row *row_of(unsigned opcode)
{
	return opcode < sizeof(rows) / sizeof(rows[0]) ? &rows[opcode] : NULL;
}

/* RFC 5040 4.1: 1, or 0 for the older dialect. */
static bool version_is_known(const struct wire_ddp *h)
{
	return h->rv <= 1;
}

enum perr rdmap_rx_place(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
			 uint32_t avail, struct span dst[SGL_MAX], unsigned *ret_n)
{
	struct target t = {.body = body, .avail = avail, .dst = dst};
	const struct row *row = row_of(c->ddp.opcode);
	enum perr perr = ddp_rx_header(&c->ddp, RDMAP_QUEUES);

	if (perr != PERR_NONE)
		return perr;
	if (!version_is_known(&c->ddp))
		return PERR_RDMAP_VERSION;
	if (!row || row->tagged != c->ddp.tagged || (!row->tagged && row->qn != c->ddp.qn))
		return PERR_OPCODE;
	perr = row->place(ep, c, &t);
	if (perr == PERR_NONE)
		*ret_n = t.n;
	return perr;
}

int rdmap_rx_deliver(struct rdmap *ep, const struct ssn_rec *c)
{
	enum perr perr = (enum perr)c->perr;
	bool news = false;

	if (!rdmap_fsm_may_receive(ep->state))
		return RDMAP_RX_DONE;
	if (perr == PERR_NONE) {
		const struct row *row = row_of(c->ddp.opcode);

		ep->rx_msgs += c->ddp.last;
		ep->rx_bytes += row->payload ? ddp_rx_payload(c) : 0;
		perr = row->deliver(ep, c, &news);
	}
	if (perr != PERR_NONE) {
		rdmap_term_fail(ep, perr, c, NULL);
		return RDMAP_RX_FAILED;
	}
	if (ep->state == RDMAP_FAILED)
		return RDMAP_RX_TERMINATED;
	return news ? RDMAP_RX_NEWS : RDMAP_RX_DONE;
}
