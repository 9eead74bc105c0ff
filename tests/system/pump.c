/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes through a session between two daemons, and says how fast while other programs run.
 *
 *   pump SOCKET SOCKET2 ADDRESS-OF-2
 *
 * Prints "port N", the SCTP port of the listener. Then each line of standard input is a command for
 * the shell: Writes go on until it ends, and "RATE MB/s: COMMAND" is printed. At the end of the
 * input a Send shows that the session still works.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum { SIZE = 65536, DEPTH = 8 };

static struct end a = {.name = "a"}, b = {.name = "b"};
static struct session s;
static unsigned posted;
static uint64_t bytes;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void post(void)
{
	struct ddp_sge sge = end_sge(&a, 0, SIZE);
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_WRITE,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = DDP_SEND_SIGNALED,
				 .rdma = {b.mr->iova, b.mr->rkey}};

	MUST(ddp_post_send(s.qp[0], &wr, NULL));
	posted++;
}

static void take(void)
{
	struct ddp_wc wc[DEPTH];
	int n = MUST(ddp_wait_cq(a.cq, DEPTH, wc, 100));

	for (int i = 0; i < n; i++) {
		if (wc[i].status != DDP_WC_SUCCESS)
			fail("a Write has failed: %s", ddp_wc_status_str(wc[i].status));
		posted--;
		bytes += SIZE;
	}
}

static void run(const char *command)
{
	double start = seconds();
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	bytes = 0;
	while (waitpid(child, &status, WNOHANG) == 0) {
		while (posted < DEPTH)
			post();
		take();
	}
	if (status)
		fail("%s: status %d", command, status);
	printf("%.1f MB/s: %s\n", (double)bytes / 1e6 / (seconds() - start), command);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static char line[4096];

	if (argc != 4) {
		fprintf(stderr, "usage: pump SOCKET SOCKET2 ADDRESS-OF-2\n");
		return 2;
	}
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	session_open(&s, &a, &b, argv[3], NULL);
	printf("port %u\n", b.port);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		run(line);
	}
	while (posted)
		take();
	session_recv(&s, 1, 0, 100);
	session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, 100);
	end_done(&a, DDP_WC_SEND, DDP_WC_SUCCESS);
	end_done(&b, DDP_WC_RECV, DDP_WC_SUCCESS);
	ok("the session has survived");
	return 0;
}
