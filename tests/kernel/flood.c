/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends to a peer that receives everything and sends nothing.
 *
 *   flood SOCKET ADDRESS PORT COUNT
 *
 * COUNT Sends of 64 KiB each, through the daemon at SOCKET.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum { SEND_SIZE = 65536 };

int main(int argc, char **argv)
{
	struct end a, b = {.name = "peer"};
	struct session s;
	struct ddp_sge sge;

	if (argc != 5) {
		fprintf(stderr, "usage: flood SOCKET ADDRESS PORT COUNT\n");
		return 2;
	}
	alarm(120);
	b.port = (uint16_t)atoi(argv[3]);
	end_open(&a, "a", argv[1]);
	session_connect(&s, &a, &b, argv[2], NULL);
	end_expect(&a, DDP_CM_ESTABLISHED);
	sge = end_sge(&a, 0, SEND_SIZE);
	for (int i = atoi(argv[4]); i > 0; i--) {
		struct ddp_send_wr wr = {.opcode = DDP_WR_SEND,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .send_flags = DDP_SEND_SIGNALED};

		MUST(ddp_post_send(s.qp[0], &wr, NULL));
		end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	}
	ok("all Sends have completed");
	return 0;
}
