/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/rdmap_raw.h"

enum {
	UNTAGGED_BITS = 40, /* of RsvdULP: the second octet of the header and the next four */
	TAGGED_BITS = 8,    /* the second octet only */
	OCTET_SHIFT = 32,
};

enum rdmap_status rdmap_raw_check(const struct rdmap_wr *wr)
{
	unsigned bits = wr->op == RDMAP_WRITE ? TAGGED_BITS : UNTAGGED_BITS;

	if (!opcode_has(wr->op, OPCODE_RAW))
		return RDMAP_LOC_OP_ERR;
	if (wr->flags & RDMAP_SOLICITED || wr->raw.rsvd >> bits)
		return RDMAP_LOC_OP_ERR;
	return wr->op == RDMAP_WRITE || wr->raw.qn < RDMAP_RAW_QUEUES ? RDMAP_SUCCESS
								      : RDMAP_LOC_OP_ERR;
}

/* The octet that holds version and opcode of RDMAP. */
static void put_octet(struct wire_ddp *h, uint8_t octet)
{
	h->rv = octet >> 6;
	h->rsv = octet >> 4 & 3;
	h->opcode = octet & 0xf;
}

static uint8_t get_octet(const struct wire_ddp *h)
{
	return (uint8_t)(h->rv << 6 | h->rsv << 4 | h->opcode);
}

void rdmap_raw_address(const struct rdmap_wr *wr, struct wire_ddp *h)
{
	if (wr->op == RDMAP_WRITE) {
		put_octet(h, (uint8_t)wr->raw.rsvd);
		h->tagged = true;
		h->stag = wr->rstag;
		h->to = wr->rto;
		return;
	}
	put_octet(h, (uint8_t)(wr->raw.rsvd >> OCTET_SHIFT));
	h->inv_stag = (uint32_t)wr->raw.rsvd;
	h->qn = wr->raw.qn;
}

static struct rdmap_rq *notices(const struct rdmap *ep)
{
	return &ep->rq[ep->queues];
}

enum perr rdmap_raw_place(struct rdmap *ep, const struct ssn_rec *c, struct span *dst,
			  unsigned *ret_n)
{
	uint32_t len = ddp_rx_payload(c);
	uint8_t *p = NULL;
	enum perr perr;

	if (!c->ddp.tagged)
		return rdmap_rq_place(ep, &ep->rq[c->ddp.qn], c, dst, ret_n);
	perr = ddp_rx_tagged(ep->stags, &ep->accessor, STAG_REMOTE_WRITE, c->ddp.stag, c->ddp.to,
			     len, &p);
	if (perr != PERR_NONE || len == 0)
		return perr;
	dst[0] = (struct span){p, len};
	*ret_n = 1;
	return PERR_NONE;
}

/* A tagged message is delivered to the ULP only if its RsvdULP asks for that. */
static enum perr deliver_tagged(struct rdmap *ep, const struct ssn_rec *c)
{
	uint8_t octet = get_octet(&c->ddp);
	struct rdmap_done done = {.inv_stag = c->ddp.stag, .imm = octet};
	struct rdmap_rq *q = notices(ep);
	struct rdmap_rq_slot *s;
	enum perr perr;

	ep->tagged_len += ddp_rx_payload(c);
	if (!c->ddp.last)
		return PERR_NONE;
	done.len = (uint32_t)ep->tagged_len;
	ep->tagged_len = 0;
	if (!(octet & ep->notify_mask))
		return PERR_NONE;
	perr = rdmap_rq_acquire(ep, q, q->msn, &s);
	if (perr == PERR_NONE)
		rdmap_rq_complete(ep, q, &done);
	return perr;
}

static enum perr deliver_untagged(struct rdmap *ep, const struct ssn_rec *c)
{
	struct rdmap_rq *q = &ep->rq[c->ddp.qn];
	struct rdmap_rq_slot *s = rdmap_rq_find(q, c->ddp.msn);
	struct rdmap_done done = {
		.len = (uint32_t)ddp_rx_end(c),
		.imm = (uint64_t)get_octet(&c->ddp) << OCTET_SHIFT | c->ddp.inv_stag,
	};
	bool whole = false;
	enum perr perr = PERR_MSN_RANGE;

	if (s) {
		s->in.opcode = c->ddp.opcode; /* RsvdULP of the last segment counts (4.3) */
		perr = ddp_rx_gather(&s->in, ep->gaps, c, &whole);
	}
	if (perr != PERR_NONE || !whole)
		return perr;
	if (c->ddp.msn != q->msn)
		return PERR_MSN_RANGE; /* an earlier message is incomplete */
	rdmap_rq_complete(ep, q, &done);
	return PERR_NONE;
}

enum perr rdmap_raw_deliver(struct rdmap *ep, const struct ssn_rec *c)
{
	return c->ddp.tagged ? deliver_tagged(ep, c) : deliver_untagged(ep, c);
}
