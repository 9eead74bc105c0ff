/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of DTLS 1.2 after a handshake (RFC 6347 4.1) with AES-GCM (RFC 5288). OpenSSL makes
 * the handshake and hands its keys over; from then on it neither seals nor opens a record of the
 * connection, so one counter numbers all records and no nonce is used twice.
 *
 * The explicit part of a nonce is epoch and sequence number. Callers check lengths before.
 */
#ifndef LLP_DTLS_RECORD_H
#define LLP_DTLS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llp/dtls/dtls_window.h"
#include "util/span.h"

enum {
	DTLS_HEAD = 13,
	DTLS_NONCE = 8,
	DTLS_TAG = 16,
	DTLS_OVERHEAD = DTLS_HEAD + DTLS_NONCE + DTLS_TAG,
	DTLS_MAX_PLAIN = 16384, /* bytes that a record carries */
	DTLS_MAX_RECORD = DTLS_MAX_PLAIN + DTLS_OVERHEAD,
	DTLS_MAX_KEY = 32,
	DTLS_SALT = 4,
	DTLS_VERSION = 0xfefd,
	DTLS_EPOCH = 1, /* of all records that are sealed: there is no second handshake */
};

enum dtls_type { /* of a record: RFC 5246 6.2.1 */
		 DTLS_CHANGE_CIPHER_SPEC = 20,
		 DTLS_ALERT = 21,
		 DTLS_HANDSHAKE = 22,
		 DTLS_DATA = 23,
};

/* A cipher may seal so many blocks of 16 bytes with one key: RFC 8446 5.5, 2^24.5 records of 16
 * KiB. A new connection is to take over at the first number; at the second, sealing ends. */
#define DTLS_SOFT_BLOCKS ((uint64_t)1 << 33)
#define DTLS_HARD_BLOCKS ((uint64_t)3 << 33)
/* Forged records, until the key is not used any more (RFC 9147 4.5.3). */
#define DTLS_MAX_FORGED ((uint64_t)1 << 36)

/* The key of one direction. */
struct dtls_key {
	uint8_t key[DTLS_MAX_KEY];
	uint8_t len; /* 16 or 32: AES-128 or AES-256 */
	uint8_t salt[DTLS_SALT];
};

struct evp_cipher_ctx_st;

struct dtls_tx {
	struct evp_cipher_ctx_st *ctx; /* NULL: no key yet */
	uint8_t salt[DTLS_SALT];
	uint64_t seq;    /* of the next record */
	uint64_t blocks; /* sealed */
};

struct dtls_rx {
	struct evp_cipher_ctx_st *ctx;
	uint8_t salt[DTLS_SALT];
	struct dtls_window window;
	uint64_t replayed, forged; /* records that were refused */
};

/* -ENOMEM. The key may be forgotten after that. */
int dtls_tx_init(struct dtls_tx *t, const struct dtls_key *key);
int dtls_rx_init(struct dtls_rx *r, const struct dtls_key *key);
void dtls_tx_deinit(struct dtls_tx *t);
void dtls_rx_deinit(struct dtls_rx *r);

/* Seals the spans, joined, as one record into to, which has room for them and DTLS_OVERHEAD. They
 * have at most DTLS_MAX_PLAIN bytes, and do not overlap with it. Returns the length; 0: the key is
 * used up. */
size_t dtls_tx_seal(struct dtls_tx *t, enum dtls_type type, const struct span *part, unsigned n,
		    uint8_t *to);

/* Seals packets of `segment` bytes, the last of which may be shorter, as one record each: records
 * of segment + DTLS_OVERHEAD bytes, one behind the other, the last of which may be shorter. A span
 * does not cross the border of two packets. Returns the length of all; 0: the key is used up. */
size_t dtls_tx_seal_batch(struct dtls_tx *t, const struct span *part, unsigned n, uint32_t segment,
			  uint8_t *to);

/* Decrypts the packet of a record that this key has sealed, as far as the first n bytes of the
 * record have it: somebody returns them. Returns its length; 0: it is no such record. */
size_t dtls_tx_reveal(struct dtls_tx *t, const uint8_t *record, size_t n, uint8_t *to);

/* The fields of a record that anybody can read. */
struct dtls_head {
	enum dtls_type type;
	uint16_t epoch;
	uint64_t seq;
	size_t len; /* of the rest, after the header */
};

/* Reads the header of the record at p. False: it is malformed, longer than the n bytes, or of
 * another version than 1.2 (hellos may tell 1.0). */
bool dtls_head_get(const uint8_t *p, size_t n, struct dtls_head *ret);
void dtls_head_put(uint8_t *p, const struct dtls_head *h);

enum dtls_opened {
	DTLS_OPENED,
	DTLS_REPLAYED, /* it has arrived before, or is too old to tell */
	DTLS_FORGED,   /* or of another key; the bytes are as they were */
};

/* Opens a record of DTLS_EPOCH in place: its payload is then the ret_len bytes at *ret. */
enum dtls_opened dtls_rx_open(struct dtls_rx *r, const struct dtls_head *h, uint8_t *record,
			      uint8_t **ret, size_t *ret_len);

#endif
