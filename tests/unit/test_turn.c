/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a turn begins with the work that a program waits for, and leaves none out. */
#include <criterion/criterion.h>

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/objects/queues/cq.h"
#include "daemon/turn.h"
#include "ipc/doorbell.h"
#include "tests/unit/client_rig.h"

static struct worker *const w = &rig.worker;
static struct rig_program program, server;
static struct cq *cq;
static char trace[64];
static unsigned turns, stop_after;
static bool rings_each_turn, completes;

/* i network read, f packets sent, b bell of the program */
static void note(char c)
{
	size_t n = strlen(trace);

	if (n < sizeof(trace) - 1)
		trace[n] = c;
}

/* Replaces the C library's. */
__attribute__((visibility("default"))) ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	if (cq && fd == cq->bell)
		note('b');
	return syscall(SYS_sendto, fd, buf, len, flags, NULL, 0);
}

/* ---- a network that notes what is asked of it ---- */

static bool input(struct llp *t, unsigned budget)
{
	(void)t;
	(void)budget;
	note('i');
	if (!completes)
		return false;
	cr_assert(cq_reserve_now(cq));
	(void)cq_slot(cq);
	cq_push(cq, false);
	completes = false;
	return true;
}

static void flush(struct llp *t)
{
	(void)t;
	note('f');
}

static void tick(struct llp *t, uint64_t now_ms)
{
	(void)t;
	(void)now_ms;
}

static uint64_t never(const struct llp *t)
{
	(void)t;
	return UINT64_MAX;
}

static const struct llp_ops ops = {
	.input = input, .flush = flush, .tick = tick, .expiry_us = never};
static struct llp net = {.ops = &ops};

/* ---- a loop whose program rings ---- */

static bool turn(void *user, uint64_t now_ms)
{
	if (rings_each_turn && turns > 0)
		bell_ring(program.c->bells.page, 0);
	if (++turns == stop_after)
		event_loop_stop(w->loop);
	return turn_hooks.turn(user, now_ms);
}

static bool sleep_and_ring(void *user)
{
	bool quiet = turn_hooks.sleep(user);

	cr_assert(bell_ring(program.c->bells.page, 0), "the daemon sleeps");
	cr_assert_eq(doorbell_ring(program.bell), 0);
	return quiet;
}

static uint64_t expiry_us(void *user)
{
	return turn_hooks.expiry_us(user);
}

static void awake(void *user)
{
	turn_hooks.awake(user);
}

static void start(void)
{
	static const struct event_loop_hooks hooks = {
		.turn = turn, .expiry_us = expiry_us, .sleep = sleep_and_ring, .awake = awake};

	rig_hooks = &hooks;
	rig_start();
	rig_attach(&program);
	(void)rig_make_qp(&program);
	cq = idtab_get(&program.c->handles.cqs, program.cq);
	rig_attach(&server);
	rig_listen(&server, 0);
	rig_turns();
	w->net = &net;
}

TestSuite(turn, .init = start, .timeout = 60);

static void run(unsigned n)
{
	stop_after = n;
	cr_assert_eq(event_loop_run(w->loop), 0);
}

Test(turn, after_a_sleep_that_a_bell_ended_its_work_is_sent_before_the_network_is_read)
{
	run(3);
	cr_expect_str_eq(trace, "iffif", "the turn before it, this one, and the next one");
}

Test(turn, bells_of_each_turn_do_not_keep_the_network_from_being_read)
{
	rings_each_turn = true;
	run(6);
	cr_expect_str_eq(trace, "iffifififif");
}

Test(turn, a_program_is_woken_before_a_packet_without_data_is_sent)
{
	ring_sleep(&cq->ring, RING_SLEEPS);
	completes = true;
	run(1);
	cr_expect_str_eq(trace, "ibf");
}

/* They reach each other in the same millisecond. */
Test(turn, programs_of_one_daemon_do_not_wait_for_the_clock)
{
	struct pollfd request = {.fd = server.event_fd, .events = POLLIN};

	rig_begin_connect(&program, rig_make_qp(&program));
	for (unsigned i = 0; i < 4; i++)
		turn_hooks.turn(w, w->now_ms);
	cr_expect_eq(poll(&request, 1, 0), 1, "the request has not arrived");
	cr_expect_eq(llp_expiry_us(w->self), UINT64_MAX, "an acknowledgment is still due");
}
