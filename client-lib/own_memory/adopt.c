/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/own_memory/other_stack.h"
#include "client-lib/own_memory/page_move.h"
#include "util/cleanup.h"

/* One move, without pointers: their targets could lie in the pages. */
struct job {
	struct sparse file;
	int uffd, pagemap;
	struct maps_area area;
	uint64_t offset;
	bool back;   /* otherwise to the file */
	void *spare; /* see page_move_out() */
};

int adopt_begin(const struct sparse *file, bool in, bool alone, struct adopt *ret)
{
	struct adopt a = {.file = file, .uffd = -1, .pagemap = -1};

	if (!alone) {
		struct freeze f;
		int r = freeze_open(&f, !in);

		if (r)
			return r;
		a.uffd = f.fd;
	}
	if (in)
		a.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	*ret = a;
	return 0;
}

void adopt_end(struct adopt *a)
{
	struct freeze f = {a->uffd};

	freeze_close(&f);
	cleanup_close(&a->pagemap);
}

static int move(const void *arg)
{
	struct job job = *(const struct job *)arg;
	struct freeze freeze = {job.uffd};
	struct page_move m = {
		.file = &job.file,
		.freeze = job.uffd >= 0 ? &freeze : NULL,
		.pagemap = job.pagemap,
	};

	if (job.back)
		return page_move_out(&m, &job.area, job.spare);
	return page_move_in(&m, &job.area, job.offset);
}

static bool in_area(const struct maps_area *area, const void *p)
{
	return (uintptr_t)p >= area->start && (uintptr_t)p < area->end;
}

/* A signal handler that writes to the pages would wait for this thread, which it interrupts. */
static int move_with_signals_blocked(const struct job *job)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (in_area(&job->area, __builtin_frame_address(0)) || in_area(&job->area, &errno))
		r = other_stack_run(move, job);
	else
		r = move(job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static struct job job_of(const struct adopt *a, const struct maps_area *area)
{
	return (struct job){
		.file = *a->file,
		.uffd = a->uffd,
		.pagemap = a->pagemap,
		.area = *area,
	};
}

int adopt_area(const struct adopt *a, const struct maps_area *area, uint64_t offset)
{
	struct job job = job_of(a, area);

	job.offset = offset;
	return move_with_signals_blocked(&job);
}

int adopt_return(const struct adopt *a, const struct maps_area *area)
{
	struct job job = job_of(a, area);

	job.back = true;
	if (a->uffd < 0)
		return move_with_signals_blocked(&job);
	job.spare = mmap(NULL, area->end - area->start, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return job.spare == MAP_FAILED ? -errno : move_with_signals_blocked(&job);
}
