/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/conn_params.h"

#include <errno.h>

#include "daemon/base/state.h"
#include "daemon/objects/sessions/qp.h"

enum {
	RTR_ANY = MSG_CONN_RTR_SEND | MSG_CONN_RTR_WRITE | MSG_CONN_RTR_READ,
	FIRST = MSG_CONN_PEER_TO_PEER | RTR_ANY | MSG_CONN_RETRY_PLAIN,
	DEPTH_MAX = WIRE_ENH_UNCHANGED - 1,
};

/* ---- checks ---- */

static int check_conn_flags(const struct conn_params *o, struct reply *rep)
{
	if (o->flags & ~o->known)
		return reply_refuse(rep, EINVAL, "%s: flags 0x%x: expected a subset of 0x%x",
				    o->what, o->flags, o->known);
	if (o->flags & FIRST && !(o->flags & MSG_CONN_NEGOTIATE))
		return reply_refuse(rep, EINVAL, "%s: flags 0x%x: 0x%x require 0x%x (negotiate)",
				    o->what, o->flags, o->flags & FIRST, MSG_CONN_NEGOTIATE);
	if (o->flags & RTR_ANY && !(o->flags & MSG_CONN_PEER_TO_PEER))
		return reply_refuse(rep, EINVAL, "%s: flags 0x%x: 0x%x require 0x%x (peer to peer)",
				    o->what, o->flags, o->flags & RTR_ANY, MSG_CONN_PEER_TO_PEER);
	return 0;
}

static int check_depth(const struct conn_params *o, const char *name, uint16_t depth, uint16_t max,
		       struct reply *rep)
{
	if (depth <= max || depth == MSG_READS_UNCHANGED)
		return 0;
	return reply_refuse(rep, EINVAL, "%s: %s of %u: at most %u, or 0x%x for unchanged", o->what,
			    name, depth, max, MSG_READS_UNCHANGED);
}

static int check_able(const struct daemon *d, const struct qp *qp, const struct conn_params *o,
		      struct reply *rep)
{
	if (d->cfg.session.enhanced != CONFIG_ON)
		return reply_refuse(
			rep, EOPNOTSUPP,
			"%s: flags 0x%x: negotiation is switched off (session.enhanced)", o->what,
			o->flags);
	if (qp && qp->attr.raw)
		return reply_refuse(rep, EOPNOTSUPP,
				    "%s: flags 0x%x: queue pair %u is raw: it has no Reads to "
				    "negotiate",
				    o->what, o->flags, qp->num);
	return 0;
}

uint32_t conn_params_room(const struct qp *qp, bool enhanced)
{
	uint32_t offer = qp && qp->options & MSG_QP_CREDITS ? WIRE_OFFER_LEN : 0;

	return WIRE_PRIVATE_MAX - (enhanced ? WIRE_ENH_LEN : 0U) - offer;
}

int conn_params_too_long(const struct conn_params *o, uint32_t room, struct reply *rep)
{
	return reply_refuse(rep, EMSGSIZE,
			    "%s: %u bytes of private data: a message of this queue pair has room "
			    "for %u, because of negotiation or credits",
			    o->what, o->private_len, room);
}

int conn_params_check(const struct daemon *d, const struct qp *qp, const struct conn_params *o,
		      struct reply *rep)
{
	int r;

	if (o->private_len > MSG_PRIVATE_MAX)
		return reply_violation(rep, EINVAL, "%s: %u bytes of private data: at most %d",
				       o->what, o->private_len, MSG_PRIVATE_MAX);
	r = check_conn_flags(o, rep);
	if (r || !(o->flags & MSG_CONN_NEGOTIATE))
		return r;
	r = check_able(d, qp, o, rep);
	if (!r)
		r = check_depth(o, "ird", o->ird, qp ? qp->attr.max_ird : DEPTH_MAX, rep);
	if (!r)
		r = check_depth(o, "ord", o->ord, qp ? qp->attr.max_ord : DEPTH_MAX, rep);
	return r;
}

/* ---- wire ---- */

/* Flags of the records and of the wire. */
static const struct {
	uint16_t flag;
	uint8_t rtr;
} rtrs[] = {
	{MSG_CONN_RTR_SEND, WIRE_RTR_SEND},
	{MSG_CONN_RTR_WRITE, WIRE_RTR_WRITE},
	{MSG_CONN_RTR_READ, WIRE_RTR_READ},
};

enum { RTRS = sizeof(rtrs) / sizeof(rtrs[0]) };

static uint16_t to_wire(uint16_t depth)
{
	return depth == MSG_READS_UNCHANGED ? WIRE_ENH_UNCHANGED : depth;
}

uint16_t conn_params_depth(uint16_t wire)
{
	return wire == WIRE_ENH_UNCHANGED ? MSG_READS_UNCHANGED : wire;
}

bool conn_params_to_wire(const struct conn_params *o, struct wire_enh *ret)
{
	uint32_t flags = o->flags;

	if (!(flags & MSG_CONN_NEGOTIATE))
		return false;
	*ret = (struct wire_enh){
		.p2p = flags & MSG_CONN_PEER_TO_PEER,
		.ird = to_wire(o->ird),
		.ord = to_wire(o->ord),
	};
	if (ret->p2p && !(flags & RTR_ANY))
		flags |= RTR_ANY;
	for (unsigned i = 0; i < RTRS; i++)
		if (flags & rtrs[i].flag)
			ret->rtr |= rtrs[i].rtr;
	return true;
}

bool conn_params_no_reads(const struct conn_params *o)
{
	return o->flags & MSG_CONN_NEGOTIATE && o->ird == 0;
}

void conn_params_to_event(const struct wire_enh *enh, struct msg_event *ret)
{
	ret->flags = 0;
	ret->peer_ird = ret->peer_ord = MSG_READS_UNCHANGED;
	if (!enh)
		return;
	ret->flags = MSG_CONN_NEGOTIATE;
	if (enh->p2p)
		ret->flags |= MSG_CONN_PEER_TO_PEER;
	for (unsigned i = 0; i < RTRS; i++)
		if (enh->rtr & rtrs[i].rtr)
			ret->flags |= rtrs[i].flag;
	ret->peer_ird = conn_params_depth(enh->ird);
	ret->peer_ord = conn_params_depth(enh->ord);
}
