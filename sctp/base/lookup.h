/* SPDX-License-Identifier: BSD-2-Clause */
/* Which association, and which listener, a packet is for. */
#ifndef SCTP_LOOKUP_H
#define SCTP_LOOKUP_H

#include <stdint.h>

#include "sctp/base/path.h"

/* The path of a packet from this flow with these SCTP ports; NULL: none. */
struct sctp_path *sctp_lookup(struct sctp *s, const struct sctp_flow *from, uint16_t own_port,
			      uint16_t peer_port);
void sctp_lookup_add(struct sctp_path *p);
void sctp_lookup_del(struct sctp_path *p);
/* A valid packet arrived from there: if the address is the path's, the path takes its UDP port and
 * our address. */
void sctp_learn(struct sctp_path *p, const struct sctp_flow *from);
/* The listener for packets to this port and address of ours, or NULL. */
struct sctp_listener *sctp_lookup_listener(struct sctp *s, uint16_t port, uint8_t local);

#endif
