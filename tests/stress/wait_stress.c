/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_stress [COMPLETIONS]
 *
 * Promise: many threads can wait for and poll one completion queue. Each completion is taken once,
 * no thread sleeps while there are completions, a daemon that waits for room is woken, and the end
 * of the daemon wakes all threads. The same holds for one thread that sleeps on the descriptor.
 * Threads wait without a limit: after a lost wake-up the watchdog ends the program.
 */
#include <ddp/ddp.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ipc/doorbell.h"
#include "tests/ipc/fake.h"
#include "tests/stress/pace.h"

enum { ENTRIES = 8, BATCH = 3, WAITERS = 3, TAKERS = WAITERS + 1 };

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_id *id;
static struct ddp_qp *qp;

struct taker {
	pthread_t thread;
	uint64_t count, sum, sleeps;
	int end;
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "FAILED: %s: %s\n", what, ddp_last_reason());
	exit(1);
}

static void set_up(int32_t spin_us)
{
	struct ddp_cq_attr attr = {
		.struct_size = sizeof(attr), .entries = ENTRIES, .spin_us = spin_us};
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	fake_start(&fake);
	must(ddp_open(NULL, &ctx) == 0, "open");
	must(ddp_alloc_pd(ctx, &pd) == 0, "alloc_pd");
	must(ddp_create_cq(ctx, &attr, &cq) == 0, "create_cq");
	must(ddp_create_id(ctx, NULL, &id) == 0, "create_id");
	init.send_cq = init.recv_cq = cq;
	must(ddp_create_qp(id, pd, &init, &qp) == 0, "create_qp");
}

static void tear_down(void)
{
	must(ddp_destroy_qp(qp) == 0, "destroy_qp");
	must(ddp_destroy_id(id) == 0, "destroy_id");
	must(ddp_destroy_cq(cq) == 0, "destroy_cq");
	must(ddp_dealloc_pd(pd) == 0, "dealloc_pd");
	must(ddp_close(ctx) == 0, "close");
	fake_stop(&fake);
}

static void count(struct taker *t, const struct ddp_wc *wc, int n)
{
	for (int i = 0; i < n; i++) {
		t->count++;
		t->sum += wc[i].wr_id;
	}
}

static void *wait_loop(void *arg)
{
	struct taker *t = arg;
	struct ddp_wc wc[BATCH];

	while ((t->end = ddp_wait_cq(cq, 1 + (int)(t->count % BATCH), wc, -1)) > 0)
		count(t, wc, t->end);
	return NULL;
}

static void *poll_loop(void *arg)
{
	struct taker *t = arg;
	struct ddp_wc wc[BATCH];

	while ((t->end = ddp_poll_cq(cq, BATCH, wc)) >= 0) {
		count(t, wc, t->end);
		sched_yield();
	}
	return NULL;
}

/* The loop of ddp_req_notify_cq(3): poll until the queue is empty, arm it, sleep on the
 * descriptor. */
static void *notify_loop(void *arg)
{
	struct pollfd p = {.fd = ddp_cq_fd(cq), .events = POLLIN};
	struct taker *t = arg;
	struct ddp_wc wc[BATCH];

	for (;;) {
		while ((t->end = ddp_poll_cq(cq, BATCH, wc)) > 0)
			count(t, wc, t->end);
		if (t->end < 0)
			return NULL;
		if (ddp_req_notify_cq(cq, 0) == 0) {
			t->sleeps++;
			poll(&p, 1, -1);
		}
	}
}

/* Sleeps until the client marks a queue pair of the completion queue. */
static void await_room(struct ring *r)
{
	struct pollfd p = {.fd = fake.bell, .events = POLLIN};

	while (ring_room(r, 1) == 0) {
		ring_block(r);
		if (ring_room(r, 1) > 0)
			break;
		if (bell_sleep(fake.page)) {
			poll(&p, 1, -1);
			doorbell_drain(fake.bell);
		}
		bell_awake(fake.page);
		bell_take(fake.page);
	}
}

static void produce(uint64_t total)
{
	struct fake_cq *f = &fake.cq[0];

	for (uint64_t n = 1; n <= total; n++) {
		await_room(&f->ring);
		fake_complete(f, &(struct wqe_cqe){.wr_id = n}, false);
		/* Every third time no further completion follows that could replace a lost
		 * wake-up. */
		if (n % 3 == 0) {
			while (ring_room(&f->ring, ENTRIES) < ENTRIES)
				sched_yield();
		}
	}
}

static void *(*const many[TAKERS])(void *) = {wait_loop, wait_loop, wait_loop, poll_loop};
static void *(*const one[1])(void *) = {notify_loop};

/* Who takes completions, and how long they spin. */
struct crowd {
	const char *name;
	int32_t spin_us;
	unsigned n;
	void *(*const *fn)(void *);
};

/* Returns how often they slept. */
static uint64_t run_part(const struct crowd *c, uint64_t total)
{
	struct taker t[TAKERS] = {0};
	uint64_t got = 0, sum = 0, sleeps = 0;

	set_up(c->spin_us);
	for (unsigned i = 0; i < c->n; i++)
		pthread_create(&t[i].thread, NULL, c->fn[i], &t[i]);
	produce(total);
	fake_die(&fake);
	for (unsigned i = 0; i < c->n; i++) {
		pthread_join(t[i].thread, NULL);
		must(t[i].end == -EPIPE, "the daemon's end");
		got += t[i].count;
		sum += t[i].sum;
		sleeps += t[i].sleeps;
	}
	must(got == total && sum == total * (total + 1) / 2, "each completion once");
	tear_down();
	return sleeps;
}

static void run(const struct crowd *c, uint64_t total)
{
	struct pace_parts parts = {0};
	uint64_t sleeps = 0;

	while (pace_part(&parts))
		sleeps += run_part(c, pace_share(total));
	printf("%s: %" PRIu64 " completions, %" PRIu64 " sleeps on the descriptor\n", c->name,
	       parts.done * pace_share(total), sleeps);
}

int main(int argc, char **argv)
{
	static const struct crowd crowds[] = {
		{"three wait, one polls", 0, TAKERS, many},
		{"three wait", 0, WAITERS, many},
		{"three spin and wait", 20, WAITERS, many},
		{"one sleeps on the descriptor", 0, 1, one},
	};
	uint64_t total = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;

	for (size_t i = 0; i < sizeof(crowds) / sizeof(crowds[0]); i++)
		run(&crowds[i], total);
	return 0;
}
