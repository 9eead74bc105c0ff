/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: signatures and key agreement never take the time of the thread that moves packets, and
 * a link at rest takes little memory. */
#include <criterion/criterion.h>
#include <malloc.h>
#include <pthread.h>

#include "tests/unit/dtls_net.h"

#include <openssl/ssl.h>

#define SECOND ((uint64_t)1000000)

/* ---- the thread ---- */

static pthread_t mover;
static unsigned by_mover, by_others;

static void note_thread(void)
{
	__atomic_add_fetch(pthread_equal(pthread_self(), mover) ? &by_mover : &by_others, 1,
			   __ATOMIC_RELAXED);
}

int __real_SSL_do_handshake(SSL *s);
int __wrap_SSL_do_handshake(SSL *s);
int __real_DTLSv1_listen(SSL *s, BIO_ADDR *client);
int __wrap_DTLSv1_listen(SSL *s, BIO_ADDR *client);

int __wrap_SSL_do_handshake(SSL *s)
{
	note_thread();
	return __real_SSL_do_handshake(s);
}

int __wrap_DTLSv1_listen(SSL *s, BIO_ADDR *client)
{
	note_thread();
	return __real_DTLSv1_listen(s, client);
}

Test(dtls_link, handshakes_and_takeovers_run_in_the_thread_for_them)
{
	struct net *n = net_new(net_identity(-60, 3600), net_identity(-60, 3600), true);

	mover = pthread_self();
	net_connect(n, 0);
	cr_assert(net_until_up(n, 10 * SECOND));
	net_carry(n);
	net_renew(n, 1);
	net_carry(n);
	net_free(n);
	cr_expect_eq(by_mover, 0, "%u steps", by_mover);
	cr_expect_geq(by_others, 8);
}

/* ---- memory ---- */

enum { NETS = 16, ENDS = 2 * NETS, MOST = 16 * 1024 };

static size_t allocated(void)
{
	return mallinfo2().uordblks;
}

static void bring_to_rest(struct net *n)
{
	net_connect(n, 0);
	cr_assert(net_until_up(n, 10 * SECOND));
	net_carry(n);
	net_run(n, 5 * SECOND);
}

/* An association has at most 8 KiB beside it (tests/system/idle). */
Test(dtls_link, link_at_rest_has_at_most_16_kib)
{
	struct net *n[NETS], *first = net_linked();
	size_t before, each;

	if (allocated() == 0)
		cr_skip_test("this allocator does not say what it has given");
	for (unsigned i = 0; i < NETS; i++)
		n[i] = net_plain();
	before = allocated();
	for (unsigned i = 0; i < NETS; i++)
		bring_to_rest(n[i]);
	each = (allocated() - before) / ENDS;
	cr_assert_geq(each, 256, "%zu bytes: links are not counted", each);
	cr_assert_leq(each, MOST, "%zu bytes", each);
	for (unsigned i = 0; i < NETS; i++)
		net_free(n[i]);
	net_free(first);
}
