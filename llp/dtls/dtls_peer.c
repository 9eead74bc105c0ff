/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* ---- names ---- */

static void add_name(struct dtls_peer *p, const char *kind, const char *name, size_t len)
{
	size_t at = strlen(p->names);

	if (len < sizeof(p->names) - at - strlen("DNS: ") - 1)
		sprintf(p->names + at, "%s%s:%.*s", at ? " " : "", kind, (int)len, name);
}

/* A text that is no name of a host could be taken for several. */
static void add_dns_name(struct dtls_peer *p, const ASN1_STRING *s)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.-_";
	const char *name = (const char *)ASN1_STRING_get0_data(s);
	size_t len = (size_t)ASN1_STRING_length(s);

	for (size_t i = 0; i < len; i++)
		if (!name[i] || !strchr(good, name[i]))
			return;
	if (len > 0)
		add_name(p, "DNS", name, len);
}

static void add_address(struct dtls_peer *p, const ASN1_STRING *s)
{
	int family = ASN1_STRING_length(s) == 4    ? AF_INET
		     : ASN1_STRING_length(s) == 16 ? AF_INET6
						   : AF_UNSPEC;
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(family, ASN1_STRING_get0_data(s), text, sizeof(text)))
		add_name(p, "IP", text, strlen(text));
}

static void read_names(X509 *cert, struct dtls_peer *p)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);

	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
		const GENERAL_NAME *n = sk_GENERAL_NAME_value(all, i);

		if (n->type == GEN_DNS)
			add_dns_name(p, n->d.dNSName);
		if (n->type == GEN_IPADD)
			add_address(p, n->d.iPAddress);
	}
	GENERAL_NAMES_free(all);
}

/* ---- time, and who vouches ---- */

static const char *find_untimely(const X509 *cert)
{
	if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
		return "is expired";
	return X509_cmp_current_time(X509_get0_notBefore(cert)) > 0 ? "is not valid yet" : NULL;
}

/* Either end may begin, so one of the two purposes is enough. */
static bool is_for_tls(X509 *cert)
{
	return X509_check_purpose(cert, X509_PURPOSE_SSL_SERVER, 0) == 1 ||
	       X509_check_purpose(cert, X509_PURPOSE_SSL_CLIENT, 0) == 1;
}

/* Each certificate of the file is trusted, also one between a root and the peer. */
static int verify_chain(X509_STORE *store, X509 *cert, STACK_OF(X509) * chain)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int fault = X509_V_ERR_OUT_OF_MEM;

	if (ctx && X509_STORE_CTX_init(ctx, store, cert, chain) == 1) {
		X509_VERIFY_PARAM *v = X509_STORE_CTX_get0_param(ctx);

		X509_VERIFY_PARAM_set_flags(v, X509_V_FLAG_PARTIAL_CHAIN);
		X509_VERIFY_PARAM_set_auth_level(v, DTLS_SECURITY_LEVEL);
		if (X509_verify_cert(ctx) == 1)
			fault = X509_V_OK;
		else
			fault = X509_STORE_CTX_get_error(ctx);
	}
	X509_STORE_CTX_free(ctx);
	return fault;
}

static const char *find_fault(const struct dtls_ca *ca, X509 *cert, STACK_OF(X509) * chain)
{
	int fault = verify_chain(ca->store, cert, chain);

	if (fault == X509_V_OK && !is_for_tls(cert))
		fault = X509_V_ERR_INVALID_PURPOSE;
	return fault == X509_V_OK ? NULL : X509_verify_cert_error_string(fault);
}

void dtls_peer_read(const struct dtls_identity *id, const struct dtls_auth *auth, SSL *ssl,
		    struct dtls_peer *ret)
{
	X509 *cert = SSL_get0_peer_certificate(ssl);
	unsigned n = DTLS_FINGERPRINT;

	*ret = (struct dtls_peer){.by = id, .psk = auth->psk};
	if (!cert) /* then the suite has the pre-shared key, and the peer has shown that it has it
		    */
		return;
	ret->has_cert = X509_digest(cert, EVP_sha256(), ret->fingerprint, &n) == 1;
	ret->untimely = find_untimely(cert);
	read_names(cert, ret);
	for (unsigned i = 0; i < id->ncas; i++)
		ret->fault[i] = find_fault(&id->ca[i], cert, SSL_get_peer_cert_chain(ssl));
	ERR_clear_error();
}
