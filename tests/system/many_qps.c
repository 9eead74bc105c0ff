/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As many queue pairs as the daemon announces fit into the limits of a user, with 16 requests and
 * 16 receives and the hold that ddpverbs gives them.
 *
 *   many_qps SOCKET
 *   many_qps SOCKET ADDRESS    a daemon without a pool for what waits
 */
#include <stdlib.h>
#include <string.h>

#include "tests/system/rig.h"

enum { HOLD = 2 << 20, HOLD_MS = 10000, HOLD_FULL = 0x1202, GRANTED = 64 << 10 };

static void open_with_holds(struct session *s, struct end *a, struct end *b, const char *address)
{
	struct how how = {0};

	how.init[1].hold_bytes = HOLD;
	how.init[1].hold_ms = HOLD_MS;
	session_open(s, a, b, address, &how);
}

static void send_ahead(struct session *s, uint32_t len)
{
	session_send(s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, len);
}

/* A message within the first step waits for its receive; more than that ends its session alone. */
static void no_pool(const char *socket, const char *address)
{
	struct session s, other;
	struct end a, b;

	end_open(&a, "a", socket);
	end_open(&b, "b", socket);
	end_listen(&b);
	open_with_holds(&s, &a, &b, address);
	open_with_holds(&other, &a, &b, address);
	send_ahead(&s, GRANTED / 2);
	end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	send_ahead(&other, GRANTED / 2);
	end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	send_ahead(&s, GRANTED / 2);
	session_broken(&s, 1, HOLD_FULL);
	session_recv(&other, 1, 0, GRANTED / 2);
	end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	session_close(&other, 0);
	ok("64 KiB of each hold are granted, and what waits beyond limits.held ends its session");
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
		no_pool(argv[1], argv[2]);
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
