/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMAP_WITH_IMM: a Send or a Write with Immediate Data is one request. It sends two messages or
 * none, and has one completion.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/two.h"

enum { IMM = 0x1122, WRITE = 1, SEND = 2, LATER = 3, GONE = 0x100, LARGE = 4000, LEN = 8 };

TestSuite(with_imm, .init = two_setup, .fini = two_teardown);

static struct rdmap_wr with_imm(enum rdmap_op op, uint64_t cookie)
{
	struct rdmap_wr wr = two_request(op, cookie, 0, LEN);

	wr.flags |= RDMAP_WITH_IMM;
	wr.imm = IMM;
	return wr;
}

static void receives(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pair_post_recv(two.qb, 10 + i, TWO_STAG_B, TWO_TO + 64, LARGE);
}

/* The headers of the next messages have these opcodes, and no message follows. */
static void expect_opcodes(unsigned n, const uint8_t *opcode)
{
	uint32_t len;

	for (unsigned i = 0; i < n; i++)
		cr_expect_eq(two_pull_header(&two.a, &len).opcode, opcode[i], "message %u", i);
	cr_expect_not(two_move(&two.a, &two.b));
}

/* written: bytes of the Write before it. */
static void expect_imm(uint64_t cookie, uint32_t written)
{
	struct rdmap_done d = pair_done(two.qb);

	cr_expect_eq(d.cookie, cookie);
	cr_expect(d.immediate);
	cr_expect_eq(d.imm, IMM);
	cr_expect_eq(d.len, 0);
	cr_expect_eq(d.inv_stag, written);
}

/* ---- success ---- */

Test(with_imm, it_follows_a_write)
{
	receives(1);
	two_post(two.qa, with_imm(RDMAP_WRITE, WRITE));
	cr_expect(two_move(&two.a, &two.b));
	two_expect_none(two.qa);
	two_expect_none(two.qb);
	cr_expect(two_move(&two.a, &two.b));
	cr_expect_not(two_move(&two.a, &two.b));
	two_expect_done(two.qa, WRITE, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	cr_expect_eq(two.qa->done[0].op, RDMAP_WRITE);
	expect_imm(10, LEN);
	cr_expect_arr_eq(two.mb, two.ma, LEN);
}

Test(with_imm, it_precedes_a_send)
{
	receives(2);
	two_post(two.qa, with_imm(RDMAP_SEND, SEND));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, SEND, RDMAP_SUCCESS);
	two_expect_none(two.qa);
	cr_expect_eq(two.qa->done[0].op, RDMAP_SEND);
	expect_imm(10, 0);
	two_expect_done(two.qb, 11, RDMAP_SUCCESS);
	cr_expect_eq(two.qb->done[1].len, LEN);
}

Test(with_imm, the_last_message_alone_is_solicited)
{
	static const uint8_t opcode[] = {WIRE_OP_WRITE,   WIRE_OP_IMM_SE, WIRE_OP_IMM,
					 WIRE_OP_SEND_SE, WIRE_OP_IMM,    WIRE_OP_SEND};
	struct rdmap_wr write = with_imm(RDMAP_WRITE, WRITE), send = with_imm(RDMAP_SEND, SEND);

	write.flags |= RDMAP_SOLICITED;
	send.flags |= RDMAP_SOLICITED;
	two_post(two.qa, write);
	two_post(two.qa, send);
	two_post(two.qa, with_imm(RDMAP_SEND, LATER));
	expect_opcodes(6, opcode);
}

Test(with_imm, payload_may_be_inline_or_long_or_empty)
{
	static const uint32_t written[3] = {5, LARGE, 0};
	struct rdmap_wr wr = with_imm(RDMAP_WRITE, WRITE);

	two.a.mulpdu = 1014;
	receives(3);
	wr.flags |= RDMAP_INLINE;
	wr.len = 5;
	memcpy(wr.inl, "abcde", 5);
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	cr_expect_arr_eq(two.mb, "abcde", 5);
	wr = with_imm(RDMAP_WRITE, WRITE);
	wr.sge[0].len = LARGE;
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	cr_expect_arr_eq(two.mb, two.ma, LARGE);
	wr.nsge = 0;
	two_post(two.qa, wr);
	pair_pump(&two.a, &two.b);
	for (unsigned i = 0; i < 3; i++) {
		two_expect_done(two.qa, WRITE, RDMAP_SUCCESS);
		expect_imm(10 + i, written[i]);
	}
}

