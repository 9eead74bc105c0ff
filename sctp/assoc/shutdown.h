/* SPDX-License-Identifier: BSD-2-Clause */
/* SHUTDOWN and SHUTDOWN ACK that are sent, with T2-shutdown and the guard T5 (RFC 9260 9.2). The
 * record: struct sctp_shutdown. */
#ifndef SCTP_SHUTDOWN_H
#define SCTP_SHUTDOWN_H

#include <stdbool.h>

struct sctp_assoc;

/* No timer runs. */
void sctp_shutdown_init(struct sctp_assoc *a);
/* The user shuts down: T5 starts. */
void sctp_shutdown_guard(struct sctp_assoc *a);
/* These start T2. */
void sctp_send_shutdown(struct sctp_assoc *a);
void sctp_send_shutdown_ack(struct sctp_assoc *a);
/* A packet arrived in SHUTDOWN-SENT; data: it contains DATA. */
void sctp_shutdown_answered(struct sctp_assoc *a, bool data);
/* Stops T2. */
void sctp_shutdown_stop(struct sctp_assoc *a);

#endif
