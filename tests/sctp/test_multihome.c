/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: an association with two paths survives the loss of one of them, and uses the primary
 * path again when it is back (RFC 9260 6.4, 8.2, 8.3; RFC 7829). */
#include <criterion/criterion.h>

#include "tests/sctp/move.h"

enum { SECOND = 1000000 };

static struct net net;
static unsigned data_to[2][2]; /* packets with DATA: by host, by subnet */

static bool count(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		  uint32_t len)
{
	(void)n;
	(void)len;
	if (p[12] == 0)
		data_to[from][b->to.peer.ip[14]]++;
	return true;
}

static void setup(void)
{
	net_init(&net, 1, 2);
	memset(data_to, 0, sizeof(data_to));
	net.filter = count;
	net_establish(&net);
	net_run(&net, net.now + SECOND);
}

static void teardown(void)
{
	net_deinit(&net);
}

TestSuite(multihome, .init = setup, .fini = teardown);

static struct sctp_addr peer(unsigned subnet)
{
	return sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)subnet, 2});
}

static struct sctp_path_info path(unsigned host, unsigned subnet)
{
	struct sctp_path_info ret[SCTP_MAX_PATHS];
	unsigned n = sctp_assoc_paths(net.host[host].assoc, ret);

	for (unsigned i = 0; i < n; i++)
		if (ret[i].flow.peer.ip[14] == subnet)
			return ret[i];
	cr_assert_fail("no such path");
	return ret[0];
}

/* rows: 9260-6.4-02 9260-6.4.1-03 9260-6.4.1-04 9260-8.3-02 */
Test(multihome, both_paths_are_confirmed_and_the_primary_carries_data)
{
	for (unsigned h = 0; h < 2; h++)
		for (unsigned i = 0; i < 2; i++) {
			cr_assert_eq(path(h, i).state, SCTP_PATH_ACTIVE, "host %u path %u", h, i);
			cr_assert_eq(path(h, i).flow.local, i);
			cr_assert_eq(path(h, i).primary, i == 0);
		}
	cr_assert(move(&net, 100, 500, 10 * SECOND));
	cr_assert(data_to[0][0] > 0);
	cr_assert_eq(data_to[0][1], 0);
}

/* rows: 9260-6.4-07 9260-6.4.1-01 9260-7.1-03 9260-7.1-04 9260-8.2-08 9260-6.3.3-10 */
Test(multihome, data_goes_on_when_the_primary_path_is_cut)
{
	uint64_t begin = net.now;

	cr_assert(move(&net, 100, 500, 10 * SECOND));
	net.cut[0] = true;
	cr_assert(move(&net, 1000, 500, 10 * SECOND), "%lu messages",
		  (unsigned long)net.host[1].messages);
	cr_assert_eq(net.host[1].messages, 1100);
	cr_assert_eq(net.host[0].down + net.host[1].down, 0);
	cr_assert(data_to[0][1] > 0);
	cr_assert_lt(net.now - begin, 3 * SECOND);
	/* One timeout is enough to go elsewhere (RFC 7829). */
	cr_assert_eq(path(0, 0).state, SCTP_PATH_FAILING);
	cr_assert_eq(net.host[0].last_path.state, SCTP_PATH_FAILING);
}

/* rows: 9260-8.2-02 9260-8.2-03 9260-8.2-04 9260-8.3-09 9260-8.3-10 9260-8.1-03 */
Test(multihome, a_path_that_stays_silent_becomes_inactive)
{
	unsigned before = net.host[0].paths;

	net.cut[0] = true;
	cr_assert(move(&net, 10, 500, 10 * SECOND));
	cr_assert_eq(path(0, 0).state, SCTP_PATH_FAILING);
	cr_assert_eq(net.host[0].paths, before + 1);
	net_run(&net, net.now + 120 * SECOND);
	cr_assert_eq(path(0, 0).state, SCTP_PATH_INACTIVE);
	cr_assert_eq(net.host[0].paths, before + 2, "one event per change");
	net_run(&net, net.now + 86400 * (uint64_t)SECOND);
	cr_assert_eq(net.host[0].down, 0, "the other path lives");
	cr_assert_eq(net.host[0].paths, before + 2);
}

