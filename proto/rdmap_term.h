/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terminate (RFC 5040 4.8, 7.1): the first error of a stream, told to the peer or
 * told by it. Either way the endpoint receives nothing afterwards and everything that was
 * taken is completed.
 */
#ifndef PROTO_RDMAP_TERM_H
#define PROTO_RDMAP_TERM_H

#include <stdint.h>

#include "proto/perr.h"
#include "proto/rdmap_ep.h"

/*
 * An error of ours or of the peer, to be told with a Terminate; in raw mode to the ULP alone,
 * which may then have a last word. c: the segment to blame, or NULL. request: the body of the Read
 * or Atomic Request that c completed, for errors of what it asks for, else NULL.
 * A Terminate is never answered with one. Sets ep->at and ep->why. Later errors change nothing.
 */
void rdmap_term_fail(struct rdmap *ep, enum perr perr, const struct ssn_rec *c,
		     const uint8_t *request);

/* The peer's Terminate in ep->term_in, of len bytes. PERR_NONE, or PERR_RDMAP_LENGTH for a runt. */
enum perr rdmap_term_received(struct rdmap *ep, uint32_t len);

#endif
