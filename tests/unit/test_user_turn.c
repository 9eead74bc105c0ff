/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a turn of the transport `user` after a sleep reads each socket, however long it was
 * quiet. */
#include <criterion/criterion.h>

#include "tests/lib/llp_one.h"
#include "user_rig.h"

enum { FULL = 1000 };

static struct sockaddr_storage addr[2];
static struct rig_conn rc, acceptor;
static struct llp *t, *server;

static void begin(void)
{
	uint16_t port = rig_free_port();
	struct llp_config here = rig_config("127.0.0.1", port, &addr[0]);
	struct llp_config there = rig_config("127.0.0.2", port, &addr[1]);
	struct llp_listener *listener;

	t = rig_open(&here);
	server = rig_open(&there);
	cr_assert_eq(llp_listen(server, NULL, RIG_SCTP_PORT, &acceptor, &listener), 0);
	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	rig_until(&acceptor.incoming, 1);
	rig_send(&rc, 0, FULL, 0); /* messages of that length have room from now on */
	rig_until(&rc.acked, rc.acked + 1);
}

static void end(void)
{
	t = rig_close(t);
	server = rig_close(server);
}

TestSuite(user_turn, .init = begin, .fini = end, .timeout = 60);

Test(user_turn, a_sleep_is_ended_by_a_packet_of_any_socket)
{
	enum { QUIET = 140 };

	rig_pause(t);
	rig_pause(server);
	for (unsigned i = 0; i < 16; i++) {
		unsigned had = acceptor.msgs;

		rig_hold_clock();
		for (unsigned k = 0; k < QUIET + i; k++)
			rig_turn_of(server);
		rig_release_clock(1000);
		rig_send(&rc, 0, FULL, 0);
		rig_turn_of(t);
		rig_turn_of(server);
		cr_expect_eq(acceptor.msgs, had + 1, "after %u turns without a packet", QUIET + i);
		while (acceptor.msgs == had)
			rig_turn_of(server);
	}
	rig_resume(t);
	rig_resume(server);
}
