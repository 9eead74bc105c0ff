/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/semaphore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_NOWAIT /* musl 1.2.3 */
#define RWF_NOWAIT 8
#endif

int semaphore_open(void)
{
	return eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
}

void semaphore_post(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* never full */
}

int semaphore_wait(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) < 0 ? -1 : 0;
}

/* Linux before 5.8 has no other way to read without waiting. */
static bool take_if_nonblocking(int fd)
{
	return fcntl(fd, F_GETFL) & O_NONBLOCK && semaphore_wait(fd) == 0;
}

/* Not by O_NONBLOCK, which is the program's, and counts for all threads. musl 1.2.3 has no
 * preadv2().
 */
bool semaphore_take(int fd)
{
	uint64_t n;
	struct iovec v = {.iov_base = &n, .iov_len = sizeof(n)};

	if (syscall(SYS_preadv2, fd, &v, 1L, -1L, -1L, (long)RWF_NOWAIT) > 0)
		return true;
	return errno != EAGAIN && take_if_nonblocking(fd);
}
