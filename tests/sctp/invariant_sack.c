/* SPDX-License-Identifier: BSD-2-Clause */
/* When DATA is acknowledged (RFC 9260 6.2), and heartbeats (8.3). */
#include "tests/sctp/invariant_seen.h"
#include "util/be.h"

static bool acknowledges(enum sctp_state state)
{
	return state == SCTP_ESTABLISHED || state == SCTP_SHUTDOWN_PENDING;
}

static void lose_count(struct invariant_seen *e)
{
	e->sure = e->due_now = false;
	e->due = 0;
}

static void count_data(struct invariant *v, struct invariant_seen *e)
{
	const struct invariant_packet *k = &v->packet;
	bool here = e == k->to && k->data;

	if (e == k->to && k->odd)
		lose_count(e);
	else if (!here && e->a->acks.packets != e->unsacked)
		lose_count(e); /* it takes other packets for its own than this observer */
	else if (here && (acknowledges(e->state) || e->state == SCTP_SHUTDOWN_SENT)) {
		if (e->due++ == 0)
			e->due_us = v->j.s->now;
		e->due_now |= k->prompt || sctp_tsn_map_gap(&e->a->map);
	}
}

void invariant_sack_input(struct invariant *v)
{
	for (unsigned i = 0; i < v->n; i++)
		if (invariant_lives(v, v->seen[i]))
			count_data(v, v->seen[i]);
}

/* What answers DATA after SHUTDOWN was sent may wait in the ring of replies, and be old. */
static void out_sack(struct invariant *v, const struct invariant_seen *e,
		     const struct sctp_chunk *c)
{
	holds(v, "6.2-20", !sctp_tsn_before(e->a->map.cum, be_get32(c->p + 4)));
	if (!acknowledges(e->state) || !acknowledges(e->a->state))
		return;
	holds(v, "6.2-11", e->due > 0 || !e->sure);
	holds(v, "6.2-20", be_get32(c->p + 4) == e->a->map.cum);
	holds(v, "6.2-34", be_get32(c->p + 8) == e->a->acks.advertised);
}

static void out_heartbeat(struct invariant *v, struct invariant_seen *e, const struct sctp_chunk *c)
{
	uint64_t made = be_get64(c->p + 16), least;
	uint32_t i = be_get32(c->p + 28);
	struct invariant_path *p = &e->path[i < e->npaths ? i : 0];

	if (i >= e->npaths || be_get32(c->p + 24))
		return; /* a probe of the path MTU */
	/* T3 may just have raised RTO.Initial to RTO.Min. */
	least = p->heartbeat_rto;
	if (least > v->j.s->cfg.rto_initial_us)
		least = v->j.s->cfg.rto_initial_us;
	if (p->heartbeat_us && !p->heartbeat_answered && !e->moved)
		holds(v, "8.3-20", made - p->heartbeat_us >= least);
	p->heartbeat_us = made;
	p->heartbeat_rto = p->least_rto;
	p->heartbeat_answered = false;
}

void invariant_sack_output(struct invariant *v, struct invariant_seen *e, const uint8_t *pkt,
			   size_t len)
{
	struct sctp_cursor c = sctp_chunks(pkt, len);
	struct sctp_chunk chunk;

	while (sctp_chunk_next(&c, &chunk) == SCTP_NEXT_OK) {
		if (chunk.type == SCTP_SACK)
			out_sack(v, e, &chunk);
		if (chunk.type == SCTP_SACK || chunk.type == SCTP_SHUTDOWN) {
			e->due = 0;
			e->sure = true;
			e->due_now = false;
		}
		if (chunk.type == SCTP_HEARTBEAT && chunk.len == 32)
			out_heartbeat(v, e, &chunk);
	}
}

/* All that had to leave has left. */
void invariant_sack_idle(struct invariant *v, const struct invariant_seen *e)
{
	const struct sctp_config *c = &v->j.s->cfg;

	if (e->due == 0 || !acknowledges(e->a->state))
		return;
	holds(v, "6.2-08", e->due < c->sack_packets);
	holds(v, "6.2-24", !e->due_now);
	holds(v, "6.2-09", v->ran_us <= e->due_us + c->sack_us);
}
