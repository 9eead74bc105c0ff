/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_term.h"

#include <string.h>

enum { LAYER_LLP = 2, ETYPE_CATASTROPHIC = 0 };

/* Which headers a Terminate copies for which error: RFC 5040 figure 10 and 7.1. */
static struct wire_term describe(enum perr perr, const struct ssn_rec *c, const uint8_t *request)
{
	uint16_t word = perr_term(perr);
	struct wire_term t = {
		.layer = (uint8_t)(word >> 12),
		.etype = word >> 8 & 0xf,
		.code = word & 0xff,
	};

	if (c && t.layer < LAYER_LLP && t.etype != ETYPE_CATASTROPHIC) {
		t.has_len = true;
		t.seg_len = c->len;
		t.has_ddp = true;
		t.ddp_len = (uint8_t)wire_ddp_put(t.ddp, &c->ddp);
		memcpy(t.ddp, c->ctl, sizeof(c->ctl));
	}
	/* The RDMA header is copied for Read Requests alone: RFC 7306 8.1. */
	if (t.has_ddp && request && c->ddp.opcode == WIRE_OP_READ_REQ) {
		t.has_read = true;
		memcpy(t.read, request, WIRE_READ_REQ_LEN);
	}
	return t;
}

static void locate_segment(struct perr_at *at, const struct wire_ddp *h, uint32_t len)
{
	at->stag = h->tagged ? h->stag : 0;
	at->to = h->tagged ? h->to : h->mo;
	at->msn = h->tagged ? 0 : h->msn;
	at->len = len;
}

static void locate_read(struct perr_at *at, const uint8_t *read)
{
	struct wire_read_req r;

	wire_read_req_get(read, &r);
	at->stag = r.src_stag;
	at->to = r.src_to;
	at->len = r.size;
}

static void locate_atomic(struct perr_at *at, const uint8_t *request)
{
	struct wire_atomic_req r;

	wire_atomic_req_get(request, &r);
	at->stag = r.stag;
	at->to = r.to;
	at->len = sizeof(uint64_t);
}

static void locate(struct perr_at *at, const struct ssn_rec *c, const uint8_t *request)
{
	locate_segment(at, &c->ddp, ddp_rx_payload(c));
	if (request && c->ddp.opcode == WIRE_OP_READ_REQ)
		locate_read(at, request);
	else if (request)
		locate_atomic(at, request);
}

/* Sets the status of the receive that a failed Send was for. */
static void mark_receive(struct rdmap *ep, enum perr perr, const struct ssn_rec *c)
{
	unsigned qn = ep->raw ? c->ddp.qn : WIRE_QN_SEND;
	struct sgl_access access = rdmap_access(ep, STAG_LOCAL_WRITE);
	const struct sgl_elem *bad;
	struct rdmap_rq_slot *s;

	if (c->ddp.tagged || c->ddp.qn != qn || qn >= ep->queues)
		return;
	s = rdmap_rq_find(&ep->rq[qn], c->ddp.msn);
	if (!s)
		return;
	if (perr == PERR_TOO_LONG) {
		s->status = RDMAP_LOC_LEN_ERR;
	} else if (perr == PERR_CATASTROPHIC) {
		s->status = (uint8_t)rdmap_status_of_stag(
			sgl_check((struct sgl){s->sge, s->nsge}, &access, &bad));
		if (s->status != RDMAP_SUCCESS)
			s->sge[0] = *bad;
	}
}

static bool is_terminate(const struct ssn_rec *c)
{
	return !c->ddp.tagged && c->ddp.qn == WIRE_QN_TERMINATE &&
	       c->ddp.opcode == WIRE_OP_TERMINATE;
}

void rdmap_term_fail(struct rdmap *ep, enum perr perr, const struct ssn_rec *c,
		     const uint8_t *request)
{
	if (ep->state == RDMAP_FAILED || ep->state == RDMAP_REPORTED)
		return;
	ep->at = (struct perr_at){.perr = (uint16_t)perr, .term = perr_term(perr)};
	if (c) {
		locate(&ep->at, c, request);
		mark_receive(ep, perr, c);
	}
	ep->reason = describe(perr, c, request);
	if (!ep->raw && (!c || !is_terminate(c)))
		ep->tx.term_len = (uint8_t)wire_term_put(ep->term, &ep->reason);
	if (ep->raw && c)
		rdmap_report(ep);
	else
		rdmap_abort(ep);
}

enum perr rdmap_term_received(struct rdmap *ep, uint32_t len)
{
	struct wire_term t;
	struct wire_ddp h;

	if (!wire_term_get(ep->term_in, len < WIRE_TERM_MAX ? len : WIRE_TERM_MAX, &t))
		return PERR_RDMAP_LENGTH;
	ep->at = (struct perr_at){.term = WIRE_TERM_WORD(t.layer, t.etype, t.code)};
	ep->at.perr = (uint16_t)perr_of_term(ep->at.term);
	ep->reason = t;
	if (t.has_ddp && wire_ddp_get(t.ddp, t.ddp_len, &h) > 0)
		locate_segment(&ep->at, &h, t.seg_len > t.ddp_len ? t.seg_len - t.ddp_len : 0);
	if (t.has_read)
		locate_read(&ep->at, t.read);
	rdmap_sq_assign_error(&ep->sq, &t, &ep->at);
	rdmap_abort(ep);
	return PERR_NONE;
}