/* The user hears of it while the association still tries. */
Test(multihome, the_only_path_becomes_inactive_before_the_association_ends)
{
	net_deinit(&net);
	net_init(&net, 1, 1);
	net_establish(&net);
	net.cut[0] = true;
	cr_assert_eq(net_send(&net, 0, 0, 1, 500), SCTP_E_OK);
	while (net.host[0].last_path.state != SCTP_PATH_INACTIVE && net.host[0].down == 0)
		net_run(&net, net.now + SECOND);
	cr_assert_eq(net.host[0].down, 0);
	cr_assert_eq(path(0, 0).state, SCTP_PATH_INACTIVE);
	net_run(&net, net.now + 3600 * (uint64_t)SECOND);
	cr_assert_eq(net.host[0].down, 1);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_TIMEOUT);
}

/* rows: 9260-8.2-05 9260-8.2-06 9260-8.3-11 9260-8.3-16 9260-8.3-17 */
Test(multihome, the_primary_path_is_used_again_when_it_is_back)
{
	unsigned before;

	net.cut[0] = true;
	cr_assert(move(&net, 10, 500, 10 * SECOND));
	net_run(&net, net.now + 3600 * (uint64_t)SECOND);
	cr_assert_eq(path(0, 0).state, SCTP_PATH_INACTIVE);
	before = net.host[0].paths;
	net.cut[0] = false;
	net_run(&net, net.now + 92 * SECOND);
	cr_assert_eq(path(0, 0).state, SCTP_PATH_ACTIVE);
	cr_assert_eq(net.host[0].paths, before + 1);
	data_to[0][0] = data_to[0][1] = 0;
	cr_assert(move(&net, 100, 500, 10 * SECOND));
	cr_assert(data_to[0][0] > 0);
	cr_assert_eq(data_to[0][1], 0);
}

/* rows: 9260-6.4-01 9260-6.3.3-10 */
Test(multihome, the_user_chooses_the_primary_path)
{
	struct sctp_addr second = peer(1), unknown = peer(7);

	cr_assert_eq(sctp_assoc_set_primary(net.host[0].assoc, &unknown), SCTP_E_NO_ADDR);
	cr_assert_eq(sctp_assoc_set_primary(net.host[0].assoc, &second), SCTP_E_OK);
	net_run(&net, net.now + 1000);
	cr_assert(net.host[0].last_path.became_primary);
	cr_assert(sctp_addr_equal(&net.host[0].last_path.addr, &second));
	cr_assert(move(&net, 100, 500, 10 * SECOND));
	cr_assert_eq(data_to[0][0], 0);
	cr_assert(data_to[0][1] > 0);
}

/* A path that is not active cannot become the primary one. */
Test(multihome, an_inactive_path_is_not_chosen)
{
	struct sctp_addr second = peer(1);

	net.cut[1] = true;
	net_run(&net, net.now + 200 * SECOND);
	cr_assert_eq(path(0, 1).state, SCTP_PATH_INACTIVE);
	cr_assert_eq(sctp_assoc_set_primary(net.host[0].assoc, &second), SCTP_E_INACTIVE);
	cr_assert_eq(net.host[0].down, 0);
}

/* rows: 9260-8.1-02 9260-8.1-04 */
Test(multihome, the_loss_of_both_paths_ends_an_idle_association)
{
	net.cut[0] = net.cut[1] = true;
	net_run(&net, net.now + 3600 * (uint64_t)SECOND);
	for (unsigned h = 0; h < 2; h++) {
		cr_assert_eq(net.host[h].down, 1);
		cr_assert_eq(net.host[h].last_down.end, SCTP_END_TIMEOUT);
	}
}

/* The primary path is changed while data is out on the old one, which then is cut. */
Test(multihome, data_on_the_old_primary_path_is_not_forgotten)
{
	struct sctp_addr second = peer(1);

	cr_assert(move_queue(&net, 500, 900, 10 * SECOND));
	sctp_assoc_set_primary(net.host[0].assoc, &second);
	net.cut[0] = true;
	cr_assert(move(&net, 500, 900, 10 * SECOND));
	cr_assert_eq(net.host[1].messages, 1000);
	cr_assert_eq(net.host[0].down, 0);
}

/* Packets with DATA of the first subnet are late. */
static bool slow(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p, uint32_t len)
{
	struct sctp_flow at = b->to;

	if (p[12] != 0 || b->to.peer.ip[14] != 0)
		return true;
	at.peer = sctp_addr_v4((const uint8_t[]){10, 0, 0, (uint8_t)(from + 1)});
	net_inject(n, 1 - from, &at, p, len, 50000);
	return false;
}

