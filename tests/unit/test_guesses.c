/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: after a hundred guesses of STags a network gets one session each second, others are not
 * affected, and it is forgiven. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>

#include "daemon/net/guesses.h"
#include "proto/ddp/perr.h"

static struct guesses g;
static struct network_table networks;
static struct network *last;

static void setup(void)
{
	g = (struct guesses){0};
	network_table_init(&networks, 5, &(struct network_limits){0});
}

static void teardown(void)
{
	network_drop(last);
	last = NULL;
	network_table_deinit(&networks);
}

TestSuite(guesses, .init = setup, .fini = teardown);

/* Held until the next call: then the associations of the network are gone. */
static struct network *at(const char *text)
{
	struct in_addr v4;
	uint8_t ip[16];

	if (inet_pton(AF_INET, text, &v4) == 1)
		network_ip_v4(&v4, ip);
	else
		cr_assert_eq(inet_pton(AF_INET6, text, ip), 1);
	network_drop(last);
	last = network_hold(&networks, ip);
	cr_assert(last);
	return last;
}

static unsigned guess(const char *from, unsigned n, uint64_t now_ms)
{
	unsigned news = 0;

	while (n--)
		news += guesses_count(&g, at(from), now_ms);
	return news;
}

Test(guesses, a_program_with_an_error_is_not_slowed)
{
	cr_assert_eq(guess("192.0.2.1", GUESSES_FREE, 1000), 0);
	cr_assert_eq(guesses_wait(&g, at("192.0.2.1"), 1000), 0);
	cr_assert_eq(g.slowed, 0);
}

Test(guesses, beyond_that_a_session_each_second)
{
	uint64_t now = 1000;
	unsigned begun = 0;

	cr_assert_eq(guess("192.0.2.1", GUESSES_FREE + 1, now), 1, "reported once");
	/* Ten requests a second, and each session that begins is a guess. */
	for (; now < 61000; now += 100) {
		uint32_t wait = guesses_wait(&g, at("192.0.2.77"), now);

		cr_assert(wait == GUESSES_NEVER || (wait > 0 && wait <= GUESSES_WAIT_MAX));
		if (wait != GUESSES_NEVER) {
			begun++;
			cr_assert_eq(guess("192.0.2.77", 1, now), 0);
		}
	}
	cr_assert_leq(begun, 60 + GUESSES_WAIT_MAX / 1000);
	cr_assert_geq(begun, 60, "it is slow, not shut out");
}

Test(guesses, other_networks_are_not_affected)
{
	guess("192.0.2.1", 1000, 1000);
	guess("2001:db8::1", 1000, 1000);
	cr_assert_neq(guesses_wait(&g, at("192.0.2.2"), 1000), 0);
	cr_assert_eq(guesses_wait(&g, at("192.0.3.1"), 1000), 0);
	cr_assert_neq(guesses_wait(&g, at("2001:db8::2"), 1000), 0);
	cr_assert_eq(guesses_wait(&g, at("2001:db8:0:1::1"), 1000), 0);
	cr_assert_eq(guesses_wait(&g, at("::"), 1000), 0);
}

Test(guesses, they_are_forgotten)
{
	guess("192.0.2.1", 100000, 1000);
	cr_assert_neq(guesses_wait(&g, at("192.0.2.1"), 1000), 0);
	cr_assert_eq(guesses_wait(&g, at("192.0.2.1"), 1000 + GUESSES_FREE * 1000 + 1), 0);
	cr_assert_eq(guess("192.0.2.1", GUESSES_FREE / 2, 1000 + 2 * GUESSES_FREE * 1000), 0);
}

Test(guesses, many_networks_do_not_make_one_forgotten)
{
	unsigned forgotten = 0;
	char text[32];

	guess("192.0.2.1", 1000, 1000);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "10.%u.%u.1", i >> 8, i & 255);
		guess(text, 1, 1000);
		forgotten += guesses_wait(&g, at("192.0.2.1"), 1000) == 0;
	}
	cr_assert_eq(forgotten, 0);
}

Test(guesses, errors_of_memory_are_guesses_and_others_are_not)
{
	cr_assert(guesses_is_one(PERR_TAGGED_STAG));
	cr_assert(guesses_is_one(PERR_TAGGED_BOUNDS));
	cr_assert(guesses_is_one(PERR_ACCESS_STAG));
	cr_assert(guesses_is_one(PERR_INV_STAG));
	cr_assert_not(guesses_is_one(PERR_NONE));
	cr_assert_not(guesses_is_one(PERR_NO_BUFFER));
	cr_assert_not(guesses_is_one(PERR_LLP_LOST));
}

Test(guesses, one_that_asks_again_gets_a_session_each_second)
{
	uint64_t now = 1000;
	unsigned begun = 0;

	cr_assert_eq(guess("192.0.2.1", GUESSES_FREE, now), 0);
	cr_assert(guesses_may_ask(&g, at("192.0.2.1"), now), "a program with an error");
	cr_assert_eq(guess("192.0.2.1", 1, now), 1, "reported once");
	for (; now < 21000; now += 100)
		if (guesses_may_ask(&g, at("192.0.2.9"), now)) {
			begun++;
			guess("192.0.2.9", 1, now);
		}
	cr_expect_eq(begun, 20);
	cr_expect_eq(g.slowed, 180);
	cr_expect(guesses_may_ask(&g, at("198.51.100.1"), now), "another network");
	cr_expect(guesses_may_ask(&g, NULL, now));
}
