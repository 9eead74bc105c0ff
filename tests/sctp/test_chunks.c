/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: RFC 9260 section 3: what the stack does with chunks of an association: unknown ones of
 * the four kinds, lengths, flags, padding, error causes; and how many packets answer one. */
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

TestSuite(chunks, .init = setup, .fini = teardown);

enum { WHOLE = SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E };

static bool has_cause(uint16_t cause, const void *value, uint32_t len)
{
	const struct sctp_chunk *c = peer_find(&p, SCTP_ERROR);
	struct sctp_cursor at;
	struct sctp_error e;

	if (!c)
		return false;
	at = sctp_errors(c);
	while (sctp_error_next(&at, &e))
		if (e.cause == cause && e.len == len && memcmp(e.p, value, len) == 0)
			return true;
	return false;
}

/* ---- unknown chunks ---- */

/* rows: 9260-3.2-04 9260-3.2-05 9260-3.2-06 9260-3.2-07 9260-3.3.10.6-01 */
Test(chunks, unknown_ones_are_handled_by_their_kind)
{
	static const uint8_t types[] = {0x3e, 0x7e, 0xbe, 0xc0, 0xc1, 0xfe, 0x3f, 0x7f, 0xbf};

	for (unsigned i = 0; i < sizeof(types); i++) {
		const uint8_t chunk[] = {types[i], 5, 0, 7, 1, 2, 3};
		uint64_t before = p.messages;
		bool error = false;
		uint32_t cum = 0;

		peer_begin(&p);
		peer_put_data(&p, p.tsn, 0, 0, WHOLE, 4);
		peer_put(&p, types[i], 5, chunk + 4, 3);
		peer_put_data(&p, p.tsn + 1, 0, 0, WHOLE, 4);
		peer_send(&p);
		peer_advance(&p, PEER_SECOND / 4);
		while (peer_next(&p)) {
			error |= has_cause(SCTP_CAUSE_CHUNK, chunk, sizeof(chunk));
			if (peer_find(&p, SCTP_SACK))
				cum = be_get32(peer_find(&p, SCTP_SACK)->p + 4);
		}
		p.tsn += types[i] & 0x80 ? 2 : 1;
		cr_assert_eq(cum, p.tsn - 1, "type %x", types[i]);
		cr_assert_eq(p.messages - before, types[i] & 0x80 ? 2 : 1, "type %x", types[i]);
		cr_assert_eq(error, (types[i] & 0x40) != 0, "type %x", types[i]);
	}
}

/* rows: 9260-3.3.10.6-02 */
Test(chunks, a_large_unknown_one_is_reported_within_the_path_mtu)
{
	static uint8_t big[9000];

	peer_send_chunk(&p, 0xc1, 0, big, sizeof(big));
	peer_expect_cause(&p, SCTP_ERROR, SCTP_CAUSE_CHUNK);
	cr_assert_leq(p.pkt->len, peer_info(&p).mtu - 28);
}

/* rows: 9260-12.4-02 9260-12.4-03 9260-12.4-05 9260-3.3.6-01 */
Test(chunks, one_packet_is_answered_by_one_packet)
{
	peer_begin(&p);
	for (unsigned i = 0; i < 50; i++)
		peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	peer_send(&p);
	cr_assert(peer_next(&p));
	cr_assert_eq(p.n, 50);
	cr_assert_leq(p.pkt->len, peer_info(&p).mtu - 28);
	peer_expect_nothing(&p);
	peer_begin(&p);
	for (unsigned i = 0; i < 500; i++)
		peer_put_plain(&p, 0xc1);
	for (unsigned i = 0; i < 50; i++)
		peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	peer_send(&p);
	cr_assert(peer_next(&p));
	cr_assert_leq(p.pkt->len, peer_info(&p).mtu - 28);
	peer_expect_nothing(&p);
	peer_begin(&p);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	peer_put_data(&p, p.tsn + 3, 0, 0, WHOLE, 4);
	peer_put_data(&p, p.tsn + 5, PEER_STREAMS, 0, WHOLE, 4);
	peer_send(&p);
	peer_expect2(&p, SCTP_HEARTBEAT_ACK, SCTP_ERROR);
	peer_expect(&p, SCTP_SACK);
	peer_expect_nothing(&p);
}

/* rows: 9260-3-01 9260-3.3.13-01 */
Test(chunks, what_must_be_alone_replaces_other_answers)
{
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_poll(&p);
	peer_expect(&p, SCTP_SHUTDOWN);
	peer_begin(&p);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	peer_put_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_send(&p);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	peer_expect_nothing(&p);
}

