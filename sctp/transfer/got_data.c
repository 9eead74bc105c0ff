/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/transfer/got_data.h"

#include <string.h>

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/heartbeat.h"
#include "sctp/assoc/notify.h"
#include "sctp/assoc/shutdown.h"
#include "sctp/base/path_select.h"
#include "sctp/base/reply.h"
#include "util/be.h"

static void no_user_data(struct sctp_assoc *a, const struct sctp_data *d)
{
	uint8_t value[4];

	be_put32(value, d->tsn);
	sctp_assoc_break(a, SCTP_END_PROTOCOL, SCTP_CAUSE_NO_DATA, value, sizeof(value),
			 "DATA without user data");
}

/* The TSN counts as received (6.5), the data is dropped. */
static void invalid_stream(struct sctp_path *p, const struct sctp_data *d)
{
	struct sctp_writer w = sctp_reply_to(p);
	uint32_t at = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	uint8_t value[4] = {0};

	be_put16(value, d->sid);
	sctp_put_cause(&w, SCTP_CAUSE_STREAM, value, sizeof(value));
	sctp_end_chunk(&w, at);
	sctp_reply_end(p->assoc->s, &w);
}

static void hand_over(struct sctp_assoc *a, const struct sctp_data *d)
{
	struct sctp *s = a->s;

	s->rx_assoc = a;
	s->rx[s->nrx++] = (struct sctp_rx){
		.p = d->p, .len = d->len, .ppid = d->ppid, .sid = d->sid, .ordered = !d->unordered};
}

static void renege_range(struct sctp_assoc *a, struct sctp_recv_range r)
{
	for (uint32_t tsn = r.first; !sctp_tsn_before(r.last, tsn); tsn++)
		sctp_tsn_map_renege(&a->map, tsn);
}

/* Fragments, ordered messages, and all chunks that arrive while such wait. True if the TSN is
 * taken. */
static bool queue_chunk(struct sctp_assoc *a, const struct sctp_data *d)
{
	struct sctp_recv_range dropped;
	enum sctp_recv_result r;

	/* The window is closed: only the next TSN is taken (6.2). */
	if (sctp_data_rwnd(a) == 0 && d->tsn != a->map.cum + 1)
		return false;
	while ((r = sctp_recv_add(&a->recv, d, a->map.cum, &dropped)) == SCTP_RECV_DROPPED)
		renege_range(a, dropped);
	if (r == SCTP_RECV_VIOLATION)
		sctp_assoc_break(a, SCTP_END_PROTOCOL, SCTP_CAUSE_PROTOCOL, a->recv.violation,
				 (uint32_t)strlen(a->recv.violation), a->recv.violation);
	if (r == SCTP_RECV_VIOLATION || r == SCTP_RECV_NO_ROOM)
		return false;
	if (r == SCTP_RECV_DIRECT)
		hand_over(a, d);
	a->s->rx_assoc = a;
	a->s->rx_queued = true;
	return true;
}

static void take_chunk(struct sctp_path *p, const struct sctp_data *d)
{
	struct sctp_assoc *a = p->assoc;

	if (a->s->nrx == SCTP_MAX_CHUNKS)
		return;
	if (d->sid >= a->agreed.in_streams)
		invalid_stream(p, d);
	else if (sctp_recv_direct(&a->recv, d))
		hand_over(a, d);
	else if (!queue_chunk(a, d)) {
		sctp_acks_hurry(&a->acks);
		return;
	}
	if (sctp_tsn_map_gap(&a->map))
		sctp_acks_hurry(&a->acks);
	sctp_tsn_map_add(&a->map, d->tsn);
	sctp_acks_took(&a->acks, d->len);
	sctp_rwnd_took(&a->acks.rwnd, d->len);
}

void sctp_got_data(struct sctp_path *p, const struct sctp_chunk *c)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp_data d;

	if (!sctp_takes_data(a))
		return;
	if (!sctp_data_get(c, &d)) {
		a->s->st.bad_packets++;
		return;
	}
	if (d.len == 0) {
		no_user_data(a, &d);
		return;
	}
	switch (sctp_tsn_map_check(&a->map, d.tsn)) {
	case SCTP_TSN_NEW:
		take_chunk(p, &d);
		break;
	case SCTP_TSN_DUP:
		a->s->st.duplicates++;
		break;
	case SCTP_TSN_BEYOND:
		sctp_acks_hurry(&a->acks);
		break;
	}
}

/* ---- the window ---- */

static void follow_network(struct sctp_path *p)
{
	const struct sctp_rwnd_path path = {p->index, p->rto.srtt_us, p->rto.min_rtt_us};
	struct sctp_assoc *a = p->assoc;
	bool waits = !sctp_recv_empty(&a->recv);

	if (sctp_rwnd_packet(&a->acks.rwnd, &a->s->windows, &path, waits, a->s->now))
		sctp_measure_rtt(p);
	sctp_recv_set_limit(&a->recv, a->acks.rwnd.size);
}

void sctp_data_rest(struct sctp_assoc *a)
{
	bool busy = sctp_tsn_map_gap(&a->map) || !sctp_recv_empty(&a->recv);

	sctp_rwnd_rest(&a->acks.rwnd, &a->s->windows, busy, a->s->now);
	sctp_recv_set_limit(&a->recv, a->acks.rwnd.size);
}

/* ---- the end of a packet ---- */

void sctp_data_end(struct sctp_path *p, bool any, bool prompt)
{
	struct sctp_assoc *a = p->assoc;

	if (a->state == SCTP_SHUTDOWN_SENT) {
		sctp_shutdown_answered(a, any);
		return;
	}
	if (!any)
		return;
	follow_network(p);
	/* 5.4: only heartbeats go to an address that is not confirmed. */
	if (p->state == SCTP_PATH_UNCONFIRMED)
		p = sctp_path_choose(a);
	if (sctp_acks_packet(&a->acks, &a->map, &a->s->cfg, p->index, prompt, a->s->now))
		sctp_assoc_touch(a);
}
