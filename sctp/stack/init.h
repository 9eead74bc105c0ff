/* SPDX-License-Identifier: BSD-2-Clause */
/* INIT and INIT ACK that arrive: RFC 9260 5.1, 5.2.1, 5.2.2, 5.2.3. */
#ifndef SCTP_INIT_H
#define SCTP_INIT_H

struct sctp;
struct sctp_flow;
struct sctp_head;
struct sctp_chunk;
struct sctp_path;

/* INIT, answered with INIT ACK or ABORT. p: the path that it arrived on, NULL: of no
 * association. */
void sctp_got_init(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		   const struct sctp_chunk *c, struct sctp_path *p);
/* INIT ACK. from: the peer may send it from another address than p. */
void sctp_got_init_ack(struct sctp_path *p, const struct sctp_flow *from,
		       const struct sctp_head *head, const struct sctp_chunk *c);
/* The path that an INIT ACK from an unknown address belongs to, by the addresses that it lists
 * (5.1.2), or NULL. */
struct sctp_path *sctp_init_ack_path(struct sctp *s, const struct sctp_flow *from,
				     const struct sctp_head *head, const struct sctp_chunk *c);

#endif