/* ---- lengths, flags, padding ---- */

/* rows: 9260-3.2-14 */
Test(chunks, a_bad_length_ends_the_packet)
{
	static const uint16_t lens[] = {0, 1, 2, 3, 9, 100, 65535};

	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint32_t at;

		peer_begin(&p);
		at = p.w.len;
		peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
		be_put16(p.out + at + 2, lens[i]);
		if (lens[i] < 4)
			peer_put_data(&p, p.tsn, 0, 0, WHOLE, 4);
		peer_send(&p);
		peer_expect_nothing(&p);
	}
	cr_assert_eq(p.messages + p.down, 0);
}

/* rows: 9260-3.2-13 9260-3.2-18 9260-3.3.6-03 */
Test(chunks, the_length_may_count_the_padding)
{
	for (unsigned counted = 0; counted < 2; counted++) {
		const uint8_t info[8] = {0, 1, 0, 5, 0xaa, 0xff, 0xff, 0xff};

		peer_begin(&p);
		peer_put(&p, SCTP_HEARTBEAT, 0, info, 8);
		be_put16(p.out + SCTP_HEAD + 2, counted ? 12 : 9);
		peer_send(&p);
		peer_expect(&p, SCTP_HEARTBEAT_ACK);
		cr_assert_arr_eq(p.chunk[0].p + 4, info, 5);
	}
}

/* rows: 9260-3.2-09 9260-3.3.4-14 9260-3.3.5-03 9260-3.3.6-04 9260-3.3.1-02 9260-3.3.8-02 */
Test(chunks, flags_without_meaning_are_ignored)
{
	uint8_t cum[4];

	peer_send_chunk(&p, SCTP_HEARTBEAT, 0xff, "\0\1\0\4", 4);
	peer_expect(&p, SCTP_HEARTBEAT_ACK);
	peer_begin(&p);
	peer_put_data(&p, p.tsn, 0, 0, 0xf0 | WHOLE, 4);
	peer_send(&p);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.messages, 1);
	peer_stack_sends(&p, 0, 4);
	peer_expect(&p, SCTP_DATA);
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn, 1000, NULL, 0);
	p.out[SCTP_HEAD + 1] = 0xff;
	peer_send(&p);
	cr_assert_eq(p.acked, 1);
	be_put32(cum, p.stack_tsn);
	peer_send_chunk(&p, SCTP_SHUTDOWN, 0xff, cum, 4);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	cr_assert_eq(p.chunk[0].len, 4);
}

/* rows: 9260-3.2-09 9260-3.3.2-14 9260-3.3.3-08 */
Test(chunks, flags_of_init_and_init_ack_are_ignored)
{
	uint32_t at;

	p.port++;
	peer_begin_tag(&p, 0);
	peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
	p.out[SCTP_HEAD + 1] = 0xff;
	peer_send(&p);
	peer_expect(&p, SCTP_INIT_ACK);
	peer_stack_connects(&p, 1);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_end_chunk(&p, at);
	p.out[SCTP_HEAD + 1] = 0xff;
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	p.up = 0;
	peer_send_chunk(&p, SCTP_COOKIE_ACK, 0xff, NULL, 0);
	cr_assert_eq(p.up, 1);
}

/* RFC 9260 6.10. What is before it is done, what follows is not. */
Test(chunks, an_init_after_another_chunk_makes_the_packet_bad)
{
	static const uint8_t types[] = {SCTP_INIT, SCTP_INIT_ACK};
	struct sctp_stats before, after;

	for (unsigned i = 0; i < sizeof(types); i++) {
		uint64_t messages = p.messages;

		sctp_stats(p.s, &before);
		peer_begin(&p);
		peer_put_data(&p, p.tsn, 0, 0, WHOLE, 4);
		peer_end_chunk(&p, peer_begin_init(&p, types[i]));
		peer_put_data(&p, p.tsn + 1, 0, 0, WHOLE, 4);
		peer_send(&p);
		p.tsn++;
		sctp_stats(p.s, &after);
		cr_expect_eq(after.bad_packets, before.bad_packets + 1);
		cr_expect_eq(p.messages, messages + 1);
	}
}

