/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages with control blocks of threads are found, also that of a thread that is alone: so this is a
 * plain program. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client-lib/own_memory/threads.h"

enum { PAGE = 4096 };

static char elsewhere[4 * PAGE];

/* Of the calling thread, whose control block is where its handle points to. */
static pid_t own_block(void)
{
	uintptr_t at = (uintptr_t)pthread_self() & ~(uintptr_t)(PAGE - 1);

	return threads_block_in(at - PAGE, at + (uintptr_t)2 * PAGE);
}

int main(void)
{
	const pid_t me = (pid_t)syscall(SYS_gettid);

	if (own_block() != me) {
		puts("FAILED: the control block of the only thread is not found");
		return 1;
	}
	if (threads_block_in((uintptr_t)elsewhere, (uintptr_t)(elsewhere + sizeof(elsewhere)))) {
		puts("FAILED: a control block is found where there is none");
		return 1;
	}
	return 0;
}
