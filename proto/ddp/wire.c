/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp/wire.h"

#include <assert.h>
#include <string.h>

#include "util/be.h"

/* DDP control byte, RFC 5041 4.1: T, L, four reserved bits, DV. */
enum { DDP_T = 0x80, DDP_L = 0x40, DDP_DV = 0x03 };

/* RDMAP control byte, RFC 5040 4.1: RV, two reserved bits, opcode. */
enum {
	RDMAP_RV_SHIFT = 6,
	RDMAP_RV = 0x03,
	RDMAP_RSV_SHIFT = 4,
	RDMAP_RSV = 0x03,
	RDMAP_OPCODE = 0x0f,
};

/* Atomic Request, RFC 7306 5.2.1: the last four bits of its first word. */
enum { ATOMIC_AOP = 0x0f };

/* Enhanced parameters, RFC 6581 9: two flags and 14 bits, twice. */
enum { ENH_FIRST = 0x8000, ENH_SECOND = 0x4000, ENH_DEPTH = 0x3fff };

/* An offer: its name, and in which message it is. */
enum { OFFER_NAME_LEN = 7, OFFER = 1, OFFER_ANSWER = 2 };

/* Terminate control, RFC 5040 4.8: the bits of its third byte; the rest is reserved. */
enum { TERM_M = 0x80, TERM_D = 0x40, TERM_R = 0x20, TERM_CTRL_LEN = 4, TERM_SEGLEN_LEN = 2 };

static_assert(WIRE_TERM_MAX ==
		      TERM_CTRL_LEN + TERM_SEGLEN_LEN + WIRE_UNTAGGED_LEN + WIRE_READ_REQ_LEN,
	      "the longest Terminate copies an untagged header and a Read Request");

size_t wire_ddp_put(uint8_t *p, const struct wire_ddp *h)
{
	return wire_ddp_put_at(p, h, 0, h->last);
}

size_t wire_ddp_put_at(uint8_t *p, const struct wire_ddp *h, uint32_t off, bool last)
{
	p[0] = (uint8_t)((h->tagged ? DDP_T : 0) | (last ? DDP_L : 0) | (h->dv & DDP_DV));
	p[1] = (uint8_t)((h->rv & RDMAP_RV) << RDMAP_RV_SHIFT |
			 (h->rsv & RDMAP_RSV) << RDMAP_RSV_SHIFT | (h->opcode & RDMAP_OPCODE));
	if (h->tagged) {
		be_put32(p + 2, h->stag);
		be_put64(p + 6, h->to + off);
		return WIRE_TAGGED_LEN;
	}
	be_put32(p + 2, h->inv_stag);
	be_put32(p + 6, h->qn);
	be_put32(p + 10, h->msn);
	be_put32(p + 14, h->mo + off);
	return WIRE_UNTAGGED_LEN;
}

/* The length of a header follows from the T bit of its first byte. */
static size_t ddp_len(uint8_t ctrl)
{
	return ctrl & DDP_T ? WIRE_TAGGED_LEN : WIRE_UNTAGGED_LEN;
}

size_t wire_ddp_get(const uint8_t *p, size_t len, struct wire_ddp *ret)
{
	if (len == 0 || len < ddp_len(p[0]))
		return 0;
	*ret = (struct wire_ddp){
		.tagged = p[0] & DDP_T,
		.last = p[0] & DDP_L,
		.dv = p[0] & DDP_DV,
		.rv = p[1] >> RDMAP_RV_SHIFT,
		.rsv = p[1] >> RDMAP_RSV_SHIFT & RDMAP_RSV,
		.opcode = p[1] & RDMAP_OPCODE,
	};
	if (ret->tagged) {
		ret->stag = be_get32(p + 2);
		ret->to = be_get64(p + 6);
		return WIRE_TAGGED_LEN;
	}
	ret->inv_stag = be_get32(p + 2);
	ret->qn = be_get32(p + 6);
	ret->msn = be_get32(p + 10);
	ret->mo = be_get32(p + 14);
	return WIRE_UNTAGGED_LEN;
}

