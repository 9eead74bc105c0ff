/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct mmsghdr */
#endif
#include "full_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/addr.h"

int full_socket_fd = -1;
unsigned full_socket_room, full_socket_refused;

const struct sockaddr_storage *full_socket_lost;
unsigned full_socket_lose_each, full_socket_longest;

static size_t size(const struct msghdr *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->msg_iovlen; i++)
		n += m->msg_iov[i].iov_len;
	return n;
}

/* The packets of a message that the kernel cuts have the size that its control data has. */
static size_t packet_size(const struct msghdr *m)
{
	const struct cmsghdr *c = m->msg_controllen ? m->msg_control : NULL;
	uint16_t segment;

	if (!c || c->cmsg_level != IPPROTO_UDP)
		return size(m);
	memcpy(&segment, CMSG_DATA(c), sizeof(segment));
	return segment;
}

static bool may_fragment(int fd)
{
	int value = IP_PMTUDISC_PROBE;
	socklen_t len = sizeof(value);

	getsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, &len);
	return value == IP_PMTUDISC_DONT;
}

/* All messages of a call go to the same address. */
static bool is_lost(int fd, const struct msghdr *m)
{
	static unsigned sent;

	if (full_socket_lose_each && m->msg_name && ++sent % full_socket_lose_each == 0)
		return true;
	if (full_socket_longest && m->msg_name && packet_size(m) > full_socket_longest &&
	    !may_fragment(fd))
		return true;
	return full_socket_lost && m->msg_name && addr_same_host(m->msg_name, full_socket_lost);
}

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
	if (is_lost(fd, m))
		return (ssize_t)size(m);
	return syscall(SYS_sendmsg, fd, m, flags);
}

int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	int r;

	if (fd == full_socket_fd && full_socket_room == 0)
		return refuse();
	if (fd == full_socket_fd && n > full_socket_room)
		n = full_socket_room;
	if (is_lost(fd, &m->msg_hdr))
		return (int)n;
	r = (int)syscall(SYS_sendmmsg, fd, m, n, flags);
	if (fd == full_socket_fd && r > 0)
		full_socket_room -= (unsigned)r;
	return r;
}
