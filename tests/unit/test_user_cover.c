/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the transport `user` carries associations in DTLS with peers that have shown who they
 * are, and says why not with others. */
#include <criterion/criterion.h>

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user_rig.h"
#include "util/addr.h"

/* ---- who is who ---- */

struct host {
	struct llp *t;
	struct llp_cover cover;
	struct sockaddr_storage addr;
	struct rig_conn in;
	char cert[64], key[64];
	uint8_t fingerprint[32];
	const char *refuses; /* the sentence with which it refuses all peers */
	bool clear;          /* it begins in clear text */
	unsigned asked;
	uint8_t asked_for[32];
};

static struct host host[2];
static char folder[] = "/tmp/user_cover.XXXXXX";
static uint16_t udp_port, dtls_port;

static void write_files(struct host *h, unsigned i)
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
	return !((struct host *)arg)->clear;
}

/* Who pays for handshakes of both hosts. */
static struct {
	unsigned held, begun, ended, most, least;
	bool empty;
} bank;

static void *pays(void *arg, void *user, unsigned most)
{
	(void)arg;
	(void)user;
	bank.most = most;
	if (most < bank.least)
		bank.least = most;
	if (bank.empty)
		return NULL;
	bank.held++;
	bank.begun++;
	return &bank;
}

static void paid(void *arg, void *payment)
{
	(void)arg;
	cr_assert_eq(payment, &bank);
	cr_assert_gt(bank.held, 0);
	bank.held--;
	bank.ended++;
}

static bool accept_peer(void *arg, const struct sockaddr_storage *peer,
			const struct llp_identity *id, bool we_began, char *ret_reason, size_t len)
{
	struct host *h = arg;

	(void)we_began;
	cr_assert(addr_same_host(peer, &host[h == host].addr));
	if (!ret_reason) /* no handshake */
		return !h->refuses;
	h->asked++;
	cr_assert(id->has_fingerprint);
	memcpy(h->asked_for, id->fingerprint, sizeof(h->asked_for));
	if (h->refuses)
		snprintf(ret_reason, len, "%s", h->refuses);
	return !h->refuses;
}

static void open_host(unsigned i, bool covers, unsigned init_ms)
{
	static const char *const text[] = {"127.0.0.1", "127.0.0.2"};
	struct host *h = &host[i];
	struct llp_config cfg = rig_config(text[i], udp_port, &h->addr);
	const struct llp_addrs all = {NULL, 0};
	struct llp_listener *l;

	h->cover =
		(struct llp_cover){dtls_port, h->cert, h->key, wanted, accept_peer, h, pays, paid};
	cfg.cover = covers ? &h->cover : NULL;
	cfg.init_ms = init_ms;
	cfg.heartbeat_ms = 100;
	h->t = rig_open(&cfg);
	cr_assert_eq(llp_listen_at(h->t, &all, RIG_SCTP_PORT, &h->in, &l), 0);
	h->in.echo = true;
}

static void begin(void)
{
	cr_assert_not_null(mkdtemp(folder));
	udp_port = rig_free_port();
	do
		dtls_port = rig_free_port();
	while (dtls_port == udp_port);
	for (unsigned i = 0; i < 2; i++) {
		write_files(&host[i], i);
		open_host(i, true, 10000);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < 2; i++) {
		rig_close(host[i].t);
		unlink(host[i].cert);
		unlink(host[i].key);
	}
	rmdir(folder);
	cr_assert_eq(bank.held, 0);
}

TestSuite(user_cover, .init = begin, .fini = end);

static struct llp_info info_of(const struct rig_conn *c)
{
	struct llp_info info;

	llp_info(c->c, &info);
	return info;
}

static void expect_peer(const struct rig_conn *c, const struct host *h)
{
	struct llp_identity id;
	struct llp_info info = info_of(c);

	cr_assert(info.covered);
	cr_assert_eq(info.remote_udp_port, dtls_port);
	cr_assert(info.same_endpoint);
	cr_assert(llp_identity_of(c->c, &id));
	cr_assert(id.has_fingerprint);
	cr_assert_arr_eq(id.fingerprint, h->fingerprint, 32);
}

