/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Promise: what leaves while the peer is silent, and when it answers again (RFC 9260 6.3, 7.2.1,
 * 7.2.3), with round trips that were measured or not, over IPv4 and IPv6, over one path and two,
 * and where TSNs wrap. The rules of tests/sctp/invariant.h hold after every packet besides.
 */
#include "sctp/base/path_select.h"
#include "tests/sctp/script.h"

struct variant {
	bool measured, v6, wraps;
	unsigned paths;
};

static struct peer p;
static uint32_t base; /* first TSN that is not acknowledged */

static struct sctp_addr address(const struct variant *c, unsigned path, unsigned host)
{
	if (!c->v6)
		return sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)path, (uint8_t)host});
	return (struct sctp_addr){.ip = {0xfd, [13] = (uint8_t)path, [15] = (uint8_t)host}};
}

static void begin_connect(const struct variant *c)
{
	const uint8_t local[] = {0, 1};
	struct sctp_addr peer[2];
	const struct sctp_connect to = {.peer = peer,
					.npeer = c->paths,
					.port = p.port,
					.local = local,
					.nlocal = c->paths};

	for (unsigned i = 0; i < c->paths; i++)
		peer[i] = address(c, i, 2);
	cr_assert_eq(sctp_assoc_connect(p.s, &to, &p.assoc), SCTP_E_OK);
	peer_poll(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT));
	p.stack_port = p.head.src;
}

/* The peer lists its second address. */
static void answer(const struct variant *c)
{
	struct sctp_addr second = address(c, 1, 2);
	uint32_t at;

	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	if (c->paths > 1)
		peer_put_addr(&p, &second);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
}

static void open_variant(const struct variant *c)
{
	struct sctp_config cfg = peer_config(&p, c->paths);

	for (unsigned i = 0; i < c->paths; i++)
		cfg.local[i] = address(c, i, 1);
	cfg.heartbeat_us = 0;
	peer_init_cfg(&p, &cfg);
	p.from.peer = address(c, 0, 2);
	p.zeros = c->wraps ? 4 : 0; /* tie-tags, tag and TSN */
	begin_connect(c);
	p.zeros = 0;
	cr_assert(!c->wraps || p.stack_tsn == 0);
	answer(c);
	base = p.stack_tsn;
	if (c->measured) {
		script_queue(&p, 1, 100);
		script_data(&p, base);
		peer_advance(&p, 20000);
		peer_send_sack(&p, base++);
		cr_assert_eq(peer_info(&p).srtt_us, 20000);
	}
}

static void each_variant(void (*test)(const struct variant *c))
{
	for (unsigned i = 0; i < 16; i++) {
		const struct variant c = {.measured = i & 1,
					  .v6 = (i & 2) != 0,
					  .wraps = (i & 4) != 0,
					  .paths = i & 8 ? 2 : 1};

		open_variant(&c);
		test(&c);
		peer_deinit(&p);
	}
}

/* Packets with DATA that wait, to each path. */
static void count_data(unsigned ret[2])
{
	ret[0] = ret[1] = 0;
	while (script_next(&p))
		if (peer_find(&p, SCTP_DATA))
			ret[sctp_assoc_find_path(p.assoc, &p.pkt->to.peer)->index]++;
}

/* Until T3 of the first path expires. */
static void time_out(unsigned before, unsigned sent[2])
{
	const struct sctp_path *path = &p.assoc->paths.at[0];

	while (script_stats(&p).timeouts == before) {
		cr_assert(path->t3_us != SCTP_NEVER);
		count_data(sent);
		cr_assert_leq(sent[0], 1u, "a tail-loss probe at most");
		peer_advance(&p, 10000);
	}
	count_data(sent);
}

static void begin_silence(const struct variant *c)
{
	unsigned sent[2];

	script_queue(&p, 12, SCRIPT_FULL / 3);
	count_data(sent);
	cr_assert_geq(sent[0], 4);
	time_out(0, sent);
	cr_assert_eq(p.assoc->paths.at[0].rto.rto_us, 2 * PEER_SECOND);
	cr_assert_eq(p.assoc->paths.at[0].cc.cwnd, SCRIPT_BASE - SCTP_HEAD);
	cr_assert_eq(script_stats(&p).tail_probes, c->measured);
	cr_assert_eq(sent[0], c->paths == 1, "paths %u: %u packets", c->paths, sent[0]);
	if (c->paths > 1)
		cr_assert_geq(sent[1], 1, "the other path is used");
}

static void one_packet(const struct variant *c)
{
	unsigned sent[2];

	begin_silence(c);
	for (unsigned i = 2; c->paths == 1 && i <= 5; i++) {
		uint32_t rto = p.assoc->paths.at[0].rto.rto_us;
		uint64_t at = p.pkt->at_us;

		cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_OK);
		peer_advance(&p, at + rto - 1 - p.now);
		count_data(sent);
		cr_assert_eq(sent[0], 0, "measured %d: %u packets", c->measured, sent[0]);
		peer_advance(&p, 1);
		count_data(sent);
		cr_assert_eq(sent[0], 1);
		cr_assert_eq(script_stats(&p).timeouts, i);
	}
	cr_assert_eq(script_stats(&p).tail_probes, c->measured);
}

/* rows: 9260-6.3.3-02 9260-6.3.3-04 9260-7.2.1-03 9260-7.2.1-04 9260-7.2.3-03 */
Test(silence, one_packet_leaves_at_each_timeout)
{
	each_variant(one_packet);
}

static void answered(const struct variant *c)
{
	unsigned sent[2];

	begin_silence(c);
	peer_send_sack(&p, base + 1);
	count_data(sent);
	cr_assert(c->paths > 1 || sent[0] >= 1, "the rest follows");
	for (uint32_t i = 2; i <= 11; i++)
		peer_send_sack(&p, base + i);
	count_data(sent);
	cr_assert_eq(peer_info(&p).unacked, 0);
	for (unsigned i = 0; i < c->paths; i++)
		cr_assert_eq(p.assoc->paths.at[i].t3_us, SCTP_NEVER, "nothing is outstanding");
	peer_advance(&p, 100 * PEER_SECOND);
	count_data(sent);
	cr_assert_eq(sent[0] + sent[1], 0);
}

/* rows: 9260-6.3.2-03 9260-6.3.3-09 */
Test(silence, an_acknowledgement_ends_it)
{
	each_variant(answered);
}

static void given_up(const struct variant *c)
{
	(void)c;
	script_queue(&p, 1, 100);
	peer_advance(&p, 3600 * (uint64_t)PEER_SECOND);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_TIMEOUT);
	cr_assert_eq(script_stats(&p).timeouts, 11);
	cr_assert_eq(peer_drain(&p, SCTP_DATA), 11 + c->measured, "each once, and a tail probe");
}

/* rows: 9260-8.1-01 9260-8.1-04 */
Test(silence, so_many_timeouts_end_the_association)
{
	each_variant(given_up);
}