Test(with_imm, it_completes_when_both_messages_are_acknowledged)
{
	two_teardown();
	two_setup_acked(true, PAIR_READS);
	receives(1);
	two_post(two.qa, with_imm(RDMAP_WRITE, WRITE));
	cr_expect(two_move(&two.a, &two.b));
	cr_expect(two_move(&two.a, &two.b));
	assoc_tx_progress(two.a.assoc, 1);
	assoc_tx_report(two.a.assoc);
	two_expect_none(two.qa);
	assoc_tx_acked(two.a.assoc);
	assoc_tx_report(two.a.assoc);
	two_expect_done(two.qa, WRITE, RDMAP_SUCCESS);
}

Test(with_imm, placed_the_read_of_no_bytes_follows_both)
{
	static const uint8_t opcode[] = {WIRE_OP_WRITE, WIRE_OP_IMM,  WIRE_OP_READ_REQ,
					 WIRE_OP_IMM,   WIRE_OP_SEND, WIRE_OP_READ_REQ};
	struct rdmap_wr write = with_imm(RDMAP_WRITE, WRITE), send = with_imm(RDMAP_SEND, SEND);

	write.flags |= RDMAP_PLACED;
	send.flags |= RDMAP_PLACED;
	two_post(two.qa, write);
	two_post(two.qa, send);
	expect_opcodes(6, opcode);
	two_expect_none(two.qa);
}

Test(with_imm, a_fence_holds_both_messages)
{
	struct rdmap_wr wr = with_imm(RDMAP_SEND, SEND);

	receives(2);
	wr.flags |= RDMAP_FENCE;
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, LEN));
	two_post(two.qa, wr);
	cr_expect(two_move(&two.a, &two.b), "the Read Request");
	cr_expect_not(two_move(&two.a, &two.b));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, SEND, RDMAP_SUCCESS);
}

/* ---- failure at this end ---- */

Test(with_imm, of_a_request_that_fails_nothing_is_sent)
{
	static const uint32_t len[] = {LEN, LARGE};
	static const enum rdmap_op op[] = {RDMAP_WRITE, RDMAP_SEND};

	for (unsigned i = 0; i < 4; i++) {
		struct rdmap_wr wr = with_imm(op[i / 2], i);

		wr.sge[0] = (struct sgl_elem){TWO_TO, len[i % 2], 77};
		two_post(two.qa, wr);
		cr_expect_not(two_move(&two.a, &two.b), "case %u", i);
		two_expect_done(two.qa, i, RDMAP_LOC_KEY_ERR);
		two_expect_none(two.qa);
	}
}

/* Outstanding Reads of others are not parts of it. */
Test(with_imm, memory_that_goes_after_the_immediate_data_fails_the_request)
{
	struct rdmap_wr wr = with_imm(RDMAP_SEND, SEND);

	pair_region(&two.a, GONE, TWO_TO, 64, TWO_ALL, 0);
	receives(1);
	wr.sge[0].stag = GONE;
	two_post(two.qa, two_request(RDMAP_READ, 1, 0, LEN));
	two_post(two.qa, wr);
	cr_expect(two_move(&two.a, &two.b), "the Read Request");
	cr_expect(two_move(&two.a, &two.b), "the Immediate Data");
	stag_remove(two.a.stags, GONE);
	cr_expect_not(two_move(&two.a, &two.b));
	cr_expect(two_move(&two.b, &two.a));
	two_expect_done(two.qa, 1, RDMAP_SUCCESS);
	two_expect_done(two.qa, SEND, RDMAP_LOC_KEY_ERR);
}

Test(with_imm, other_operations_cannot_have_it)
{
	static const enum rdmap_op op[] = {RDMAP_SEND_INV, RDMAP_READ, RDMAP_IMM, RDMAP_FETCH_ADD,
					   RDMAP_LOCAL_INV};

	for (unsigned i = 0; i < sizeof(op) / sizeof(op[0]); i++) {
		two_post(two.qa, with_imm(op[i], i));
		cr_expect_not(two_move(&two.a, &two.b));
		two_expect_done(two.qa, i, RDMAP_LOC_OP_ERR);
	}
}

