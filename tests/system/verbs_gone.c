/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that waits for everything of a device whose daemon is killed. Promise: each wait ends
 * with an event or an error, once, and no descriptor stays readable, so that a program that waits
 * for descriptors does not spin. So does a child of fork() with the context of its parent.
 *
 *   verbs_gone ADDRESS-OF-THE-DEVICE       prints "waiting"; exit status 0 if it held
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/verbs_rig.h"

static struct side s;
static struct sockaddr_in addr;

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static bool cannot_poll(void *arg)
{
	struct ibv_wc wc;

	return ibv_poll_cq(arg, 1, &wc) < 0;
}

/* Two queues: each would keep the descriptor readable. */
static struct ibv_cq *cq[2];

static struct ibv_comp_channel *armed_channel(void)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(s.ctx);

	VERB(ch);
	for (int i = 0; i < 2; i++) {
		VERB(cq[i] = ibv_create_cq(s.ctx, 8, NULL, ch, 0));
		VERB(ibv_req_notify_cq(cq[i], 0) == 0);
	}
	return ch;
}

static void *wait_for_completion(void *arg)
{
	struct ibv_comp_channel *ch = arg;
	struct ibv_cq *got;
	void *context;

	for (int i = 0; i < 3; i++)
		VERB(ibv_get_cq_event(ch, &got, &context) == -1 && errno == EIO);
	VERB(!readable(ch->fd));
	VERB(rig_eventually(cannot_poll, cq[0]) && rig_eventually(cannot_poll, cq[1]));
	VERB(ibv_destroy_cq(cq[0]) == 0 && ibv_destroy_cq(cq[1]) == 0);
	VERB(ibv_destroy_comp_channel(ch) == 0);
	return NULL;
}

/* An id whose calls wait. */
static void *wait_for_request(void *arg)
{
	struct rdma_cm_id *id;

	VERB(rdma_get_request(arg, &id) == -1);
	VERB(rdma_destroy_id(arg) == 0);
	return NULL;
}

static struct rdma_cm_id *listener(struct rdma_event_channel *channel)
{
	struct sockaddr_in at = addr;
	struct rdma_cm_id *id;

	VERB(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
	VERB(rdma_bind_addr(id, (struct sockaddr *)&at) == 0 && rdma_listen(id, 1) == 0);
	return id;
}

static void wait_for_ids(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_cm_event *ev;

	VERB(rdma_get_cm_event(ch, &ev) == 0);
	VERB(ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL && ev->id == id);
	VERB(rdma_ack_cm_event(ev) == 0);
	VERB(!readable(ch->fd));
	VERB(rdma_destroy_id(id) == 0);
	rdma_destroy_event_channel(ch);
}

static void wait_for_device(void)
{
	struct ibv_async_event ev;

	VERB(ibv_get_async_event(s.ctx, &ev) == 0 && ev.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&ev);
	VERB(!readable(s.ctx->async_fd));
}

/* A child of fork() with the context of its parent. It says that it has a connection. */
static pid_t begin_child(void)
{
	char byte;
	int fd[2];
	pid_t pid;

	VERB(pipe(fd) == 0 && (pid = fork()) >= 0);
	if (pid == 0) {
		alarm(LIFE_S);
		VERB(ibv_alloc_pd(s.ctx) && write(fd[1], "x", 1) == 1);
		wait_for_device();
		_exit(0);
	}
	VERB(read(fd[0], &byte, 1) == 1);
	close(fd[0]);
	close(fd[1]);
	return pid;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	struct ibv_comp_channel *completions;
	struct rdma_cm_id *id;
	pthread_t thread[2];
	int status;
	pid_t child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	addr.sin_family = AF_INET;
	VERB(argc == 2 && inet_pton(AF_INET, argv[1], &addr.sin_addr) == 1);
	side_open(&s, 0);
	child = begin_child();
	VERB(channel = rdma_create_event_channel());
	id = listener(channel);
	completions = armed_channel();
	VERB(pthread_create(&thread[0], NULL, wait_for_completion, completions) == 0);
	VERB(pthread_create(&thread[1], NULL, wait_for_request, listener(NULL)) == 0);
	printf("waiting\n");
	wait_for_ids(channel, id);
	wait_for_device();
	VERB(pthread_join(thread[0], NULL) == 0 && pthread_join(thread[1], NULL) == 0);
	VERB(waitpid(child, &status, 0) == child && status == 0);
	side_close(&s);
	printf("ok a daemon that is killed\n");
	return 0;
}
