/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a handshake shows the names of a peer's certificate, and which CA vouches for it. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "tests/unit/dtls_net.h"
#include "tests/unit/dtls_rig.h"

TestSuite(dtls_peer, .fini = net_remove_files);

enum { HOUR = 3600, SECOND = 1000000, NO_EXTENSIONS = 4 };

/* A certificate with its key. */
struct party {
	EVP_PKEY *key;
	X509 *cert;
	bool is_ca;
};

struct extension {
	int nid;
	const char *value; /* as in openssl.cnf */
};

/* Signed by `by`, or by itself if that is NULL. */
static struct party make(const char *name, const struct party *by, long from, long to,
			 const struct extension ext[NO_EXTENSIONS])
{
	struct party p = {.key = rig_key()};
	X509V3_CTX ctx;

	p.cert = rig_cert(p.key, name, from, to);
	X509V3_set_ctx(&ctx, by ? by->cert : p.cert, p.cert, NULL, NULL, 0);
	for (unsigned i = 0; i < NO_EXTENSIONS && ext[i].value; i++) {
		X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, ext[i].nid, ext[i].value);

		cr_assert(e && X509_add_ext(p.cert, e, -1), "%s", ext[i].value);
		X509_EXTENSION_free(e);
	}
	if (by)
		cr_assert(X509_set_issuer_name(p.cert, X509_get_subject_name(by->cert)));
	cr_assert(X509_sign(p.cert, by ? by->key : p.key, EVP_sha256()));
	return p;
}

static struct party make_ca(const char *name, const struct party *by, long from, long to)
{
	static const struct extension ext[NO_EXTENSIONS] = {
		{NID_basic_constraints, "critical,CA:TRUE"},
		{NID_key_usage, "critical,keyCertSign"}};

	struct party p = make(name, by, from, to, ext);

	p.is_ca = true;
	return p;
}

static struct party make_host(const struct party *by, const char *names)
{
	const struct extension ext[NO_EXTENSIONS] = {{NID_subject_alt_name, names}};

	return make(by->is_ca ? "host" : "child", by, -HOUR, HOUR, ext);
}

static void drop(struct party *p)
{
	EVP_PKEY_free(p->key);
	X509_free(p->cert);
}

/* The files of an end: its certificate with those between, if there is one, and its CA. */
static struct dtls_identity *load(const struct party *p, const struct party *between,
				  const struct party *ca)
{
	struct dtls_files f = {.cert = net_file("cert.pem", "", 0644),
			       .key = net_file("key.pem", "", 0600)};
	struct dtls_identity *id;
	char reason[DTLS_REASON];
	FILE *file = fopen(f.cert, "w");

	cr_assert(PEM_write_X509(file, p->cert));
	if (between)
		cr_assert(PEM_write_X509(file, between->cert));
	fclose(file);
	file = fopen(f.key, "w");
	cr_assert(PEM_write_PrivateKey(file, p->key, NULL, NULL, 0, NULL, NULL));
	fclose(file);
	f.ca[f.ncas++] = net_file("ca.pem", "", 0644);
	file = fopen(f.ca[0], "w");
	cr_assert(PEM_write_X509(file, ca->cert));
	fclose(file);
	cr_assert_eq(dtls_identity_load(&f, reason, sizeof(reason), &id), 0, "%s", reason);
	net_remove_files();
	return id;
}

/* How both ends see `p`, which shows `between`, too, when one of them begins, and then the other:
 * they trust `ca`. */
static void expect(const struct party *p, const struct party *between, const struct party *ca,
		   const char *fault, const char *names)
{
	for (unsigned from = 0; from < 2; from++) {
		struct net *n = net_new(load(p, between, ca), load(p, between, ca), false);

		net_connect(n, from);
		cr_assert(net_until_up(n, 5 * (uint64_t)SECOND), "%s", n->end[from].reason);
		net_run(n, SECOND);
		for (unsigned i = 0; i < 2; i++) {
			const struct dtls_peer *seen = &n->end[i].seen;

			cr_assert_str_eq(seen->names, names);
			cr_assert_eq(seen->fault[0] != NULL, fault != NULL, "%s", seen->fault[0]);
			cr_assert(!fault || strstr(seen->fault[0], fault), "%s", seen->fault[0]);
		}
		net_free(n);
	}
}

