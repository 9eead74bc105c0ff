/* SPDX-License-Identifier: BSD-2-Clause */
/* After the end of the daemon each request that was posted has exactly one completion. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <string.h>

#include "ipc/local_protocol.h"
#include "tests/ipc/listening.h"

enum { ENTRIES = 4, WAITING = 64 };

static struct ddp_qp *qp;

/* The queues of a program, at this daemon. */
static void make_queues(void)
{
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	struct ddp_id *id;

	init.max_send_wr = init.max_recv_wr = ENTRIES;
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0);
}

static void begin(void)
{
	start();
	make_queues();
}

TestSuite(flush, .init = begin, .fini = stop, .timeout = 30);

static void post_send(uint64_t wr_id)
{
	struct ddp_send_wr wr = {.wr_id = wr_id, .opcode = DDP_WR_RDMA_WRITE};

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0, "%s", ddp_last_reason());
}

static void post_recv(uint64_t wr_id)
{
	struct ddp_recv_wr wr = {.wr_id = wr_id};

	cr_assert_eq(ddp_post_recv(qp, &wr, NULL), 0, "%s", ddp_last_reason());
}

/* The daemon takes entries of the send ring. */
static void take(uint32_t n)
{
	cr_assert_geq(ring_avail(&fake.qp[0].sq), (int)n);
	ring_release(&fake.qp[0].sq, n);
}

/* The daemon completes a Write; index: behind its entry. */
static void complete(uint64_t wr_id, uint32_t index)
{
	struct wqe_cqe e = {.wr_id = wr_id, .qp_num = 101, .opcode = WQE_WRITE, .index = index};

	fake_complete(&fake.cq[0], &e, false);
}

static void expect(uint64_t wr_id, enum ddp_wc_status status, enum ddp_wc_opcode opcode)
{
	struct ddp_wc wc;

	cr_assert_eq(ddp_wait_cq(cq, 1, &wc, -1), 1, "%s", ddp_last_reason());
	cr_expect_eq(wc.wr_id, wr_id, "%u came", (unsigned)wc.wr_id);
	cr_expect_eq(wc.status, status);
	cr_expect_eq(wc.opcode, opcode);
	cr_expect_eq(wc.qp_num, 101);
}

static void expect_end(void)
{
	struct ddp_wc wc;

	cr_expect_eq(ddp_wait_cq(cq, 1, &wc, -1), -EPIPE);
	cr_expect_eq(ddp_poll_cq(cq, 1, &wc), -EPIPE);
}

Test(flush, what_was_completed_is_not_flushed)
{
	for (uint64_t i = 1; i <= 4; i++)
		post_send(i);
	post_recv(10);
	post_recv(11);
	take(3);
	complete(1, 1);
	ring_set_done(&fake.qp[0].sq, 1);
	complete(2, 2);
	ring_set_done(&fake.qp[0].sq, 2);
	fake_die(&fake);
	expect(1, DDP_WC_SUCCESS, DDP_WC_RDMA_WRITE);
	expect(2, DDP_WC_SUCCESS, DDP_WC_RDMA_WRITE);
	expect(3, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect(4, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect(10, DDP_WC_FLUSH_ERR, DDP_WC_RECV);
	expect(11, DDP_WC_FLUSH_ERR, DDP_WC_RECV);
	expect_end();
}

Test(flush, a_completion_that_the_daemon_did_not_count_any_more_counts)
{
	post_send(1);
	post_send(2);
	take(2);
	complete(1, 1);
	fake_die(&fake);
	expect(1, DDP_WC_SUCCESS, DDP_WC_RDMA_WRITE);
	expect(2, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect_end();
}

Test(flush, requests_without_a_completion_are_complete_when_the_daemon_says_so)
{
	for (uint64_t i = 1; i <= 3; i++)
		post_send(i);
	take(3);
	ring_set_done(&fake.qp[0].sq, 2);
	fake_die(&fake);
	expect(3, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect_end();
}

Test(flush, more_requests_may_be_in_progress_than_the_ring_has_entries)
{
	for (uint64_t i = 1; i <= 3 * WAITING; i++) {
		post_send(i);
		take(1);
	}
	ring_set_done(&fake.qp[0].sq, 100);
	for (uint64_t i = 3 * WAITING + 1; i <= 5 * WAITING; i++) {
		post_send(i);
		take(1);
	}
	fake_die(&fake);
	for (uint64_t i = 101; i <= 5 * WAITING - ENTRIES; i++)
		expect(i, DDP_WC_FLUSH_ERR, DDP_WC_SEND);
	for (uint64_t i = 5 * WAITING - ENTRIES + 1; i <= 5 * WAITING; i++)
		expect(i, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect_end();
}

Test(flush, requests_that_are_posted_later_are_flushed_too)
{
	post_send(1);
	fake_die(&fake);
	expect(1, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect_end();
	post_send(2);
	expect(2, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect_end();
}

Test(flush, several_queue_pairs_and_several_at_once)
{
	struct ddp_qp *first = qp;
	struct ddp_wc wc[8];

	make_queues();
	post_send(7);
	qp = first;
	post_send(1);
	post_recv(2);
	fake_die(&fake);
	cr_assert_eq(ddp_wait_cq(cq, 8, wc, -1), 3);
	cr_expect_eq(wc[0].wr_id + wc[1].wr_id + wc[2].wr_id, 10);
	cr_expect_eq(wc[2].qp_num, 102);
	expect_end();
}

Test(flush, the_completion_names_the_end_of_the_daemon)
{
	struct ddp_wc wc;
	char text[128];

	post_recv(1);
	fake_die(&fake);
	cr_assert_eq(ddp_wait_cq(cq, 1, &wc, -1), 1);
	ddp_explain(&wc, text, sizeof(text));
	cr_expect_str_eq(text, "receive was not done: the daemon has ended, or has ended this "
			       "connection");
}

/* A daemon says an index that it cannot mean. */
Test(flush, an_impossible_index_is_ignored)
{
	post_send(1);
	ring_set_done(&fake.qp[0].sq, 77);
	fake_die(&fake);
	expect(1, DDP_WC_FLUSH_ERR, DDP_WC_RDMA_WRITE);
	expect_end();
}

static void be_older(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_HELLO)
		r->hello.minor = IPC_MINOR_DONE - 1;
}

/* It does not count what is complete. */
Test(flush, nothing_is_flushed_for_an_older_daemon)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};

	fake_restart(&fake, be_older);
	cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
	make_queues();
	post_send(1);
	fake_die(&fake);
	expect_end();
}
