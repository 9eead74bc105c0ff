/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segmentation of a message (RFC 5041 5.2): one header for all segments, and an offset that grows
 * as the transport accepts them. The payload itself is not touched here.
 */
#ifndef PROTO_DDP_TX_H
#define PROTO_DDP_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ddp/wire.h"

#define DDP_TX_NO_ROOM UINT32_MAX

struct ddp_tx {
	struct wire_ddp ddp; /* header of the first segment; L is set in the last one */
	uint32_t len;        /* payload of the message */
	uint32_t off;        /* payload in segments that the transport accepted */
	uint32_t cut;        /* payload of each segment but the last; 0: not determined yet */
	uint32_t now;        /* payload of the current segment */
};

/* Begins a message with so much payload. Returns its header, to be filled in where it is, with TO
 * or MO of the first byte: both versions are 1, all else is 0. */
struct wire_ddp *ddp_tx_begin(struct ddp_tx *m, uint32_t len);

/*
 * Returns the payload length of the next segment, at offset m->off; mulpdu limits header and
 * payload. A message that fits into one segment is not cut.
 *
 * room: the header and payload that fill the packet which the transport prepares, DDP_TX_NO_ROOM if
 * it does not know. With it the segments of a long message fill packets: the first one the rest of
 * that packet, unless too little is left. Without it a message is cut into equal parts rather than
 * "full, full, rest", because transports send runs of equal packets as one. Then the result is the
 * same until ddp_tx_taken(), unless mulpdu shrinks.
 */
uint32_t ddp_tx_cut(struct ddp_tx *m, uint32_t mulpdu, uint32_t room);

/* Writes the header of the segment that ddp_tx_cut() chose. Returns its length. */
size_t ddp_tx_head(const struct ddp_tx *m, uint8_t *p);

/* True if that segment is the last of its message. */
bool ddp_tx_last(const struct ddp_tx *m);

/* The transport accepted that segment. */
void ddp_tx_taken(struct ddp_tx *m);

#endif
