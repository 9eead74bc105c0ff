/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/metrics/http_conns.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

int http_conns_init(struct http_conns *c)
{
	struct rlimit lim;
	struct stat st;

	memset(c, 0, sizeof(*c));
	for (int fd = 0; fd < HTTP_CONNS_FDS; fd++)
		c->fd[fd].ours = fstat(fd, &st) == 0;
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return -errno;
	if (lim.rlim_cur > HTTP_CONNS_FDS)
		lim.rlim_cur = HTTP_CONNS_FDS;
	return setrlimit(RLIMIT_NOFILE, &lim) < 0 ? -errno : 0;
}

/* Notes which connections there are. The inode tells a new one from the one before it that had the
 * same descriptor. */
static unsigned scan_descriptors(struct http_conns *c, uint64_t now_ms)
{
	unsigned n = 0;

	for (int fd = 0; fd < HTTP_CONNS_FDS; fd++) {
		struct stat st;

		if (c->fd[fd].ours)
			continue;
		if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
			st.st_ino = 0;
		if (st.st_ino != c->fd[fd].ino) {
			c->fd[fd].ino = st.st_ino;
			c->fd[fd].since_ms = now_ms;
			c->fd[fd].ended = false;
		}
		n += st.st_ino != 0 && !c->fd[fd].ended;
	}
	return n;
}

static void end_connection(struct http_conns *c, int fd)
{
	shutdown(fd, SHUT_RDWR);
	c->fd[fd].ended = true;
}

static int oldest_connection(const struct http_conns *c)
{
	int found = -1;

	for (int fd = 0; fd < HTTP_CONNS_FDS; fd++)
		if (c->fd[fd].ino != 0 && !c->fd[fd].ended &&
		    (found < 0 || c->fd[fd].since_ms < c->fd[found].since_ms))
			found = fd;
	return found;
}

void http_conns_came(struct http_conns *c, uint64_t now_ms)
{
	if (scan_descriptors(c, now_ms) > HTTP_CONNS_MAX)
		end_connection(c, oldest_connection(c));
}

unsigned http_conns_check(struct http_conns *c, uint64_t now_ms)
{
	unsigned n = scan_descriptors(c, now_ms);

	for (int fd = 0; fd < HTTP_CONNS_FDS; fd++)
		if (c->fd[fd].ino != 0 && !c->fd[fd].ended &&
		    now_ms - c->fd[fd].since_ms >= HTTP_CONNS_MS)
			end_connection(c, fd);
	return n;
}
