/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of a link does not depend on how many others there are: the test counts how often links
 * are looked at. */
#include <criterion/criterion.h>

#include "llp/dtls/dtls_link.h"
#include "tests/unit/dtls_net.h"

#define MS ((uint64_t)1000)

enum { MANY = 400 };

static unsigned looks;

size_t __real_dtls_link_output(struct dtls_link *l, uint8_t *to, size_t size);
size_t __wrap_dtls_link_output(struct dtls_link *l, uint8_t *to, size_t size);
uint64_t __real_dtls_link_expiry(const struct dtls_link *l);
uint64_t __wrap_dtls_link_expiry(const struct dtls_link *l);
void __real_dtls_link_run(struct dtls_link *l, uint64_t now_us);
void __wrap_dtls_link_run(struct dtls_link *l, uint64_t now_us);

size_t __wrap_dtls_link_output(struct dtls_link *l, uint8_t *to, size_t size)
{
	looks++;
	return __real_dtls_link_output(l, to, size);
}

uint64_t __wrap_dtls_link_expiry(const struct dtls_link *l)
{
	looks++;
	return __real_dtls_link_expiry(l);
}

void __wrap_dtls_link_run(struct dtls_link *l, uint64_t now_us)
{
	looks++;
	__real_dtls_link_run(l, now_us);
}

static struct dtls *open_room(void)
{
	const struct dtls_config cfg = {
		.random = net_random,
		.accept = net_accept_all,
		.max_links = MANY,
		.max_handshakes = MANY,
		.resend_us = 500 * MS,
		.handshake_us = 10000 * MS,
		.takeover_us = 600000 * MS,
		.linger_us = 2000 * MS,
		.idle_us = 300000 * MS,
	};
	struct dtls_identity *id = net_identity(-60, 3600);
	struct dtls *d;

	cr_assert_eq(dtls_open(&cfg, id, 0, &d), 0);
	dtls_identity_drop(id);
	return d;
}

static struct dtls_flow flow_of(unsigned i)
{
	return (struct dtls_flow){.port = (uint16_t)(i + 1)};
}

/* How many datagrams leave. */
static unsigned drain(struct dtls *d)
{
	uint8_t p[DTLS_MAX_DATAGRAM];
	struct dtls_flow to;
	unsigned n = 0;
	size_t len;

	while (dtls_output(d, &to, p, sizeof(p), &len))
		n++;
	return n;
}

static void begin(struct dtls *d, unsigned i, uint64_t now_us)
{
	struct dtls_flow f = flow_of(i);

	cr_assert_eq(dtls_connect(d, &f, now_us), 0);
}

/* Looks at links while one begins and repeats its hello twice, beside `others` that do so later. */
static unsigned count_looks(unsigned others)
{
	struct dtls *d = open_room();

	begin(d, 0, 0);
	for (unsigned i = 1; i <= others; i++)
		begin(d, i, 400 * MS);
	cr_assert_eq(drain(d), others + 1);
	looks = 0;
	for (uint64_t ms = 401; ms < 500; ms++) {
		dtls_run(d, ms * MS);
		cr_assert_eq(dtls_expiry(d), 500 * MS);
		cr_assert_eq(drain(d), 0);
	}
	dtls_run(d, 500 * MS);
	cr_assert_eq(drain(d), 1);
	dtls_close(d);
	return looks;
}

Test(dtls_many, link_in_a_handshake_costs_the_same_beside_many_others)
{
	unsigned alone = count_looks(1);

	cr_assert_leq(alone, 10);
	cr_assert_eq(count_looks(MANY - 1), alone);
}

Test(dtls_many, datagrams_of_many_cost_the_same_each)
{
	struct dtls *d = open_room();

	for (unsigned i = 0; i < MANY; i++)
		begin(d, i, 0);
	looks = 0;
	cr_assert_eq(drain(d), MANY);
	cr_assert_leq(looks, 5 * MANY);
	dtls_close(d);
}

static uint64_t handshakes(const struct dtls *d)
{
	struct dtls_stats s;

	dtls_stats(d, &s);
	return s.handshakes;
}

Test(dtls_many, each_end_of_a_handshake_makes_room_for_another_one)
{
	struct dtls *d = open_room();
	struct dtls_event e;

	for (unsigned i = 0; i < MANY; i++)
		begin(d, i, 0);
	cr_assert_eq(handshakes(d), MANY);
	for (unsigned i = 0; i < MANY; i += 2) {
		struct dtls_flow f = flow_of(i);

		dtls_disconnect(d, &f);
	}
	cr_assert_eq(handshakes(d), MANY / 2);
	dtls_run(d, 10000 * MS);
	cr_assert_eq(handshakes(d), 0);
	while (dtls_event(d, &e))
		cr_assert_not(e.up);
	cr_assert_eq(dtls_expiry(d), UINT64_MAX);
	for (unsigned i = 0; i < MANY; i++)
		begin(d, i, 10000 * MS);
	cr_assert_eq(handshakes(d), MANY);
	dtls_close(d);
}
