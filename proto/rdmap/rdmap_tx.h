/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages that an endpoint sends: its own requests, responses, a Terminate. One message at a
 * time, one segment for each call.
 */
#ifndef PROTO_RDMAP_TX_H
#define PROTO_RDMAP_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/rdmap/rdmap_ep.h"

struct rdmap_seg {
	uint8_t *head; /* in: room for WIRE_HEAD_MAX - WIRE_SSN_LEN bytes */
	size_t head_len;
	struct span *body; /* in: room for SGL_MAX */
	unsigned nbody;
	uint32_t len;  /* head and body */
	uint32_t room; /* in: as for ddp_tx_cut() */
};

enum {
	RDMAP_TX_NONE,
	RDMAP_TX_SEGMENT,
	RDMAP_TX_WAIT,   /* a message was begun, but its memory is not at hand: rdmap_ops.reach */
	RDMAP_TX_YIELD,  /* many requests without a message were taken: others take their turn */
	RDMAP_TX_FAILED, /* the memory of a partly sent message is no longer accessible, or a
			    request ends the session: see ep->at */
};

/* Makes the next segment; the same one until rdmap_tx_taken(). Returns an RDMAP_TX_ value. */
int rdmap_tx_next(struct rdmap *ep, uint32_t mulpdu, struct rdmap_seg *seg);

/* The transport accepted that segment, which was message number `count` of the association. */
void rdmap_tx_taken(struct rdmap *ep, uint32_t count);

/* True while a message is being sent. */
bool rdmap_tx_busy(const struct rdmap *ep);

/* True if that segment is the last one of a request that a program waits for until the peer has
 * acknowledged it. */
bool rdmap_tx_awaited(const struct rdmap *ep);

/* True if that segment is of a message that takes a receive, which has the number *ret_msn. */
bool rdmap_tx_takes_receive(const struct rdmap *ep, uint32_t *ret_msn);

/* After rdmap_stop_after(): true if the last requests have completed: they were sent, answered and,
 * with RDMAP_ACKED, acknowledged. Also true if they cannot begin: the response that they wait for
 * will not arrive, or an error was reported. */
bool rdmap_tx_spent(const struct rdmap *ep);

/* True if rdmap_tx_next() makes a Terminate next. */
bool rdmap_tx_ending(const struct rdmap *ep);

#endif
