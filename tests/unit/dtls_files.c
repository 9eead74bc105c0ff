/* SPDX-License-Identifier: BSD-2-Clause */
/* Identities for the ends of dtls_net. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "tests/unit/dtls_net.h"
#include "tests/unit/dtls_rig.h"

static char folder[32], path[4][128];

static void make_folder(void)
{
	if (*folder)
		return;
	strcpy(folder, "/tmp/ddp-dtls-XXXXXX");
	must(mkdtemp(folder));
}

void net_remove_files(void)
{
	for (unsigned i = 0; i < 4; i++)
		unlink(path[i]);
	rmdir(folder);
	*folder = 0;
}

const char *net_file(const char *name, const char *text, unsigned mode)
{
	static unsigned next;
	char *p = path[next++ % 4];
	FILE *f;

	make_folder();
	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	unlink(p);
	f = fopen(p, "w");
	must(f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(p, mode) == 0);
	return p;
}

/* The text of a key or a certificate. */
static const char *pem(EVP_PKEY *key, X509 *cert)
{
	static char text[8192];
	BIO *b = BIO_new(BIO_s_mem());
	int n;

	must(b);
	if (key)
		must(PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL));
	else
		must(PEM_write_bio_X509(b, cert));
	n = BIO_read(b, text, sizeof(text) - 1);
	must(n > 0);
	text[n] = 0;
	BIO_free(b);
	return text;
}

void net_write_identity(const char *kind, long valid_from, long valid_to, struct dtls_files *ret)
{
	bool ed = strcmp(kind, "ED25519") == 0;
	EVP_PKEY *key = ed ? EVP_PKEY_Q_keygen(NULL, NULL, kind) : rig_key();
	X509 *cert = rig_cert(key, "host", valid_from, valid_to);

	*ret = (struct dtls_files){.cert = net_file("cert.pem", pem(NULL, cert), 0644)};
	ret->key = net_file("key.pem", pem(key, NULL), 0600);
	EVP_PKEY_free(key);
	X509_free(cert);
}

struct dtls_identity *net_identity(long valid_from, long valid_to)
{
	struct dtls_identity *id;
	struct dtls_files f;
	char reason[DTLS_REASON] = "";

	net_write_identity("P-256", valid_from, valid_to, &f);
	if (dtls_identity_load(&f, reason, sizeof(reason), &id) < 0) {
		fprintf(stderr, "%s\n", reason);
		must(false);
	}
	net_remove_files();
	return id;
}

struct dtls_identity *net_psk(const char *hex)
{
	struct dtls_files f = {.npsks = 1, .psk = {net_file("psk", hex, 0600)}};
	struct dtls_identity *id;
	char reason[DTLS_REASON];

	must(dtls_identity_load(&f, reason, sizeof(reason), &id) == 0);
	net_remove_files();
	return id;
}

struct net *net_plain(void)
{
	return net_new(net_identity(-60, 3600), net_identity(-60, 3600), false);
}

struct net *net_linked(void)
{
	struct net *n = net_plain();

	net_connect(n, 0);
	must(net_until_up(n, 1000000));
	net_carry(n);
	return n;
}
