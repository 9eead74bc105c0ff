/* SPDX-License-Identifier: BSD-2-Clause */
/* DATA that arrives (RFC 9260 6.2). */
#ifndef SCTP_GOT_DATA_H
#define SCTP_GOT_DATA_H

#include <stdbool.h>

struct sctp_assoc;
struct sctp_path;
struct sctp_chunk;

/* DATA that arrived on the path: takes it, or drops it as if it were lost. */
void sctp_got_data(struct sctp_path *p, const struct sctp_chunk *c);
/* All chunks of a packet were handled: is a SACK due? */
void sctp_data_end(struct sctp_path *p, bool any, bool prompt);
/* No data may have arrived for some time (rest_us of the window has passed). */
void sctp_data_rest(struct sctp_assoc *a);

#endif
