/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/shutdown.h"

#include "sctp/base/path_select.h"
#include "sctp/base/reply.h"

enum { SACK_SPACE = 256 }; /* bytes of a SACK beside SHUTDOWN */

void sctp_shutdown_init(struct sctp_assoc *a)
{
	a->shutdown.t2_us = a->shutdown.t5_us = SCTP_NEVER;
}

void sctp_shutdown_guard(struct sctp_assoc *a)
{
	a->shutdown.t5_us = a->s->now + 5 * (uint64_t)a->s->cfg.rto_max_us; /* 9.2: recommended */
}

void sctp_shutdown_stop(struct sctp_assoc *a)
{
	a->shutdown.t2_us = SCTP_NEVER;
}

static void start_t2(struct sctp_assoc *a, const struct sctp_path *p)
{
	a->shutdown.t2_us = a->s->now + p->rto.rto_us;
}

/* Begins a packet and starts T2. */
static struct sctp_writer begin_with_t2(struct sctp_assoc *a)
{
	struct sctp_path *p = sctp_path_choose(a);

	a->shutdown.path = p->index;
	a->shutdown.delayed = false;
	start_t2(a, p);
	return sctp_reply_to(p);
}

/* SHUTDOWN cannot report gaps and duplicates: a SACK before it does (9.2). */
void sctp_send_shutdown(struct sctp_assoc *a)
{
	struct sctp_writer w = begin_with_t2(a);
	uint32_t at;

	if (sctp_tsn_map_gap(&a->map) || a->map.ndups)
		sctp_tsn_map_sack(&a->map, sctp_data_rwnd(a), &w, SACK_SPACE);
	at = sctp_begin_chunk(&w, SCTP_SHUTDOWN, 0);
	sctp_put32(&w, a->map.cum);
	sctp_end_chunk(&w, at);
	sctp_reply_end(a->s, &w);
}

void sctp_send_shutdown_ack(struct sctp_assoc *a)
{
	struct sctp_writer w = begin_with_t2(a);

	sctp_put_plain(&w, SCTP_SHUTDOWN_ACK, 0);
	sctp_reply_end(a->s, &w);
}

/* DATA is acknowledged by SHUTDOWN at once, any other packet gives the peer time (9.2), but only
 * one: a peer that goes on sending heartbeats has not got the SHUTDOWN. */
void sctp_shutdown_answered(struct sctp_assoc *a, bool data)
{
	a->errors = 0;
	if (data)
		sctp_send_shutdown(a);
	else if (!a->shutdown.delayed)
		start_t2(a, &a->paths.at[a->shutdown.path]);
	a->shutdown.delayed = !data;
}
