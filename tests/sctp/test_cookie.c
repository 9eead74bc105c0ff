/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a State Cookie carries everything, and only cookies that we signed lately are opened. */
#include <criterion/criterion.h>

#include <string.h>

#include "sctp/wire/cookie.h"

enum { SECOND = 1000000, KEY = SCTP_COOKIE_KEY_US };

static const uint64_t START = 5000ull * SECOND;

/* Different bytes at each call. */
static void fake_random(void *user, void *ret, size_t len)
{
	uint8_t *next = user;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)ret)[i] = (*next)++ * 151;
}

static uint8_t seed;
static const struct sctp_config cfg = {
	.random = fake_random, .random_user = &seed, .cookie_us = 60 * SECOND};
static struct sctp_cookie_keys keys;
static uint8_t wire[SCTP_COOKIE_MAX];

static void start(void)
{
	seed = 1;
	sctp_cookie_keys_init(&keys, &cfg, START);
}

static struct sctp_cookie example(unsigned naddrs)
{
	struct sctp_cookie c = {
		.created_us = START,
		.own_tag = 0x01020304,
		.peer_tag = 0x05060708,
		.own_tsn = 0xfffffffe,
		.peer_tsn = 0x11121314,
		.peer_rwnd = 0x00100000,
		.tie_own = 0x21222324,
		.tie_peer = 0x31323334,
		.own_port = 5000,
		.peer_port = 0xfffe,
		.out_streams = 0x4142,
		.in_streams = 0x5152,
		.from = {.peer = {.ip = {0xfe, 0x80, [15] = 9}, .scope = 0x61626364},
			 .udp_port = 0x9b1b,
			 .local = 7,
			 .covered = true},
		.all_local = true,
		.has_adaptation = true,
		.takes_batches = true,
		.zero_checksum = true,
		.adaptation = 0x71727374,
		.naddrs = naddrs,
	};

	for (unsigned i = 0; i < naddrs; i++)
		c.addr[i] = sctp_addr_v4((const uint8_t[]){192, 0, 2, (uint8_t)i});
	return c;
}

/* Every member is compared: both are zero between the members. */
static void expect_same(const struct sctp_cookie *a, const struct sctp_cookie *b)
{
	cr_assert_eq(a->created_us, b->created_us);
	cr_assert_eq(a->own_tag, b->own_tag);
	cr_assert_eq(a->peer_tag, b->peer_tag);
	cr_assert_eq(a->own_tsn, b->own_tsn);
	cr_assert_eq(a->peer_tsn, b->peer_tsn);
	cr_assert_eq(a->peer_rwnd, b->peer_rwnd);
	cr_assert_eq(a->tie_own, b->tie_own);
	cr_assert_eq(a->tie_peer, b->tie_peer);
	cr_assert_eq(a->own_port, b->own_port);
	cr_assert_eq(a->peer_port, b->peer_port);
	cr_assert_eq(a->out_streams, b->out_streams);
	cr_assert_eq(a->in_streams, b->in_streams);
	cr_assert(sctp_addr_equal(&a->from.peer, &b->from.peer));
	cr_assert_eq(a->from.udp_port, b->from.udp_port);
	cr_assert_eq(a->from.local, b->from.local);
	cr_assert_eq(a->from.covered, b->from.covered);
	cr_assert_eq(a->all_local, b->all_local);
	cr_assert_eq(a->has_adaptation, b->has_adaptation);
	cr_assert_eq(a->takes_batches, b->takes_batches);
	cr_assert_eq(a->zero_checksum, b->zero_checksum);
	cr_assert_eq(a->adaptation, b->adaptation);
	cr_assert_eq(a->naddrs, b->naddrs);
	for (unsigned i = 0; i < a->naddrs; i++)
		cr_assert(sctp_addr_equal(&a->addr[i], &b->addr[i]));
}

/* rows: 9260-5.1.3-03 9260-5.1.3-04 9260-5.1.3-05 */
Test(sctp_cookie, everything_comes_back)
{
	start();
	for (unsigned n = 0; n <= SCTP_MAX_PATHS; n++) {
		struct sctp_cookie c = example(n), back;
		uint32_t len = sctp_cookie_seal(&keys, &cfg, &c, START, wire);

		cr_assert_leq(len, SCTP_COOKIE_MAX);
		cr_assert_eq(len % 4, 0);
		memset(&back, 0xff, sizeof(back));
		cr_assert(sctp_cookie_open(&keys, wire, len, &back), "%u addresses", n);
		expect_same(&c, &back);
	}
}

Test(sctp_cookie, each_flag_comes_back_alone)
{
	start();
	for (unsigned i = 0; i < 6; i++) {
		struct sctp_cookie c = example(1), back;
		uint32_t len;

		c.all_local = i == 1;
		c.has_adaptation = i == 2;
		c.takes_batches = i == 3;
		c.from.covered = i == 4;
		c.zero_checksum = i == 5;
		len = sctp_cookie_seal(&keys, &cfg, &c, START, wire);
		cr_assert(sctp_cookie_open(&keys, wire, len, &back));
		expect_same(&c, &back);
	}
}

/* The limit of conformance: 400 bytes with 8 addresses. */
/* rows: 9260-3.3.11-05 9260-5.1.3-12 */
Test(sctp_cookie, is_small)
{
	struct sctp_cookie c = example(8);

	start();
	cr_assert_leq(sctp_cookie_seal(&keys, &cfg, &c, START, wire), 250);
}

