/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As many queue pairs as the daemon announces fit into the limits of a user, with 16 requests and
 * 16 receives and the hold that ddpverbs gives them.
 *
 *   many_qps SOCKET
 *   many_qps SOCKET ADDRESS    a daemon that allows less memory than one hold has
 */
#include <stdlib.h>
#include <string.h>

#include "tests/system/rig.h"

enum { HOLD = 2 << 20, HOLD_MS = 10000, HOLD_FULL = 0x1202 };

/* The hold is there and may not be used: a message without a receive ends its session alone. */
static void too_large_to_use(const char *socket, const char *address)
{
	struct how how = {0};
	struct session s, other;
	struct end a, b;

	end_open(&a, "a", socket);
	end_open(&b, "b", socket);
	end_listen(&b);
	how.init[1].hold_bytes = 2 * HOLD;
	how.init[1].hold_ms = HOLD_MS;
	session_open(&s, &a, &b, address, &how);
	session_open(&other, &a, &b, address, &how);
	session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, 100);
	session_broken(&s, 1, HOLD_FULL);
	session_recv(&other, 1, 0, 100);
	session_send(&other, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, 100);
	end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	session_close(&other, 0);
	ok("a hold beyond limits.memory counts as full when a message waits");
	end_close(&b);
}

int main(int argc, char **argv)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_qp **qp;
	struct ddp_id **id;
	struct end e;

	if (argc == 3) {
		too_large_to_use(argv[1], argv[2]);
		return 0;
	}
	if (argc != 2)
		return 2;
	end_open(&e, "a", argv[1]);
	MUST(ddp_query(e.ctx, &caps));
	qp = calloc(caps.max_qp, sizeof(struct ddp_qp *));
	id = calloc(caps.max_qp, sizeof(struct ddp_id *));
	if (!qp || !id)
		fail("no memory for %u queue pairs", (unsigned)caps.max_qp);
	init.send_cq = init.recv_cq = e.cq;
	init.max_send_wr = init.max_recv_wr = RIG_DEPTH;
	init.hold_bytes = HOLD;
	init.hold_ms = HOLD_MS;
	init.options = DDP_QP_PLACE_IN_ORDER | DDP_QP_KEEP_RECVS | DDP_QP_ACKED | DDP_QP_CREDITS;
	for (unsigned i = 0; i < caps.max_qp; i++) {
		MUST(ddp_create_id(e.ctx, NULL, &id[i]));
		MUST(ddp_create_qp(id[i], e.pd, &init, &qp[i]));
	}
	ok("%u queue pairs of %d and %d requests", (unsigned)caps.max_qp, RIG_DEPTH, RIG_DEPTH);
	for (unsigned i = 0; i < caps.max_qp; i++) {
		MUST(ddp_destroy_qp(qp[i]));
		MUST(ddp_destroy_id(id[i]));
	}
	free(qp);
	free(id);
	return 0;
}
