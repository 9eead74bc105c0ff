/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a file of packets in the format pcapng (draft-ietf-opsawg-pcapng): one section, one
 * interface with link type raw IP. Packets are SCTP in UDP; their IP and UDP headers are made from
 * the addresses.
 */
#ifndef CTL_PCAPNG_H
#define CTL_PCAPNG_H

#include <stdint.h>
#include <stdio.h>

#include "ipc/packet_ring.h"

enum {
	PCAPNG_MAX_HEADERS = 48, /* bytes of the headers of IPv6 and UDP */
	PCAPNG_MAX_PACKET = PACKET_RING_MAX + PCAPNG_MAX_HEADERS,
};

/* All return 0 or -errno of the stream, which keeps its error. */

/* The beginning. snap: bytes of an IP packet that are kept at most; comment: describes the
 * capture. */
int pcapng_begin(FILE *f, const char *program, const char *comment, uint32_t snap);

/* A packet, with the direction; lost: packets that were left out between this and the one before.
 * One whose addresses are not of one family is left out: 1. */
int pcapng_packet(FILE *f, const struct packet_head *h, const uint8_t *data, uint64_t lost);

/* The end: packets in the file, packets left out, and both as a comment. */
int pcapng_end(FILE *f, uint64_t packets, uint64_t lost, uint64_t time_ns);

#endif
