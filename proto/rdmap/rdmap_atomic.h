/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 7306: Immediate Data, and atomics at both ends. The rows of its opcodes in rdmap_rx.c call
 * these functions.
 *
 * An atomic uses the atomic instructions of the CPU on the mapped memory of the client, so it is
 * atomic toward other streams and local programs (5.3, 5.4).
 */
#ifndef PROTO_RDMAP_ATOMIC_H
#define PROTO_RDMAP_ATOMIC_H

#include <stdint.h>

#include "proto/rdmap/rdmap_ep.h"

/* Checks a complete Atomic Request in order of its message number: opcode, access, alignment.
 * PERR_NONE or the error.
 */
enum perr rdmap_atomic_check(const struct rdmap *ep, const uint8_t body[WIRE_ATOMIC_REQ_LEN]);

enum {
	RDMAP_ATOMIC_TRIES = 100000
}; /* bounds the loop against a program that keeps changing the cell */

/*
 * Executes the request in the slot, once, after checking it again. PERR_NONE: s->executed is set,
 * or the memory is not at hand yet (rdmap_ops.reach). Or an error with memory unchanged:
 * PERR_CATASTROPHIC if all ep->tries attempts failed, PERR_AGENT, PERR_MEMORY.
 */
enum perr rdmap_atomic_execute(const struct rdmap *ep, struct rdmap_ird_slot *s);

/* Writes the body of the response to an executed request. */
void rdmap_atomic_answer(const struct rdmap_ird_slot *s, uint8_t p[WIRE_ATOMIC_RESP_LEN]);

/*
 * Executes one operation on the cell; *ret_old is the previous value. False if the cell changed
 * during each of the `tries` attempts.
 */
bool rdmap_atomic_apply(uint64_t *cell, const struct wire_atomic_req *r, uint32_t tries,
			uint64_t *ret_old);

/* Place an Atomic Response for one of our requests at any time, deliver it in order. PERR_NONE
 * or the error. */
enum perr rdmap_atomic_place_resp(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
				  uint32_t avail);
enum perr rdmap_atomic_deliver_resp(struct rdmap *ep, const struct ssn_rec *c, bool *ret_wake_tx);

/* The same for Immediate Data, which takes a receive. */
enum perr rdmap_atomic_place_imm(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
				 uint32_t avail);
enum perr rdmap_atomic_deliver_imm(struct rdmap *ep, const struct ssn_rec *c);

#endif
