/* SPDX-License-Identifier: BSD-2-Clause */
/* IP addresses without a system header. IPv4 is kept as ::ffff:a.b.c.d (RFC 9260 3.3.2.1: both
 * families may belong to one association), so that one comparison serves both. */
#ifndef SCTP_ADDR_H
#define SCTP_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct sctp_addr {
	uint8_t ip[16];
	uint32_t scope; /* interface of a link-local IPv6 address, else 0 */
};

/* The ends of a packet: our address (an index into sctp_config.local), the peer's address, and the
 * peer's UDP port (RFC 6951), in host byte order. Covered: a layer below protects the packet and
 * knows who sent it, as DTLS does (RFC 8261). No packet without a cover belongs to an association
 * with one, and the other way round. */
struct sctp_flow {
	struct sctp_addr peer;
	uint16_t udp_port;
	uint8_t local;
	bool covered;
};

static inline struct sctp_addr sctp_addr_v4(const uint8_t ip[4])
{
	struct sctp_addr a = {.ip = {[10] = 0xff, [11] = 0xff}};

	memcpy(a.ip + 12, ip, 4);
	return a;
}

static inline bool sctp_addr_is_v4(const struct sctp_addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(a->ip, mapped, sizeof(mapped)) == 0;
}

static inline bool sctp_addr_equal(const struct sctp_addr *a, const struct sctp_addr *b)
{
	return memcmp(a->ip, b->ip, sizeof(a->ip)) == 0 && a->scope == b->scope;
}

static inline bool sctp_flow_equal(const struct sctp_flow *a, const struct sctp_flow *b)
{
	return sctp_addr_equal(&a->peer, &b->peer) && a->udp_port == b->udp_port &&
	       a->local == b->local && a->covered == b->covered;
}

/* False for addresses that no peer may list: any, multicast, broadcast (RFC 9260 5.1.2, 8.4 (1)).
 */
bool sctp_addr_unicast(const struct sctp_addr *a);

/* 127.0.0.0/8 and ::1. */
bool sctp_addr_loopback(const struct sctp_addr *a);

/* fe80::/10 and 169.254.0.0/16: valid on one link only. */
bool sctp_addr_link_local(const struct sctp_addr *a);

/* False if an address is unusable for a host with the address `by`: loopback and link-local
 * addresses are for hosts that use such an address themselves. */
bool sctp_addr_reachable(const struct sctp_addr *addr, const struct sctp_addr *by);

#endif
