/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "util/cleanup.h"
#include "util/undumped.h"

enum { MAX_FILE = 65536, MIN_PSK = 16 };

#define CERT_SUITES                                                                                \
	"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"                             \
	"ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384"
#define PSK_SUITES "DHE-PSK-AES128-GCM-SHA256:DHE-PSK-AES256-GCM-SHA384"

/* A load, with the sentence that says why it failed. */
struct load {
	struct dtls_identity *id;
	char *reason;
	size_t len;
};

/* Says "OBJECT: SENTENCE", and returns r. */
static int fail_load(const struct load *l, const char *object, const char *sentence, int r)
{
	snprintf(l->reason, l->len, "%s: %s", object, sentence);
	ERR_clear_error();
	return r;
}

/* ---- files ---- */

/* LoadCredential= of systemd gives files of the group root, with an access list. */
static bool others_can_read(const struct stat *st)
{
	return (st->st_mode & S_IRWXO) || (st->st_mode & S_IWGRP) ||
	       ((st->st_mode & S_IRGRP) && st->st_gid != 0);
}

static int open_file(const struct load *l, const char *path, bool secret)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;

		return fail_load(l, path, strerror(-r), r);
	}
	if (!S_ISREG(st.st_mode))
		return fail_load(l, path, "is not a file", -EINVAL);
	if (secret && others_can_read(&st))
		return fail_load(l, path, "others can read this key: chmod 600", -EACCES);
	if (st.st_size > MAX_FILE)
		return fail_load(l, path, "is longer than 65536 bytes", -EINVAL);
	return take_fd(&fd);
}

/* Reads a file into `to`, which has MAX_FILE + 1 bytes, and ends it with a zero. */
static ssize_t read_file(const struct load *l, const char *path, bool secret, char *to)
{
	autoclose int fd = open_file(l, path, secret);
	ssize_t n, total = 0;

	if (fd < 0)
		return fd;
	while ((n = read(fd, to + total, (size_t)(MAX_FILE - total))) > 0)
		total += n;
	if (n < 0)
		return fail_load(l, path, strerror(errno), -errno);
	to[total] = 0;
	return total;
}

/* Does something with the content of a file, which is forgotten after that. */
static int with_file(const struct load *l, const char *path, bool secret,
		     int (*use)(const struct load *l, const char *path, char *text, int len))
{
	char *text = undumped_map(MAX_FILE + 1, 0);
	ssize_t r;

	if (!text)
		return fail_load(l, path, strerror(ENOMEM), -ENOMEM);
	r = read_file(l, path, secret, text);
	if (r >= 0)
		r = use(l, path, text, (int)r);
	OPENSSL_cleanse(text, MAX_FILE);
	undumped_unmap(text, MAX_FILE + 1);
	return (int)r;
}

/* ---- certificate and key ---- */

static int no_password(char *buf, int size, int writes, void *user)
{
	(void)buf;
	(void)size;
	(void)writes;
	(void)user;
	return -1;
}

static int use_key(const struct load *l, const char *path, char *text, int len)
{
	BIO *b = BIO_new_mem_buf(text, len);
	EVP_PKEY *key = b ? PEM_read_bio_PrivateKey(b, NULL, no_password, NULL) : NULL;
	int r = 0;

	if (!key)
		r = fail_load(l, path, "has no private key in PEM without a password", -EINVAL);
	else if (EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "ED448"))
		r = fail_load(
			l, path,
			"OpenSSL does not use this kind of key (Ed25519) with DTLS: make one of "
			"ECDSA P-256",
			-EINVAL);
	else if (SSL_CTX_use_PrivateKey(l->id->ctx, key) != 1)
		r = fail_load(l, path, "is not the key of the certificate", -EINVAL);
	EVP_PKEY_free(key);
	BIO_free(b);
	return r;
}

/* Peers refuse it; clear text goes on. */
static void warn_of_time(const struct load *l, const char *path, const X509 *cert)
{
	if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
		fail_load(l, path, "this certificate of ours is expired", 0);
	else if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0)
		fail_load(l, path, "this certificate of ours is not valid yet", 0);
}