/* rows: 9260-3.3.6-01 9260-3.3.6-02 9260-3.3.6-03 9260-8.4-12 */
Test(chunks, heartbeat_comes_back_as_it_was)
{
	static const uint32_t lens[] = {4, 5, 40, 1100};
	static uint8_t info[1200];

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 4; k < lens[i]; k++)
			info[k] = (uint8_t)(k * 31);
		be_put16(info, 1);
		be_put16(info + 2, (uint16_t)lens[i]);
		p.from.udp_port = (uint16_t)(1000 + i);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, info, lens[i]);
		peer_expect(&p, SCTP_HEARTBEAT_ACK);
		cr_assert_eq(p.chunk[0].len, 4 + lens[i]);
		cr_assert_arr_eq(p.chunk[0].p + 4, info, lens[i]);
		cr_assert_eq(p.pkt->to.udp_port, 1000 + i);
	}
}

/* rows: 9260-3.2-10 9260-3.2-16 9260-3.2-17 9260-3.3.1-07 9260-3.3.1-13 9260-3.3.1-14 9260-3.3.1-15
 * 9260-3.3.1-16 9260-3.3.1-20 9260-3.3.1-01 9260-3.3.1-12 9260-11.1-04 9260-1.6-04 */
Test(chunks, data_is_padded_and_counted)
{
	for (uint32_t len = 1; len <= 8; len++) {
		const struct sctp_chunk *c;

		peer_stack_sends(&p, (uint16_t)len, len);
		c = peer_expect(&p, SCTP_DATA);
		cr_assert_eq(c->len, 16 + len);
		cr_assert_eq(p.pkt->len, SCTP_HEAD + ((16 + len + 3) & ~3u));
		cr_assert_eq(c->flags & WHOLE, WHOLE);
		cr_assert_eq(be_get32(c->p + 4), p.stack_tsn + len - 1);
		cr_assert_eq(be_get16(c->p + 8), len);
		cr_assert_eq(be_get32(c->p + 12), 16);
		peer_send_sack(&p, p.stack_tsn + len - 1);
	}
}

/* rows: 9260-3.3.1-08 */
Test(chunks, an_empty_message_is_not_sent)
{
	cr_assert_neq(peer_stack_sends(&p, 0, 0), SCTP_E_OK);
	peer_expect_nothing(&p);
}

/* rows: 9260-3.3.1-11 9260-15.5-01 */
Test(chunks, any_payload_protocol_identifier_is_delivered)
{
	static const uint32_t ppids[] = {0, 16, 17, 4242, 0xffffffff};

	for (unsigned i = 0; i < 5; i++) {
		peer_begin(&p);
		peer_put_data(&p, p.tsn++, 0, 0, WHOLE, 4);
		be_put32(p.out + SCTP_HEAD + 12, ppids[i]);
		peer_send(&p);
		cr_assert_eq(p.msg.ppid, ppids[i]);
	}
	peer_drain(&p, SCTP_SACK);
}

/* rows: 9260-3.3.1-05 */
Test(chunks, unordered_messages_are_delivered_as_they_come)
{
	peer_begin(&p);
	peer_put_data(&p, p.tsn + 1, 0, 0, WHOLE, 5);
	peer_send(&p);
	cr_assert_eq(p.msg.len, 5);
	peer_begin(&p);
	peer_put_data(&p, p.tsn, 0, 0, WHOLE, 4);
	peer_send(&p);
	cr_assert_eq(p.msg.len, 4);
	peer_drain(&p, SCTP_SACK);
}

/* rows: 9260-3.3.1-09 9260-3.3.10.9-01 9260-3.3.7-01 9260-3.3.10-02 */
Test(chunks, data_without_user_data_ends_the_association)
{
	struct sctp_error e;

	peer_begin(&p);
	peer_put_data(&p, p.tsn, 0, 0, WHOLE, 0);
	peer_send(&p);
	e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NO_DATA);
	cr_assert_eq(e.len, 4);
	cr_assert_eq(be_get32(e.p), p.tsn);
	cr_assert_eq(p.last_down.end, SCTP_END_PROTOCOL);
}

/* rows: 9260-12.4-06 9260-3.3.10.13-01 9260-3.3.10.13-02 */
Test(chunks, acknowledging_what_was_never_sent_ends_the_association)
{
	for (unsigned i = 0; i < 3; i++) {
		uint8_t cum[4];

		peer_forget(&p);
		peer_bring_to(&p, SCTP_ESTABLISHED);
		peer_stack_sends(&p, 0, 4);
		peer_expect(&p, SCTP_DATA);
		be_put32(cum, p.stack_tsn + 1);
		if (i == 0) {
			peer_send_sack(&p, p.stack_tsn + 1);
		} else if (i == 1) {
			peer_begin(&p);
			peer_put_sack(&p, p.stack_tsn - 1, 1000, (const uint16_t[]){2, 3}, 1);
			peer_send(&p);
		} else {
			peer_send_chunk(&p, SCTP_SHUTDOWN, 0, cum, 4);
		}
		cr_assert_gt(peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_PROTOCOL).len, 0);
		cr_assert_eq(p.down, 1);
	}
}

