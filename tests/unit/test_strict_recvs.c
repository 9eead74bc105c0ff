/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMAP_STRICT_RECVS: an invalid receive ends the session, also where messages may wait. */
#include <criterion/criterion.h>

#include "tests/lib/fake.h"

enum { HOLD = 4096, WAIT_MS = 100 };

static void setup(void)
{
	const struct rdmap_cfg like = {.ord = PAIR_READS, .ird = PAIR_READS};
	struct assoc_cfg cfg = pair_cfg(false);

	pair_init(&fake.node, &cfg);
	fake.qp = pair_qp_as(&fake.node, &like);
	pair_hold(fake.qp, HOLD, WAIT_MS, false);
	rdmap_set_options(fake.qp->ep, RDMAP_STRICT_RECVS);
	fake.mem = pair_region(&fake.node, FAKE_STAG, FAKE_BASE, FAKE_MEM, FAKE_ALL, 0);
	pair_fake_connect(&fake.node, fake.qp, FAKE_SID);
	assoc_tx_acked(fake.node.assoc);
}

TestSuite(strict_recvs, .init = setup, .fini = fake_teardown);

Test(strict_recvs, no_message_passes_an_invalid_receive_over)
{
	pair_post_recv(fake.qp, 7, FAKE_STAG + 0x100, FAKE_BASE, 64);
	pair_post_recv(fake.qp, 8, FAKE_STAG, FAKE_BASE, 64);
	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_expect_done(7, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_terminate(PERR_NO_BUFFER);
	cr_expect_eq(fake.mem[0], 0);
}

Test(strict_recvs, bytes_do_not_pass_a_receive_without_memory_over)
{
	pair_post_recv(fake.qp, 7, 0, FAKE_BASE, 64);
	pair_post_recv(fake.qp, 8, FAKE_STAG, FAKE_BASE, 64);
	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_expect_done(7, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_terminate(PERR_NO_BUFFER);
	cr_expect_eq(fake.mem[0], 0);
}

Test(strict_recvs, a_message_that_waits_ends_the_session_at_an_invalid_one)
{
	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_expect_nothing_sent();
	pair_post_recv(fake.qp, 7, FAKE_STAG + 0x100, FAKE_BASE, 64);
	pair_wake(fake.qp);
	fake_expect_done(7, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_terminate(PERR_NO_BUFFER);
}
