/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: ABORT and the packets of a shutdown, in every state (RFC 9260 9.1, 9.2). */
#include "tests/sctp/script.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
	peer_accept(&p);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(close, .init = setup, .fini = teardown);

static void shut_down(void)
{
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_poll(&p);
}

/* ---- ABORT ---- */

/* rows: 9260-9.1-01 9260-9.1-02 9260-9.1-03 9260-9.1-04 9260-9-02 */
Test(close, abort_carries_the_reason_and_drops_the_data)
{
	struct sctp_error e;

	script_queue(&p, 10, SCRIPT_FULL);
	peer_drain(&p, SCTP_DATA);
	sctp_assoc_abort(p.assoc, "gone fishing");
	peer_poll(&p);
	e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_USER);
	cr_assert_eq(e.len, 12);
	cr_assert_eq(memcmp(e.p, "gone fishing", 12), 0);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert_eq(p.chunk[0].flags, 0);
	p.assoc = sctp_assoc_free(p.assoc);
	peer_advance(&p, 100 * PEER_SECOND);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-9.1-06 9260-9.1-07 9260-9.1-08 9260-9.1-09 */
Test(close, abort_of_the_peer_is_reported_with_its_text)
{
	peer_send_chunk(&p, SCTP_ABORT, 0, "\0\14\0\12a\nb\1cd", 10);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_ABORTED);
	cr_assert_eq(p.last_down.cause, SCTP_CAUSE_USER);
	cr_assert_str_eq(p.last_down.text, "a?b?cd");
	peer_expect_nothing(&p);
	peer_send_data(&p, 10);
	peer_expect(&p, SCTP_ABORT);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	peer_advance(&p, 100 * PEER_SECOND);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 1);
}

/* rows: 9260-9.1-05 9260-9.1-06 */
Test(close, abort_is_never_answered)
{
	for (unsigned i = 0; i < 6; i++) {
		static const uint32_t tag[] = {12345, 0, PEER_TAG};

		peer_begin_tag(&p, tag[i % 3]);
		if (i / 3)
			peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
		peer_put_plain(&p, SCTP_ABORT);
		peer_send(&p);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0);
	}
	p.port++; /* no association */
	peer_send_plain(&p, SCTP_ABORT);
	peer_expect_nothing(&p);
}

/* ---- SHUTDOWN ---- */

/* rows: 9260-9.2-01 9260-9.2-02 9260-9.2-03 9260-9.2-04 9260-9.2-05 9260-9.2-32 9260-9.2-33 */
Test(close, shutdown_waits_for_the_last_acknowledgement)
{
	script_queue(&p, 1, 10);
	peer_expect(&p, SCTP_DATA);
	peer_send_data(&p, 10);
	peer_expect(&p, SCTP_SACK);
	shut_down();
	peer_expect_nothing(&p);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	peer_advance(&p, PEER_SECOND);
	script_data(&p, p.stack_tsn);
	peer_send_sack(&p, p.stack_tsn);
	cr_assert(script_next(&p));
	cr_assert_eq(p.chunk[0].type, SCTP_SHUTDOWN);
	cr_assert_eq(be_get32(p.chunk[0].p + 4), PEER_TSN);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	peer_expect_nothing(&p);
}

/* rows: 9260-9.2-06 9260-9.2-07 9260-9.2-09 9260-9.2-10 9260-9.2-11 */
Test(close, shutdown_is_repeated_eleven_times_at_most)
{
	static const unsigned at[] = {0, 1, 3, 7, 15, 31, 63, 123, 183, 243};
	uint64_t begin = p.now;

	shut_down();
	peer_advance(&p, 250 * (uint64_t)PEER_SECOND);
	for (unsigned i = 0; i < 10; i++) {
		peer_expect(&p, SCTP_SHUTDOWN);
		cr_assert_eq(p.pkt->at_us - begin, at[i] * (uint64_t)PEER_SECOND);
	}
	peer_advance(&p, 200 * (uint64_t)PEER_SECOND);
	peer_drain(&p, SCTP_SHUTDOWN);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_TIMEOUT);
	peer_advance(&p, 200 * (uint64_t)PEER_SECOND);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 1);
}

/* rows: 9260-9.2-07 */
Test(close, t2_has_the_value_of_the_path)
{
	uint64_t at;

	script_queue(&p, 1, 10);
	peer_advance(&p, 800000);
	peer_send_sack(&p, p.stack_tsn);
	peer_drain(&p, SCTP_DATA);
	at = p.now;
	cr_assert_eq(peer_info(&p).rto_us, 2400000);
	shut_down();
	peer_expect(&p, SCTP_SHUTDOWN);
	peer_advance(&p, 3 * PEER_SECOND);
	peer_expect(&p, SCTP_SHUTDOWN);
	cr_assert_eq(p.pkt->at_us - at, 2400000);
}

