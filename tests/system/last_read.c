/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Read that begins when the test says so, for sigterm.sh: prints "ready", reads a line, posts a
 * Read of memory of B, prints "posted", and compares the bytes that came.
 *
 *   last_read SOCKET-A SOCKET-B ADDRESS-B      exit status 0 if the Read succeeded
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum { SIZE = 4096, LIMIT_S = 300 };

static struct end a, b;

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

static void read_all(struct session *s)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_READ, .rdma = {b.mr->iova, b.mr->rkey}};
	struct ddp_wc wc;

	session_send(s, 0, wr, 0, SIZE);
	say("posted");
	is("completions", (uint64_t)ddp_wait_cq(a.cq, 1, &wc, -1), 1);
	is("status of the Read", wc.status, DDP_WC_SUCCESS);
	same("the bytes", end_at(&a, 0), end_at(&b, 0), SIZE);
}

int main(int argc, char **argv)
{
	struct session s;

	if (argc != 4) {
		fprintf(stderr, "usage: last_read SOCKET-A SOCKET-B ADDRESS-B\n");
		return 2;
	}
	alarm(LIMIT_S);
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	session_open(&s, &a, &b, argv[3], NULL);
	end_fill(&b, 0, SIZE, 1);
	say("ready");
	if (getchar() == EOF)
		return 3;
	read_all(&s);
	return 0;
}