void wire_read_req_put(uint8_t p[WIRE_READ_REQ_LEN], const struct wire_read_req *r)
{
	be_put32(p, r->sink_stag);
	be_put64(p + 4, r->sink_to);
	be_put32(p + 12, r->size);
	be_put32(p + 16, r->src_stag);
	be_put64(p + 20, r->src_to);
}

void wire_read_req_get(const uint8_t p[WIRE_READ_REQ_LEN], struct wire_read_req *ret)
{
	ret->sink_stag = be_get32(p);
	ret->sink_to = be_get64(p + 4);
	ret->size = be_get32(p + 12);
	ret->src_stag = be_get32(p + 16);
	ret->src_to = be_get64(p + 20);
}

void wire_atomic_req_put(uint8_t p[WIRE_ATOMIC_REQ_LEN], const struct wire_atomic_req *r)
{
	bool swap = r->aop == WIRE_CMP_SWAP;

	be_put32(p, r->aop & ATOMIC_AOP);
	be_put32(p + 4, r->id);
	be_put32(p + 8, r->stag);
	be_put64(p + 12, r->to);
	be_put64(p + 20, r->data);
	be_put64(p + 28, r->mask);
	be_put64(p + 36, swap ? r->compare : 0);
	be_put64(p + 44, swap ? r->compare_mask : UINT64_MAX);
}

void wire_atomic_req_get(const uint8_t p[WIRE_ATOMIC_REQ_LEN], struct wire_atomic_req *ret)
{
	*ret = (struct wire_atomic_req){
		.aop = p[3] & ATOMIC_AOP,
		.id = be_get32(p + 4),
		.stag = be_get32(p + 8),
		.to = be_get64(p + 12),
		.data = be_get64(p + 20),
		.mask = be_get64(p + 28),
		.compare = be_get64(p + 36),
		.compare_mask = be_get64(p + 44),
	};
}

void wire_atomic_resp_put(uint8_t p[WIRE_ATOMIC_RESP_LEN], const struct wire_atomic_resp *r)
{
	be_put32(p, r->id);
	be_put64(p + 4, r->value);
}

void wire_atomic_resp_get(const uint8_t p[WIRE_ATOMIC_RESP_LEN], struct wire_atomic_resp *ret)
{
	ret->id = be_get32(p);
	ret->value = be_get64(p + 4);
}

void wire_enh_put(uint8_t p[WIRE_ENH_LEN], const struct wire_enh *e)
{
	bool b = e->rtr & WIRE_RTR_SEND, c = e->rtr & WIRE_RTR_WRITE, d = e->rtr & WIRE_RTR_READ;

	be_put16(p, (uint16_t)((e->p2p ? ENH_FIRST : 0) | (b ? ENH_SECOND : 0) |
			       (e->ird & ENH_DEPTH)));
	be_put16(p + 2,
		 (uint16_t)((c ? ENH_FIRST : 0) | (d ? ENH_SECOND : 0) | (e->ord & ENH_DEPTH)));
}

void wire_enh_get(const uint8_t p[WIRE_ENH_LEN], struct wire_enh *ret)
{
	uint16_t one = be_get16(p), two = be_get16(p + 2);

	*ret = (struct wire_enh){
		.p2p = one & ENH_FIRST,
		.rtr = (uint8_t)((one & ENH_SECOND ? WIRE_RTR_SEND : 0) |
				 (two & ENH_FIRST ? WIRE_RTR_WRITE : 0) |
				 (two & ENH_SECOND ? WIRE_RTR_READ : 0)),
		.ird = one & ENH_DEPTH,
		.ord = two & ENH_DEPTH,
	};
}

/* The first byte is neither ASCII nor the beginning of UTF-8, so no text ends like this. */
static const uint8_t offer_name[OFFER_NAME_LEN] = {0x8b, 'D', 'D', 'P', 'c', 'r', 'd'};

void wire_offer_put(uint8_t p[WIRE_OFFER_LEN], bool answer, const struct wire_offer *o)
{
	memcpy(p, offer_name, OFFER_NAME_LEN);
	p[OFFER_NAME_LEN] = answer ? OFFER_ANSWER : OFFER;
	be_put32(p + 8, o->tag);
	be_put32(p + 12, o->window);
	be_put32(p + 16, o->receives);
}

