/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cutting a message into DDP segments (RFC 5041 5.2): one header for all of them, an offset
 * that grows as the transport takes them. The payload itself is never seen here.
 */
#ifndef PROTO_DDP_TX_H
#define PROTO_DDP_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

struct ddp_tx {
	struct wire_ddp ddp; /* header of the first segment; L is set where it belongs */
	uint32_t len;        /* payload of the message */
	uint32_t off;        /* payload in segments that the transport took */
	uint32_t cut;        /* payload of each segment but the last; 0: not chosen yet */
	uint32_t now;        /* payload of the segment made last */
};

/* Begins a message: ddp is its header, with TO or MO of its first byte. */
void ddp_tx_begin(struct ddp_tx *m, const struct wire_ddp *ddp, uint32_t len);

/*
 * Payload of the next segment, at offset m->off; mulpdu bounds header and payload. A
 * message is cut into equal parts rather than "full, full, rest", because transports send
 * runs of equal packets as one. The answer is the same until ddp_tx_taken(), unless mulpdu
 * has shrunk.
 */
uint32_t ddp_tx_cut(struct ddp_tx *m, uint32_t mulpdu);

/* Writes the header of the segment that ddp_tx_cut() chose. Returns its length. */
size_t ddp_tx_head(const struct ddp_tx *m, uint8_t *p);

/* True if that segment is the last of its message. */
bool ddp_tx_last(const struct ddp_tx *m);

/* The transport took that segment. */
void ddp_tx_taken(struct ddp_tx *m);

#endif