/* rows: 9260-7.2.4-02 */
Test(multihome, what_arrives_on_one_path_misses_no_chunk_of_another)
{
	struct sctp_addr second = peer(1);
	struct sctp_stats st;

	net.filter = slow;
	cr_assert_eq(net_send(&net, 0, 0, 1, 1000), SCTP_E_OK);
	net_run(&net, net.now + 100);
	sctp_assoc_set_primary(net.host[0].assoc, &second);
	for (unsigned i = 0; i < 6; i++) {
		cr_assert_eq(net_send(&net, 0, 0, 1, 1000), SCTP_E_OK);
		net_run(&net, net.now + 2000);
	}
	cr_assert(net_run_until(&net, move_acked_0, net.now + SECOND));
	sctp_stats(net.host[0].s, &st);
	cr_assert_eq(st.fast_retransmits, 0);
}

/* rows: 9260-6.4-11 */
Test(multihome, paths_that_come_and_go_lose_nothing)
{
	for (unsigned i = 0; i < 12; i++) {
		net.cut[0] = i % 3 == 1;
		net.cut[1] = i % 3 == 2;
		net.loss = 100;
		cr_assert(move(&net, 300, 900, 60 * SECOND), "round %u", i);
	}
	cr_assert_eq(net.host[1].messages, 3600);
	cr_assert_eq(net.host[0].down, 0);
}

/* rows: 9260-6.3-01 9260-6.3-02 9260-7.1-05 */
Test(multihome, paths_have_a_timeout_and_a_window_each)
{
	struct sctp_path_info before = path(0, 1);

	cr_assert(move(&net, 3000, 900, 60 * SECOND));
	cr_assert_neq(path(0, 0).cwnd, before.cwnd);
	cr_assert_eq(path(0, 1).cwnd, before.cwnd);
	cr_assert_eq(path(0, 1).srtt_us, before.srtt_us);
}

/* ---- paths of different sizes ---- */

static uint32_t longest[2]; /* packets of host 0 that are no probes, by subnet */

static bool narrow(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		   uint32_t len)
{
	unsigned subnet = b->to.peer.ip[14];

	(void)n;
	(void)p;
	if (from == 0 && !b->probe && !b->fragment && len > longest[subnet])
		longest[subnet] = len;
	return subnet == 0 || len + 28 <= 1400;
}

static uint32_t max_message(void)
{
	struct sctp_info i;

	sctp_assoc_info(net.host[0].assoc, &i);
	return i.max_message;
}

static void two_sizes(void)
{
	net_deinit(&net);
	net_init(&net, 2, 2);
	net.mtu = 9000;
	net.filter = narrow;
	longest[0] = longest[1] = 0;
	net_establish(&net);
	net_run(&net, net.now + 60 * SECOND);
}

/* rows: 9260-6-11 9260-7.3-02 9260-7.3-03 9260-7.3-04 9260-6.3.3-05 9260-6.10-02 */
Test(multihome, the_narrow_path_limits_messages_and_its_packets)
{
	two_sizes();
	cr_assert_gt(path(0, 0).mtu, 8900);
	cr_assert(path(0, 1).mtu <= 1400 && path(0, 1).mtu > 1370, "%u", path(0, 1).mtu);
	cr_assert_eq(max_message(), path(0, 1).mtu - 28 - 28);
	cr_assert(move_queue(&net, 2000, 700, 10 * SECOND));
	net.cut[0] = true;
	cr_assert(move(&net, 500, 700, 30 * SECOND));
	cr_assert_eq(net.host[1].messages, 2500);
	cr_assert_leq(longest[0], 9000 - 28);
	cr_assert_leq(longest[1], 1400 - 28);
}

/* rows: 9260-7.3-04 */
Test(multihome, messages_grow_when_the_narrow_path_is_gone)
{
	two_sizes();
	net.cut[1] = true;
	net_run(&net, net.now + 200 * SECOND);
	cr_assert_eq(path(0, 1).state, SCTP_PATH_INACTIVE);
	cr_assert_gt(max_message(), 8800);
	net.cut[1] = false;
	net_run(&net, net.now + 100 * SECOND);
	cr_assert_lt(max_message(), 1400);
}
