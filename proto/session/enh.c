/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/session/enh.h"

#include "util/minmax.h"

enum {
	RTR_ALL = WIRE_RTR_SEND | WIRE_RTR_WRITE | WIRE_RTR_READ,
	DEPTH_MAX = WIRE_ENH_UNCHANGED - 1, /* the largest depth that can be sent */
};

/* The wanted depth, at most `have`; `have` itself if the wish is WIRE_ENH_UNCHANGED. */
static uint16_t limit_depth(uint16_t wish, uint16_t have)
{
	return wish == WIRE_ENH_UNCHANGED ? have : min_u16(wish, have);
}

/* The ready-to-receive messages to offer to a peer that named some, or none. */
static uint8_t offer_rtr(uint8_t named, uint16_t ird)
{
	uint8_t can = ird > 0 ? RTR_ALL : RTR_ALL & ~WIRE_RTR_READ;

	return named & can ? named & can : can;
}

void enh_answer(const struct wire_enh *init, const struct enh_terms *have,
		const struct wire_enh *want, struct wire_enh *ret_reply,
		struct enh_terms *ret_terms)
{
	uint8_t rtr = init->p2p ? offer_rtr(init->rtr, have->ird) : 0;
	uint16_t ird = min_u16(limit_depth(want->ird, have->ird), DEPTH_MAX);
	uint16_t ord = min_u16(limit_depth(want->ord, have->ord), init->ird);
	bool keep_ird = init->ord == WIRE_ENH_UNCHANGED, keep_ord = init->ird == WIRE_ENH_UNCHANGED;

	if (ird == 0 && rtr & WIRE_RTR_READ)
		ird = 1;
	*ret_reply = (struct wire_enh){
		.p2p = init->p2p,
		.rtr = rtr,
		.ird = keep_ird ? WIRE_ENH_UNCHANGED : ird,
		.ord = keep_ord ? WIRE_ENH_UNCHANGED : ord,
	};
	*ret_terms = (struct enh_terms){
		.ird = keep_ird ? have->ird : ird,
		.ord = keep_ord ? have->ord : ord,
		.wait = init->p2p,
		.wait_rtr = rtr,
	};
}

/* The depth to send for a wish; WIRE_ENH_UNCHANGED if the initiator does not negotiate it. */
static uint16_t wanted_depth(uint16_t wish, uint16_t mirror)
{
	if (wish == WIRE_ENH_UNCHANGED || mirror == WIRE_ENH_UNCHANGED)
		return WIRE_ENH_UNCHANGED;
	return min_u16(wish, DEPTH_MAX);
}

void enh_reject(const struct wire_enh *init, const struct wire_enh *want,
		struct wire_enh *ret_reply)
{
	*ret_reply = (struct wire_enh){
		.p2p = init->p2p,
		.rtr = init->p2p ? RTR_ALL : 0,
		.ird = wanted_depth(want->ird, init->ord),
		.ord = wanted_depth(want->ord, init->ird),
	};
}

/* The message to send first. A Send costs the responder a receive buffer, tagged data does not. */
static uint8_t choose_rtr(uint8_t both, uint16_t responder_ird, uint16_t our_ord)
{
	if (both & WIRE_RTR_WRITE)
		return WIRE_RTR_WRITE;
	if (both & WIRE_RTR_READ && responder_ird > 0 && our_ord > 0)
		return WIRE_RTR_READ;
	return both & WIRE_RTR_SEND;
}

enum perr enh_settle(const struct wire_enh *init, const struct enh_terms *have,
		     const struct wire_enh *reply, struct enh_terms *ret_terms)
{
	struct enh_terms terms = {
		.ird = limit_depth(init->ird, have->ird),
		.ord = limit_depth(reply->ird, limit_depth(init->ord, have->ord)),
	};

	if (reply->p2p != init->p2p)
		return PERR_ENH_LOCAL;
	if (reply->ord != WIRE_ENH_UNCHANGED && reply->ord > terms.ird) {
		if (reply->ord > have->ird)
			return PERR_ENH_IRD;
		terms.ird = reply->ord;
	}
	if (init->p2p) {
		terms.rtr = choose_rtr(init->rtr & reply->rtr, reply->ird, have->ord);
		if (terms.rtr == 0)
			return PERR_ENH_RTR;
	}
	if (terms.rtr == WIRE_RTR_READ && terms.ord == 0)
		terms.ord = 1;
	*ret_terms = terms;
	return PERR_NONE;
}
