/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks of RFC 5041 7.1 for an arriving segment, and the reassembly of untagged messages. All
 * functions return PERR_NONE or the error to raise.
 */
#ifndef PROTO_DDP_RX_H
#define PROTO_DDP_RX_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ddp/perr.h"
#include "proto/ddp/ssn.h"
#include "proto/ddp/stag.h"
#include "proto/ddp/wire.h"

/* Payload bytes of a segment. */
static inline uint32_t ddp_rx_payload(const struct ssn_rec *c)
{
	return (uint32_t)c->len - c->hlen;
}

/* Checks DDP version and queue number. Valid queue numbers are 0 .. queues - 1. */
enum perr ddp_rx_header(const struct wire_ddp *h, uint32_t queues);

/*
 * The access check of tagged placement: len bytes at tagged offset `to`, with the given rights.
 * *ret_p is their address, to be used at once. Zero bytes are not checked (5.2), and *ret_p is
 * untouched.
 */
enum perr ddp_rx_tagged(const struct stag_table *stags, const struct stag_accessor *accessor,
			uint32_t rights, uint32_t stag, uint64_t to, uint32_t len, uint8_t **ret_p);

/*
 * Checks a message number: `next` is the oldest message not delivered, and `buffers` messages from
 * it on have a buffer.
 */
enum perr ddp_rx_msn(uint32_t msn, uint32_t next, uint32_t buffers);

/* Checks that bytes [mo, mo + len) are inside a buffer of size bytes. */
enum perr ddp_rx_offset(uint32_t mo, uint32_t len, uint64_t size);

/* The offset after the last byte of an untagged segment; for the last segment, the length of the
 * message. */
static inline uint64_t ddp_rx_end(const struct ssn_rec *c)
{
	return (uint64_t)c->ddp.mo + ddp_rx_payload(c);
}

enum {
	DDP_GAPS_RANGES = 4, /* separate ranges of one message */
	DDP_GAPS_MAX = 4,    /* messages of one endpoint that have gaps at the same time */
};

/* Bytes [from, to) of a message. */
struct ddp_range {
	uint32_t from, to;
};

/* The ranges of a message with gaps: ascending, none touches the next. n 0: not in use. */
struct ddp_gaps {
	struct ddp_range range[DDP_GAPS_RANGES];
	uint8_t n;
};

/* An untagged message whose segments are being delivered. Zeroed before its first. */
struct ddp_gather {
	struct ddp_range range; /* bytes that have arrived, while they are one range */
	uint8_t gaps;           /* else: 1 + index into the endpoint's struct ddp_gaps */
	uint8_t opcode;         /* of the first segment */
	bool begun;
};

/*
 * Adds a segment of an untagged message, in order of DDP-SSN. gaps: DDP_GAPS_MAX entries that all
 * messages of the endpoint share; a message whose offsets ascend or descend needs none. PERR_NONE
 * with *ret_whole: true for the last segment. PERR_MO if a byte arrives twice, if the last segment
 * leaves a gap, or if more ranges or gaps are open than there is room for; RFC 5041 5.2 leaves this
 * check to us. PERR_OPCODE if the opcode changes within the message.
 */
enum perr ddp_rx_gather(struct ddp_gather *g, struct ddp_gaps *gaps, const struct ssn_rec *c,
			bool *ret_whole);

#endif
