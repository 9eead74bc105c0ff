/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of OpenSSL during a handshake: it reads and writes here. Datagrams keep their borders,
 * which the BIOs of OpenSSL for memory do not. Its output is kept as a flight without encryption,
 * so that we can send it again by a clock of ours, with numbers and nonces of ours.
 */
#ifndef LLP_DTLS_BIO_H
#define LLP_DTLS_BIO_H

#include "llp/dtls/dtls_keys.h"

enum {
	DTLS_FLIGHT_RECORDS = 32,
	DTLS_FLIGHT_BYTES = 12288,
	DTLS_FLIGHT_MTU = 1200, /* of a datagram of a handshake: every path takes it */
	DTLS_QUEUE_DATAGRAMS = 16,
	DTLS_QUEUE_BYTES = 12288,
};

/* Datagrams that wait to be read. */
struct dtls_queue {
	unsigned n, next; /* next: to be read */
	uint32_t used;
	uint16_t len[DTLS_QUEUE_DATAGRAMS];
	uint8_t bytes[DTLS_QUEUE_BYTES];
};

struct dtls_flight_record {
	uint8_t type, epoch;
	bool last; /* of its datagram */
	uint16_t version, len;
	uint32_t at;
};

struct dtls_flight {
	unsigned n;
	uint32_t used;
	bool full; /* something had no room: the handshake cannot work */
	struct dtls_flight_record record[DTLS_FLIGHT_RECORDS];
	uint8_t bytes[DTLS_FLIGHT_BYTES];
};

struct dtls_bio {
	bool server;
	bool fresh; /* OpenSSL has read since it wrote: the next write begins a flight */
	bool has_keys;
	uint64_t flights; /* that were begun */
	struct ssl_st *ssl;
	struct dtls_keys keys;
	struct dtls_rx own; /* opens the records that OpenSSL seals */
	struct dtls_queue in;
	struct dtls_flight out;
};

/* Gives an SSL object this pair of ends. -ENOMEM. The object frees its BIO. */
int dtls_bio_attach(struct dtls_bio *b, struct ssl_st *ssl);
void dtls_bio_deinit(struct dtls_bio *b);

/* Adds a datagram; one without room is dropped. */
void dtls_queue_put(struct dtls_queue *q, const uint8_t *p, size_t len);
/* Moves all datagrams. */
void dtls_queue_move(struct dtls_queue *to, struct dtls_queue *from);

#endif
