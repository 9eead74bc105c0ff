/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct mmsghdr */
#endif
#include "full_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int full_socket_fd = -1;
unsigned full_socket_room, full_socket_refused;

static int refuse(void)
{
	full_socket_refused++;
	errno = EAGAIN;
	return -1;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (fd == full_socket_fd && full_socket_room == 0)
		return refuse();
	full_socket_room -= fd == full_socket_fd;
	return syscall(SYS_sendmsg, fd, m, flags);
}

int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	int r;

	if (fd == full_socket_fd && full_socket_room == 0)
		return refuse();
	if (fd == full_socket_fd && n > full_socket_room)
		n = full_socket_room;
	r = (int)syscall(SYS_sendmmsg, fd, m, n, flags);
	if (fd == full_socket_fd && r > 0)
		full_socket_room -= (unsigned)r;
	return r;
}
