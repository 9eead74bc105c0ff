/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: RFC 9260 section 4: the states of an association seen from outside. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(states, .init = setup, .fini = teardown);

static void shut_down(void)
{
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_poll(&p);
}

static void send_shutdown(uint32_t cum)
{
	uint8_t value[4];

	be_put32(value, cum);
	peer_send_chunk(&p, SCTP_SHUTDOWN, 0, value, 4);
}

/* rows: 9260-4-07 9260-4-08 9260-1.5-01 */
Test(states, shutdown_waits_for_acknowledgements)
{
	peer_bring_to(&p, SCTP_ESTABLISHED);
	for (unsigned i = 0; i < 100; i++)
		peer_stack_sends(&p, 0, 100);
	shut_down();
	cr_assert_eq(peer_stack_sends(&p, 0, 4), SCTP_E_DOWN);
	for (unsigned i = 0; i < 99; i++) {
		peer_send_sack(&p, p.stack_tsn + i);
		cr_assert_eq(peer_drain(&p, SCTP_SHUTDOWN), 0);
	}
	peer_send_sack(&p, p.stack_tsn + 99);
	cr_assert_eq(peer_drain(&p, SCTP_SHUTDOWN), 1);
}

/* rows: 9260-4-09 9260-4-26 9260-4-27 9260-4-10 9260-1.5-01 */
Test(states, shutdown_received_sends_what_is_queued)
{
	uint32_t tsn;

	peer_bring_to(&p, SCTP_ESTABLISHED);
	for (unsigned i = 0; i < 100; i++)
		peer_stack_sends(&p, 0, 1000);
	send_shutdown(p.stack_tsn - 1);
	cr_assert_eq(peer_stack_sends(&p, 0, 4), SCTP_E_DOWN);
	tsn = p.stack_tsn - 1;
	/* Each third of the first packets is lost; the others are acknowledged one by one. */
	for (unsigned lost = 0, i = 0; i < 10000 && tsn != p.stack_tsn + 99; i++) {
		if (!peer_next(&p)) {
			peer_advance(&p, PEER_SECOND / 10);
			continue;
		}
		cr_assert_null(peer_find(&p, SCTP_SHUTDOWN_ACK));
		if (!peer_find(&p, SCTP_DATA) || (++lost < 30 && lost % 3 == 0))
			continue;
		for (unsigned k = 0; k < p.n; k++)
			if (be_get32(p.chunk[k].p + 4) == tsn + 1)
				tsn++;
		peer_send_sack(&p, tsn);
	}
	cr_assert_eq(tsn, p.stack_tsn + 99);
	cr_assert_geq(peer_drain(&p, SCTP_SHUTDOWN_ACK), 1);
}

/* rows: 9260-4-28 9260-4-13 */
Test(states, shutdown_ack_sent_takes_nothing_and_ends)
{
	peer_bring_to(&p, SCTP_SHUTDOWN_ACK_SENT);
	cr_assert_eq(peer_stack_sends(&p, 0, 4), SCTP_E_DOWN);
	peer_advance(&p, PEER_SECOND);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_send_plain(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
	peer_advance(&p, 100 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-4-11 9260-4-14 9260-3.3.13-01 */
Test(states, shutdown_ack_is_answered_and_ends)
{
	static const enum sctp_state states[] = {SCTP_SHUTDOWN_SENT, SCTP_SHUTDOWN_ACK_SENT};

	for (unsigned i = 0; i < 2; i++) {
		peer_bring_to(&p, states[i]);
		peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
		peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
		cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
		peer_advance(&p, 100 * PEER_SECOND);
		peer_expect_nothing(&p);
		/* Later packets are out of the blue. */
		peer_send_data(&p, 4);
		peer_expect(&p, SCTP_ABORT);
		cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	}
}

/* rows: 9260-4-12 */
Test(states, shutdown_crosses_shutdown)
{
	peer_bring_to(&p, SCTP_SHUTDOWN_SENT);
	send_shutdown(p.stack_tsn - 1);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_advance(&p, PEER_SECOND);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
}

/* rows: 9260-4-25 */
Test(states, shutdown_sent_answers_data_at_once)
{
	peer_bring_to(&p, SCTP_SHUTDOWN_SENT);
	for (unsigned i = 0; i < 3; i++) {
		peer_send_data(&p, 4);
		cr_assert(peer_next(&p));
		cr_assert_eq(p.pkt->at_us, p.now);
		cr_assert_not_null(peer_find(&p, SCTP_SHUTDOWN));
		cr_assert_eq(be_get32(peer_find(&p, SCTP_SHUTDOWN)->p + 4), PEER_TSN + i);
		while (peer_next(&p))
			;
	}
	cr_assert_eq(p.messages, 3);
}

/* rows: 9260-4-15 9260-3.3.7-08 */
Test(states, abort_ends_every_state)
{
	for (unsigned s = SCTP_COOKIE_WAIT; s < SCTP_STATES; s++) {
		peer_bring_to(&p, (enum sctp_state)s);
		peer_send_plain(&p, SCTP_ABORT);
		cr_assert_eq(p.down, 1, "state %u", s);
		cr_assert_eq(p.last_down.end,
			     s < SCTP_ESTABLISHED ? SCTP_END_REFUSED : SCTP_END_ABORTED);
		cr_assert_eq(sctp_expiry(p.s) <= p.now + 20 * PEER_SECOND, false, "a timer runs");
		peer_advance(&p, 1000ull * PEER_SECOND);
		peer_expect_nothing(&p);
	}
}

/* rows: 9260-4-16 9260-3.3.7-11 9260-14.2-01 */
Test(states, the_user_may_abort_in_every_state)
{
	uint64_t memory = 0;

	for (unsigned i = 0; i < 3 * SCTP_STATES; i++) {
		unsigned s = i % SCTP_STATES;

		if (s == SCTP_CLOSED)
			continue;
		peer_bring_to(&p, (enum sctp_state)s);
		sctp_assoc_abort(p.assoc, NULL);
		peer_poll(&p);
		if (s == SCTP_COOKIE_WAIT) { /* no tag of the peer is known */
			peer_expect_nothing(&p);
		} else {
			peer_expect(&p, SCTP_ABORT);
			cr_assert_eq(p.head.tag, PEER_TAG);
			cr_assert_eq(p.chunk[0].flags, 0);
		}
		p.assoc = sctp_assoc_free(p.assoc);
		peer_advance(&p, 1000ull * PEER_SECOND);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0);
		if (i == SCTP_STATES - 1)
			memory = sctp_memory(p.s);
		cr_assert(i < SCTP_STATES || sctp_memory(p.s) <= memory);
	}
}

/* rows: 9260-5.2-01 9260-5.2.3-01 */
Test(states, no_setup_chunk_harms_any_state)
{
	for (unsigned s = SCTP_COOKIE_ECHOED; s < SCTP_STATES; s++) {
		peer_bring_to(&p, (enum sctp_state)s);
		peer_send_init_ack(&p);
		peer_expect_nothing(&p);
		peer_send_init(&p);
		peer_drain(&p, SCTP_INIT_ACK);
		peer_send_chunk(&p, SCTP_COOKIE_ECHO, 0, "cookie", 6);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0, "state %u", s);
		peer_forget(&p);
	}
}
