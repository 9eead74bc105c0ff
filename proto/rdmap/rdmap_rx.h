/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arriving segments of an endpoint: placed at once in any order and delivered in order of DDP-SSN
 * (RFC 5041 5.3, 5.4; RFC 5040 5). rdmap_rx.c has a table with one row for each opcode.
 */
#ifndef PROTO_RDMAP_RX_H
#define PROTO_RDMAP_RX_H

#include <stdint.h>

#include "proto/rdmap/rdmap_ep.h"

/*
 * Examines a segment and finds its placement target: *ret_n spans in dst, 0 if the caller has no
 * bytes to move. body: the payload, of which avail bytes are readable; requests and responses are
 * copied from it. State that belongs to delivery does not change. Returns PERR_NONE or the error,
 * which the caller stores in c->perr for rdmap_rx_deliver().
 */
enum perr rdmap_rx_place(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
			 uint32_t avail, struct span dst[SGL_MAX], unsigned *ret_n);

enum {
	RDMAP_RX_DONE,
	RDMAP_RX_WAKE_TX,    /* more may be sent now than before */
	RDMAP_RX_FAILED,     /* the first error, see ep->at; a Terminate may have to be sent */
	RDMAP_RX_TERMINATED, /* the peer's Terminate, see ep->at */
	RDMAP_RX_REPORTED,   /* raw: the first error, see ep->at; the ULP decides */
};

/* Delivers a segment in order: one that was placed, or raises its error (c->perr). Returns an
 * RDMAP_RX_ value. */
int rdmap_rx_deliver(struct rdmap *ep, const struct ssn_rec *c);

#endif