bool wire_offer_get(const uint8_t *priv, size_t len, bool answer, struct wire_offer *ret)
{
	const uint8_t *p;

	if (len < WIRE_OFFER_LEN)
		return false;
	p = priv + len - WIRE_OFFER_LEN;
	if (memcmp(p, offer_name, OFFER_NAME_LEN) != 0 ||
	    p[OFFER_NAME_LEN] != (answer ? OFFER_ANSWER : OFFER))
		return false;
	ret->tag = be_get32(p + 8);
	ret->window = be_get32(p + 12);
	ret->receives = be_get32(p + 16);
	return true;
}

uint32_t wire_credit_put(uint8_t p[WIRE_NOT_READY_LEN], const struct wire_credit *c)
{
	be_put32(p, c->tag);
	be_put32(p + 4, c->limit);
	be_put64(p + 8, c->pos);
	if (c->wait_ms == 0)
		return WIRE_CREDIT_LEN;
	be_put32(p + WIRE_CREDIT_LEN, c->wait_ms);
	return WIRE_NOT_READY_LEN;
}

bool wire_credit_get(const uint8_t *p, uint32_t len, struct wire_credit *ret)
{
	if (len != WIRE_CREDIT_LEN && len != WIRE_NOT_READY_LEN)
		return false;
	ret->tag = be_get32(p);
	ret->limit = be_get32(p + 4);
	ret->pos = be_get64(p + 8);
	ret->wait_ms = len == WIRE_NOT_READY_LEN ? be_get32(p + WIRE_CREDIT_LEN) : 0;
	return true;
}

size_t wire_term_put(uint8_t p[WIRE_TERM_MAX], const struct wire_term *t)
{
	size_t n = TERM_CTRL_LEN;

	p[0] = (uint8_t)((t->layer & 0x0f) << 4 | (t->etype & 0x0f));
	p[1] = t->code;
	p[2] = (uint8_t)((t->has_len ? TERM_M : 0) | (t->has_ddp ? TERM_D : 0) |
			 (t->has_read ? TERM_R : 0));
	p[3] = 0;
	if (t->has_len || t->has_ddp) {
		be_put16(p + n, t->has_len ? t->seg_len : 0);
		n += TERM_SEGLEN_LEN;
	}
	if (t->has_ddp) {
		assert(t->ddp_len == ddp_len(t->ddp[0]));
		memcpy(p + n, t->ddp, t->ddp_len);
		n += t->ddp_len;
	}
	if (t->has_read) {
		memcpy(p + n, t->read, WIRE_READ_REQ_LEN);
		n += WIRE_READ_REQ_LEN;
	}
	return n;
}

/* After an incomplete part all others are absent, because their begin is unknown. */
static void term_parts(const uint8_t *p, size_t len, uint8_t bits, struct wire_term *ret)
{
	if (bits & (TERM_M | TERM_D)) {
		if (len < TERM_SEGLEN_LEN)
			return;
		ret->has_len = bits & TERM_M;
		ret->seg_len = ret->has_len ? be_get16(p) : 0;
		p += TERM_SEGLEN_LEN;
		len -= TERM_SEGLEN_LEN;
	}
	if (bits & TERM_D) {
		if (len == 0 || len < ddp_len(p[0]))
			return;
		ret->has_ddp = true;
		ret->ddp_len = (uint8_t)ddp_len(p[0]);
		memcpy(ret->ddp, p, ret->ddp_len);
		p += ret->ddp_len;
		len -= ret->ddp_len;
	}
	if (bits & TERM_R && len >= WIRE_READ_REQ_LEN) {
		ret->has_read = true;
		memcpy(ret->read, p, WIRE_READ_REQ_LEN);
	}
}

bool wire_term_get(const uint8_t *p, size_t len, struct wire_term *ret)
{
	if (len < TERM_CTRL_LEN)
		return false;
	*ret = (struct wire_term){
		.layer = p[0] >> 4,
		.etype = p[0] & 0x0f,
		.code = p[1],
	};
	term_parts(p + TERM_CTRL_LEN, len - TERM_CTRL_LEN, p[2], ret);
	return true;
}
