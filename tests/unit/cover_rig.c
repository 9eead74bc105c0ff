/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/cover_rig.h"

#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llp/user/udp.h"
#include "util/addr.h"
#include "util/minmax.h"

struct cover_host cover_host[2];
uint16_t cover_clear_port, cover_port;
struct cover_datagram cover_sent;
void (*cover_change)(struct dtls_config *cfg);

static char folder[] = "/tmp/user_cover.XXXXXX";

/* ---- the network ---- */

static unsigned lost_percent;
static uint32_t seed = 1;

int __real_udp_send(struct udp *u, struct udp_batch *b);
int __wrap_udp_send(struct udp *u, struct udp_batch *b);

int __wrap_udp_send(struct udp *u, struct udp_batch *b)
{
	cover_sent.len = min_u64(b->span[0].len, sizeof(cover_sent.p));
	memcpy(cover_sent.p, b->span[0].p, cover_sent.len);
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % 100 < lost_percent ? 0 : __real_udp_send(u, b);
}

void cover_lose(unsigned percent)
{
	lost_percent = percent;
}

/* ---- the rooms ---- */

static struct dtls *opened;

int __real_dtls_open(const struct dtls_config *cfg, struct dtls_identity *id, uint64_t now_us,
		     struct dtls **ret);
int __wrap_dtls_open(const struct dtls_config *cfg, struct dtls_identity *id, uint64_t now_us,
		     struct dtls **ret);

int __wrap_dtls_open(const struct dtls_config *cfg, struct dtls_identity *id, uint64_t now_us,
		     struct dtls **ret)
{
	struct dtls_config changed = *cfg;
	int r;

	if (cover_change)
		cover_change(&changed);
	r = __real_dtls_open(&changed, id, now_us, ret);
	opened = *ret;
	return r;
}

/* ---- who is who ---- */

static void write_files(struct cover_host *h, unsigned i)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *name = X509_get_subject_name(cert);
	unsigned n = sizeof(h->fingerprint);
	FILE *f;

	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"host", -1, -1, 0);
	X509_set_issuer_name(cert, name);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1 + i);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);
	cr_assert(X509_sign(cert, key, EVP_sha256()));
	X509_digest(cert, EVP_sha256(), h->fingerprint, &n);
	snprintf(h->cert, sizeof(h->cert), "%s/%u.pem", folder, i);
	snprintf(h->key, sizeof(h->key), "%s/%u.key", folder, i);
	f = fopen(h->cert, "w");
	cr_assert(f && PEM_write_X509(f, cert));
	fclose(f);
	f = fopen(h->key, "w");
	cr_assert(f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
	fclose(f);
	chmod(h->key, 0600);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static bool wanted(void *arg, const struct sockaddr_storage *peer)
{
	(void)peer;
	return !((struct cover_host *)arg)->clear;
}

struct cover_bank cover_bank;

static void *pays(void *arg, void *user, unsigned most)
{
	(void)arg;
	(void)user;
	cover_bank.most = most;
	if (cover_bank.empty)
		return NULL;
	cover_bank.held++;
	cover_bank.begun++;
	return &cover_bank;
}

static void *pays_link(void *arg, void *user, unsigned most)
{
	(void)arg;
	(void)user;
	cover_bank.most_links = most;
	if (cover_bank.no_links)
		return NULL;
	cover_bank.links++;
	return &cover_bank.links;
}

static void paid(void *arg, void *payment)
{
	(void)arg;
	if (payment == &cover_bank.links) {
		cr_assert_gt(cover_bank.links, 0);
		cover_bank.links--;
		return;
	}
	cr_assert_eq(payment, &cover_bank);
	cr_assert_gt(cover_bank.held, 0);
	cover_bank.held--;
	cover_bank.ended++;
}

static bool accept_peer(void *arg, const struct sockaddr_storage *peer,
			const struct llp_identity *id, bool we_began, char *ret_reason, size_t len)
{
	struct cover_host *h = arg;

	(void)we_began;
	cr_assert(addr_same_host(peer, &cover_host[h == cover_host].addr));
	if (!ret_reason) /* no handshake */
		return !h->refuses;
	h->asked++;
	cr_assert(id->has_fingerprint);
	memcpy(h->asked_for, id->fingerprint, sizeof(h->asked_for));
	if (h->refuses)
		snprintf(ret_reason, len, "%s", h->refuses);
	return !h->refuses;
}

static void lacks(void *arg, const struct sockaddr_storage *peer, char *ret_reason, size_t len)
{
	(void)arg;
	(void)peer;
	snprintf(ret_reason, len, "%s", COVER_LACK);
}

static void refused(void *arg, const struct sockaddr_storage *peer, const char *reason)
{
	struct cover_host *h = arg;

	cr_assert(addr_same_host(peer, &cover_host[h == cover_host].addr));
	cr_assert(*reason);
	h->refused++;
}

/* ---- hosts ---- */

void cover_open(unsigned i, bool covers, unsigned init_ms)
{
	static const char *const text[] = {"127.0.0.1", "127.0.0.2"};
	struct cover_host *h = &cover_host[i];
	struct llp_config cfg = rig_config(text[i], cover_clear_port, &h->addr);
	const struct llp_addrs all = {NULL, 0};
	struct llp_listener *l;

	h->files = (struct llp_cover_files){.cert = h->cert, .key = h->key};
	h->cover = (struct llp_cover){.udp_port = cover_port,
				      .files = &h->files,
				      .wanted = wanted,
				      .accept = accept_peer,
				      .lacks = lacks,
				      .refused = refused,
				      .arg = h,
				      .pays = pays,
				      .pays_link = pays_link,
				      .paid = paid};
	cfg.cover = covers ? &h->cover : NULL;
	cfg.init_ms = init_ms;
	cfg.heartbeat_ms = 100;
	cfg.path_max_retrans = 20; /* ICMP is faster */
	h->t = rig_open(&cfg);
	h->dtls = covers ? opened : NULL;
	cr_assert_eq(llp_listen_at(h->t, &all, RIG_SCTP_PORT, &h->in, &l), 0);
	h->in.echo = true;
}

void cover_crash(unsigned i)
{
	cover_lose(100);
	rig_close(cover_host[i].t);
	cover_lose(0);
	cover_open(i, true, 10000);
}

void cover_begin(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cover_clear_port = rig_free_port();
	do
		cover_port = rig_free_port();
	while (cover_port == cover_clear_port);
	for (unsigned i = 0; i < 2; i++) {
		write_files(&cover_host[i], i);
		cover_open(i, true, 10000);
	}
}

void cover_end(void)
{
	for (unsigned i = 0; i < 2; i++) {
		rig_close(cover_host[i].t);
		unlink(cover_host[i].cert);
		unlink(cover_host[i].key);
	}
	rmdir(folder);
	cr_assert_eq(cover_bank.held, 0);
	cr_assert_eq(cover_bank.links, 0);
}