/* The first certificate is ours, others are those between it and its CA. */
static int use_cert(const struct load *l, const char *path, char *text, int len)
{
	BIO *b = BIO_new_mem_buf(text, len);
	X509 *cert = b ? PEM_read_bio_X509(b, NULL, no_password, NULL) : NULL, *more;
	unsigned n = DTLS_FINGERPRINT;
	int r = 0;

	if (!cert || SSL_CTX_use_certificate(l->id->ctx, cert) != 1 ||
	    X509_digest(cert, EVP_sha256(), l->id->fingerprint, &n) != 1)
		r = fail_load(l, path, "has no certificate in PEM", -EINVAL);
	else
		warn_of_time(l, path, cert);
	while (r == 0 && (more = PEM_read_bio_X509(b, NULL, no_password, NULL)))
		SSL_CTX_add0_chain_cert(l->id->ctx, more);
	ERR_clear_error();
	X509_free(cert);
	BIO_free(b);
	return r;
}

static int use_ca(const struct load *l, const char *path, char *text, int len)
{
	struct dtls_ca *ca = &l->id->ca[l->id->ncas++];
	BIO *b = BIO_new_mem_buf(text, len);
	X509 *cert;
	int n = 0;

	snprintf(ca->path, sizeof(ca->path), "%s", path);
	ca->store = X509_STORE_new();
	while (ca->store && b && (cert = PEM_read_bio_X509(b, NULL, no_password, NULL))) {
		n += X509_STORE_add_cert(ca->store, cert);
		X509_free(cert);
	}
	ERR_clear_error();
	BIO_free(b);
	return n > 0 ? 0 : fail_load(l, path, "has no certificate in PEM", -EINVAL);
}

/* ---- pre-shared keys ---- */

/* The same at both ends without being configured, and with another key another one, so that a
 * wrong key is refused by name. A key of random bytes stays secret. */
static bool name_psk(struct dtls_psk *p)
{
	static const uint8_t label[] = "name of a pre-shared key of ddpsctpd";
	uint8_t mac[EVP_MAX_MD_SIZE];
	unsigned n;

	if (!HMAC(EVP_sha256(), p->key, (int)p->len, label, sizeof(label), mac, &n))
		return false;
	strcpy(p->name, "ddp-");
	for (unsigned i = 0; i < 8; i++)
		sprintf(p->name + 4 + 2 * i, "%02x", mac[i]);
	return true;
}

static int use_psk(const struct load *l, const char *path, char *text, int len)
{
	struct dtls_psk *p = &l->id->psk[l->id->npsks++];

	snprintf(p->path, sizeof(p->path), "%s", path);
	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		text[--len] = 0;
	if (OPENSSL_hexstr2buf_ex(p->key, sizeof(p->key), &p->len, text, 0) != 1 ||
	    p->len < MIN_PSK)
		return fail_load(l, path, "is not 16 to 64 bytes in hexadecimal digits", -EINVAL);
	return name_psk(p) ? 0 : fail_load(l, path, strerror(ENOMEM), -ENOMEM);
}

static unsigned copy_psk(const struct dtls_psk *p, uint8_t *psk, unsigned max)
{
	if (p->len > max)
		return 0;
	memcpy(psk, p->key, p->len);
	return (unsigned)p->len;
}

static unsigned client_psk(SSL *ssl, const char *hint, char *name, unsigned max_name, uint8_t *psk,
			   unsigned max)
{
	const struct dtls_auth *auth = SSL_get_app_data(ssl);

	(void)hint;
	if (strlen(auth->psk->name) >= max_name)
		return 0;
	strcpy(name, auth->psk->name);
	return copy_psk(auth->psk, psk, max);
}

static unsigned server_psk(SSL *ssl, const char *name, uint8_t *psk, unsigned max)
{
	const struct dtls_auth *auth = SSL_get_app_data(ssl);

	if (!name || strcmp(name, auth->psk->name) != 0)
		return 0;
	return copy_psk(auth->psk, psk, max);
}

/* ---- the context ---- */

/* Who the peer is, and whether we speak to it, is judged after the handshake: then the refusal has
 * a sentence. */
static int accept_chain(X509_STORE_CTX *store, void *arg)
{
	(void)store;
	(void)arg;
	return 1;
}

/* The owner of the handshake has checked it before. */
static int check_cookie(SSL *ssl, const uint8_t *cookie, unsigned len)
{
	const struct dtls_auth *auth = SSL_get_app_data(ssl);

	return len == DTLS_COOKIE && CRYPTO_memcmp(cookie, auth->cookie, len) == 0;
}

