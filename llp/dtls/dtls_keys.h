/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of a connection, from the secret that OpenSSL has agreed upon (RFC 5246 6.3). */
#ifndef LLP_DTLS_KEYS_H
#define LLP_DTLS_KEYS_H

#include "llp/dtls/dtls_record.h"

struct ssl_st;

struct dtls_keys {
	struct dtls_key client, server; /* each of them seals with its own */
};

/* As soon as the master secret is known, which may be before the handshake ends. -EINVAL: the
 * cipher is not AES-GCM, or there is no secret yet. -ENOMEM. */
int dtls_keys_derive(struct ssl_st *ssl, struct dtls_keys *ret);

/* Overwrites them. */
void dtls_keys_wipe(struct dtls_keys *k);

#endif
