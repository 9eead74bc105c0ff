/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/journald.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int sock = -1;

void journald_open(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(to.sun_path))
		return;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		return;
	}
	if (sock >= 0)
		close(sock);
	sock = fd;
}

static struct iovec part(const char *text)
{
	return (struct iovec){.iov_base = (char *)text, .iov_len = strlen(text)};
}

int journald_send(int priority, const char *text, const char *fields)
{
	char head[64];
	struct iovec parts[] = {{.iov_base = head}, part(text), part("\n"), part(fields)};
	const struct msghdr m = {.msg_iov = parts, .msg_iovlen = sizeof(parts) / sizeof(parts[0])};
	int n;

	if (sock < 0)
		return -ENOTCONN;
	n = snprintf(head, sizeof(head),
		     "PRIORITY=%d\nSYSLOG_IDENTIFIER=ddpsctpd\nMESSAGE=", priority);
	parts[0].iov_len = (size_t)n;
	return sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
