/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers memory until the daemon is killed, at any moment of a registration: no byte is lost.
 *
 *   own_lost SOCKET PID
 *
 * Other threads store into the memory all the time.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

enum { REGIONS = 32, BYTES = 1 << 20, WORDS = BYTES / sizeof(uint32_t), AFTER = 5 };

static uint32_t *memory[REGIONS];
static atomic_uint registered;
static atomic_bool stop;
static pid_t daemon_pid;

/* The first word of each page counts, the others have a pattern. */
static uint32_t word_of(size_t region, size_t i)
{
	return (uint32_t)(region * WORDS + i) * 2654435761U;
}

static void *counts(void *arg)
{
	uint32_t turns = 0;

	while (!atomic_load(&stop)) {
		turns++;
		for (size_t k = 0; k < REGIONS; k++)
			for (size_t i = 0; i < WORDS; i += 1024)
				memory[k][i]++;
	}
	*(uint32_t *)arg = turns;
	return NULL;
}

static void *kills(void *arg)
{
	while (atomic_load(&registered) < AFTER)
		;
	kill(daemon_pid, SIGKILL);
	return arg;
}

static void check(uint32_t turns, const char *when)
{
	for (size_t k = 0; k < REGIONS; k++)
		for (size_t i = 0; i < WORDS; i++)
			if (memory[k][i] != (i % 1024 ? word_of(k, i) : turns))
				fail("%s: word %zu of region %zu is %u", when, i, k, memory[k][i]);
	ok("%s: every byte is there", when);
}

static void fill(void)
{
	for (size_t k = 0; k < REGIONS; k++) {
		memory[k] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		if (memory[k] == MAP_FAILED)
			fail("mmap");
		for (size_t i = 0; i < WORDS; i++)
			memory[k][i] = i % 1024 ? word_of(k, i) : 0;
	}
}

/* Registers one region after the other, again if it is; the result of the call that fails. */
static int register_all(struct ddp_pd *pd, struct ddp_mr *mrs[REGIONS])
{
	int r = 0;

	for (size_t k = 0; k < REGIONS && r == 0; k++) {
		if (mrs[k])
			(void)ddp_dereg_mr(mrs[k]);
		mrs[k] = NULL;
		r = ddp_reg_mr(pd, memory[k], BYTES, RIG_ALL, NULL, &mrs[k]);
		atomic_fetch_add(&registered, 1);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);
	struct ddp_mr *mrs[REGIONS] = {NULL};
	pthread_t counter, killer;
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	uint32_t turns;
	int r;

	if (argc != 3)
		return 2;
	alarm(LIFE_S);
	attr.socket = argv[1];
	daemon_pid = (pid_t)atoi(argv[2]);
	MUST(ddp_open(&attr, &ctx));
	MUST(ddp_alloc_pd(ctx, &pd));
	fill();
	if (pthread_create(&counter, NULL, counts, &turns) ||
	    pthread_create(&killer, NULL, kills, NULL))
		fail("pthread_create");
	do
		r = register_all(pd, mrs);
	while (r == 0);
	if (r != -EPIPE)
		fail("a registration without a daemon: %s: %s", strerror(-r), ddp_last_reason());
	pthread_join(killer, NULL);
	atomic_store(&stop, true);
	pthread_join(counter, NULL);
	check(turns, "after the daemon was killed");
	for (size_t k = 0; k < REGIONS; k++)
		if (mrs[k])
			(void)ddp_dereg_mr(mrs[k]);
	check(turns, "after the end of the registrations");
	(void)ddp_dealloc_pd(pd);
	(void)ddp_close(ctx);
	return 0;
}
