/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a peer that follows RFC 9260 by hand can set up an association in both roles, move a
 * message, and close. */
#include <criterion/criterion.h>

#include "tests/sctp/peer.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(peer, .init = setup, .fini = teardown);

Test(peer, listener_exchanges_messages)
{
	peer_connect(&p);
	peer_send_data(&p, 10);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.messages, 1);
	cr_assert_eq(peer_stack_sends(&p, 0, 5), SCTP_E_OK);
	cr_assert_eq(peer_expect(&p, SCTP_DATA)->len, 21);
	peer_send_sack(&p, p.stack_tsn);
	cr_assert_eq(p.acked, 1);
}

Test(peer, initiator_closes)
{
	peer_accept(&p);
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_poll(&p);
	peer_expect(&p, SCTP_SHUTDOWN);
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
}