Test(with_imm, without_rfc_7306_there_is_none)
{
	const struct rdmap_cfg plain = {.ord = PAIR_READS, .ird = PAIR_READS, .plain_rdmap = true};

	two_teardown();
	two_setup_as(&plain);
	two_post(two.qa, with_imm(RDMAP_WRITE, WRITE));
	cr_expect_not(two_move(&two.a, &two.b));
	two_expect_done(two.qa, WRITE, RDMAP_LOC_OP_ERR);
}

/* ---- both programs close ---- */

Test(with_imm, both_messages_leave_after_the_peers_end)
{
	static const enum rdmap_op op[] = {RDMAP_WRITE, RDMAP_SEND};

	for (unsigned i = 0; i < 2; i++) {
		struct rdmap_wr wr = with_imm(op[i], WRITE);

		wr.flags |= i > 0 ? RDMAP_FENCE : 0;
		two_teardown();
		two_setup();
		receives(3);
		two_post(two.qa, wr);
		two_post(two.qa, two_request(RDMAP_SEND, LATER, 0, LEN));
		assoc_close_after(two.a.assoc, two.qa->ep, 2);
		cr_expect(two_move(&two.a, &two.b), "the first message");
		assoc_close(two.b.assoc, two.qb->ep);
		cr_expect(two_move(&two.b, &two.a), "the Terminate");
		cr_expect(two_move(&two.a, &two.b), "the second message");
		cr_expect(two_move(&two.a, &two.b), "the next request");
		two_expect_done(two.qa, WRITE, RDMAP_SUCCESS);
		two_expect_done(two.qa, LATER, RDMAP_SUCCESS);
	}
}

/* ---- failure at the peer ---- */

Test(with_imm, a_write_that_the_peer_refuses_has_one_completion)
{
	struct rdmap_wr wr = with_imm(RDMAP_WRITE, WRITE);

	two_teardown();
	two_setup_acked(true, PAIR_READS);
	receives(1);
	wr.rstag = 0xbad;
	two_post(two.qa, wr);
	two_post(two.qa, with_imm(RDMAP_SEND, SEND));
	pair_pump(&two.a, &two.b);
	two_expect_done(two.qa, WRITE, RDMAP_REM_ACCESS_ERR);
	two_expect_done(two.qa, SEND, RDMAP_FLUSH_ERR);
	two_expect_none(two.qa);
}

/* Each is the one that finds no receive: its first message or its second, and nobody else's. */
Test(with_imm, the_request_without_a_receive_is_the_one_that_fails)
{
	static const struct {
		unsigned receives;
		enum rdmap_status want[3];
	} row[] = {
		{0, {RDMAP_REM_OP_ERR, RDMAP_FLUSH_ERR, RDMAP_FLUSH_ERR}},
		{1, {RDMAP_FLUSH_ERR, RDMAP_REM_OP_ERR, RDMAP_FLUSH_ERR}},
		{2, {RDMAP_FLUSH_ERR, RDMAP_REM_OP_ERR, RDMAP_FLUSH_ERR}},
		{3, {RDMAP_FLUSH_ERR, RDMAP_FLUSH_ERR, RDMAP_REM_OP_ERR}},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		two_teardown();
		two_setup_acked(true, PAIR_READS);
		receives(row[i].receives);
		two_post(two.qa, with_imm(RDMAP_WRITE, WRITE));
		two_post(two.qa, with_imm(RDMAP_SEND, SEND));
		two_post(two.qa, two_request(RDMAP_SEND, LATER, 0, LEN));
		pair_pump(&two.a, &two.b);
		for (unsigned k = 0; k < 3; k++) {
			struct rdmap_done d = pair_done(two.qa);

			cr_expect_eq(d.cookie, WRITE + k);
			cr_expect_eq(d.status, row[i].want[k], "%u receives, request %u: %d",
				     row[i].receives, k, d.status);
		}
		two_expect_none(two.qa);
	}
}
