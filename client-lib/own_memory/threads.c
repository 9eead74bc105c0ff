/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/threads.h"

#include <dirent.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ID = 32,   /* bytes around the head of the list of robust mutexes that hold the thread's id,
		      which the kernel clears when the thread ends */
	RSEQ = 32, /* bytes of the restartable sequence, which the kernel writes at any time */
};

/* Of C libraries that register restartable sequences: where, from the thread pointer. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

bool threads_alone(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3; /* ".", ".." and one */
}

static uintptr_t thread_pointer(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return (uintptr_t)pthread_self(); /* not every compiler has the builtin here */
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

/* The head of the list of robust mutexes of a thread, 0: of the calling one. It lies in the control
 * block of the C library. 0 if there is none. */
static uintptr_t head_of(pid_t tid)
{
	uintptr_t head;
	size_t len;

	return syscall(SYS_get_robust_list, tid, &head, &len) < 0 ? 0 : head;
}

static bool overlaps(uintptr_t at, size_t len, uintptr_t start, uintptr_t end)
{
	return at < end && at + len > start;
}

static bool block_in(pid_t tid, uintptr_t start, uintptr_t end)
{
	uintptr_t head = head_of(tid), own = head_of(0);

	if (head == 0 || own == 0)
		return false;
	if (overlaps(head - ID, 2 * ID, start, end))
		return true;
	/* The control blocks of all threads are alike. */
	return &__rseq_offset &&
	       overlaps(thread_pointer() + (uintptr_t)__rseq_offset + (head - own), RSEQ, start,
			end);
}

pid_t threads_block_in(uintptr_t start, uintptr_t end)
{
	struct dirent *entry;
	pid_t found = 0;
	DIR *dir;

	if (block_in(0, start, end))
		return (pid_t)syscall(SYS_gettid);
	if (threads_alone())
		return 0;
	dir = opendir("/proc/self/task");
	while (dir && !found && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && block_in(tid, start, end))
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}
