/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: what SACK and SHUTDOWN say of data that arrived (RFC 9260 3.3.4, 3.3.8). */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
	peer_connect(&p);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(chunks_data, .init = setup, .fini = teardown);

enum { WHOLE = SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E };

/* Which of the first 8 TSNs of the stack come in the next seconds, a bit for each. */
static unsigned repeated(void)
{
	unsigned seen = 0;

	peer_advance(&p, 4 * PEER_SECOND);
	while (peer_next(&p))
		for (unsigned i = 0; i < p.n; i++)
			if (p.chunk[i].type == SCTP_DATA)
				seen |= 1u << (be_get32(p.chunk[i].p + 4) - p.stack_tsn);
	return seen;
}

static void send_eight(void)
{
	for (unsigned i = 0; i < 8; i++)
		peer_stack_sends(&p, 0, 1000);
	peer_advance(&p, 1000);
	while (peer_next(&p))
		;
}

/* rows: 9260-3.3.4-09 */
Test(chunks_data, what_gap_blocks_report_is_not_repeated)
{
	const uint16_t gaps[] = {3, 5};

	send_eight();
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn - 1, 100000, gaps, 1);
	peer_send(&p);
	cr_assert_eq(repeated() & 0x1c, 0, "TSNs 2 to 4 were acknowledged");
}

/* rows: 9260-3.3.8-04 */
Test(chunks_data, shutdown_does_not_take_gap_blocks_back)
{
	const uint16_t gaps[] = {3, 5};
	uint8_t cum[4];

	send_eight();
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn - 1, 100000, gaps, 1);
	peer_send(&p);
	be_put32(cum, p.stack_tsn);
	peer_send_chunk(&p, SCTP_SHUTDOWN, 0, cum, 4);
	cr_assert_eq(repeated() & 0x1d, 0);
}

/* rows: 9260-3.3.8-05 */
Test(chunks_data, shutdown_comes_with_a_sack_if_there_is_a_gap)
{
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_poll(&p);
	peer_expect(&p, SCTP_SHUTDOWN);
	p.tsn++;
	peer_send_data(&p, 4);
	peer_expect2(&p, SCTP_SACK, SCTP_SHUTDOWN);
	cr_assert_eq(be_get16(p.chunk[0].p + 12), 1);
}

/* rows: 9260-3.3.1-03 */
Test(chunks_data, an_urgent_message_asks_for_an_acknowledgement)
{
	struct span s = {(uint8_t[]){1, 2, 3, 4}, 4};

	cr_assert_eq(sctp_assoc_send(p.assoc, 0, 16, true, &s, 1), SCTP_E_OK);
	peer_poll(&p);
	cr_assert_eq(peer_expect(&p, SCTP_DATA)->flags, SCTP_DATA_I | WHOLE);
	peer_send_data(&p, 4); /* the first one is acknowledged at once anyway */
	peer_expect(&p, SCTP_SACK);
	peer_begin(&p);
	peer_put_data(&p, p.tsn++, 0, 0, SCTP_DATA_I | WHOLE, 4);
	peer_send(&p);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.pkt->at_us, p.now);
}

/* rows: 9260-14.2-03 */
Test(chunks_data, a_sack_beside_data_counts)
{
	peer_send_data(&p, 4);
	peer_expect(&p, SCTP_SACK);
	peer_send_data(&p, 4);
	peer_expect_nothing(&p);
	peer_send_data(&p, 4);
	cr_assert_eq(peer_drain(&p, SCTP_SACK), 1);
	peer_send_data(&p, 4);
	peer_expect_nothing(&p);
	peer_advance(&p, 200000);
	peer_expect(&p, SCTP_SACK);
}

/* rows: 9260-3.3.4-11 9260-3.3.2-23 9260-3.3.3-19 */
Test(chunks_data, what_waits_uses_up_the_window_until_it_is_delivered)
{
	uint32_t full, less;

	peer_send_data(&p, 4);
	full = be_get32(peer_expect(&p, SCTP_SACK)->p + 8);
	cr_assert_eq(full, p.cfg.recv_buffer);
	peer_begin(&p); /* the second fragment of a message */
	peer_put_data(&p, p.tsn + 1, 0, 0, SCTP_DATA_U | SCTP_DATA_E, 50000);
	peer_send(&p);
	less = be_get32(peer_expect(&p, SCTP_SACK)->p + 8);
	cr_assert_leq(less, full - 50000);
	peer_begin(&p);
	peer_put_data(&p, p.tsn, 0, 0, SCTP_DATA_U | SCTP_DATA_B, 4);
	peer_send(&p);
	cr_assert_eq(p.msg.len, 50004);
	peer_advance(&p, PEER_SECOND);
	while (peer_next(&p))
		if (peer_find(&p, SCTP_SACK))
			less = be_get32(peer_find(&p, SCTP_SACK)->p + 8);
	p.tsn += 2;
	for (unsigned i = 0; i < 2; i++)
		peer_send_data(&p, 4);
	while (peer_next(&p))
		if (peer_find(&p, SCTP_SACK))
			less = be_get32(peer_find(&p, SCTP_SACK)->p + 8);
	cr_assert_eq(less, full);
}
