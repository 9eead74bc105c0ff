/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 7306: Immediate Data, and atomics at both ends. The rows of its opcodes stand in
 * rdmap_rx.c like all others; this is what they call.
 *
 * An atomic works on the client's mapped memory with the machine's own atomic instructions,
 * so it excludes those of all other streams and those of local programs (5.3, 5.4).
 */
#ifndef PROTO_RDMAP_ATOMIC_H
#define PROTO_RDMAP_ATOMIC_H

#include <stdint.h>

#include "proto/rdmap_ep.h"

/* An Atomic Request, whole and in its turn: opcode, access, alignment. PERR_NONE or an error. */
enum perr rdmap_atomic_check(const struct rdmap *ep, const uint8_t body[WIRE_ATOMIC_REQ_LEN]);

enum { RDMAP_ATOMIC_TRIES = 100000 }; /* against a program that changes the cell without end */

/*
 * Carries out the request in the slot, unless that was done, after checking it anew.
 * PERR_NONE; or an error with memory unchanged: PERR_CATASTROPHIC if others never let us.
 */
enum perr rdmap_atomic_execute(const struct rdmap *ep, struct rdmap_ird_slot *s);

/* Writes the body of the answer to a request that was carried out. */
void rdmap_atomic_answer(const struct rdmap_ird_slot *s, uint8_t p[WIRE_ATOMIC_RESP_LEN]);

/*
 * One operation on the cell: *ret_old is what was there before. False if others changed it
 * each time it was tried, `tries` times.
 */
bool rdmap_atomic_apply(uint64_t *cell, const struct wire_atomic_req *r, uint32_t tries,
			uint64_t *ret_old);

/* An Atomic Response for one of our requests: placed ahead of its turn, delivered in it. */
enum perr rdmap_atomic_place_resp(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
				  uint32_t avail);
enum perr rdmap_atomic_deliver_resp(struct rdmap *ep, const struct ssn_rec *c, bool *ret_news);

/* Immediate Data, which takes a receive: likewise. */
enum perr rdmap_atomic_place_imm(struct rdmap *ep, const struct ssn_rec *c, const uint8_t *body,
				 uint32_t avail);
enum perr rdmap_atomic_deliver_imm(struct rdmap *ep, const struct ssn_rec *c);

#endif
