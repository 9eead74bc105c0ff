/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_keys.h"

#include <errno.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>

enum { RANDOM = 32, MASTER = 48, BLOCK = 2 * (DTLS_MAX_KEY + DTLS_SALT) };

/* "key expansion" and both randoms, the server's first. */
struct seed {
	char label[13];
	uint8_t server[RANDOM], client[RANDOM];
};

_Static_assert(sizeof(struct seed) == 13 + 2 * RANDOM, "no padding");

/* PRF(secret, seed) with the digest of the cipher: RFC 5246 5. */
static int expand(const EVP_MD *md, uint8_t secret[MASTER], struct seed *seed, uint8_t *ret,
		  size_t len)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS1-PRF", NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	char *digest = (char *)(uintptr_t)EVP_MD_get0_name(md);
	OSSL_PARAM param[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, secret, MASTER),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed, sizeof(*seed)),
		OSSL_PARAM_construct_end(),
	};
	int r = ctx && EVP_KDF_derive(ctx, ret, len, param) == 1 ? 0 : -ENOMEM;

	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return r;
}

static void cut_block(const uint8_t *p, uint8_t key_len, struct dtls_keys *ret)
{
	ret->client.len = ret->server.len = key_len;
	memcpy(ret->client.key, p, key_len);
	memcpy(ret->server.key, p + key_len, key_len);
	p += 2 * key_len;
	memcpy(ret->client.salt, p, DTLS_SALT);
	memcpy(ret->server.salt, p + DTLS_SALT, DTLS_SALT);
}

/* 0: not a cipher of ours. */
static uint8_t key_length(const SSL_CIPHER *c)
{
	switch (c ? SSL_CIPHER_get_cipher_nid(c) : NID_undef) {
	case NID_aes_128_gcm:
		return 16;
	case NID_aes_256_gcm:
		return 32;
	default:
		return 0;
	}
}

int dtls_keys_derive(SSL *ssl, struct dtls_keys *ret)
{
	const SSL_SESSION *session = SSL_get_session(ssl);
	const SSL_CIPHER *cipher = session ? SSL_SESSION_get0_cipher(session) : NULL;
	uint8_t key_len = key_length(cipher), master[MASTER], block[BLOCK];
	struct seed seed = {.label = "key expansion"};
	int r;

	if (!key_len || SSL_SESSION_get_master_key(session, master, MASTER) != MASTER)
		return -EINVAL;
	SSL_get_server_random(ssl, seed.server, RANDOM);
	SSL_get_client_random(ssl, seed.client, RANDOM);
	r = expand(SSL_CIPHER_get_handshake_digest(cipher), master, &seed, block,
		   2 * ((size_t)key_len + DTLS_SALT));
	if (r == 0)
		cut_block(block, key_len, ret);
	OPENSSL_cleanse(master, sizeof(master));
	OPENSSL_cleanse(block, sizeof(block));
	return r;
}

void dtls_keys_wipe(struct dtls_keys *k)
{
	OPENSSL_cleanse(k, sizeof(*k));
}
