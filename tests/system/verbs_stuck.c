/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program with two devices, of which the daemon of one is stopped. Promise: calls for the other
 * device return, and so does fork().
 *
 *   verbs_stuck ADDRESS-OF-THE-FIRST-DEVICE PID-OF-THE-SECOND-DAEMON
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/verbs_rig.h"

static void listen_and_resolve(struct sockaddr_in *at)
{
	struct rdma_cm_id *l, *c;

	VERB(rdma_create_id(NULL, &l, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(l, (struct sockaddr *)at) == 0 && rdma_listen(l, 1) == 0);
	VERB(rdma_create_id(NULL, &c, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_resolve_addr(c, (struct sockaddr *)at, (struct sockaddr *)at, 1000) == 0);
	VERB(rdma_destroy_id(c) == 0 && rdma_destroy_id(l) == 0);
}

static void open_first(struct ibv_device *first)
{
	struct ibv_context *ctx = ibv_open_device(first);

	VERB(ctx && ibv_close_device(ctx) == 0);
}

static void fork_once(void)
{
	int status;
	pid_t child = fork();

	VERB(child >= 0);
	if (child == 0)
		_exit(0);
	VERB(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct ibv_device **list;
	int n;

	VERB(argc == 3 && inet_pton(AF_INET, argv[1], &at.sin_addr) == 1);
	VERB((list = ibv_get_device_list(&n)) && n == 2);
	VERB(kill(atoi(argv[2]), SIGSTOP) == 0);
	listen_and_resolve(&at);
	open_first(list[0]);
	fork_once();
	VERB(kill(atoi(argv[2]), SIGCONT) == 0);
	ibv_free_device_list(list);
	printf("ok a daemon that does not answer\n");
	return 0;
}
