/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread resizes a completion queue again and again while another one posts Writes and takes
 * their completions. Promise: each completion comes once and in order; a size that is too small is
 * refused.
 *
 *   resize SOCKET SOCKET2 ADDRESS2
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

enum { WRITES = 20000, LENGTH = 64, POLL = 4, LARGEST = 10 /* bits */ };

static struct end a, b;
static atomic_bool done;
static unsigned resized, refused;

static void *resize_often(void *arg)
{
	uint32_t v = 5043;

	(void)arg;
	while (!atomic_load(&done)) {
		int r;

		v = v * 1664525 + 1013904223;
		r = ddp_resize_cq(a.cq, 1U << (v >> 16) % (LARGEST + 1));
		if (r && r != -EBUSY)
			fail("resize: %s", ddp_last_reason());
		resized += r == 0;
		refused += r != 0;
	}
	return NULL;
}

static void write_all(struct session *s)
{
	struct ddp_wc wc[POLL];
	uint64_t posted = 0, taken = 0;

	while (taken < WRITES) {
		int n;

		for (; posted < WRITES && posted - taken < RIG_DEPTH; posted++) {
			struct ddp_sge sge = end_sge(&a, 0, LENGTH);
			struct ddp_send_wr wr = {.wr_id = posted,
						 .sg_list = &sge,
						 .num_sge = 1,
						 .opcode = DDP_WR_RDMA_WRITE,
						 .send_flags = DDP_SEND_SIGNALED};

			wr.rdma.remote_addr = b.mr->iova;
			wr.rdma.rkey = b.mr->rkey;
			MUST(ddp_post_send(s->qp[0], &wr, NULL));
		}
		n = MUST(ddp_wait_cq(a.cq, POLL, wc, RIG_WAIT_MS));
		if (n == 0)
			fail("no completion after %llu", (unsigned long long)taken);
		for (int i = 0; i < n; i++, taken++)
			if (wc[i].wr_id != taken || wc[i].status != DDP_WC_SUCCESS)
				fail("completion %llu: %llu, %s", (unsigned long long)taken,
				     (unsigned long long)wc[i].wr_id,
				     ddp_wc_status_str(wc[i].status));
	}
}

static void too_small(struct session *s)
{
	struct ddp_cq_state state = DDP_INIT(ddp_cq_state);
	struct ddp_wc wc;

	MUST(ddp_resize_cq(a.cq, 64));
	for (uint64_t i = 0; i < 3; i++)
		session_send(s, 0, (struct ddp_send_wr){.wr_id = i, .opcode = DDP_WR_SEND}, 0, 0);
	for (int i = 0; i < 3; i++)
		end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	MUST(ddp_query_cq(a.cq, &state));
	is("entries", state.entries, 64);
	REFUSED("a size below what waits", ddp_resize_cq(a.cq, 2), EBUSY);
	MUST(ddp_resize_cq(a.cq, 4));
	for (uint64_t i = 0; i < 3; i++) {
		MUST(ddp_poll_cq(a.cq, 1, &wc));
		is("a completion that waited", wc.wr_id, i);
	}
	REFUSED("more than limits.cqe", ddp_resize_cq(a.cq, 65536), EINVAL);
}

int main(int argc, char **argv)
{
	struct session s;
	pthread_t thread;

	if (argc != 4) {
		fprintf(stderr, "usage: resize SOCKET SOCKET2 ADDRESS2\n");
		return 2;
	}
	alarm(LIFE_S);
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	session_open(&s, &a, &b, argv[3], NULL);
	for (int i = 0; i < 3; i++)
		session_recv(&s, 1, 0, LENGTH);
	if (pthread_create(&thread, NULL, resize_often, NULL))
		fail("thread");
	write_all(&s);
	atomic_store(&done, true);
	pthread_join(thread, NULL);
	ok("%d completions in order", WRITES);
	printf("%u sizes, %u refused\n", resized, refused);
	too_small(&s);
	return 0;
}
