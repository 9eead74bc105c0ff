/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/doorbell.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/try_again.h"

int doorbell_create(int *ret_ring, int *ret_wait)
{
	int smallest = 0; /* the kernel raises it to room for some rings */
	int fds[2];
	int err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return -errno;
	if (setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof(smallest)) < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	*ret_ring = fds[0];
	*ret_wait = fds[1];
	return 0;
}

int doorbell_ring(int ring)
{
	int tries = 0;
	ssize_t n;

	do {
		n = send(ring, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && try_again(errno, &tries));
	/* Full: the other end is readable already. */
	if (n >= 0 || errno == EAGAIN)
		return 0;
	return errno == ECONNRESET ? -EPIPE : -errno;
}

/* Reads up to max rings, at most 64. */
static int take(int wait, size_t max)
{
	char rings[64];
	int tries = 0;
	ssize_t n;

	do {
		n = recv(wait, rings, max, MSG_DONTWAIT);
	} while (n < 0 && try_again(errno, &tries));
	if (n > 0)
		return (int)n;
	if (n == 0)
		return -EPIPE;
	if (errno == EAGAIN)
		return 0;
	return errno == ECONNRESET ? -EPIPE : -errno;
}

int doorbell_drain(int wait)
{
	return take(wait, 64);
}

int doorbell_take(int wait)
{
	return take(wait, 1);
}
