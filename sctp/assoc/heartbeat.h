/* SPDX-License-Identifier: BSD-2-Clause */
/* HEARTBEAT and its answer (RFC 9260 8.3, 5.4). */
#ifndef SCTP_HEARTBEAT_H
#define SCTP_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/base/path.h"
#include "sctp/wire/chunk.h"

/* Its answer has an RTO. Goes to the path even if that is not confirmed. */
void sctp_send_heartbeat(struct sctp_path *p);
/* The HEARTBEAT of a probe of the path MTU. */
void sctp_put_probe(struct sctp_writer *w, const struct sctp_path *p, uint32_t size);
/* Measures the round trip, once: no error without an answer. */
void sctp_measure_rtt(struct sctp_path *p);
void sctp_got_heartbeat(struct sctp_path *p, const struct sctp_chunk *c);
void sctp_got_heartbeat_ack(struct sctp_path *p, const struct sctp_chunk *c);
/* A heartbeat is due, or the time of the last one is over. False if the association ended. */
bool sctp_heartbeat_due(struct sctp_path *p, uint64_t now);

#endif
