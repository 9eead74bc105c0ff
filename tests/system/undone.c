/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose daemon is killed while Writes and Sends are in progress. Promise: each request
 * has exactly one completion, in the order of posting; those without SIGNALED have one at most.
 *
 *   undone SOCKET-OF-A SOCKET-OF-B ADDRESS-OF-B     A is to be killed after the line "ok works"
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/rig.h"

enum { WORKS = 2000, RECVS = 8 };

static struct end a, b;
static struct session s;
static uint64_t posted, completed, flushed; /* requests of the send queue count from 1 */

/* Each third one has no completion of its own. */
static bool is_signaled(uint64_t n)
{
	return n % 3 != 0;
}

static int post(uint64_t n)
{
	struct ddp_sge sge = end_sge(&a, 0, 8192);
	struct ddp_send_wr wr = {
		.wr_id = n,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = is_signaled(n) ? DDP_SEND_SIGNALED : 0,
		.rdma = {b.mr->iova, b.mr->rkey},
	};

	return ddp_post_send(s.qp[0], &wr, NULL);
}

/* The next completion of the send queue is that of the next request, or of one behind others that
 * have none. */
static void count(const struct ddp_wc *wc)
{
	if (wc->opcode == DDP_WC_RECV) {
		is("status of a receive", wc->status, DDP_WC_FLUSH_ERR);
		is("receives in order", wc->wr_id, flushed++);
		return;
	}
	while (++completed < wc->wr_id)
		if (is_signaled(completed))
			fail("request %llu has no completion, %llu has one",
			     (unsigned long long)completed, (unsigned long long)wc->wr_id);
	if (wc->wr_id != completed)
		fail("request %llu is completed again", (unsigned long long)wc->wr_id);
	if (completed == WORKS)
		ok("works");
}

static void work_until_the_end(void)
{
	struct ddp_wc wc;
	int r;

	for (;;) {
		while (posted < completed + 32 && post(posted + 1) == 0)
			posted++;
		r = ddp_wait_cq(a.cq, 1, &wc, -1);
		if (r < 0)
			break;
		count(&wc);
	}
	is("the end of the queue", (uint64_t)-r, EPIPE);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		fail("usage: undone SOCKET-A SOCKET-B ADDRESS-B");
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	session_open(&s, &a, &b, argv[3], &(struct how){.request = NULL});
	for (uint64_t i = 0; i < RECVS; i++) {
		struct ddp_recv_wr wr = {.wr_id = i};

		is("post a receive", (uint64_t)ddp_post_recv(s.qp[0], &wr, NULL), 0);
	}
	work_until_the_end();
	while (completed < posted && !is_signaled(completed + 1))
		completed++;
	is("completions of the send queue", completed, posted);
	is("receives that were flushed", flushed, RECVS);
	ok("each request has one completion");
	return 0;
}
