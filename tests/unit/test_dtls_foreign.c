/* SPDX-License-Identifier: BSD-2-Clause */
/* A room of ours with OpenSSL's own DTLS at the other end, as client and as server. */
#include <criterion/criterion.h>

#include <string.h>

#include "tests/unit/dtls_net.h"
#include "tests/unit/dtls_rig.h"

enum { LEN = 1200 };

/* End 0 of a network is ours, and the other end is one of OpenSSL without a handshake yet. */
struct foreign {
	struct net *net;
	struct rig *rig;
	struct rig_end *end;
};

static struct foreign begin(bool is_client)
{
	struct foreign f = {.net = net_plain(), .rig = rig_open("ECDHE-ECDSA-AES128-GCM-SHA256")};

	f.end = is_client ? &f.rig->client : &f.rig->server;
	SSL_set_verify(f.end->ssl, SSL_VERIFY_PEER, rig_accept);
	return f;
}

static void end(struct foreign *f)
{
	net_free(f->net);
	rig_free(f->rig);
}

/* One turn of both: whatever lies around is read. Returns the length of a packet that our end got.
 */
static size_t turn(struct foreign *f, uint8_t *packet)
{
	struct net_end *ours = &f->net->end[0];
	uint8_t p[RIG_BYTES];
	struct dtls_flow to;
	size_t len, got = 0;

	dtls_run(ours->dtls, f->net->now_us);
	while (dtls_output(ours->dtls, &to, p, sizeof(p), &len))
		rig_put(f->end, p, len);
	if (!SSL_is_init_finished(f->end->ssl))
		SSL_do_handshake(f->end->ssl);
	while ((len = rig_take(f->end->peer, p)) > 0) {
		struct span at = {p, len}, s;

		while (dtls_input(ours->dtls, &ours->peer, &at, f->net->now_us, &s)) {
			memcpy(packet, s.p, s.len);
			got = s.len;
		}
	}
	return got;
}

static bool come_up(struct foreign *f)
{
	struct net_end *ours = &f->net->end[0];
	uint8_t packet[RIG_BYTES];

	for (unsigned i = 0; i < 20; i++)
		turn(f, packet);
	return dtls_is_up(ours->dtls, &ours->peer) && SSL_is_init_finished(f->end->ssl);
}

static void carries_both_ways(struct foreign *f)
{
	struct net_end *ours = &f->net->end[0];
	uint8_t plain[LEN], wire[LEN + DTLS_OVERHEAD], got[RIG_BYTES];
	struct span part = {plain, LEN};

	for (unsigned i = 0; i < 100; i++) {
		memset(plain, (int)i, LEN);
		cr_assert_eq(dtls_seal(ours->dtls, &ours->peer, &part, 1, LEN, wire), sizeof(wire));
		rig_put(f->end, wire, sizeof(wire));
		cr_assert_eq(SSL_read(f->end->ssl, got, sizeof(got)), LEN);
		cr_assert_arr_eq(got, plain, LEN);
		cr_assert_eq(SSL_write(f->end->ssl, plain, LEN), LEN);
		cr_assert_eq(turn(f, got), LEN);
		cr_assert_arr_eq(got, plain, LEN);
	}
}

Test(dtls_foreign, openssl_as_client_comes_up_and_carries_packets)
{
	struct foreign f = begin(true);

	cr_assert(come_up(&f));
	carries_both_ways(&f);
	end(&f);
}

Test(dtls_foreign, openssl_as_server_comes_up_and_carries_packets)
{
	struct foreign f = begin(false);

	net_connect(f.net, 0);
	cr_assert(come_up(&f));
	carries_both_ways(&f);
	end(&f);
}

Test(dtls_foreign, renegotiation_is_refused_and_packets_go_on)
{
	struct foreign f = begin(true);
	uint8_t packet[RIG_BYTES];

	cr_assert(come_up(&f));
	cr_assert_eq(SSL_renegotiate(f.end->ssl), 1);
	SSL_do_handshake(f.end->ssl);
	for (unsigned i = 0; i < 10; i++)
		turn(&f, packet);
	cr_assert(dtls_is_up(f.net->end[0].dtls, &f.net->end[0].peer));
	cr_assert_eq(SSL_renegotiate_pending(f.end->ssl), 1);
	end(&f);
}

Test(dtls_foreign, client_without_a_certificate_is_refused)
{
	struct foreign f = begin(true);

	SSL_certs_clear(f.end->ssl);
	cr_assert(!come_up(&f));
	cr_assert_eq(f.net->end[0].up, 0);
	end(&f);
}

Test(dtls_foreign, suites_without_aead_are_refused)
{
	struct foreign f = begin(true);

	cr_assert(SSL_set_cipher_list(f.end->ssl,
				      "ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA"));
	cr_assert(!come_up(&f));
	end(&f);
}

Test(dtls_foreign, close_of_either_end_reaches_the_other)
{
	struct foreign f = begin(true);
	struct net_end *ours = &f.net->end[0];
	uint8_t packet[RIG_BYTES];

	cr_assert(come_up(&f));
	SSL_shutdown(f.end->ssl);
	turn(&f, packet);
	cr_assert(!dtls_is_up(ours->dtls, &ours->peer));
	end(&f);
	f = begin(true);
	ours = &f.net->end[0];
	cr_assert(come_up(&f));
	dtls_disconnect(ours->dtls, &ours->peer);
	turn(&f, packet);
	cr_assert_leq(SSL_read(f.end->ssl, packet, sizeof(packet)), 0);
	cr_assert(SSL_get_shutdown(f.end->ssl) & SSL_RECEIVED_SHUTDOWN);
	end(&f);
}
