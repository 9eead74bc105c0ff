/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The State Cookie (RFC 9260 5.1.3): the parameters of an association, authenticated with a key
 * that changes, so that a responder keeps no state for an INIT.
 */
#ifndef SCTP_COOKIE_H
#define SCTP_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/wire/addr.h"
#include "sctp/sctp.h"

struct sctp_cookie {
	uint64_t created_us;
	uint32_t own_tag, peer_tag, own_tsn, peer_tsn, peer_rwnd;
	uint32_t tie_own, tie_peer; /* tie-tags, 0 = there was no association */
	uint16_t own_port, peer_port, out_streams, in_streams;
	struct sctp_flow from; /* source of INIT, which INIT ACK went to; our address */
	bool all_local;        /* INIT ACK listed all addresses of the listener */
	bool has_adaptation, takes_batches;
	bool zero_checksum; /* the peer takes packets without checksum */
	uint32_t adaptation;
	unsigned naddrs; /* of the peer, with the source */
	struct sctp_addr addr[SCTP_MAX_PATHS];
};

enum {
	SCTP_COOKIE_FIXED = 88, /* bytes on the wire without addresses */
	SCTP_COOKIE_ADDR = 20,  /* of each address */
	SCTP_COOKIE_MAX = SCTP_COOKIE_FIXED + SCTP_COOKIE_ADDR * SCTP_MAX_PATHS,
	SCTP_COOKIE_KEY_US = 60 * 1000000,
};

/* A key signs for SCTP_COOKIE_KEY_US, or for the life of a cookie if that is longer, and is valid
 * for at least twice as long: each cookie can be opened for its whole life. */
struct sctp_cookie_keys {
	uint64_t key[2][2]; /* the current one, the previous one */
	uint64_t since_us;
	bool previous;
};

/* Draws the first key with cfg->random. */
void sctp_cookie_keys_init(struct sctp_cookie_keys *k, const struct sctp_config *cfg,
			   uint64_t now_us);

/* Signs; draws a new key when the current one is old. Returns the length, at most SCTP_COOKIE_MAX,
 * a multiple of 4. c->naddrs is at most SCTP_MAX_PATHS. */
uint32_t sctp_cookie_seal(struct sctp_cookie_keys *k, const struct sctp_config *cfg,
			  const struct sctp_cookie *c, uint64_t now_us,
			  uint8_t ret[SCTP_COOKIE_MAX]);

/* False if it is not ours, was changed, or its key is gone. Whether it has expired is for the
 * caller to see (created_us). The comparison takes the same time for every wrong MAC. */
bool sctp_cookie_open(const struct sctp_cookie_keys *k, const uint8_t *p, uint32_t len,
		      struct sctp_cookie *ret);

#endif
