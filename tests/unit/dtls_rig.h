/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends of OpenSSL's own DTLS in one process, as foreign peers of our records: datagrams lie in
 * queues between them, from which a test may take them. */
#ifndef UNIT_DTLS_RIG_H
#define UNIT_DTLS_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/ssl.h>

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

enum { RIG_DATAGRAMS = 4096, RIG_BYTES = 16500 };

struct rig_datagram {
	size_t len;
	uint8_t p[RIG_BYTES];
};

/* Datagrams on their way to one end. */
struct rig_queue {
	struct rig_datagram *slot; /* RIG_DATAGRAMS */
	unsigned first, n;
};

struct rig_end {
	SSL *ssl;
	struct rig_queue in;
	struct rig_end *peer;
};

struct rig {
	struct rig_end client, server;
};

/* A key of P-256 and a certificate that it signed, valid from `from` to `to` seconds from now. */
EVP_PKEY *rig_key(void);
X509 *rig_cert(EVP_PKEY *key, const char *name, long from, long to);

/* Both ends before a handshake; suites as OpenSSL names them. */
struct rig *rig_open(const char *suites);

/* For SSL_set_verify(): every certificate is fine. */
int rig_accept(int ok, X509_STORE_CTX *store);

/* Both ends after a handshake with this suite, a name of OpenSSL. */
struct rig *rig_new(const char *suite);
void rig_free(struct rig *r);

/* The next datagram for this end; len 0: there is none. */
size_t rig_take(struct rig_end *e, uint8_t *to);
void rig_put(struct rig_end *e, const uint8_t *p, size_t len);

#endif
