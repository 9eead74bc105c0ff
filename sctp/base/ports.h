/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports of associations of ours. */
#ifndef SCTP_PORTS_H
#define SCTP_PORTS_H

#include <stdint.h>

#include "sctp/base/assoc.h"

/* Gives an association its port; it counts until sctp_assoc_leave_port(). */
void sctp_assoc_use_port(struct sctp_assoc *a, uint16_t port);
void sctp_assoc_leave_port(struct sctp_assoc *a);
/* A port of ours that no association and no listener uses; 0: none. */
uint16_t sctp_free_port(struct sctp *s);

#endif
