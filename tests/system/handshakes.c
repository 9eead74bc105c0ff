/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Begins sessions with hosts that do not answer, at consecutive addresses, until the daemon refuses
 * one.
 *
 *   handshakes SOCKET FIRST-ADDRESS N
 *
 * Prints how many it began, at most N, and the refusal; then it keeps them until standard input
 * ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

static int begin_one(struct end *e, uint32_t address)
{
	const struct in_addr a = {htonl(address)};
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_id *id;
	struct ddp_qp *qp;

	init.send_cq = init.recv_cq = e->cq;
	init.max_send_wr = init.max_recv_wr = 1;
	MUST(ddp_create_id(e->ctx, NULL, &id));
	MUST(ddp_create_qp(id, e->pd, &init, &qp));
	return ddp_connect_name(id, inet_ntoa(a), 7, NULL);
}

int main(int argc, char **argv)
{
	unsigned begun = 0, most;
	struct in_addr first;
	struct end e;
	int r = 0;

	if (argc != 4 || inet_pton(AF_INET, argv[2], &first) != 1) {
		fprintf(stderr, "usage: handshakes SOCKET FIRST-ADDRESS N\n");
		return 2;
	}
	alarm(LIFE_S);
	end_open(&e, "programs", argv[1]);
	most = (unsigned)atoi(argv[3]);
	while (begun < most && (r = begin_one(&e, ntohl(first.s_addr) + begun)) == 0)
		begun++;
	if (r && r != -EDQUOT)
		fail("connect: %s", ddp_last_reason());
	printf("%u begun: %s\n", begun, r ? ddp_last_reason() : "all");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
