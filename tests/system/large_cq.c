/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues with as many entries as a daemon announces, more than a user may have memory
 * for. Completions wait in one of them while its queue pairs come and go.
 *
 *   large_cq SOCKET ADDRESS
 */
#include <errno.h>
#include <stdio.h>

#include "tests/system/rig.h"

enum { QUEUES = 16, QPS = 8, DEPTH = 2048, MOST = 1 << 22 };

static struct end a, b;
static struct ddp_cq *queue[QUEUES];

static void make_queues(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq_state state = DDP_INIT(ddp_cq_state);

	attr.entries = MOST;
	for (int i = 0; i < QUEUES; i++)
		MUST(ddp_create_cq(a.ctx, &attr, &queue[i]));
	MUST(ddp_query_cq(queue[0], &state));
	is("entries", state.entries, MOST);
	attr.entries = MOST + 1;
	REFUSED("one more than the limit", ddp_create_cq(a.ctx, &attr, &queue[0]), EINVAL);
	ok("%d queues of %d entries", QUEUES, MOST);
}

/* Their work would not fit into the ring that the queue had at first. */
static void use_queue(struct ddp_cq *cq)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_id *id[QPS];
	struct ddp_qp *qp[QPS];

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = DEPTH;
	for (int i = 0; i < QPS; i++) {
		MUST(ddp_create_id(a.ctx, NULL, &id[i]));
		MUST(ddp_create_qp(id[i], a.pd, &init, &qp[i]));
	}
	for (int i = 0; i < QPS; i++) {
		MUST(ddp_destroy_qp(qp[i]));
		MUST(ddp_destroy_id(id[i]));
	}
}

static void take_late(const char *address)
{
	struct ddp_cq_state state = DDP_INIT(ddp_cq_state);
	struct session s;

	MUST(ddp_resize_cq(a.cq, MOST));
	session_open(&s, &a, &b, address, NULL);
	for (uint64_t i = 0; i < RIG_DEPTH; i++) {
		session_recv(&s, 1, 0, 8);
		session_send(&s, 0, (struct ddp_send_wr){.wr_id = i, .opcode = DDP_WR_SEND}, 0, 8);
		end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	}
	use_queue(a.cq);
	for (uint64_t i = 0; i < RIG_DEPTH; i++)
		is("a completion that waited", end_wc(&a).wr_id, i);
	MUST(ddp_query_cq(a.cq, &state));
	is("entries", state.entries, MOST);
	session_close(&s, 0);
	ok("completions wait while queue pairs come and go");
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: large_cq SOCKET ADDRESS\n");
		return 2;
	}
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[1]);
	end_listen(&b);
	make_queues();
	take_late(argv[2]);
	return 0;
}