static void demand_level(SSL_CTX *ctx)
{
	if (SSL_CTX_get_security_level(ctx) < DTLS_SECURITY_LEVEL)
		SSL_CTX_set_security_level(ctx, DTLS_SECURITY_LEVEL);
}

static int make_context(const struct load *l, const char *suites, SSL_CTX **ret)
{
	SSL_CTX *ctx = *ret = SSL_CTX_new(DTLS_method());

	if (!ctx || !SSL_CTX_set_min_proto_version(ctx, DTLS1_2_VERSION) ||
	    !SSL_CTX_set_cipher_list(ctx, suites))
		return fail_load(l, "OpenSSL", "has no DTLS 1.2 with AES-GCM", -EINVAL);
	demand_level(ctx);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_QUERY_MTU);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_cookie_verify_cb(ctx, check_cookie);
	SSL_CTX_set_cert_verify_callback(ctx, accept_chain, NULL);
	return 0;
}

static int load_certificate(const struct load *l, const struct dtls_files *f)
{
	int r = make_context(l, CERT_SUITES, &l->id->ctx);

	if (r == 0)
		r = with_file(l, f->cert, false, use_cert);
	return r == 0 ? with_file(l, f->key, true, use_key) : r;
}

static int load_psks(const struct load *l, const struct dtls_files *f)
{
	int r = make_context(l, PSK_SUITES, &l->id->psk_ctx);

	if (r < 0)
		return r;
	SSL_CTX_set_dh_auto(l->id->psk_ctx, 1);
	SSL_CTX_set_psk_client_callback(l->id->psk_ctx, client_psk);
	SSL_CTX_set_psk_server_callback(l->id->psk_ctx, server_psk);
	for (unsigned i = 0; r == 0 && i < f->npsks; i++)
		r = with_file(l, f->psk[i], true, use_psk);
	return r;
}

static int load_all(const struct load *l, const struct dtls_files *f)
{
	int r = 0;

	if (!f->cert && f->npsks == 0)
		return fail_load(l, "identity", "has no certificate and no key", -EINVAL);
	if (f->cert)
		r = load_certificate(l, f);
	for (unsigned i = 0; r == 0 && i < f->ncas; i++)
		r = with_file(l, f->ca[i], false, use_ca);
	return r == 0 && f->npsks > 0 ? load_psks(l, f) : r;
}

int dtls_identity_load(const struct dtls_files *f, char *ret_reason, size_t len,
		       struct dtls_identity **ret)
{
	struct load l = {undumped_map(sizeof(*l.id), 0), ret_reason, len};
	int r;

	*ret_reason = 0;
	if (!l.id)
		return fail_load(&l, "identity", strerror(ENOMEM), -ENOMEM);
	l.id->users = 1;
	r = load_all(&l, f);
	if (r < 0) {
		dtls_identity_drop(l.id);
		return r;
	}
	*ret = l.id;
	return 0;
}

struct dtls_identity *dtls_identity_use(struct dtls_identity *id)
{
	id->users++;
	return id;
}

void dtls_identity_drop(struct dtls_identity *id)
{
	if (!id || --id->users > 0)
		return;
	SSL_CTX_free(id->ctx);
	SSL_CTX_free(id->psk_ctx);
	for (unsigned i = 0; i < id->ncas; i++)
		X509_STORE_free(id->ca[i].store);
	OPENSSL_cleanse(id, sizeof(*id));
	undumped_unmap(id, sizeof(*id));
}

/* ---- use ---- */

const struct dtls_psk *dtls_identity_psk(const struct dtls_identity *id, const char *path)
{
	for (unsigned i = 0; i < id->npsks; i++)
		if (strcmp(id->psk[i].path, path) == 0)
			return &id->psk[i];
	return NULL;
}

SSL *dtls_identity_open(const struct dtls_identity *id, const struct dtls_auth *auth)
{
	SSL_CTX *ctx = auth->psk ? id->psk_ctx : id->ctx;
	SSL *ssl = ctx ? SSL_new(ctx) : NULL;

	if (ssl)
		SSL_set_app_data(ssl, (struct dtls_auth *)(uintptr_t)auth);
	return ssl;
}