/* rows: 9260-9.2-18 9260-9.2-19 9260-9.2-12 9260-6.2-19 */
Test(close, data_is_answered_by_shutdown_at_once)
{
	shut_down();
	peer_expect(&p, SCTP_SHUTDOWN);
	for (unsigned i = 0; i < 5; i++) {
		peer_advance(&p, 900000);
		peer_send_data(&p, 10);
		cr_assert_eq(be_get32(peer_expect(&p, SCTP_SHUTDOWN)->p + 4), PEER_TSN + i);
	}
	peer_advance(&p, 999999);
	peer_expect_nothing(&p);
	peer_advance(&p, 1);
	cr_assert_eq(be_get32(peer_expect(&p, SCTP_SHUTDOWN)->p + 4), PEER_TSN + 4);
	cr_assert_eq(p.messages, 5);
}

/* One packet gives the peer time; those that follow show that the SHUTDOWN was lost. */
Test(close, heartbeats_do_not_keep_shutdown_from_being_repeated)
{
	uint64_t at;

	shut_down();
	peer_expect(&p, SCTP_SHUTDOWN);
	at = p.pkt->at_us;
	for (unsigned i = 0; i < 2; i++) {
		peer_advance(&p, 900000);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
		peer_expect(&p, SCTP_HEARTBEAT_ACK);
	}
	peer_advance(&p, 900000);
	peer_expect(&p, SCTP_SHUTDOWN);
	cr_assert_eq(p.pkt->at_us - at, 1900000);
}

/* rows: 9260-9.2-20 9260-9.2-08 9260-6.2-23 */
Test(close, gaps_and_duplicates_need_a_sack_beside_shutdown)
{
	struct sctp_sack s;

	shut_down();
	peer_expect(&p, SCTP_SHUTDOWN);
	script_peer_data(&p, PEER_TSN + 2, 0);
	peer_expect2(&p, SCTP_SACK, SCTP_SHUTDOWN);
	cr_assert(sctp_sack_get(&p.chunk[0], &s));
	cr_assert_eq(s.ngaps, 1);
	script_peer_data(&p, PEER_TSN + 2, 0);
	peer_expect2(&p, SCTP_SACK, SCTP_SHUTDOWN);
	cr_assert(sctp_sack_get(&p.chunk[0], &s));
	cr_assert_eq(s.ndups, 1);
	script_peer_data(&p, PEER_TSN, 0);
	script_peer_data(&p, PEER_TSN + 1, 0);
	peer_expect2(&p, SCTP_SACK, SCTP_SHUTDOWN);
	cr_assert_eq(be_get32(peer_expect(&p, SCTP_SHUTDOWN)->p + 4), PEER_TSN + 2);
}

/* rows: 9260-9.2-12 9260-9.2-21 9260-9.2-22 9260-9.2-23 */
Test(close, a_peer_that_never_stops_is_aborted_in_the_end)
{
	uint64_t begin = p.now;
	unsigned aborts = 0;

	shut_down();
	while (!p.down) {
		peer_advance(&p, PEER_SECOND / 2);
		aborts += peer_drain(&p, SCTP_ABORT);
		if (!p.down)
			peer_send_data(&p, 10);
		cr_assert_leq(p.now - begin, 301 * (uint64_t)PEER_SECOND);
	}
	cr_assert_geq(p.now - begin, 300 * (uint64_t)PEER_SECOND);
	cr_assert_eq(aborts, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_TIMEOUT);
}

