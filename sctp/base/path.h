/* SPDX-License-Identifier: BSD-2-Clause */
/* One address of the peer: its state, timers and congestion control. */
#ifndef SCTP_PATH_H
#define SCTP_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/assoc.h"
#include "sctp/path/ack_rate.h"
#include "sctp/path/cc.h"
#include "sctp/path/pacer.h"
#include "sctp/path/pmtu.h"
#include "sctp/path/rack.h"
#include "sctp/path/rto.h"
#include "sctp/send/flight.h"
#include "sctp/send/recovery.h"
#include "sctp/wire/addr.h"

struct sctp_path {
	struct sctp_path *hash_next;
	struct sctp_assoc *assoc;
	struct sctp_flow flow;
	uint8_t index;
	bool hashed, changed, became_primary; /* changed: an event is due */
	enum sctp_path_state state;
	unsigned errors;
	struct sctp_path_flight flight;
	uint32_t timed; /* the TSN that gives the next round-trip sample, if `timing` */
	bool timing;
	struct sctp_recovery recovery;
	bool probed;       /* a tail-loss probe was sent for this tail */
	bool extra;        /* one packet may go although the window is full */
	bool probe_wanted; /* the next output sends a probe of the path MTU */
	bool limited;      /* the congestion window held data back when the path was last served */
	uint64_t t3_us, loss_us, probe_us, heartbeat_us;
	uint64_t release_us;   /* the pacer holds data back until then */
	uint64_t last_sent_us; /* DATA or HEARTBEAT */
	uint64_t lowest_us;    /* the lowest TSN was sent on it */
	uint64_t heard_us;     /* when the peer last acknowledged DATA or HEARTBEAT of this path */
	uint64_t needless_us;  /* the reordering window grows again then or later */
	bool heartbeat_out;    /* sent and not answered */
	bool unreachable;      /* ICMP reported it, and no answer arrived since */
	uint64_t nonce;
	struct sctp_rto rto;
	struct sctp_cc cc;
	struct sctp_ack_rate ack_rate;
	struct sctp_pacer pacer;
	struct sctp_rack rack;
	struct sctp_pmtu pmtu;
};

static inline struct sctp_path *sctp_primary(struct sctp_assoc *a)
{
	return &a->paths.at[a->paths.primary];
}

/* Bytes that the cover adds to a packet. */
static inline uint32_t sctp_path_cover(const struct sctp_path *p)
{
	return p->flow.covered ? p->assoc->s->cfg.cover_bytes : 0;
}

/* Bytes of an IP packet beside the SCTP packet: IP and UDP header, and the cover. */
static inline uint32_t sctp_path_overhead(const struct sctp_path *p)
{
	return (sctp_addr_is_v4(&p->flow.peer) ? 20 : 40) + 8 + sctp_path_cover(p);
}

/* The longest packet of any path with that cover. */
static inline uint32_t sctp_path_most(const struct sctp_path *p)
{
	uint32_t most = p->flow.covered ? p->assoc->s->cfg.cover_packet : SCTP_MAX_PACKET;

	return most & ~3u;
}

/* The round trip is long: packets are paced, and the send queue follows the window. */
static inline bool sctp_path_is_long(const struct sctp_path *p)
{
	return p->rto.srtt_us && p->rto.min_rtt_us >= SCTP_PACER_LEAST_RTT_US;
}

/* Packet sizes are searched where data goes. */
static inline bool sctp_path_probes(const struct sctp_path *p)
{
	return sctp_sends_data(p->assoc) && p->state == SCTP_PATH_ACTIVE;
}

/* Largest chunk that fits into a packet of the path (PMDCS). */
static inline uint32_t sctp_path_pmdcs(const struct sctp_path *p)
{
	return (p->pmtu.size - SCTP_HEAD) & ~3u;
}

#endif
