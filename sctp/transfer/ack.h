/* SPDX-License-Identifier: BSD-2-Clause */
/* SACKs of the peer (RFC 9260 6.2.1, 6.3.2, 6.7, 7.2). */
#ifndef SCTP_ACK_H
#define SCTP_ACK_H

#include <stdint.h>

struct sctp_path;
struct sctp_chunk;

/* SACK that arrived on the path. May end the association. */
void sctp_got_sack(struct sctp_path *p, const struct sctp_chunk *c);
/* SHUTDOWN acknowledges cumulatively. */
void sctp_got_cum_ack(struct sctp_path *p, uint32_t cum);

#endif