/* rows: 9260-9.2-13 9260-9.2-14 9260-9.2-15 9260-9.2-16 9260-9.2-17 9260-9.2-24 */
Test(close, what_is_queued_goes_out_before_shutdown_ack)
{
	uint32_t cum = p.stack_tsn - 1;

	script_queue(&p, 20, SCRIPT_FULL);
	script_send_shutdown(&p, cum);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	shut_down(); /* ignored */
	for (unsigned i = 0; i < 3000 && cum != p.stack_tsn + 19; i++) {
		if (!script_next(&p)) {
			peer_advance(&p, PEER_SECOND);
			continue;
		}
		cr_assert_null(peer_find(&p, SCTP_SHUTDOWN));
		cr_assert_null(peer_find(&p, SCTP_SHUTDOWN_ACK));
		if (i % 5 == 4)
			continue; /* lost */
		if (be_get32(p.chunk[0].p + 4) == cum + 1)
			cum += p.n;
		script_send_shutdown(&p, cum);
	}
	cr_assert_eq(cum, p.stack_tsn + 19);
	cr_assert_geq(peer_drain(&p, SCTP_SHUTDOWN_ACK), 1);
	peer_send_plain(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
}

/* It had reported the chunk in a gap block, and SHUTDOWN says that it has it no more (6.2.1). */
Test(close, what_the_peer_has_dropped_goes_out_before_shutdown_ack)
{
	const uint16_t second[] = {2, 2};

	script_queue(&p, 2, SCRIPT_FULL);
	while (script_next(&p))
		;
	script_gaps(&p, p.stack_tsn - 1, second, 1);
	script_send_shutdown(&p, p.stack_tsn);
	peer_drain(&p, SCTP_DATA);
	peer_advance(&p, 5 * PEER_SECOND);
	script_data(&p, p.stack_tsn + 1);
	script_send_shutdown(&p, p.stack_tsn + 1);
	cr_assert_eq(peer_drain(&p, SCTP_SHUTDOWN_ACK), 1);
}

/* rows: 9260-9.2-25 9260-9.2-26 9260-9.2-27 9260-9.2-28 */
Test(close, shutdown_ack_is_repeated_as_well)
{
	static const unsigned at[] = {0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303};
	uint64_t begin = p.now;

	script_send_shutdown(&p, p.stack_tsn - 1);
	peer_advance(&p, 400 * (uint64_t)PEER_SECOND);
	for (unsigned i = 0; i < 11; i++) {
		peer_expect(&p, SCTP_SHUTDOWN_ACK);
		cr_assert_eq(p.pkt->at_us - begin, at[i] * (uint64_t)PEER_SECOND, "%u", i);
	}
	peer_drain(&p, SCTP_ABORT);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_TIMEOUT);
}

/* rows: 9260-9.2-29 */
Test(close, shutdown_ack_is_completed_once)
{
	shut_down();
	peer_expect(&p, SCTP_SHUTDOWN);
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.chunk[0].flags, 0);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert_eq(p.down, 1);
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	peer_advance(&p, 100 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-9.2-30 9260-9.2-31 */
Test(close, shutdown_complete_counts_in_one_state)
{
	peer_send_plain(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.down, 0);
	shut_down();
	peer_expect(&p, SCTP_SHUTDOWN);
	peer_send_plain(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.down, 0);
	script_send_shutdown(&p, p.stack_tsn - 1);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_send_plain(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
	peer_advance(&p, 100 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-9.2-39 9260-9.2-40 */
Test(close, shutdowns_that_cross)
{
	uint64_t at;

	shut_down();
	peer_expect(&p, SCTP_SHUTDOWN);
	peer_advance(&p, 900000);
	at = p.now;
	script_send_shutdown(&p, p.stack_tsn - 1);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_advance(&p, 1500000);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	cr_assert_eq(p.pkt->at_us - at, PEER_SECOND, "T2 began again");
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
}

/* rows: 9260-9.2-34 9260-9.2-35 */
Test(close, init_while_shutdown_ack_is_out)
{
	script_send_shutdown(&p, p.stack_tsn - 1);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_send_init(&p);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_expect_nothing(&p);
	p.port++;
	p.stack_port = PEER_STACK;
	peer_send_init(&p);
	peer_expect(&p, SCTP_INIT_ACK);
}

/* rows: 9260-9.2-36 9260-9.2-37 9260-9.2-38 */
Test(close, packets_of_an_old_shutdown_during_a_handshake)
{
	peer_deinit(&p);
	peer_init(&p, 1);
	peer_stack_connects(&p, 1);
	for (unsigned i = 0; i < 2; i++) {
		peer_begin_tag(&p, 4711);
		peer_put_plain(&p, SCTP_SHUTDOWN_ACK);
		peer_send(&p);
		peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
		cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
		cr_assert_eq(p.head.tag, 4711);
		script_send_shutdown(&p, 5);
		peer_expect_nothing(&p);
		peer_advance(&p, PEER_SECOND);
		peer_expect(&p, i ? SCTP_COOKIE_ECHO : SCTP_INIT);
		if (i == 0) {
			peer_send_init_ack(&p);
			peer_expect(&p, SCTP_COOKIE_ECHO);
		}
	}
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
}

/* A program that lets go of an association that is up aborts it. */
Test(close, freeing_an_association_aborts_it)
{
	p.assoc = sctp_assoc_free(p.assoc);
	peer_poll(&p);
	peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_USER);
	cr_assert_eq(p.head.tag, PEER_TAG);
}
