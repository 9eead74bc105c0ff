/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: keys are replaced a thousand times while packets flow and some are lost, and neither an
 * association nor a message ends with them; and an association that waits for an answer costs the
 * same however many others do. */
#include <criterion/criterion.h>

#include "tests/unit/cover_rig.h"

enum { TAKEOVERS = 1000, IN_FLIGHT = 64 };

TestSuite(user_cover_keys, .init = cover_begin, .fini = cover_end);

static struct rig_conn out;

/* ---- takeovers ---- */

static void short_lives(struct dtls_config *cfg)
{
	cfg->takeover_us = 4000;
	cfg->resend_us = 10000;
}

static unsigned takeovers(void)
{
	struct dtls_stats s;

	dtls_stats(cover_host[0].dtls, &s);
	return (unsigned)s.takeovers;
}

Test(user_cover_keys, thousand_takeovers_under_load_and_loss_end_nothing, .timeout = 300)
{
	unsigned sent = 0;

	cover_change = short_lives;
	for (unsigned i = 0; i < 2; i++) {
		rig_close(cover_host[i].t);
		cover_open(i, true, 10000);
	}
	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	cover_lose(1);
	while (takeovers() < TAKEOVERS) {
		while (sent - out.msgs < IN_FLIGHT)
			rig_send(&out, 0, 1000, (uint8_t)++sent);
		rig_turn();
		cr_assert_eq(out.down + cover_host[1].in.down, 0, "%s", out.reason);
	}
	cover_lose(0);
	rig_until(&out.msgs, sent);
	cr_assert_eq(out.msgs, sent);
	cr_assert_eq(cover_host[1].in.msgs, sent);
	cr_assert_eq(cover_host[1].in.incoming, 1);
}

/* ---- doubts ---- */

static unsigned looks;

bool __real_dtls_is_up(const struct dtls *d, const struct dtls_flow *flow);
bool __wrap_dtls_is_up(const struct dtls *d, const struct dtls_flow *flow);

bool __wrap_dtls_is_up(const struct dtls *d, const struct dtls_flow *flow)
{
	looks++;
	return __real_dtls_is_up(d, flow);
}

static void pass(unsigned ms)
{
	rig_hold_clock();
	rig_release_clock(ms * 1000);
	rig_turn();
}

/* Twice, if the peer was heard a little later than they began. */
Test(user_cover_keys, link_of_an_association_without_answer_is_doubted_once)
{
	enum { MANY = 50 };
	static struct rig_conn many[MANY];
	struct dtls_stats s;
	const struct llp_addrs all = {NULL, 0}, peer = {&cover_host[1].addr, 1};

	rig_connect(cover_host[0].t, "127.0.0.2", &out);
	cr_assert_eq(out.up, 1, "%s", out.reason);
	rig_pause(cover_host[1].t);
	for (unsigned i = 0; i < MANY; i++)
		cr_assert_eq(llp_connect_at(cover_host[0].t, &peer, RIG_SCTP_PORT, &all, 0,
					    &many[i], &many[i].c),
			     0);
	looks = 0;
	for (unsigned i = 0; i < 50; i++)
		pass(100);
	dtls_stats(cover_host[0].dtls, &s);
	cr_assert_eq(s.begun, 2, "it was not doubted");
	cr_assert_geq(looks, MANY);
	cr_assert_leq(looks, 2 * MANY + 10);
	rig_resume(cover_host[1].t);
	rig_until(&many[MANY - 1].up, 1);
}
