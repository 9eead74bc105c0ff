/* SPDX-License-Identifier: BSD-2-Clause */
/* SHUTDOWN, ABORT and ERROR that arrive (RFC 9260 9.1, 9.2, 3.3.10). */
#ifndef SCTP_TEARDOWN_H
#define SCTP_TEARDOWN_H

struct sctp_path;
struct sctp_chunk;

/* SHUTDOWN: acknowledges as well. */
void sctp_got_shutdown(struct sctp_path *p, const struct sctp_chunk *c);
/* Ends the association, or lets it wait (cause 14). */
void sctp_got_abort(struct sctp_path *p, const struct sctp_chunk *c);
/* Only a Stale Cookie has consequences. */
void sctp_got_error(struct sctp_path *p, const struct sctp_chunk *c);

#endif
