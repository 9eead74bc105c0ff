/* SPDX-License-Identifier: BSD-2-Clause */
/* The baton goes there and back, and who waits for it uses no processor. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/baton.h"

enum { WORK_MS = 300 };

TestSuite(baton, .timeout = 60);

static struct {
	struct baton baton;
	int steps;
} shared;

static double cpu_ms(clockid_t clock)
{
	struct timespec t;

	cr_assert_eq(clock_gettime(clock, &t), 0);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *borrow(void *unused)
{
	(void)unused;
	baton_borrow(&shared.baton);
	shared.steps++;
	baton_return(&shared.baton);
	return NULL;
}

Test(baton, the_borrower_works_while_the_owner_waits)
{
	pthread_t thread;

	if (!baton_lends())
		return;
	for (int i = 0; i < 1000; i++) {
		shared.baton = (struct baton){BATON_OWNER};
		cr_assert_eq(pthread_create(&thread, NULL, borrow, NULL), 0);
		baton_lend(&shared.baton);
		cr_assert_eq(shared.steps, i + 1);
		pthread_join(thread, NULL);
	}
}

static void *borrow_for_long(void *unused)
{
	const double start = cpu_ms(CLOCK_THREAD_CPUTIME_ID);

	(void)unused;
	baton_borrow(&shared.baton);
	while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) - start < WORK_MS)
		shared.steps++;
	baton_return(&shared.baton);
	return NULL;
}

Test(baton, who_waits_uses_no_processor)
{
	double before;
	pthread_t thread;

	if (!baton_lends())
		return;
	shared.baton = (struct baton){BATON_OWNER};
	cr_assert_eq(pthread_create(&thread, NULL, borrow_for_long, NULL), 0);
	before = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
	baton_lend(&shared.baton);
	cr_assert_lt(cpu_ms(CLOCK_THREAD_CPUTIME_ID) - before, WORK_MS / 10.0);
	pthread_join(thread, NULL);
}

static void *borrow_late(void *unused)
{
	double *ret = unused;

	*ret = -cpu_ms(CLOCK_THREAD_CPUTIME_ID);
	baton_borrow(&shared.baton);
	*ret += cpu_ms(CLOCK_THREAD_CPUTIME_ID);
	baton_return(&shared.baton);
	return NULL;
}

Test(baton, nor_does_the_borrower)
{
	const double start = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
	double used = 0;
	pthread_t thread;

	if (!baton_lends())
		return;
	shared.baton = (struct baton){BATON_OWNER};
	cr_assert_eq(pthread_create(&thread, NULL, borrow_late, &used), 0);
	while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) - start < WORK_MS)
		shared.steps++;
	baton_lend(&shared.baton);
	pthread_join(thread, NULL);
	cr_assert_lt(used, WORK_MS / 10.0);
}

static void ignore(int signal)
{
	(void)signal;
}

static void *signal_it(void *owner)
{
	baton_borrow(&shared.baton);
	for (int i = 0; i < 100; i++)
		pthread_kill(*(pthread_t *)owner, SIGUSR1);
	shared.steps++;
	baton_return(&shared.baton);
	return NULL;
}

/* The contract asks for blocked signals only because of the stack. */
Test(baton, signals_do_not_end_the_wait)
{
	pthread_t thread, self = pthread_self();

	if (!baton_lends())
		return;
	signal(SIGUSR1, ignore);
	shared.baton = (struct baton){BATON_OWNER};
	cr_assert_eq(pthread_create(&thread, NULL, signal_it, &self), 0);
	baton_lend(&shared.baton);
	cr_assert_eq(shared.steps, 1);
	pthread_join(thread, NULL);
}
