/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/elsewhere.h"

#include <pthread.h>
#include <stdbool.h>

/* Not on the stack of the calling thread: its pages are replaced. */
static struct {
	elsewhere_fn *fn;
	const void *arg;
	int result;
	bool go, done;
} job;

static void *run(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&job.go, __ATOMIC_ACQUIRE)) /* until the caller's stack rests */
		;
	job.result = job.fn(job.arg);
	__atomic_store_n(&job.done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Calls nothing: a call would write its return address to the stack. */
static __attribute__((noinline)) void rest(void)
{
	__atomic_store_n(&job.go, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&job.done, __ATOMIC_ACQUIRE))
		;
}

int elsewhere_run(elsewhere_fn *fn, const void *arg)
{
	pthread_t thread;
	int r;

	job.fn = fn;
	job.arg = arg;
	job.go = job.done = false;
	r = pthread_create(&thread, NULL, run, NULL);
	if (r)
		return -r;
	rest();
	pthread_join(thread, NULL);
	return job.result;
}
