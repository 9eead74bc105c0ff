/* SPDX-License-Identifier: BSD-2-Clause */
/* Who we are: a certificate with its key, and pre-shared keys; and the CAs that peers may have. */
#ifndef LLP_DTLS_IDENTITY_H
#define LLP_DTLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llp/dtls/dtls_cookie.h"

enum {
	DTLS_FINGERPRINT = 32, /* SHA-256 of a certificate */
	DTLS_FILES = 16,       /* of CAs, and of pre-shared keys */
	DTLS_PATH = 128,       /* of such a file, with its NUL */
	DTLS_PSK = 64,         /* bytes of a key */
	DTLS_PSK_NAME = 32,    /* with its NUL */
	DTLS_REASON = 256,
	/* Of OpenSSL: keys, groups and digests have at least 112 bits. */
	DTLS_SECURITY_LEVEL = 2,
};

struct ssl_st;
struct ssl_ctx_st;
struct x509_store_st;

/* Files in PEM, but for psk: hexadecimal digits. NULL: there is none. */
struct dtls_files {
	const char *cert, *key; /* both, or none */
	unsigned ncas, npsks;
	const char *ca[DTLS_FILES], *psk[DTLS_FILES];
};

struct dtls_ca {
	char path[DTLS_PATH];
	struct x509_store_st *store;
};

struct dtls_psk {
	char path[DTLS_PATH];
	char name[DTLS_PSK_NAME]; /* in clear text in a handshake: made from the key */
	uint8_t key[DTLS_PSK];
	size_t len;
};

/* All of it is undumped. */
struct dtls_identity {
	unsigned users;
	struct ssl_ctx_st *ctx;     /* with the certificate; NULL: there is none */
	struct ssl_ctx_st *psk_ctx; /* for pre-shared keys; NULL: there are none */
	uint8_t fingerprint[DTLS_FINGERPRINT];
	unsigned ncas, npsks;
	struct dtls_ca ca[DTLS_FILES];
	struct dtls_psk psk[DTLS_FILES];
};

/* Shown to the peer by one handshake. */
struct dtls_auth {
	uint8_t cookie[DTLS_COOKIE]; /* which the hello has to have, if this end answers it */
	const struct dtls_psk *psk;  /* NULL: certificates at both ends */
};

/* Reads the files. On failure -EINVAL, -EACCES or the errno of a file, and a sentence; else the
 * reason is "" or a warning: our certificate is expired or not valid yet. The one user is the
 * caller. */
int dtls_identity_load(const struct dtls_files *f, char *ret_reason, size_t len,
		       struct dtls_identity **ret);
struct dtls_identity *dtls_identity_use(struct dtls_identity *id);
/* Frees it with its last user. NULL is fine. */
void dtls_identity_drop(struct dtls_identity *id);

/* The pre-shared key of this file. NULL: it was not read. */
const struct dtls_psk *dtls_identity_psk(const struct dtls_identity *id, const char *path);

/* An end of a handshake, which keeps the pointer to auth. NULL: no memory, or neither a
 * certificate nor a key for it. */
struct ssl_st *dtls_identity_open(const struct dtls_identity *id, const struct dtls_auth *auth);

#endif
