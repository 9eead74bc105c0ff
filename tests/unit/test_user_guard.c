/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: in a flood the kernel drops most packets of unknown peers before they use up the queue
 * of the socket, passes those of associations, and passes everything again afterwards. */
#include <criterion/criterion.h>
#include <string.h>

#include "llp/udp.h"
#include "tests/lib/llp_one.h"
#include "user_rig.h"
#include "util/be.h"
#include "util/crc32c.h"

enum { BURST = 2000, PACKET = 64, BURST_US = 4000 };

static struct rig_conn rc, acceptor;
static struct llp *t, *other;
static struct udp *unknown_peer;
static struct sockaddr_storage addr, from;
static uint8_t burst[BURST][PACKET];

static void fill(uint8_t *p, uint32_t tag)
{
	memset(p, 1, PACKET);
	be_put16(p + 2, RIG_SCTP_PORT);
	be_put32(p + 4, tag);
	p[12] = 0; /* DATA */
	be_put16(p + 14, PACKET - 12);
	crc32c_seal(p, PACKET);
}

static void setup(void)
{
	uint16_t port = rig_free_port();
	struct llp_config cfg = rig_config("127.0.0.1", port, &addr), cfg2;
	struct llp_listener *l;

	t = rig_open(&cfg);
	cfg2 = rig_config("127.0.0.3", port, &from);
	other = rig_open(&cfg2);
	cr_assert_eq(llp_listen(t, NULL, RIG_SCTP_PORT, &acceptor, &l), 0);
	rig_connect(other, "127.0.0.1", &rc);
	rig_until(&rc.up, 1);
	rig_address("127.0.0.1", port, &addr);
	rig_address("127.0.0.2", 0, &from);
	cr_assert_eq(udp_open(&from, 0, 1 << 20, &unknown_peer), 0);
	for (unsigned i = 0; i < BURST; i++)
		fill(burst[i], i + 1);
}

static void teardown(void)
{
	rig_close(other);
	rig_close(t);
	udp_close(unknown_peer);
}

TestSuite(user_guard, .init = setup, .fini = teardown);

static uint64_t received(void)
{
	struct llp_stats st;

	llp_stats(t, &st);
	return st.rx_packets;
}

/* How many of n packets of an unknown peer get to us. They come within BURST_US on any machine. */
static uint64_t pass(unsigned n)
{
	uint64_t before = received(), last;

	rig_hold_clock();
	for (unsigned i = 0; i < n; i++) {
		struct span s = {burst[i], PACKET};
		struct udp_batch b = {
			.to = addr, .span = &s, .nspans = 1, .segment = PACKET, .len = PACKET};

		udp_send(unknown_peer, &b);
	}
	do {
		last = received();
		rig_turn();
	} while (received() > last);
	rig_release_clock(BURST_US);
	return received() - before;
}

Test(user_guard, a_flood_does_not_get_through_but_associations_do)
{
	unsigned sent = 0, passed = 0, turns = 0;

	cr_assert_gt(pass(BURST), BURST / 2);
	while (pass(BURST) > BURST / 4)
		cr_assert_lt(sent++, 50, "the flood still gets through");
	for (unsigned i = 1; i <= 20; i++) {
		pass(BURST);
		rig_send(&rc, 1, 1000, (uint8_t)i);
		rig_until(&acceptor.msgs, i);
	}
	cr_assert_eq(rc.down + acceptor.down, 0);
	/* It is over. */
	while (passed < 20) {
		cr_assert_lt(turns++, 1000, "packets are dropped after the flood");
		rig_turn();
		passed = pass(1) ? passed + 1 : 0;
	}
}
