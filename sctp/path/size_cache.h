/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packet sizes that passed to a peer while larger ones did not, so that the next association need
 * not search again. Bounded: the entry that expires first is replaced. An entry is a hint for
 * probes, never a size for data, so a wrong one only costs packet size for a while.
 */
#ifndef SCTP_SIZE_CACHE_H
#define SCTP_SIZE_CACHE_H

#include <stdint.h>

#include "sctp/sctp.h"

enum {
	SCTP_SIZE_ENTRIES = 32,
	SCTP_SIZE_KEEP_US = 600 * 1000000, /* as long as until the search of a path is repeated */
};

struct sctp_size_cache {
	struct sctp_size {
		struct sctp_flow to;
		uint32_t size;
		uint64_t until_us; /* 0: free */
	} entry[SCTP_SIZE_ENTRIES];
};

/* Packets of this size (UDP payload) pass from an address of ours to an address and UDP port.
 * Replaces the entry of that flow. */
void sctp_size_cache_put(struct sctp_size_cache *c, const struct sctp_flow *to, uint32_t size,
			 uint64_t now_us);

/* That size, or 0: not known, or too old. */
uint32_t sctp_size_cache_get(const struct sctp_size_cache *c, const struct sctp_flow *to,
			     uint64_t now_us);

#endif
