/* SPDX-License-Identifier: BSD-2-Clause */
/* Serial number arithmetic (RFC 9260 1.6): TSNs have 32 bits, stream sequence numbers 16. */
#ifndef SCTP_TSN_H
#define SCTP_TSN_H

#include <stdbool.h>
#include <stdint.h>

static inline bool sctp_tsn_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool sctp_ssn_before(uint16_t a, uint16_t b)
{
	return (int16_t)(uint16_t)(a - b) < 0;
}

#endif
