/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/key/certificate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

enum {
	DAY_S = 86400,
	/* The clock of a peer may be late: the certificate is valid from yesterday on. */
	BEGINS_S = -DAY_S,
	VALID_DAYS = 3650,
	X509_V3 = 2,
};

/* ---- making one ---- */

static bool set_serial(X509 *x)
{
	int64_t number;

	if (RAND_bytes((unsigned char *)&number, sizeof(number)) != 1)
		return false;
	return ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), (uint64_t)number >> 1 | 1) == 1;
}

static bool set_name(X509 *x, const char *name)
{
	X509_NAME *n = X509_get_subject_name(x);

	return X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
					  -1, 0) == 1 &&
	       X509_set_issuer_name(x, n) == 1;
}

static bool fill(X509 *x, EVP_PKEY *key, const char *name)
{
	return X509_set_version(x, X509_V3) == 1 && set_serial(x) && set_name(x, name) &&
	       X509_gmtime_adj(X509_getm_notBefore(x), BEGINS_S) &&
	       X509_time_adj_ex(X509_getm_notAfter(x), VALID_DAYS, 0, NULL) &&
	       X509_set_pubkey(x, key) == 1 && X509_sign(x, key, EVP_sha256()) > 0;
}

static int write_both(EVP_PKEY *key, X509 *x, int key_fd, int cert_fd)
{
	BIO *k = BIO_new_fd(key_fd, BIO_NOCLOSE), *c = BIO_new_fd(cert_fd, BIO_NOCLOSE);
	bool good;

	errno = EIO;
	good = k && c && PEM_write_bio_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) == 1 &&
	       PEM_write_bio_X509(c, x) == 1;
	good = good && fsync(key_fd) == 0 && fsync(cert_fd) == 0;
	BIO_free(k);
	BIO_free(c);
	return good ? 0 : -errno;
}

int certificate_make(const char *name, int key_fd, int cert_fd)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	int r = -EIO;

	if (key && x && fill(x, key, name))
		r = write_both(key, x, key_fd, cert_fd);
	X509_free(x);
	EVP_PKEY_free(key); /* which wipes it */
	return r;
}

/* ---- reading one ---- */

static void read_expiry(const X509 *x, char *ret, size_t len)
{
	struct tm t;

	if (ASN1_TIME_to_tm(X509_get0_notAfter(x), &t) != 1 || strftime(ret, len, "%F", &t) == 0)
		*ret = '\0';
}

/* A part of a day counts as none before the end, and as one after it. */
static int count_days(const X509 *x)
{
	int days = 0, seconds = 0;

	if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)) != 1)
		return -1;
	return seconds < 0 ? days - 1 : days;
}

int certificate_read(int fd, struct certificate *ret)
{
	struct certificate c = {.name = ""};
	unsigned n = sizeof(c.fingerprint);
	BIO *b = BIO_new_fd(fd, BIO_NOCLOSE);
	X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
	bool good = x && X509_digest(x, EVP_sha256(), c.fingerprint, &n) == 1;

	if (good) {
		X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, c.name,
					  sizeof(c.name));
		read_expiry(x, c.expires, sizeof(c.expires));
		c.days_left = count_days(x);
		c.is_early = X509_cmp_current_time(X509_get0_notBefore(x)) > 0;
		*ret = c;
	}
	X509_free(x);
	BIO_free(b);
	return good ? 0 : -EINVAL;
}
