/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/dtls_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/x509.h>

/* ---- datagrams ---- */

void rig_put(struct rig_end *e, const uint8_t *p, size_t len)
{
	struct rig_datagram *d = &e->in.slot[(e->in.first + e->in.n) % RIG_DATAGRAMS];

	must(e->in.n < RIG_DATAGRAMS && len <= RIG_BYTES);
	memcpy(d->p, p, len);
	d->len = len;
	e->in.n++;
}

size_t rig_take(struct rig_end *e, uint8_t *to)
{
	struct rig_datagram *d = &e->in.slot[e->in.first];

	if (e->in.n == 0)
		return 0;
	memcpy(to, d->p, d->len);
	e->in.first = (e->in.first + 1) % RIG_DATAGRAMS;
	e->in.n--;
	return d->len;
}

static int bio_write(BIO *b, const char *p, int len)
{
	struct rig_end *e = BIO_get_data(b);

	rig_put(e->peer, (const uint8_t *)p, (size_t)len);
	return len;
}

static int bio_read(BIO *b, char *to, int size)
{
	struct rig_end *e = BIO_get_data(b);
	uint8_t p[RIG_BYTES];
	size_t len = rig_take(e, p);

	BIO_clear_retry_flags(b);
	if (len == 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	must(len <= (size_t)size);
	memcpy(to, p, len);
	return (int)len;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	(void)b;
	(void)num;
	(void)ptr;
	return cmd == BIO_CTRL_FLUSH || cmd == BIO_CTRL_DUP;
}

static BIO_METHOD *method(void)
{
	static BIO_METHOD *m;

	if (m)
		return m;
	m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rig");
	must(m);
	BIO_meth_set_write(m, bio_write);
	BIO_meth_set_read(m, bio_read);
	BIO_meth_set_ctrl(m, bio_ctrl);
	return m;
}

/* ---- identities ---- */

EVP_PKEY *rig_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	must(key);
	return key;
}

X509 *rig_cert(EVP_PKEY *key, const char *name, long from, long to)
{
	X509 *x = X509_new();
	X509_NAME *n = X509_get_subject_name(x);
	const EVP_MD *md = EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();

	must(x && ASN1_INTEGER_set(X509_get_serialNumber(x), 1));
	must(X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1, 0));
	must(X509_set_issuer_name(x, n) && X509_set_version(x, 2));
	must(X509_gmtime_adj(X509_getm_notBefore(x), from));
	must(X509_gmtime_adj(X509_getm_notAfter(x), to));
	must(X509_set_pubkey(x, key) && X509_sign(x, key, md));
	return x;
}

/* ---- ends ---- */

static void open_end(struct rig_end *e, struct rig_end *peer, SSL_CTX *ctx)
{
	BIO *b = BIO_new(method());

	must(b);
	e->peer = peer;
	e->in.slot = calloc(RIG_DATAGRAMS, sizeof(*e->in.slot));
	e->ssl = SSL_new(ctx);
	must(e->in.slot && e->ssl);
	BIO_set_data(b, e);
	BIO_set_init(b, 1);
	SSL_set_bio(e->ssl, b, b);
	SSL_set_options(e->ssl, SSL_OP_NO_QUERY_MTU);
	SSL_set_mtu(e->ssl, 1400);
}

static SSL_CTX *context(const char *suite)
{
	SSL_CTX *ctx = SSL_CTX_new(DTLS_method());
	EVP_PKEY *key = rig_key();
	X509 *cert = rig_cert(key, "rig", -60, 3600);

	must(ctx && SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key));
	must(SSL_CTX_set_cipher_list(ctx, suite));
	EVP_PKEY_free(key);
	X509_free(cert);
	return ctx;
}

int rig_accept(int ok, X509_STORE_CTX *store)
{
	(void)ok;
	(void)store;
	return 1;
}

struct rig *rig_open(const char *suites)
{
	struct rig *r = calloc(1, sizeof(*r));
	SSL_CTX *ctx = context(suites);

	must(r);
	open_end(&r->client, &r->server, ctx);
	open_end(&r->server, &r->client, ctx);
	SSL_CTX_free(ctx);
	SSL_set_connect_state(r->client.ssl);
	SSL_set_accept_state(r->server.ssl);
	return r;
}

struct rig *rig_new(const char *suite)
{
	struct rig *r = rig_open(suite);

	for (int i = 0; i < 10; i++) {
		SSL_do_handshake(r->client.ssl);
		SSL_do_handshake(r->server.ssl);
	}
	must(SSL_is_init_finished(r->client.ssl) && SSL_is_init_finished(r->server.ssl));
	must(r->client.in.n == 0 && r->server.in.n == 0);
	return r;
}

void rig_free(struct rig *r)
{
	SSL_free(r->client.ssl);
	SSL_free(r->server.ssl);
	free(r->client.in.slot);
	free(r->server.in.slot);
	free(r);
}