/* ---- associations ---- */

static struct rig_conn out;

Test(user_cover, both_ends_know_who_the_other_one_is)
{
	rig_connect(host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	rig_until(&host[1].in.incoming, 1);
	expect_peer(&out, &host[1]);
	expect_peer(&host[1].in, &host[0]);
	cr_assert_arr_eq(host[0].asked_for, host[1].fingerprint, 32);
	cr_assert_arr_eq(host[1].asked_for, host[0].fingerprint, 32);
}

Test(user_cover, messages_of_all_lengths_arrive)
{
	static const uint32_t len[] = {1, 100, 1000, 1100};
	unsigned n = 0;

	rig_connect(host[0].t, "127.0.0.2", &out);
	for (unsigned k = 0; k < 300; k++)
		for (unsigned i = 0; i < 4; i++) {
			rig_send(&out, 0, len[i], (uint8_t)k);
			n++;
			if (n % 32 == 0)
				rig_until(&out.msgs, n);
		}
	rig_until(&out.msgs, n);
	cr_assert(rig_last_is(&out, 1100, 43));
}

/* The route of loopback takes 65,535 bytes: a record is the limit. */
Test(user_cover, packet_grows_to_a_record)
{
	rig_connect(host[0].t, "127.0.0.2", &out);
	rig_until_max(&out, 16384 - 12 - 16);
	cr_assert_eq(info_of(&out).mtu, 16384 + 37 + 28);
	rig_send(&out, 0, 16384 - 12 - 16, 7);
	rig_until(&out.msgs, 1);
	cr_assert(rig_last_is(&out, 16384 - 12 - 16, 7));
}

Test(user_cover, second_association_uses_the_link_of_the_first)
{
	static struct rig_conn second;

	rig_connect(host[0].t, "127.0.0.2", &out);
	rig_connect(host[0].t, "127.0.0.2", &second);
	cr_assert_eq(second.up, 1, "%s", second.reason);
	cr_assert_eq(host[0].asked, 1);
	expect_peer(&second, &host[1]);
}

Test(user_cover, ends_that_begin_at_once_are_both_served)
{
	static struct rig_conn from[2];
	const struct llp_addrs all = {NULL, 0};

	for (unsigned i = 0; i < 2; i++) {
		const struct llp_addrs peer = {&host[!i].addr, 1};

		cr_assert_eq(llp_connect_at(host[i].t, &peer, RIG_SCTP_PORT, &all, 0, &from[i],
					    &from[i].c),
			     0);
	}
	for (unsigned i = 0; i < 2; i++) {
		rig_until(&from[i].up, 1);
		expect_peer(&from[i], &host[!i]);
		rig_send(&from[i], 0, 100, 1);
		rig_until(&from[i].msgs, 1);
	}
}

Test(user_cover, clear_text_stays_for_whom_it_is_wanted)
{
	struct llp_identity id;

	host[0].clear = true;
	rig_connect(host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	cr_assert_not(info_of(&out).covered);
	cr_assert_not(llp_identity_of(out.c, &id));
	cr_assert_eq(host[0].asked + host[1].asked, 0);
}

/* ---- refusals ---- */

static void expect_end(int err, const char *text)
{
	cr_assert_eq(out.down, 1);
	cr_assert_eq(out.err, err, "%s", out.reason);
	cr_assert(strstr(out.reason, text), "%s", out.reason);
	cr_assert_eq(host[1].in.incoming, 0);
}

Test(user_cover, peer_whom_we_refuse_ends_the_connect_with_our_sentence)
{
	host[0].refuses = "this is somebody else";
	rig_connect(host[0].t, "127.0.0.2", &out);
	expect_end(ECONNREFUSED, "this is somebody else");
}

Test(user_cover, peer_that_refuses_us_says_so)
{
	host[1].refuses = "this is somebody else";
	rig_connect(host[0].t, "127.0.0.2", &out);
	expect_end(ECONNREFUSED, "access denied");
}

Test(user_cover, peer_without_dtls_is_named)
{
	for (unsigned i = 0; i < 2; i++) {
		rig_close(host[i].t);
		open_host(i, i == 0, 300);
	}
	rig_connect(host[0].t, "127.0.0.2", &out);
	expect_end(ETIMEDOUT, "no DTLS handshake");
}

Test(user_cover, association_that_waits_can_be_left)
{
	struct sockaddr_storage to;
	const struct llp_addrs all = {NULL, 0}, peer = {&to, 1};

	rig_address("127.0.0.2", 0, &to);
	for (int abort = 0; abort < 3; abort++) {
		struct llp_conn *c;

		cr_assert_eq(llp_connect_at(host[0].t, &peer, RIG_SCTP_PORT, &all, 0, &out, &c), 0);
		if (abort == 1)
			llp_abort(c, "no more");
		else if (abort == 2)
			llp_shutdown(c);
		llp_conn_free(c);
	}
	rig_connect(host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
}

Test(user_cover, several_addresses_are_refused)
{
	struct sockaddr_storage to[2];
	const struct llp_addrs all = {NULL, 0}, peer = {to, 2};
	struct llp_conn *c;

	rig_address("127.0.0.2", 0, &to[0]);
	rig_address("127.0.0.3", 0, &to[1]);
	cr_assert_eq(llp_connect_at(host[0].t, &peer, RIG_SCTP_PORT, &all, 0, &out, &c),
		     -EOPNOTSUPP);
}

/* ---- who pays ---- */

static int begin_with(const char *text, struct rig_conn *rc)
{
	struct sockaddr_storage to;
	const struct llp_addrs all = {NULL, 0}, peer = {&to, 1};

	rig_address(text, 0, &to);
	return llp_connect_at(host[0].t, &peer, RIG_SCTP_PORT, &all, 0, rc, &rc->c);
}

Test(user_cover, a_handshake_is_paid_once_until_it_has_ended)
{
	static struct rig_conn second, third;

	cr_assert_eq(begin_with("127.0.0.2", &out), 0);
	cr_assert_eq(begin_with("127.0.0.2", &second), 0);
	cr_assert_eq(bank.held, 1);
	cr_assert_eq(bank.most, 256);
	rig_until(&out.up, 1);
	rig_until(&second.up, 1);
	cr_assert_eq(begin_with("127.0.0.2", &third), 0);
	rig_until(&third.up, 1);
	cr_assert_eq(bank.begun, 1);
	cr_assert_eq(bank.held, 0);
}

Test(user_cover, a_handshake_that_nobody_pays_does_not_begin)
{
	bank.empty = true;
	cr_assert_eq(begin_with("127.0.0.2", &out), -EDQUOT);
	bank.empty = false;
	rig_connect(host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	cr_assert_eq(host[1].asked, 1);
	bank.empty = true;
	cr_assert_eq(begin_with("127.0.0.2", &out), 0, "it uses the link");
}

Test(user_cover, who_leaves_pays_until_the_handshake_has_ended)
{
	cr_assert_eq(begin_with("127.0.0.2", &out), 0);
	llp_conn_free(out.c);
	cr_assert_eq(bank.held, 1);
	rig_until(&bank.ended, 1);
	cr_assert_eq(host[0].asked, 1, "it has ended well");
}

Test(user_cover, a_handshake_that_fails_is_not_paid_any_more)
{
	host[0].refuses = "this is somebody else";
	rig_connect(host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.down, 1);
	cr_assert_eq(bank.begun, 1);
	cr_assert_eq(bank.held, 0);
}

/* Nobody is there. */
Test(user_cover, a_handshake_without_an_answer_is_paid_for_its_time)
{
	cr_assert_eq(begin_with("127.0.0.3", &out), 0);
	llp_conn_free(out.c);
	rig_hold_clock();
	rig_release_clock(9000000);
	rig_turn();
	cr_assert_eq(bank.held, 1);
	rig_hold_clock();
	rig_release_clock(2000000);
	rig_until(&bank.ended, 1);
}

Test(user_cover, what_peers_have_begun_is_not_for_programs)
{
	const struct llp_addrs all = {NULL, 0}, peer = {&host[0].addr, 1};
	static struct rig_conn in;
	char text[32];

	bank.least = 1000;
	cr_assert_eq(llp_connect_at(host[1].t, &peer, RIG_SCTP_PORT, &all, 0, &in, &in.c), 0);
	for (unsigned i = 0; !in.up && i < 200; i++) {
		snprintf(text, sizeof(text), "127.0.1.%u", i + 1);
		if (begin_with(text, &out) == 0)
			llp_conn_free(out.c);
		rig_turn();
	}
	cr_assert_eq(bank.least, 255, "%u", bank.least);
}

/* ---- a peer that begins again ---- */

/* It has lost the keys of a link that seems fine here. */
Test(user_cover, peer_that_restarted_at_once_is_reached_again)
{
	static struct rig_conn again;

	rig_connect(host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1);
	rig_close(host[1].t);
	open_host(1, true, 10000);
	rig_connect(host[0].t, "127.0.0.2", &again);
	cr_assert_eq(again.up, 1, "%s", again.reason);
	expect_peer(&again, &host[1]);
	rig_until(&out.down, 1);
}

Test(user_cover, peer_that_restarted_is_reached_again)
{
	static struct rig_conn again;

	rig_connect(host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1);
	rig_close(host[1].t);
	rig_until(&out.down, 1);
	open_host(1, true, 10000);
	rig_hold_clock();
	rig_release_clock(3000000);
	rig_connect(host[0].t, "127.0.0.2", &again);
	cr_assert_eq(again.up, 1, "%s", again.reason);
	expect_peer(&again, &host[1]);
}

/* The end that has not restarted has the old keys, and hears of it as soon as it sends something.
 */
Test(user_cover, association_with_a_peer_that_restarted_is_aborted_by_it)
{
	for (unsigned who = 0; who < 2; who++) {
		struct rig_conn *left = who == 0 ? &host[1].in : &out;

		memset(&out, 0, sizeof(out));
		host[1].in.up = host[1].in.down = host[1].in.incoming = 0;
		rig_connect(host[0].t, "127.0.0.2", &out);
		cr_assert_eq(out.up, 1, "%s", out.reason);
		rig_until(&host[1].in.incoming, 1);
		rig_close(host[who].t);
		open_host(who, true, 10000);
		rig_until(&left->down, 1);
		cr_assert_eq(left->err, ECONNRESET, "%s", left->reason);
		cr_assert(strstr(left->reason, "aborted"), "%s", left->reason);
	}
}

/* The peer has an association between the ports that ours wants, and we know that only when the
 * link is up again. */
Test(user_cover, connect_whose_port_is_taken_while_it_waits_has_another_one)
{
	static struct rig_conn from[2];
	const struct llp_addrs all = {NULL, 0};

	for (unsigned i = 2; i-- > 0;) {
		const struct llp_addrs peer = {&host[!i].addr, 1};

		cr_assert_eq(llp_connect_at(host[i].t, &peer, RIG_SCTP_PORT, &all, RIG_SCTP_PORT,
					    &from[i], &from[i].c),
			     0);
		while (!from[i].up && !from[i].down)
			rig_turn();
		cr_assert_eq(from[i].up, 1, "%s", from[i].reason);
		rig_hold_clock();
		rig_release_clock(3000000); /* so the link is asked */
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct llp_info info = info_of(&from[i]);

		cr_assert_eq(addr_port(&info.local) == RIG_SCTP_PORT, i == 1);
		cr_assert_eq(from[i].down, 0);
	}
}