/* rows: 9260-5.1.3-02 9260-5.1.3-07 */
Test(sctp_cookie, each_flipped_bit_is_refused)
{
	struct sctp_cookie c = example(3), back;
	uint32_t len;

	start();
	len = sctp_cookie_seal(&keys, &cfg, &c, START, wire);
	for (uint32_t bit = 0; bit < 8 * len; bit++) {
		wire[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(sctp_cookie_open(&keys, wire, len, &back), "bit %u", bit);
		wire[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cr_assert(sctp_cookie_open(&keys, wire, len, &back));
}

Test(sctp_cookie, another_length_is_refused)
{
	struct sctp_cookie c = example(3), back;
	uint8_t longer[SCTP_COOKIE_MAX + 20] = {0};
	uint32_t len;

	start();
	len = sctp_cookie_seal(&keys, &cfg, &c, START, longer);
	for (uint32_t n = 0; n <= sizeof(longer); n++)
		cr_assert_eq(sctp_cookie_open(&keys, longer, n, &back), n == len, "%u bytes", n);
}

Test(sctp_cookie, bytes_of_others_are_refused)
{
	static const uint8_t zeros[SCTP_COOKIE_MAX];
	struct sctp_cookie_keys other;
	struct sctp_cookie c = example(1), back;
	uint32_t len;

	start();
	sctp_cookie_keys_init(&other, &cfg, START);
	len = sctp_cookie_seal(&other, &cfg, &c, START, wire);
	cr_assert_not(sctp_cookie_open(&keys, wire, len, &back), "another key");
	cr_assert_not(sctp_cookie_open(&keys, zeros, SCTP_COOKIE_FIXED, &back));
	cr_assert_not(sctp_cookie_open(&keys, zeros, SCTP_COOKIE_MAX, &back));
}

/* A cookie that is opened again gives the same: the caller sees by the tags that it is old. */
Test(sctp_cookie, a_replayed_cookie_says_the_same)
{
	struct sctp_cookie c = example(2), first, second;
	uint32_t len;

	start();
	len = sctp_cookie_seal(&keys, &cfg, &c, START, wire);
	cr_assert(sctp_cookie_open(&keys, wire, len, &first));
	cr_assert(sctp_cookie_open(&keys, wire, len, &second));
	expect_same(&first, &second);
	cr_assert_eq(second.created_us, START);
}

/* Draws a new key, if it is time, by sealing another cookie. */
static void seal_another(uint64_t now_us)
{
	uint8_t other[SCTP_COOKIE_MAX];
	struct sctp_cookie c = example(0);

	sctp_cookie_seal(&keys, &cfg, &c, now_us, other);
}

/* rows: 9260-5.1.3-09 */
Test(sctp_cookie, keys_change_and_the_previous_one_stays_valid)
{
	struct sctp_cookie c = example(1), back;
	uint64_t signed_at = START + KEY - 1;
	uint32_t len;

	start();
	len = sctp_cookie_seal(&keys, &cfg, &c, signed_at, wire);
	cr_assert_not(keys.previous);
	seal_another(START + KEY);
	cr_assert(keys.previous);
	cr_assert(memcmp(keys.key[0], keys.key[1], sizeof(keys.key[0])) != 0);
	cr_assert(sctp_cookie_open(&keys, wire, len, &back));
	seal_another(START + 2 * (uint64_t)KEY - 1); /* the cookie is as old as it may get */
	cr_assert(sctp_cookie_open(&keys, wire, len, &back));
	seal_another(START + 2 * (uint64_t)KEY);
	cr_assert_not(sctp_cookie_open(&keys, wire, len, &back), "its key is gone");
}

Test(sctp_cookie, an_old_key_is_not_kept_after_a_long_silence)
{
	struct sctp_cookie c = example(1), back;
	uint32_t len;

	start();
	len = sctp_cookie_seal(&keys, &cfg, &c, START, wire);
	seal_another(START + 2 * (uint64_t)KEY);
	cr_assert_not(keys.previous);
	cr_assert_not(sctp_cookie_open(&keys, wire, len, &back));
}

Test(sctp_cookie, keys_live_as_long_as_cookies_that_live_long)
{
	struct sctp_config patient = cfg;
	struct sctp_cookie c = example(1), back;
	uint64_t signed_at = START + 299ull * SECOND;
	uint32_t len;

	start();
	patient.cookie_us = 300 * SECOND;
	len = sctp_cookie_seal(&keys, &patient, &c, signed_at, wire);
	for (uint64_t now = signed_at; now < signed_at + patient.cookie_us; now += SECOND) {
		uint8_t other[SCTP_COOKIE_MAX];

		sctp_cookie_seal(&keys, &patient, &c, now, other);
		cr_assert(sctp_cookie_open(&keys, wire, len, &back));
	}
}

Test(sctp_cookie, time_that_goes_back_changes_no_key)
{
	struct sctp_cookie c = example(1), back;
	uint32_t len;

	start();
	len = sctp_cookie_seal(&keys, &cfg, &c, START, wire);
	seal_another(0);
	seal_another(START - 1);
	cr_assert_not(keys.previous);
	cr_assert(sctp_cookie_open(&keys, wire, len, &back));
}
