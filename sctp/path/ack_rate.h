/* SPDX-License-Identifier: BSD-2-Clause */
/* How many bytes of a path are acknowledged per second, for those who watch it: the mean of the
 * last tenth of a second, or of two round trips if they are longer. */
#ifndef SCTP_ACK_RATE_H
#define SCTP_ACK_RATE_H

#include <stdint.h>

struct sctp_ack_rate {
	uint64_t rate; /* of the last period that ended */
	uint64_t bytes, since_us;
};

/* A SACK acknowledged so many bytes. */
void sctp_ack_rate_add(struct sctp_ack_rate *r, uint32_t bytes, uint32_t srtt_us, uint64_t now_us);

/* Bytes per second. It falls when acknowledgements end. */
uint64_t sctp_ack_rate_now(const struct sctp_ack_rate *r, uint32_t srtt_us, uint64_t now_us);

#endif
