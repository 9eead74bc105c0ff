/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of a datagram: the peer's address and port, and which of our addresses. */
#ifndef LLP_DTLS_FLOW_H
#define LLP_DTLS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

struct dtls_flow {
	uint8_t ip[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t scope; /* interface of a link-local IPv6 address, else 0 */
	uint16_t port;  /* of the peer's UDP */
	uint16_t local; /* index of our address */
};

/* No padding: a flow is compared and hashed as bytes. */
_Static_assert(sizeof(struct dtls_flow) == 24, "has padding");

#endif