/* ---- ABORT and ERROR ---- */

/* rows: 9260-3.3.7-05 9260-3.3.7-06 9260-3.3.7-08 */
Test(chunks, abort_ends_the_packet_and_a_broken_one_does_nothing)
{
	static const uint16_t lens[] = {0, 3, 5, 65535};

	for (unsigned i = 0; i < 4; i++) {
		peer_begin(&p);
		peer_put_plain(&p, SCTP_ABORT);
		be_put16(p.out + SCTP_HEAD + 2, lens[i]);
		peer_send(&p);
		cr_assert_eq(p.down, 0);
	}
	peer_begin(&p);
	peer_put_plain(&p, SCTP_ABORT);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_put_data(&p, p.tsn, 0, 0, WHOLE, 4);
	peer_send(&p);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.messages, 0);
	peer_expect_nothing(&p);
}

/* rows: 9260-3.3.10.12-02 9260-3.3.10.13-02 */
Test(chunks, the_reason_of_an_abort_reaches_the_user)
{
	static const uint32_t lens[] = {0, 5, 1000};
	static uint8_t cause[1004] = {0, 12};

	for (unsigned i = 0; i < 3; i++) {
		peer_forget(&p);
		peer_bring_to(&p, SCTP_ESTABLISHED);
		memset(cause + 4, 'x', sizeof(cause) - 4);
		cause[4] = 7;
		be_put16(cause + 2, (uint16_t)(4 + lens[i]));
		peer_send_chunk(&p, SCTP_ABORT, 0, cause, 4 + lens[i]);
		cr_assert_eq(p.last_down.end, SCTP_END_ABORTED);
		cr_assert_eq(p.last_down.cause, SCTP_CAUSE_USER);
		cr_assert_eq(strlen(p.last_down.text),
			     lens[i] < SCTP_ABORT_TEXT ? lens[i] : SCTP_ABORT_TEXT - 1);
		cr_assert_eq(p.last_down.text[0], lens[i] ? '?' : 0);
	}
}

/* rows: 9260-3.3.10-01 9260-3.3.10-06 */
Test(chunks, error_alone_is_never_fatal)
{
	for (unsigned cause = 0; cause < 20; cause++) {
		uint8_t value[12] = {0, (uint8_t)cause, 0, 12};

		peer_send_chunk(&p, SCTP_ERROR, 0, value, sizeof(value));
		for (unsigned len = 0; len < 20; len++) {
			be_put16(value + 2, (uint16_t)len);
			peer_send_chunk(&p, SCTP_ERROR, 0, value, sizeof(value));
		}
	}
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
}

/* ---- SHUTDOWN ---- */

/* rows: 9260-3.3.8-02 */
Test(chunks, shutdown_of_another_length_changes_nothing)
{
	for (uint32_t len = 0; len < 12; len++)
		if (len != 4)
			peer_send_chunk(&p, SCTP_SHUTDOWN, 0, "\0\0\0\0\0\0\0\0\0\0\0", len);
	peer_expect_nothing(&p);
	cr_assert_eq(peer_stack_sends(&p, 0, 4), SCTP_E_OK);
	peer_expect(&p, SCTP_DATA);
}

/* rows: 9260-3.3.8-03 9260-3.3.9-01 9260-3.3.9-02 */
Test(chunks, shutdown_acknowledges_data)
{
	uint8_t cum[4];

	for (unsigned i = 0; i < 3; i++)
		peer_stack_sends(&p, 0, 4);
	peer_drain(&p, SCTP_DATA);
	be_put32(cum, p.stack_tsn + 2);
	peer_send_chunk(&p, SCTP_SHUTDOWN, 0, cum, 4);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	cr_assert_arr_eq(p.chunk[0].p, ((const uint8_t[]){8, 0, 0, 4}), 4);
	peer_expect_nothing(&p);
}

/* rows: 9260-3.3.8-01 9260-3.3.8-02 9260-3.3.13-03 */
Test(chunks, a_close_has_three_packets)
{
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_poll(&p);
	peer_expect(&p, SCTP_SHUTDOWN);
	cr_assert_eq(p.chunk[0].len, 8);
	cr_assert_eq(be_get32(p.chunk[0].p + 4), PEER_TSN - 1);
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_arr_eq(p.chunk[0].p, ((const uint8_t[]){14, 0, 0, 4}), 4);
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
}
