/* SPDX-License-Identifier: BSD-2-Clause */
/* Who we are: a certificate with its key, or a pre-shared key, and the CA that peers may have. */
#ifndef LLP_DTLS_IDENTITY_H
#define LLP_DTLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DTLS_FINGERPRINT = 32, /* SHA-256 of a certificate */
	DTLS_NAME = 128,       /* with its terminator */
	DTLS_REASON = 256,
};

struct ssl_st;
struct ssl_ctx_st;

/* Files in PEM, but for psk: hexadecimal digits. NULL: there is none. */
struct dtls_files {
	const char *cert, *key; /* both, or none */
	const char *ca;
	const char *psk, *psk_name; /* both, or none */
};

struct dtls_identity {
	unsigned users;
	struct ssl_ctx_st *ctx;
	bool has_cert, has_ca;
	uint8_t fingerprint[DTLS_FINGERPRINT];
	char psk_name[DTLS_NAME];
	uint8_t psk[64]; /* undumped, as all of this */
	size_t psk_len;
};

/* The facts that a handshake has shown of the peer. */
struct dtls_peer {
	bool has_cert;
	uint8_t fingerprint[DTLS_FINGERPRINT];
	char ca_name[DTLS_NAME];  /* its common name, if our CA vouches for it; else empty */
	char psk_name[DTLS_NAME]; /* if it has this pre-shared key; else empty */
};

/* Reads the files. On failure -EINVAL, -EACCES or the errno of a file, and a sentence. The one
 * user is the caller. */
int dtls_identity_load(const struct dtls_files *f, char *ret_reason, size_t len,
		       struct dtls_identity **ret);
struct dtls_identity *dtls_identity_use(struct dtls_identity *id);
/* Frees it with its last user. NULL is fine. */
void dtls_identity_drop(struct dtls_identity *id);

/* The hello of ssl, an end of ours, has to have this cookie, of DTLS_COOKIE bytes. */
void dtls_identity_expect_cookie(struct ssl_st *ssl, const uint8_t *cookie);

/* The facts that the handshake of ssl has shown. False, and a sentence: its certificate is expired,
 * or not valid yet. */
bool dtls_identity_check(const struct dtls_identity *id, struct ssl_st *ssl, struct dtls_peer *ret,
			 char *ret_reason, size_t len);

#endif
