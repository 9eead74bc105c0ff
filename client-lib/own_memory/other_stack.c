/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/other_stack.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/baton.h"

/* Not on the stack of the calling thread: its pages are replaced. */
static struct {
	other_stack_fn *fn;
	const void *arg;
	int result;
	struct baton baton;
} job;

static void *on_other_stack(void *unused)
{
	(void)unused;
	baton_borrow(&job.baton); /* the caller's stack rests */
	job.result = job.fn(job.arg);
	baton_return(&job.baton);
	return NULL;
}

/* Sets the signal mask by the system call: pthread_sigmask() leaves out the signals of the C
 * library, of which setuid() of another thread sends one, whose frame would be written to the
 * stack. */
static void set_signals(const uint64_t *set, uint64_t *ret_before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, ret_before, sizeof(*set));
}

int other_stack_run(other_stack_fn *fn, const void *arg)
{
	const uint64_t all = UINT64_MAX;
	uint64_t before;
	pthread_t thread;
	int r;

	if (!baton_lends())
		return -EOPNOTSUPP;
	job.fn = fn;
	job.arg = arg;
	job.baton = (struct baton){BATON_OWNER};
	r = pthread_create(&thread, NULL, on_other_stack, NULL);
	if (r)
		return -r;
	set_signals(&all, &before);
	baton_lend(&job.baton);
	set_signals(&before, NULL);
	pthread_join(thread, NULL);
	return job.result;
}
