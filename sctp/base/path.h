/* SPDX-License-Identifier: BSD-2-Clause */
/* One address of the peer: its state, timers and congestion control. */
#ifndef SCTP_PATH_H
#define SCTP_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/path/cc.h"
#include "sctp/wire/chunk.h"
#include "sctp/path/pmtu.h"
#include "sctp/path/rack.h"
#include "sctp/path/rto.h"
#include "sctp/send/flight.h"
#include "sctp/sctp.h"

struct sctp_assoc;

struct sctp_path {
	struct sctp_path *hash_next;
	struct sctp_assoc *assoc;
	struct sctp_flow flow;
	uint8_t index;
	bool hashed, changed, became_primary; /* changed: an event is due */
	enum sctp_path_state state;
	unsigned errors;
	struct sctp_path_flight flight;
	uint32_t timed;         /* the TSN that gives the next round-trip sample, if `timing` */
	uint32_t recovery;      /* fast recovery ends when this TSN is acknowledged */
	uint32_t recovery_from; /* what it repeats comes after this TSN */
	unsigned resent;        /* chunks that it repeated, without those that were needless */
	bool timing;
	bool in_recovery;
	bool timed_out;    /* T3 expired: losses of that time change the window no more */
	bool probed;       /* a tail-loss probe was sent for this tail */
	bool extra;        /* one packet may go although the window is full */
	bool probe_wanted; /* the next output sends a probe of the path MTU */
	bool limited;      /* the congestion window held data back when the path was last served */
	uint64_t t3_us, loss_us, probe_us, heartbeat_us;
	uint64_t last_sent_us; /* DATA or HEARTBEAT */
	uint64_t lowest_us;    /* the lowest TSN was sent on it */
	uint64_t heard_us; /* something that was sent on it arrived, by what the peer said then */
	uint64_t needless_us; /* the reordering window grows again then or later */
	bool heartbeat_out;   /* sent and not answered */
	bool unreachable;     /* ICMP said so, and nothing was answered since */
	uint64_t nonce;
	struct sctp_rto rto;
	struct sctp_cc cc;
	struct sctp_rack rack;
	struct sctp_pmtu pmtu;
};

/* A path that is not confirmed. packet: the largest that its route takes, 0: not known. */
void sctp_path_init(struct sctp_path *p, uint32_t packet);
/* Takes another state; an event is due if it changed. */
void sctp_path_set_state(struct sctp_path *p, enum sctp_path_state state);
/* A packet was not answered in time. False if the association ended. */
bool sctp_path_failed(struct sctp_path *p);
/* It was answered. */
void sctp_path_answered(struct sctp_path *p);
void sctp_send_heartbeat(struct sctp_path *p);
/* The HEARTBEAT of a probe of the path MTU. */
void sctp_put_probe(struct sctp_writer *w, const struct sctp_path *p, uint32_t size);
void sctp_got_heartbeat(struct sctp_path *p, const struct sctp_chunk *c);
void sctp_got_heartbeat_ack(struct sctp_path *p, const struct sctp_chunk *c);
/* When heartbeats go on, after something was sent. */
void sctp_path_rest(struct sctp_path *p);
/* Largest chunk that fits into a packet of the path (PMDCS). */
uint32_t sctp_path_pmdcs(const struct sctp_path *p);
void sctp_path_resized(struct sctp_path *p);
/* A heartbeat is due, or the time of the last one is over. False if the association ended. */
bool sctp_heartbeat_due(struct sctp_path *p, uint64_t now);
/* A valid packet came from there: where the peer is now, if it is the path's address. */
void sctp_learn(struct sctp_path *p, const struct sctp_flow *from);

#endif
