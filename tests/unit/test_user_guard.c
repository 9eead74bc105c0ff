/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: in a flood the kernel drops most packets without the right tag before they use up the
 * queue of the socket, also in the name of a peer. It passes those of associations, old and new,
 * and kinds that do not flood, and passes everything again afterwards. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "llp/user/udp.h"
#include "tests/lib/llp_one.h"
#include "user_rig.h"
#include "util/be.h"
#include "util/crc32c.h"

enum { BURST = 2000, PACKET = 64, BURST_US = 4000 };

static struct rig_conn rc, acceptor, rc2;
static struct llp *t, *other;
static struct udp *unknown_peer;
static struct sockaddr_storage addr, from;
static uint8_t burst[BURST][PACKET];

enum { DATA = 0, INIT = 1, COOKIE_ECHO = 10 };

static void fill(uint8_t *p, uint8_t type, uint32_t tag)
{
	memset(p, 1, PACKET);
	be_put16(p + 2, RIG_SCTP_PORT);
	be_put32(p + 4, tag);
	p[12] = type;
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
		fill(burst[i], DATA, i + 1);
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

static uint64_t dropped(void)
{
	struct llp_stats st;

	llp_stats(t, &st);
	return st.kernel_dropped;
}

typedef void send_fn(uint8_t *p);

static void send_unknown(uint8_t *p)
{
	struct span s = {p, PACKET};
	struct udp_batch b = {
		.to = addr, .span = &s, .nspans = 1, .segment = PACKET, .len = PACKET};

	udp_send(unknown_peer, &b);
}

/* With the address and the UDP port of the association's peer. */
static void send_forged(uint8_t *p)
{
	int fd[LLP_MAX_FDS];

	cr_assert_geq(llp_fds(other, fd), 1);
	(void)sendto(fd[0], p, PACKET, MSG_DONTWAIT, (struct sockaddr *)&addr,
		     sizeof(struct sockaddr_in));
}

/* How many of n packets get to us. They come within BURST_US on any machine. */
static uint64_t pass_by(send_fn *send_one, uint8_t (*p)[PACKET], unsigned n)
{
	uint64_t before = received(), last;

	rig_hold_clock();
	for (unsigned i = 0; i < n; i++)
		send_one(p[i]);
	do {
		last = received();
		rig_turn();
	} while (received() > last);
	rig_release_clock(BURST_US);
	return received() - before;
}

static uint64_t pass(unsigned n)
{
	return pass_by(send_unknown, burst, n);
}

static void flood_until_filtered(send_fn *send_one)
{
	unsigned sent = 0;

	while (pass_by(send_one, burst, BURST) > BURST / 4)
		cr_assert_lt(sent++, 50, "the flood still gets through");
}

Test(user_guard, a_flood_does_not_get_through_but_associations_do)
{
	unsigned passed = 0, turns = 0;
	uint64_t before;

	cr_assert_gt(pass(BURST), BURST / 2);
	before = dropped();
	flood_until_filtered(send_unknown);
	cr_expect_gt(dropped() - before, BURST / 2, "what the filter drops is counted");
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

Test(user_guard, a_flood_in_the_name_of_a_peer_does_not_get_through_either)
{
	flood_until_filtered(send_forged);
	for (unsigned i = 1; i <= 20; i++) {
		pass_by(send_forged, burst, BURST);
		rig_send(&rc, 1, 1000, (uint8_t)i);
		rig_until(&acceptor.msgs, i);
	}
	cr_assert_eq(rc.down + acceptor.down, 0);
}

Test(user_guard, a_flood_of_one_kind_does_not_keep_out_the_others)
{
	enum { N = 50 };
	uint8_t init[N][PACKET], cookie_echo[N][PACKET];

	for (unsigned i = 0; i < N; i++) {
		fill(init[i], INIT, 0);
		fill(cookie_echo[i], COOKIE_ECHO, i + 1);
	}
	flood_until_filtered(send_unknown);
	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(pass_by(send_unknown, init, N), N);
		cr_assert_eq(pass_by(send_unknown, cookie_echo, N), N);
		pass(BURST);
	}
	for (unsigned i = 0; i < BURST; i++)
		fill(burst[i], INIT, 0);
	flood_until_filtered(send_unknown);
	cr_assert_eq(pass_by(send_unknown, cookie_echo, N), N);
}

static void turn_until(const unsigned *counter, unsigned want)
{
	for (unsigned i = 0; *counter < want; i++) {
		cr_assert_lt(i, 1000, "a packet of a new association was lost");
		rig_turn();
	}
}

/* The clock stands: no lost packet is sent again. */
Test(user_guard, associations_begin_in_a_flood)
{
	struct llp_listener *l;
	struct sockaddr_storage a;

	cr_assert_eq(llp_listen(other, NULL, RIG_SCTP_PORT, &rc2, &l), 0);
	flood_until_filtered(send_unknown);
	for (unsigned i = 1; i <= 10; i++) {
		bool ours = i % 2;

		pass(BURST);
		rig_hold_clock();
		rc.up = 0;
		rig_address(ours ? "127.0.0.3" : "127.0.0.1", RIG_SCTP_PORT, &a);
		cr_assert_eq(llp_connect(ours ? t : other, (struct sockaddr *)&a, &rc, &rc.c), 0);
		turn_until(&rc.up, 1);
		if (!ours) {
			rig_send(&rc, 1, 100, (uint8_t)i);
			turn_until(&acceptor.msgs, i / 2);
		}
		rig_release_clock(BURST_US);
	}
}

static void send_empty(uint8_t *p)
{
	(void)sendto(udp_fd(unknown_peer), p, 0, MSG_DONTWAIT, (struct sockaddr *)&addr,
		     sizeof(struct sockaddr_in));
}

Test(user_guard, empty_datagrams_are_a_flood_as_well)
{
	unsigned sent = 0;

	cr_assert_gt(pass_by(send_empty, burst, BURST), BURST / 2);
	while (pass_by(send_empty, burst, BURST) > BURST / 4)
		cr_assert_lt(sent++, 50, "the flood still gets through");
	rig_send(&rc, 1, 1000, 1);
	rig_until(&acceptor.msgs, 1);
}
