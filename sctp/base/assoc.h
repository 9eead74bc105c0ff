/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of an association, and of its parts. */
#ifndef SCTP_ASSOC_H
#define SCTP_ASSOC_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/events.h"
#include "sctp/base/fsm.h"
#include "sctp/base/stack.h"
#include "sctp/receive/acks.h"
#include "sctp/receive/recv.h"
#include "sctp/send/flight.h"
#include "sctp/send/window.h"

struct sctp_handshake;
struct sctp_path;

/* Both ends. Tie-tags are random, never the tags themselves (5.2.2). */
struct sctp_id {
	uint16_t own_port, peer_port;
	uint32_t own_tag, peer_tag;
	uint32_t tie_own, tie_peer;
	uint64_t wrong_tags; /* packets from its addresses and ports with another tag */
};

/* Values that INIT and INIT ACK negotiated. */
struct sctp_agreed {
	uint16_t out_streams, in_streams;
	uint32_t adaptation;
	bool has_adaptation, takes_batches;
	bool zero_checksum; /* the peer takes packets without checksum (RFC 9653) */
};

/* Addresses of ours that it uses. */
struct sctp_locals {
	uint8_t addr[SCTP_MAX_LOCAL];
	unsigned n;
	bool all; /* the peer hears of all of them */
};

/* How it began, and who pays for it. */
struct sctp_origin {
	struct sctp_listener *listener; /* that accepted it, until the event was fetched */
	bool passive;                   /* the peer began it */
	struct sctp_account account;    /* pays for its data */
};

/* The timer of all its deadlines: deadlines.h. */
struct sctp_deadline {
	struct timer timer;
	uint64_t armed_us; /* it fires then or, without need, earlier */
};

/* A path for each address of the peer: paths.h. */
struct sctp_paths {
	struct sctp_path *at;
	unsigned n, allocated;
	uint8_t primary;
	uint32_t max_message; /* of the primary path and all active ones */
	uint64_t verify_us;   /* the next probe of an unconfirmed path goes then or later */
};

/* T2-shutdown and T5: shutdown.h. */
struct sctp_shutdown {
	uint64_t t2_us, t5_us;
	uint8_t path; /* that SHUTDOWN or SHUTDOWN ACK went to */
	bool delayed; /* T2 was restarted without another SHUTDOWN */
};

/* A peer that asks from another UDP port: moved.h. */
struct sctp_moved {
	uint64_t us; /* the next probe, or the end */
	unsigned probes;
};

/* The lowest outstanding TSN: stall.h. */
struct sctp_stall {
	uint64_t progress_us; /* the cumulative acknowledgement advanced, or data began */
	uint64_t us;          /* without progress until then the association ends */
	unsigned tries;       /* packets with that TSN that did not arrive on paths that work */
};

/* A user who waits for room to send: write.h. */
struct sctp_write {
	uint64_t retry_us;       /* memory was missing: may try again then */
	uint32_t queued, unsent; /* bytes that may be, as the path was when it was served last; 0:
				    never */
	bool wanted;
	bool more; /* the user has more, which had to wait because enough was unsent */
};

/* An association: its identity and its parts. Only the functions of a part's header change the
 * part. */
struct sctp_assoc {
	struct sctp *s;
	void *user;
	struct list all, pending; /* in lists of the stack */
	enum sctp_state state;
	bool up;
	unsigned errors; /* unanswered packets in a row */
	struct sctp_id id;
	struct sctp_agreed agreed;
	struct sctp_locals local;
	struct sctp_origin origin;
	struct sctp_deadline deadline;
	struct sctp_paths paths;

	struct sctp_handshake *handshake; /* until it is up, if this side began it */
	struct sctp_shutdown shutdown;
	struct sctp_moved moved;

	struct sctp_queue tx;
	struct sctp_flight flight;
	struct sctp_window window;
	struct sctp_stall stall;
	struct sctp_write write;

	struct sctp_tsn_map map;
	struct sctp_recv recv;
	struct sctp_acks acks;

	struct sctp_events events;
};

/* Data may be sent, and is acknowledged. */
static inline bool sctp_sends_data(const struct sctp_assoc *a)
{
	return a->state == SCTP_ESTABLISHED || a->state == SCTP_SHUTDOWN_PENDING ||
	       a->state == SCTP_SHUTDOWN_RECEIVED;
}

static inline bool sctp_takes_data(const struct sctp_assoc *a)
{
	return a->state == SCTP_ESTABLISHED || a->state == SCTP_SHUTDOWN_PENDING ||
	       a->state == SCTP_SHUTDOWN_SENT;
}

/* One of our addresses that the association uses. */
static inline bool sctp_assoc_has_local(const struct sctp_assoc *a, uint8_t local)
{
	for (unsigned i = 0; i < a->local.n; i++)
		if (a->local.addr[i] == local)
			return true;
	return false;
}

/* Packets leave without checksum. A packet with COOKIE ECHO has one (RFC 9653 5.2); it is sent
 * before the association is established. */
static inline bool sctp_omits_checksum(const struct sctp_assoc *a)
{
	return a->agreed.zero_checksum && a->state >= SCTP_ESTABLISHED;
}

/* The window that we advertise. */
static inline uint32_t sctp_data_rwnd(const struct sctp_assoc *a)
{
	uint32_t held = sctp_recv_held(&a->recv);

	return held < a->acks.rwnd.size ? a->acks.rwnd.size - held : 0;
}

#endif
