/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "llp/dtls/dtls_cookie.h"
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
	else if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
		r = fail_load(l, path, "this certificate of ours is expired", -EINVAL);
	while (r == 0 && (more = PEM_read_bio_X509(b, NULL, no_password, NULL)))
		SSL_CTX_add0_chain_cert(l->id->ctx, more);
	ERR_clear_error();
	X509_free(cert);
	BIO_free(b);
	l->id->has_cert = r == 0;
	return r;
}

static int use_ca(const struct load *l, const char *path, char *text, int len)
{
	X509_STORE *store = SSL_CTX_get_cert_store(l->id->ctx);
	BIO *b = BIO_new_mem_buf(text, len);
	X509 *cert;
	int n = 0;

	while (b && (cert = PEM_read_bio_X509(b, NULL, no_password, NULL))) {
		n += X509_STORE_add_cert(store, cert);
		X509_free(cert);
	}
	ERR_clear_error();
	BIO_free(b);
	l->id->has_ca = n > 0;
	return n > 0 ? 0 : fail_load(l, path, "has no certificate in PEM", -EINVAL);
}

/* ---- pre-shared keys ---- */

static int use_psk(const struct load *l, const char *path, char *text, int len)
{
	size_t n = 0;

	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		text[--len] = 0;
	if (OPENSSL_hexstr2buf_ex(l->id->psk, sizeof(l->id->psk), &n, text, 0) != 1 || n < MIN_PSK)
		return fail_load(l, path, "is not 16 to 64 bytes in hexadecimal digits", -EINVAL);
	l->id->psk_len = n;
	return 0;
}

static unsigned client_psk(SSL *ssl, const char *hint, char *name, unsigned max_name, uint8_t *psk,
			   unsigned max)
{
	const struct dtls_identity *id = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	(void)hint;
	if (strlen(id->psk_name) >= max_name || id->psk_len > max)
		return 0;
	strcpy(name, id->psk_name);
	memcpy(psk, id->psk, id->psk_len);
	return (unsigned)id->psk_len;
}

static unsigned server_psk(SSL *ssl, const char *name, uint8_t *psk, unsigned max)
{
	const struct dtls_identity *id = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	if (!name || strcmp(name, id->psk_name) != 0 || id->psk_len > max)
		return 0;
	memcpy(psk, id->psk, id->psk_len);
	return (unsigned)id->psk_len;
}

/* ---- the context ---- */

/* Whom the peer is, and whether we speak to it, is judged after the handshake: then the refusal has
 * a sentence. */
static int accept_chain(X509_STORE_CTX *store, void *arg)
{
	(void)arg;
	X509_verify_cert(store);
	ERR_clear_error();
	return 1;
}

/* The owner of the handshake has checked it before. */
static int check_cookie(SSL *ssl, const uint8_t *cookie, unsigned len)
{
	const uint8_t *expected = SSL_get_app_data(ssl);

	return len == DTLS_COOKIE && CRYPTO_memcmp(cookie, expected, len) == 0;
}

void dtls_identity_expect_cookie(SSL *ssl, const uint8_t *cookie)
{
	SSL_set_app_data(ssl, (uint8_t *)(uintptr_t)cookie);
}

static int make_context(const struct load *l, const struct dtls_files *f)
{
	SSL_CTX *ctx = SSL_CTX_new(DTLS_method());
	const char *suites = f->cert && f->psk ? CERT_SUITES ":" PSK_SUITES
			     : f->cert         ? CERT_SUITES
					       : PSK_SUITES;

	l->id->ctx = ctx;
	if (!ctx || !SSL_CTX_set_min_proto_version(ctx, DTLS1_2_VERSION) ||
	    !SSL_CTX_set_cipher_list(ctx, suites))
		return fail_load(l, "OpenSSL", "has no DTLS 1.2 with AES-GCM", -EINVAL);
	SSL_CTX_set_app_data(ctx, l->id);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_QUERY_MTU);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_dh_auto(ctx, 1);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_cookie_verify_cb(ctx, check_cookie);
	SSL_CTX_set_cert_verify_callback(ctx, accept_chain, NULL);
	return 0;
}

static int load_psk(const struct load *l, const struct dtls_files *f)
{
	if (strlen(f->psk_name) >= DTLS_NAME)
		return fail_load(l, f->psk_name, "the name of this key has more than 127 bytes",
				 -EINVAL);
	strcpy(l->id->psk_name, f->psk_name);
	SSL_CTX_set_psk_client_callback(l->id->ctx, client_psk);
	SSL_CTX_set_psk_server_callback(l->id->ctx, server_psk);
	return with_file(l, f->psk, true, use_psk);
}

static int load_all(const struct load *l, const struct dtls_files *f)
{
	int r = make_context(l, f);

	if (r == 0 && f->cert)
		r = with_file(l, f->cert, false, use_cert);
	if (r == 0 && f->cert)
		r = with_file(l, f->key, true, use_key);
	if (r == 0 && f->ca)
		r = with_file(l, f->ca, false, use_ca);
	if (r == 0 && f->psk)
		r = load_psk(l, f);
	return r;
}

int dtls_identity_load(const struct dtls_files *f, char *ret_reason, size_t len,
		       struct dtls_identity **ret)
{
	struct load l = {undumped_map(sizeof(*l.id), 0), ret_reason, len};
	int r;

	if (!l.id)
		return fail_load(&l, "identity", strerror(ENOMEM), -ENOMEM);
	l.id->users = 1;
	r = f->cert || f->psk ? load_all(&l, f)
			      : fail_load(&l, "identity", "has no certificate and no key", -EINVAL);
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
	OPENSSL_cleanse(id, sizeof(*id));
	undumped_unmap(id, sizeof(*id));
}

/* ---- peers ---- */

static bool is_valid_now(X509 *cert, char *ret_reason, size_t len)
{
	if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
		snprintf(ret_reason, len, "the certificate of the peer is expired");
	else if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0)
		snprintf(ret_reason, len, "the certificate of the peer is not valid yet");
	else
		return true;
	return false;
}

/* A zero byte in it would end the name early for those that compare it. */
static void read_name(X509 *cert, char *ret, size_t len)
{
	int n = X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, ret,
					  (int)len);

	if (n < 0 || (size_t)n + 1 >= len || strlen(ret) != (size_t)n)
		ret[0] = 0;
}

bool dtls_identity_check(const struct dtls_identity *id, SSL *ssl, struct dtls_peer *ret,
			 char *ret_reason, size_t len)
{
	X509 *cert = SSL_get0_peer_certificate(ssl);
	unsigned n = DTLS_FINGERPRINT;

	*ret = (struct dtls_peer){0};
	if (!cert) { /* then the suite has a pre-shared key, and the peer has shown that it has it
		      */
		memcpy(ret->psk_name, id->psk_name, sizeof(ret->psk_name));
		return true;
	}
	if (!is_valid_now(cert, ret_reason, len))
		return false;
	ret->has_cert = X509_digest(cert, EVP_sha256(), ret->fingerprint, &n) == 1;
	if (id->has_ca && SSL_get_verify_result(ssl) == X509_V_OK)
		read_name(cert, ret->ca_name, sizeof(ret->ca_name));
	return true;
}
