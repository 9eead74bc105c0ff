/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arriving segments of an endpoint: placed at once, whatever their order, and
 * delivered in order of DDP-SSN (RFC 5041 5.3, 5.4; RFC 5040 5). rdmap_rx.c has one table
 * row for each opcode.
 */
#ifndef PROTO_RDMAP_RX_H
#define PROTO_RDMAP_RX_H

#include <stdint.h>

#include "proto/rdmap_ep.h"

/*
 * Examines a segment in full and tells where its payload goes: *ret_n spans in dst, 0 if
 * there is nothing for the caller to move. body: the payload, of which avail bytes are
 * readable; small bodies are copied from it. Changes no state that delivery would: the
 * result is kept and raised when its turn comes. Returns PERR_NONE or the error.
 */
enum perr rdmap_rx_place(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
			 uint32_t avail, struct span dst[SGL_MAX], unsigned *ret_n);

enum {
	RDMAP_RX_DONE,
	RDMAP_RX_NEWS,       /* there may be something to send now that could not be before */
	RDMAP_RX_FAILED,     /* the first error: ep->at tells it, a Terminate may wait to be sent */
	RDMAP_RX_TERMINATED, /* the peer's Terminate: ep->at tells it */
	RDMAP_RX_REPORTED,   /* raw: the first error: ep->at tells it, the ULP decides */
};

/* The turn of a segment that was placed, or found wrong (c->perr). Returns an RDMAP_RX_ value. */
int rdmap_rx_deliver(struct rdmap *ep, const struct ssn_rec *c);

#endif