#define NAMES "DNS:a.example IP:192.0.2.1 IP:2001:db8::1"

static struct party root, other, middle, host;

static void begin(void)
{
	root = make_ca("root", NULL, -HOUR, HOUR);
	other = make_ca("other", NULL, -HOUR, HOUR);
	middle = make_ca("middle", &root, -HOUR, HOUR);
	host = make_host(&middle, "DNS:a.example,IP:192.0.2.1,IP:2001:db8::1");
}

static void end(void)
{
	drop(&root);
	drop(&other);
	drop(&middle);
	drop(&host);
}

Test(dtls_peer, chain_to_a_ca_is_good_if_it_is_whole, .init = begin, .fini = end)
{
	expect(&host, &middle, &root, NULL, NAMES);
	expect(&host, NULL, &root, "unable to get local issuer certificate", NAMES);
	expect(&host, &middle, &other, "issuer certificate", NAMES);
	/* Also one between a root and the host may be the one that is trusted. */
	expect(&host, NULL, &middle, NULL, NAMES);
}

Test(dtls_peer, ca_in_the_chain_has_to_be_valid_now, .init = begin, .fini = end)
{
	struct party old = make_ca("old", &root, -2 * HOUR, -HOUR),
		     early = make_ca("early", &root, HOUR, 2 * HOUR);
	struct party a = make_host(&old, "DNS:a"), b = make_host(&early, "DNS:b");

	expect(&a, &old, &root, "certificate has expired", "DNS:a");
	expect(&b, &early, &root, "certificate is not yet valid", "DNS:b");
	drop(&a);
	drop(&b);
	drop(&old);
	drop(&early);
}

Test(dtls_peer, host_is_no_ca, .init = begin, .fini = end)
{
	struct party child = make_host(&host, "DNS:child");

	expect(&child, &host, &root, "issuer certificate", "DNS:child");
	expect(&child, &host, &middle, "invalid CA certificate", "DNS:child");
	drop(&child);
}

Test(dtls_peer, certificate_for_something_else_is_no_identity, .init = begin, .fini = end)
{
	static const struct {
		const char *usage, *fault;
	} rows[] = {{"serverAuth", NULL},
		    {"clientAuth", NULL},
		    {"codeSigning", "purpose"},
		    {"emailProtection", "purpose"}};

	for (unsigned i = 0; i < 4; i++) {
		const struct extension ext[NO_EXTENSIONS] = {{NID_ext_key_usage, rows[i].usage}};
		struct party p = make("host", &root, -HOUR, HOUR, ext);

		expect(&p, NULL, &root, rows[i].fault, "");
		drop(&p);
	}
}

/* Names are a list with spaces, so none of them may have one; nor other things than hosts. */
Test(dtls_peer, names_that_are_none_are_left_out, .init = begin, .fini = end)
{
	struct party p = make_host(&root, "DNS:a DNS:b,DNS:*.example,DNS:c,email:d@example");

	expect(&p, NULL, &root, NULL, "DNS:c");
	drop(&p);
}

Test(dtls_peer, more_names_than_have_room_are_left_out_whole, .init = begin, .fini = end)
{
	char names[8192] = "DNS:first", *at = names + strlen(names);
	struct party p;

	for (unsigned i = 0; i < 100; i++)
		at += sprintf(at, ",DNS:host-%03u.example", i);
	p = make_host(&root, names);
	for (unsigned from = 0; from < 2; from++) {
		struct net *n = net_new(load(&p, NULL, &root), load(&p, NULL, &root), false);
		size_t len;

		net_connect(n, from);
		cr_assert(net_until_up(n, 5 * (uint64_t)SECOND), "%s", n->end[from].reason);
		net_run(n, SECOND);
		len = strlen(n->end[0].seen.names);
		cr_assert_gt(len, DTLS_NAMES - 32);
		cr_assert_str_eq(n->end[0].seen.names + len - strlen(".example"), ".example");
		net_free(n);
	}
	drop(&p);
}
