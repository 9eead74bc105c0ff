/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: an endpoint accepts arriving segments up to the last allowed byte, buffer and number,
 * and no further. */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/rdmap/rdmap_ep.h"
#include "tests/lib/assoc_test.h"
#include "tests/lib/fake.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum { SCOPED = 0x0badcafe }; /* a region of the endpoint alone */

TestSuite(rdmap_rx_edges, .init = fake_setup, .fini = fake_teardown);

Test(rdmap_rx_edges, read_request_bytes_beyond_its_header_are_refused)
{
	static const uint32_t mo[] = {1, 28, 29, 100, UINT32_MAX};

	for (unsigned i = 0; i < sizeof(mo) / sizeof(mo[0]); i++) {
		struct pair_msg m = fake_read(1, 1, FAKE_STAG, FAKE_BASE, 8);

		fake_teardown();
		fake_setup();
		be_put32(m.b + 16, mo[i]);
		fake_push(m);
		fake_expect_terminate(PERR_RDMAP_LENGTH);
	}
}

Test(rdmap_rx_edges, reads_are_requested_in_order)
{
	fake_push(fake_read(1, 2, FAKE_STAG, FAKE_BASE, 8));
	fake_expect_terminate(PERR_MSN_RANGE);
}

/* rows: 5040-5.2.1-02 */
Test(rdmap_rx_edges, slot_of_an_answered_read_serves_the_next)
{
	for (uint16_t i = 1; i <= 3 * PAIR_READS; i++) {
		struct pair_msg m;

		fake_push(fake_read(i, i, FAKE_STAG, FAKE_BASE, 8));
		cr_assert(pair_pull(&fake.node, &m));
		cr_expect_eq(m.len, 16 + 8);
	}
	fake_expect_open();
}

Test(rdmap_rx_edges, window_full_of_open_receives_takes_no_more)
{
	fake_post_recvs(2 * PAIR_DEPTH, 8);
	fake_push(fake_send(1, PAIR_DEPTH, 0, false, "x"));
	cr_expect_eq(fake.qp->recv_taken, PAIR_DEPTH);
	fake_push(fake_send(2, PAIR_DEPTH + 1, 0, false, "x"));
	cr_expect_eq(fake.qp->recv_taken, PAIR_DEPTH);
	fake_expect_terminate(PERR_NO_BUFFER);
}

/* A pool has no block for one that takes more than it has reserved. */
Test(rdmap_rx_edges, an_endpoint_reserves_each_block_that_it_can_use)
{
	const struct rdmap_cfg cfg = {
		.ord = 1, .ird = 1, .sq_depth = 2, .rq_depth = 1, .max_recv_sge = 2};
	const struct blocks *pool;
	struct pair_msg m;
	uint64_t used;

	fake_teardown();
	fake_setup_as(&cfg);
	pool = &fake.node.pool->blocks;
	used = pool->used;
	fake_post_recvs(1, 8);
	fake_push(fake_send(1, 1, 0, false, "some"));
	fake_post_read(0, 0, 8);
	pair_post(fake.qp, &(struct rdmap_wr){.op = RDMAP_READ, .cookie = 1, .rstag = 0x1000});
	cr_assert_not(pair_pull(&fake.node, &m), "the second Read waits for the first");
	fake_push(fake_read(2, 1, FAKE_STAG, FAKE_BASE, 3000));
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(pool->used - used, rdmap_blocks(&cfg));
}

/* What the error tells beside its number: see test_reason.c. */
Test(rdmap_rx_edges, an_error_names_the_message_and_its_place)
{
	const struct perr_at *at = &fake.qp->ep->at;

	fake_post_recvs(2, 8);
	fake_push(fake_send(1, 1, 0, true, "good"));
	fake_push(fake_send(2, 2, 0, false, "12345"));
	fake_push(fake_send(3, 2, 5, true, "6789"));
	cr_expect_eq(at->msn, 2);
	cr_expect_eq(at->stag, 0);
	cr_expect_eq(at->to, 5);
	cr_expect_eq(at->len, 4);
}

