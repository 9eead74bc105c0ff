/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The acknowledgement that is due to the peer, and when it has to be sent (RFC 9260 6.2): after
 * some packets with DATA or some time, and at once if the peer has to know something.
 */
#ifndef SCTP_ACKS_H
#define SCTP_ACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/receive/rwnd.h"
#include "sctp/receive/tsn_map.h"
#include "sctp/sctp.h"

/* Read-only but for acks.c. */
struct sctp_acks {
	struct sctp_rwnd rwnd; /* the window that they advertise; read-only but for rwnd.c */
	unsigned packets;      /* with DATA since the last SACK */
	uint32_t bytes;        /* of these */
	uint32_t advertised;   /* a_rwnd of the last SACK, or of INIT */
	bool now;              /* the next output has a SACK */
	bool prompt;           /* the present packet is acknowledged at once */
	bool first;            /* no DATA has arrived: the first is acknowledged at once (5.1) */
	uint8_t path;          /* to which it goes */
	uint64_t due_us;       /* otherwise at that time, or SCTP_NEVER */
};

/* No SACK is due. */
void sctp_acks_init(struct sctp_acks *k);
/* INIT or INIT ACK advertised this window. */
void sctp_acks_start(struct sctp_acks *k, uint32_t advertised);
/* The present packet has a chunk that the peer has to know about: it was dropped, or is behind a
 * gap. */
void sctp_acks_hurry(struct sctp_acks *k);
/* Payload bytes of a chunk were taken. */
void sctp_acks_took(struct sctp_acks *k, uint32_t bytes);
/* The end of a packet with DATA. window: its size while no data waits for delivery. path: the one
 * to acknowledge on. True if a SACK is to be sent at once. */
bool sctp_acks_packet(struct sctp_acks *k, const struct sctp_tsn_map *m,
		      const struct sctp_config *cfg, uint8_t path, bool prompt, uint64_t now);
/* due_us has passed. */
void sctp_acks_expired(struct sctp_acks *k);
/* A SACK with this window is written. */
void sctp_acks_sent(struct sctp_acks *k, uint32_t advertised);

#endif
