/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the handshake on the side that began it: the peer's cookie, T1-init and T1-cookie
 * (RFC 9260 5.1). It exists from sctp_assoc_connect() until SCTP_UP or the end, so always in
 * COOKIE-WAIT and COOKIE-ECHOED.
 */
#ifndef SCTP_HANDSHAKE_H
#define SCTP_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/wire/param.h"

struct sctp_assoc;

/* Read-only but for handshake.c. */
struct sctp_handshake {
	uint8_t *cookie; /* of the peer, NULL before INIT ACK */
	uint32_t cookie_len;
	uint32_t report_len;
	uint8_t *report;  /* an ERROR chunk that goes with COOKIE ECHO, or NULL */
	uint64_t t1_us;   /* T1-init or T1-cookie, SCTP_NEVER: stopped */
	unsigned tries;   /* repetitions of the present chunk */
	unsigned stale;   /* Stale Cookie errors */
	unsigned refused; /* ABORTs that ask to wait */
};

/* False without memory. */
bool sctp_handshake_begin(struct sctp_assoc *a);
/* Frees the handshake, if there is one: the association is up, or has ended. */
void sctp_handshake_end(struct sctp_assoc *a);

/* INIT or COOKIE ECHO goes out for the first time. */
void sctp_handshake_start_t1(struct sctp_assoc *a);
void sctp_handshake_stop_t1(struct sctp_assoc *a);
/* T1 expired; paths: how many addresses take turns. False: it was repeated often enough. */
bool sctp_handshake_repeat(struct sctp_assoc *a, unsigned paths);
/* T1-init, T1-cookie; SCTP_NEVER without a handshake. */
uint64_t sctp_handshake_expiry(const struct sctp_assoc *a);

/* Keep the parts of INIT ACK that the packet with COOKIE ECHO returns: the cookie, and a report of
 * unrecognized parameters (3.2.2), which is left out if it is long or memory is missing. False
 * without memory for the cookie. */
bool sctp_handshake_keep_cookie(struct sctp_assoc *a, const struct sctp_init *i);
void sctp_handshake_keep_report(struct sctp_assoc *a, const struct sctp_init *i);
/* The cookie was stale: forgets it. False if that happened too often for another INIT. */
bool sctp_handshake_stale(struct sctp_assoc *a);
/* The peer asks to wait. False if it did so too often. */
bool sctp_handshake_may_wait(struct sctp_assoc *a);

#endif