Test(rdmap_rx_edges, bad_receives_are_reported_as_soon_as_they_are_the_oldest)
{
	fake_post_recvs(1, 8);
	pair_post_recv(fake.qp, 1, 99, 0, 8);
	fake.qp->recv[fake.qp->recv_posted++] = (struct rdmap_recv){
		.cookie = 2,
		.status = RDMAP_LOC_OP_ERR,
		.nsge = 1,
		.sge = {{FAKE_BASE, 8, FAKE_STAG}},
	};
	pair_post_recv(fake.qp, 3, FAKE_STAG, FAKE_BASE, 8);
	fake_push(fake_send(2, 2, 0, false, "two"));
	fake_expect_none();
	fake_push(fake_send(1, 1, 0, true, "one"));
	fake_expect_done(0, RDMAP_SUCCESS, 3);
	fake_expect_done(1, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_done(2, RDMAP_LOC_OP_ERR, 0);
	fake_expect_none();
}

/* As on adapters, which look at the key when they write. */
Test(rdmap_rx_edges, a_receive_without_memory_takes_a_message_without_bytes)
{
	struct wire_ddp imm = fake_header(WIRE_OP_IMM);

	for (unsigned i = 0; i < 3; i++)
		pair_post_recv(fake.qp, i, 0, FAKE_BASE, 8);
	fake_push(fake_send(1, 1, 0, true, ""));
	fake_expect_done(0, RDMAP_SUCCESS, 0);
	imm.msn = 2;
	fake_push(pair_segment(FAKE_SID, 2, &imm, "12345678", 8));
	fake_expect_done(1, RDMAP_SUCCESS, 0);
	pair_post_recv(fake.qp, 3, 0, FAKE_BASE, 8);
	fake_push(fake_send(4, 4, 0, true, ""));
	fake_push(fake_send(3, 3, 0, true, ""));
	fake_expect_done(2, RDMAP_SUCCESS, 0);
	fake_expect_done(3, RDMAP_SUCCESS, 0);
	fake_expect_open();
}

Test(rdmap_rx_edges, a_receive_without_memory_is_passed_over_by_bytes)
{
	pair_post_recv(fake.qp, 0, 0, FAKE_BASE, 8);
	fake_post_recvs(1, 8);
	fake.qp->recv[1].cookie = 1;
	pair_post_recv(fake.qp, 2, 0, FAKE_BASE, 8);
	fake_push(fake_send(1, 1, 0, true, "bytes"));
	fake_expect_done(0, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_done(1, RDMAP_SUCCESS, 5);
	cr_expect_arr_eq(fake.mem, "bytes", 5);
	fake_expect_open();
	fake_push(fake_send(2, 2, 0, true, "bytes"));
	fake_expect_done(2, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_terminate(PERR_BAD_RECEIVE);
}

Test(rdmap_rx_edges, bytes_after_a_later_message_find_a_receive_without_memory)
{
	pair_post_recv(fake.qp, 0, 0, FAKE_BASE, 8);
	pair_post_recv(fake.qp, 1, FAKE_STAG, FAKE_BASE, 8);
	fake_push(fake_send(2, 2, 0, true, "two"));
	fake_push(fake_send(1, 1, 0, true, "one"));
	fake_expect_terminate(PERR_CATASTROPHIC);
}

/* RFC 5041 5.2: a message is shorter than 2^32 bytes, however long its buffer. */
Test(rdmap_rx_edges, no_message_passes_4_gigabytes)
{
	const struct stag_region huge = {
		.stag = 0x500,
		.rights = FAKE_ALL,
		.pd = PAIR_PD,
		.len = UINT64_C(1) << 33,
		.base = fake.mem,
	};

	cr_assert_eq(stag_add(fake.node.stags, &huge), STAG_ADD_OK);
	fake.qp->recv[fake.qp->recv_posted++] = (struct rdmap_recv){
		.nsge = 2,
		.sge = {{0, UINT32_MAX, 0x500}, {0, UINT32_MAX, 0x500}},
	};
	fake_push(fake_send(1, 1, UINT32_MAX - 3, false, "5byte"));
	fake_expect_terminate(PERR_TOO_LONG);
}

Test(rdmap_rx_edges, response_outside_its_sink_is_a_bounds_error_whatever_other_reads_exist)
{
	static const uint32_t stag[] = {FAKE_STAG, 0x500};

	for (unsigned i = 0; i < 2; i++) {
		struct rdmap_wr second;
		struct pair_msg m;

		fake_teardown();
		fake_setup();
		pair_region(&fake.node, 0x500, FAKE_BASE, 64, FAKE_ALL, 0);
		fake_post_read(1, 0, 8);
		second = fake.qp->send[0];
		second.sge[0].stag = 0x500;
		pair_post(fake.qp, &second);
		cr_assert(pair_pull(&fake.node, &m));
		fake_push(fake_response(2, stag[i], FAKE_BASE + 60, true, "8 bytes!"));
		fake_push(fake_response(1, FAKE_STAG, FAKE_BASE, true, "8 bytes!"));
		fake_expect_terminate(PERR_TAGGED_BOUNDS);
	}
}

/* rows: 5040-5.4-07 */
Test(rdmap_rx_edges, terminate_names_nothing_that_was_not_sent)
{
	struct rdmap_wr held = {.cookie = 2, .op = RDMAP_SEND, .flags = RDMAP_FENCE};
	uint8_t body[24] = {0x12, 0x02, 0xc0, 0x00, 0, 18, 0x41, 0x43};

	fake_post_read(1, 0, 8);
	pair_post(fake.qp, &held);
	fake_expect_nothing_sent();
	fake_push(fake_rdmap_terminate(1, body, sizeof(body))); /* of QN 0, MSN 0 */
	fake_expect_done(1, RDMAP_FLUSH_ERR, 0);
	fake_expect_done(2, RDMAP_FLUSH_ERR, 0);
}
