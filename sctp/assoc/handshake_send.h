/* SPDX-License-Identifier: BSD-2-Clause */
/* INIT and COOKIE ECHO are sent. */
#ifndef SCTP_HANDSHAKE_SEND_H
#define SCTP_HANDSHAKE_SEND_H

#include <stdint.h>

#include "sctp/base/assoc.h"
#include "sctp/wire/param.h"

/* The fields of our INIT and INIT ACK, covered or not. */
struct sctp_init sctp_own_init(const struct sctp *s, bool covered, uint32_t tag, uint32_t tsn);
/* The cover replaces the checksum in packets to the sender of that (RFC 9653). */
bool sctp_init_takes_zero_checksum(const struct sctp_init *i, bool covered);
/* Lists our addresses if there are several; else the source of the packet says it. */
void sctp_list_addrs(const struct sctp *s, struct sctp_init *i, const uint8_t *local, unsigned n,
		     const struct sctp_flow *to);
void sctp_send_init(struct sctp_assoc *a);
void sctp_send_cookie_echo(struct sctp_assoc *a);

#endif
