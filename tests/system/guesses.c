/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guesses STags: a Write with a random STag in each of N sessions. A session from before goes on.
 *
 *   guesses SOCKET SOCKET2 ADDRESS N
 *
 * One end is a client at SOCKET and guesses, the other listens at SOCKET2, whose daemon has
 * ADDRESS.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/system/rig.h"

enum { NO_STAG = 0x1100 };

static struct ddp_send_wr to(uint64_t addr, uint32_t rkey)
{
	return (struct ddp_send_wr){
		.opcode = DDP_WR_RDMA_WRITE,
		.rdma = {addr, rkey},
	};
}

static void guess(struct end *a, struct end *b, const char *address, uint32_t rkey)
{
	struct session s;

	session_open(&s, a, b, address, &(struct how){.request = NULL});
	session_send(&s, 0, to(0, rkey), 0, 8);
	session_broken(&s, 1, NO_STAG);
}

static void write_well(struct session *s, struct end *a, struct end *b)
{
	session_send(s, 0, to(b->mr->iova, b->mr->rkey), 0, 8);
	end_done(a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
}

int main(int argc, char **argv)
{
	struct end a, b;
	struct session good;

	if (argc != 5)
		return 2;
	end_open(&a, "the guesser", argv[1]);
	end_open(&b, "the owner", argv[2]);
	end_listen(&b);
	session_open(&good, &a, &b, argv[3], &(struct how){.request = NULL});
	for (int i = 0, n = atoi(argv[4]); i < n; i++)
		guess(&a, &b, argv[3], b.mr->rkey ^ (uint32_t)(0x10000 + i * 256));
	write_well(&good, &a, &b);
	ok("a session from before goes on");
	session_close(&good, 0);
	end_close(&a);
	end_close(&b);
	return 0;
}
