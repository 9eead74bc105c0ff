/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terminate (RFC 5040 4.8, 7.1): the first error of a stream, sent to the peer or received from it.
 * In both cases the endpoint stops receiving and completes all requests that were taken.
 */
#ifndef PROTO_RDMAP_TERM_H
#define PROTO_RDMAP_TERM_H

#include <stdint.h>

#include "proto/ddp/perr.h"
#include "proto/rdmap/rdmap_ep.h"

/*
 * Handles an error, ours or the peer's: prepares a Terminate; in raw mode only the ULP is informed
 * and may send one more message. c: the segment at fault, or NULL. request: the body of the Read or
 * Atomic Request that c completed, if the error is in the request, else NULL. A Terminate is never
 * answered with a Terminate. Sets ep->at and ep->reason. Later errors are ignored.
 */
void rdmap_term_fail(struct rdmap *ep, enum perr perr, const struct ssn_rec *c,
		     const uint8_t *request);

/* Handles the peer's Terminate in ep->term_in, of len bytes. PERR_NONE, or PERR_RDMAP_LENGTH if it
 * is too short. */
enum perr rdmap_term_received(struct rdmap *ep, uint32_t len);

#endif
