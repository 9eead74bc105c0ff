/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/conn.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ipc/try_again.h"

/* The kernel also uses the padding of the last control message, for one descriptor more. */
union control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(MSG_MAX_FDS * sizeof(int))];
};

enum { CONTROL_FDS = CMSG_SPACE(MSG_MAX_FDS * sizeof(int)) / sizeof(int) };

/* The result for an errno value of sendmsg() or recvmsg(). */
static int outcome(int err)
{
	switch (err) {
	case EAGAIN:
		return CONN_E_AGAIN;
	case EPIPE:
	case ECONNRESET:
		return CONN_E_CLOSED;
	default:
		return -err;
	}
}

static void put_fds(struct msghdr *m, union control *c, const int *fds, unsigned nfds)
{
	struct cmsghdr *h;

	memset(c, 0, sizeof(*c));
	m->msg_control = c->buf;
	m->msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	h = CMSG_FIRSTHDR(m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(h), fds, nfds * sizeof(int));
}

static int send_flagged(int fd, const void *rec, size_t len, const int *fds, unsigned nfds,
			int flags)
{
	struct iovec iov = {.iov_base = (void *)rec, .iov_len = len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	union control c;
	int tries = 0;
	ssize_t n;

	/* The receiver could not distinguish an empty record from the end. */
	if (len == 0 || nfds > MSG_MAX_FDS)
		return -EINVAL;
	if (nfds > 0)
		put_fds(&m, &c, fds, nfds);
	do {
		n = sendmsg(fd, &m, MSG_NOSIGNAL | flags);
	} while (n < 0 && try_again(errno, &tries));
	return n < 0 ? outcome(errno) : 0;
}

int conn_send(int fd, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	return send_flagged(fd, rec, len, fds, nfds, 0);
}

int conn_try_send(int fd, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	return send_flagged(fd, rec, len, fds, nfds, MSG_DONTWAIT);
}

/* All received descriptors, which may be more than MSG_MAX_FDS. */
static unsigned get_fds(struct msghdr *m, int fds[CONTROL_FDS])
{
	unsigned n = 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t bytes = h->cmsg_len - CMSG_LEN(0);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds + n, CMSG_DATA(h), bytes);
		n += (unsigned)(bytes / sizeof(int));
	}
	return n;
}

static ssize_t receive(int fd, struct msghdr *m, int flags)
{
	int tries = 0;
	ssize_t n;

	do {
		n = recvmsg(fd, m, MSG_CMSG_CLOEXEC | flags);
	} while (n < 0 && try_again(errno, &tries));
	return n;
}

/* 0, or the CONN_E_ of a record that was received with so many descriptors. */
static int judge(ssize_t n, int flags, unsigned nfds)
{
	if (n == 0)
		return CONN_E_CLOSED;
	if (flags & MSG_TRUNC || nfds > MSG_MAX_FDS)
		return CONN_E_TRUNCATED;
	if (!(flags & MSG_CTRUNC))
		return 0;
	/* There was room for that many: this process could not have more. */
	return nfds < MSG_MAX_FDS ? CONN_E_NO_FDS : CONN_E_TRUNCATED;
}

static int receive_flagged(int fd, void *buf, size_t cap, size_t *ret_len, int ret_fds[MSG_MAX_FDS],
			   unsigned *ret_nfds, int flags)
{
	struct iovec iov = {.iov_base = buf, .iov_len = cap};
	union control c;
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = c.buf,
			   .msg_controllen = sizeof(c.buf)};
	int fds[CONTROL_FDS];
	unsigned nfds;
	ssize_t n;
	int r;

	n = receive(fd, &m, flags);
	/* The peer closed without reading one of our records. The kernel reports this first and
	 * once. Records that the peer sent before, such as its reason, can still be read. */
	if (n < 0 && errno == ECONNRESET)
		n = receive(fd, &m, flags);
	if (n < 0)
		return outcome(errno);
	nfds = get_fds(&m, fds);
	r = judge(n, m.msg_flags, nfds);
	for (unsigned i = 0; r && i < nfds; i++)
		close(fds[i]);
	if (r == 0) {
		memcpy(ret_fds, fds, nfds * sizeof(int));
		*ret_nfds = nfds;
	}
	if (r == 0 || r == CONN_E_NO_FDS)
		*ret_len = (size_t)n;
	return r;
}

int conn_recv(int fd, void *buf, size_t cap, size_t *ret_len, int ret_fds[MSG_MAX_FDS],
	      unsigned *ret_nfds)
{
	return receive_flagged(fd, buf, cap, ret_len, ret_fds, ret_nfds, 0);
}

int conn_try_recv(int fd, void *buf, size_t cap, size_t *ret_len, int ret_fds[MSG_MAX_FDS],
		  unsigned *ret_nfds)
{
	return receive_flagged(fd, buf, cap, ret_len, ret_fds, ret_nfds, MSG_DONTWAIT);
}

bool conn_has_news(int fd)
{
	return recv(fd, NULL, 0, MSG_PEEK | MSG_DONTWAIT) == 0 || errno != EAGAIN;
}
