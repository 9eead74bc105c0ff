/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program and its daemon share one processor. Nothing that waits for a thread or for the daemon
 * keeps it from running:
 *
 *   one_cpu SOCKET ADDRESS CPU fifo|other      ADDRESS of the daemon, which runs on CPU, too
 *
 * The program takes the processor, and the policy, after it has opened its contexts, as threads of
 * real-time programs do, and its queues may poll for longer than it runs.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum {
	ROUNDS = 50,
	LEN = 3 * 4096,
	SPIN_US = 600 * 1000000, /* far more than the whole test */
	CPU_MS = 3000,           /* a wait that spins takes up to a second of processor */
	LIMIT_S = 300,
};

static struct end a, b;
static struct ddp_cq *cq[2]; /* of the ends, which poll as long as they may */

static void take_cpu(const char *number, const char *policy)
{
	const struct sched_param first = {.sched_priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)atoi(number), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fail("sched_setaffinity");
	if (strcmp(policy, "fifo") == 0 && sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		fail("sched_setscheduler");
}

static void wait_for(int side, enum ddp_wc_opcode opcode)
{
	struct ddp_wc wc;

	if (MUST(ddp_wait_cq(cq[side], 1, &wc, RIG_WAIT_MS)) != 1)
		fail("no completion of side %d", side);
	if (wc.status != DDP_WC_SUCCESS || wc.opcode != opcode)
		fail("%s %s", ddp_wc_opcode_str(wc.opcode), ddp_wc_status_str(wc.status));
}

static void send_one(const struct session *s)
{
	session_recv(s, 1, 0, 64);
	session_send(s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, 64);
	wait_for(1, DDP_WC_RECV);
	wait_for(0, DDP_WC_SEND);
}

/* A child of fork() has a copy of what is registered. */
static void fork_one(const char *p)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(p[0] == p[LEN - 1] ? 0 : 1);
	if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
		fail("a child, status 0x%x", (unsigned)status);
}

/* Memory of the stack, which another thread has to move. */
static __attribute__((noinline)) void register_stack(int round)
{
	struct ddp_mr *mr;
	char buf[LEN];

	memset(buf, round, sizeof(buf));
	MUST(ddp_reg_mr(a.pd, buf, sizeof(buf), DDP_ACCESS_REMOTE_WRITE, NULL, &mr));
	MUST(ddp_dereg_mr(mr));
	for (int i = 0; i < LEN; i++)
		if (buf[i] != (char)round)
			fail("byte %d of the stack has changed", i);
}

static void register_heap(int round)
{
	struct ddp_mr *mr;
	char *p = malloc(LEN);

	if (!p)
		fail("malloc");
	memset(p, round, LEN);
	MUST(ddp_reg_mr(a.pd, p, LEN, DDP_ACCESS_REMOTE_WRITE, NULL, &mr));
	fork_one(p);
	MUST(ddp_dereg_mr(mr));
	free(p);
}

/* Memory that a thread of the library copies, while this one waits for the peer's Read of it. */
static void read_shared(const struct session *s, const struct ddp_mr *mr, int round)
{
	memset(mr->addr, round, LEN);
	session_send(s, 1,
		     (struct ddp_send_wr){.opcode = DDP_WR_RDMA_READ, .rdma = {mr->iova, mr->rkey}},
		     0, LEN);
	wait_for(1, DDP_WC_RDMA_READ);
	if (memcmp(mr->addr, end_at(&b, 0), LEN) != 0)
		fail("the peer has read other bytes");
}

static void rounds(const struct session *s)
{
	void *shared = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ddp_mr *mr;

	if (shared == MAP_FAILED)
		fail("mmap");
	MUST(ddp_reg_mr(a.pd, shared, LEN, DDP_ACCESS_REMOTE_READ, NULL, &mr));
	for (int i = 0; i < ROUNDS; i++) {
		register_stack(i);
		register_heap(i);
		send_one(s);
		read_shared(s, mr, i);
	}
	MUST(ddp_dereg_mr(mr));
	munmap(shared, LEN);
}

static void *wait_for_end(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

/* Pages move in another way when other threads run. */
static void rounds_beside_a_thread(const struct session *s)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (pthread_create(&thread, NULL, wait_for_end, &lock) != 0)
		fail("pthread_create");
	rounds(s);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

static unsigned cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (unsigned)((u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
			  (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000);
}

static struct ddp_cq *poll_long(const struct end *e)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq *ret;

	attr.entries = 16;
	attr.spin_us = SPIN_US;
	MUST(ddp_create_cq(e->ctx, &attr, &ret));
	return ret;
}

int main(int argc, char **argv)
{
	struct how how = {0};
	struct session s;

	if (argc != 5) {
		fprintf(stderr, "usage: one_cpu SOCKET ADDRESS CPU fifo|other\n");
		return 2;
	}
	alarm(LIMIT_S);
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[1]);
	end_listen(&b);
	cq[0] = how.init[0].send_cq = how.init[0].recv_cq = poll_long(&a);
	cq[1] = how.init[1].send_cq = how.init[1].recv_cq = poll_long(&b);
	session_open(&s, &a, &b, argv[2], &how);
	take_cpu(argv[3], argv[4]);
	rounds(&s);
	rounds_beside_a_thread(&s);
	if (cpu_ms() >= CPU_MS)
		fail("%d rounds used %u ms of processor", 2 * ROUNDS, cpu_ms());
	ok("%d rounds: register, fork, send, read, deregister, wait: %u ms of processor",
	   2 * ROUNDS, cpu_ms());
	session_close(&s, 0);
	MUST(ddp_destroy_cq(cq[0]));
	MUST(ddp_destroy_cq(cq[1]));
	end_close(&b);
	end_close(&a);
	return 0;
}
