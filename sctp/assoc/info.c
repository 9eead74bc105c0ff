/* SPDX-License-Identifier: BSD-2-Clause */
/* Properties of an association that the user queries and sets. */
#include "sctp/assoc/deadlines.h"
#include "sctp/assoc/max_message.h"
#include "sctp/assoc/notify.h"
#include "sctp/assoc/path_state.h"
#include "sctp/base/path_select.h"

void sctp_assoc_set_user(struct sctp_assoc *a, void *user)
{
	a->user = user;
}

void sctp_assoc_set_route_mtu(struct sctp_assoc *a, const struct sctp_addr *peer, uint32_t mtu,
			      uint64_t now_us)
{
	struct sctp_path *p = sctp_assoc_find_path(a, peer);
	uint32_t size;

	if (!p)
		return;
	if (a->s->cfg.mtu && mtu > a->s->cfg.mtu)
		mtu = a->s->cfg.mtu;
	size = mtu > sctp_path_overhead(p) ? (mtu - sctp_path_overhead(p)) & ~3u : 0;
	if (size > sctp_path_most(p))
		size = sctp_path_most(p);
	if (size < SCTP_MIN_PACKET)
		size = SCTP_MIN_PACKET;
	if (sctp_pmtu_set_max(&p->pmtu, size, now_us))
		sctp_path_resized(p);
	sctp_assoc_arm(a);
}

void sctp_assoc_report_acks(struct sctp_assoc *a)
{
	sctp_events_each_ack(&a->events);
}

void sctp_assoc_info(const struct sctp_assoc *a, struct sctp_info *ret)
{
	const struct sctp_path *p = &a->paths.at[a->paths.primary];

	*ret = (struct sctp_info){
		.primary = p->flow,
		.local_port = a->id.own_port,
		.peer_port = a->id.peer_port,
		.streams = a->agreed.out_streams < a->agreed.in_streams ? a->agreed.out_streams
									: a->agreed.in_streams,
		.max_message = a->paths.max_message,
		.mtu = p->pmtu.size + sctp_path_overhead(p),
		.unreachable = p->unreachable,
		.srtt_us = p->rto.srtt_us,
		.rto_us = p->rto.rto_us,
		.cwnd = p->cc.cwnd,
		.peer_rwnd = a->window.rwnd,
		.unacked = a->tx.next_tsn - a->tx.cum - 1,
		.retransmits = a->flight.repeated,
		.spurious = a->flight.spurious,
		.wrong_tags = a->id.wrong_tags,
		.takes_batches = a->agreed.takes_batches,
		.tag = a->id.own_tag,
		.peer_tag = a->id.peer_tag,
		.lower_tag = a->id.own_tag < a->id.peer_tag,
	};
}

static enum sctp_limit path_limit(const struct sctp_path *p)
{
	const struct sctp_assoc *a = p->assoc;
	uint32_t len;

	if (p != sctp_path_choose(p->assoc))
		return SCTP_LIMIT_USER;
	if (!sctp_flight_waits(&a->flight, &a->tx))
		return a->write.wanted ? SCTP_LIMIT_BUFFER : SCTP_LIMIT_USER;
	len = sctp_queue_at(&a->tx, sctp_flight_next(&a->flight, &a->tx))->size - SCTP_DATA_HEAD;
	if (!sctp_window_admits(&a->window, a->flight.payload, len))
		return SCTP_LIMIT_PEER;
	return sctp_cc_room(&p->cc, p->flight.bytes) ? SCTP_LIMIT_PACING : SCTP_LIMIT_CONGESTION;
}

static struct sctp_path_info path_info(const struct sctp_path *p)
{
	return (struct sctp_path_info){
		.flow = p->flow,
		.state = p->state,
		.primary = p->index == p->assoc->paths.primary,
		.srtt_us = p->rto.srtt_us,
		.rto_us = p->rto.rto_us,
		.cwnd = p->cc.cwnd,
		.mtu = p->pmtu.size + sctp_path_overhead(p),
		.flight = p->flight.bytes,
		.rate = sctp_ack_rate_now(&p->ack_rate, p->rto.srtt_us, p->assoc->s->now),
		.pacing_rate = p->pacer.rate,
		.limit = path_limit(p),
	};
}

unsigned sctp_assoc_paths(const struct sctp_assoc *a, struct sctp_path_info ret[SCTP_MAX_PATHS])
{
	unsigned n = 0;

	ret[n++] = path_info(&a->paths.at[a->paths.primary]);
	for (unsigned i = 0; i < a->paths.n; i++)
		if (i != a->paths.primary)
			ret[n++] = path_info(&a->paths.at[i]);
	return n;
}

int sctp_assoc_set_primary(struct sctp_assoc *a, const struct sctp_addr *peer)
{
	struct sctp_path *p = sctp_assoc_find_path(a, peer);

	if (a->state != SCTP_ESTABLISHED)
		return SCTP_E_DOWN;
	if (!p)
		return SCTP_E_NO_ADDR;
	if (p->state != SCTP_PATH_ACTIVE)
		return SCTP_E_INACTIVE;
	if (a->paths.primary == p->index)
		return SCTP_E_OK;
	a->paths.primary = p->index;
	sctp_assoc_measure(a);
	p->became_primary = true;
	sctp_assoc_note(a, SCTP_PATH);
	return SCTP_E_OK;
}
