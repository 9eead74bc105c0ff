/* SPDX-License-Identifier: BSD-2-Clause */
/* INIT and INIT ACK (RFC 9260 3.3.2, 3.3.3) and their parameters. */
#ifndef SCTP_PARAM_H
#define SCTP_PARAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/wire/addr.h"
#include "sctp/wire/chunk.h"
#include "sctp/sctp.h"

enum sctp_param_type {
	SCTP_PARAM_HEARTBEAT = 1,
	SCTP_PARAM_IPV4 = 5,
	SCTP_PARAM_IPV6 = 6,
	SCTP_PARAM_COOKIE = 7,
	SCTP_PARAM_UNRECOGNIZED = 8,
	SCTP_PARAM_PRESERVATIVE = 9,
	SCTP_PARAM_HOST_NAME = 11,
	SCTP_PARAM_FAMILIES = 12,
	SCTP_PARAM_ECN = 0x8000,
	SCTP_PARAM_ZERO_CHECKSUM = 0x8001, /* RFC 9653 */
	SCTP_PARAM_PAD = 0x8005,           /* RFC 4820 */
	SCTP_PARAM_BATCHES = 0xb5dd,    /* ours: the sender takes GSO batches. Others skip it: the
					   upper bits are 10. Its value is empty. */
	SCTP_PARAM_ADAPTATION = 0xc006, /* RFC 5061 */
};

/* A method that protects packets in place of their checksum (RFC 9653 section 8.2). */
enum { SCTP_DETECTED_BY_DTLS = 1 };

enum { SCTP_MAX_UNKNOWN = 16 }; /* unrecognized parameters that are reported */

struct sctp_init {
	uint32_t tag, a_rwnd, tsn;
	uint16_t out_streams, in_streams; /* number of outbound streams, maximum inbound */
	unsigned naddrs; /* listed; further ones than SCTP_MAX_PATHS - 1 are ignored */
	struct sctp_addr addr[SCTP_MAX_PATHS]; /* each once; scope 0 */
	bool has_adaptation, takes_batches;
	bool has_zero_checksum; /* packets without checksum are taken, if something else protects
				   them: zero_checksum */
	uint32_t adaptation, zero_checksum;
	const uint8_t *cookie; /* INIT ACK only; NULL: none */
	uint32_t cookie_len;
	/* Supported Address Types. Not listed: the sender takes both. */
	bool families_listed, takes_v4, takes_v6;
	unsigned nunknown;                           /* to report: whole parameters */
	struct sctp_chunk unknown[SCTP_MAX_UNKNOWN]; /* p and len alone */
};

enum sctp_init_result {
	SCTP_INIT_OK,
	SCTP_INIT_MALFORMED,   /* too short, or a parameter's length is wrong: drop it */
	SCTP_INIT_BAD_TAG,     /* initiate tag 0 */
	SCTP_INIT_BAD_STREAMS, /* 0 streams in one direction */
	SCTP_INIT_BAD_RWND,    /* a_rwnd below 1500 */
	SCTP_INIT_NO_COOKIE,   /* INIT ACK without State Cookie */
	SCTP_INIT_HOST_NAME,   /* a Host Name Address parameter, now in unknown[0]: abort */
};

/* Reads INIT or INIT ACK. The lists stop at a parameter that asks to stop; entries before it stay.
 * Unusable addresses (multicast, 0, broadcast) are left out; v4-mapped IPv6 addresses count as
 * IPv4. Of a repeated parameter, the first counts. A parameter that RFC 9260 defines for other
 * chunks is skipped. The fixed fields are valid with every result but MALFORMED; if several faults
 * are present, the first in the order of the enumeration is returned, except that faults of the
 * fixed fields precede those of the parameters. The pointers refer to the chunk. */
enum sctp_init_result sctp_init_get(const struct sctp_chunk *c, struct sctp_init *ret);

/* Writes INIT or INIT ACK (type) with our parameters: the addresses (none for 0), the adaptation
 * indication, BATCHES, ZERO_CHECKSUM, in INIT the Supported Address Types that takes_v4 and
 * takes_v6 say (none if both are false), in INIT ACK the cookie and the unrecognized parameters of
 * the peer's INIT, as far as they fit. */
void sctp_init_put(struct sctp_writer *w, uint8_t type, const struct sctp_init *i,
		   const struct sctp_chunk *unknown, unsigned nunknown);

#endif
