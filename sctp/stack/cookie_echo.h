/* SPDX-License-Identifier: BSD-2-Clause */
/* COOKIE ECHO and COOKIE ACK that arrive: RFC 9260 5.1.4, 5.1.5, 5.2.4, 5.2.6. */
#ifndef SCTP_COOKIE_ECHO_H
#define SCTP_COOKIE_ECHO_H

struct sctp;
struct sctp_flow;
struct sctp_head;
struct sctp_chunk;
struct sctp_path;

/* COOKIE ACK: the association is up. */
void sctp_got_cookie_ack(struct sctp_path *p);
/* COOKIE ECHO. The path of the association for the rest of the packet; NULL: drop it. */
struct sctp_path *sctp_got_cookie_echo(struct sctp *s, const struct sctp_flow *from,
				       const struct sctp_head *head, const struct sctp_chunk *c,
				       struct sctp_path *p);
/* A Stale Cookie error. */
void sctp_got_stale_cookie(struct sctp_path *p);

#endif
