/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/metrics/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"

enum { ADDRESS_TEXT = INET6_ADDRSTRLEN };

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static int system_failed(char error[HTTP_LISTEN_ERROR], const char *what, const char *text)
{
	snprintf(error, HTTP_LISTEN_ERROR, "%.110s: %s: %s", text, what, strerror(errno));
	return -1;
}

/* ---- an address ---- */

static int not_an_address(char error[HTTP_LISTEN_ERROR], const char *text)
{
	snprintf(error, HTTP_LISTEN_ERROR,
		 "'%.80s' is not ADDRESS:PORT, [ADDRESS]:PORT with a number as the address, or the "
		 "path of a UNIX socket that begins with a slash",
		 text);
	return -1;
}

static int not_loopback(char error[HTTP_LISTEN_ERROR], const char *text)
{
	snprintf(error, HTTP_LISTEN_ERROR,
		 "'%.80s' can be reached from other hosts: only loopback addresses (127.0.0.0/8, "
		 "::1) "
		 "and UNIX sockets are allowed, because connections are neither encrypted nor "
		 "authenticated",
		 text);
	return -1;
}

/* A port of the text after the colon. */
static bool read_port(const char *text, uint16_t *ret)
{
	char *end;
	unsigned long v;

	if (*text < '0' || *text > '9' || strlen(text) > 5)
		return false;
	v = strtoul(text, &end, 10);
	*ret = (uint16_t)v;
	return *end == '\0' && v <= UINT16_MAX;
}

/* Takes "ADDRESS:PORT" and "[ADDRESS]:PORT" apart; both ports may lack. */
static bool split_address(const char *text, char ret_addr[ADDRESS_TEXT], uint16_t *ret_port)
{
	bool brackets = *text == '[';
	const char *end;
	size_t len;

	text += brackets;
	end = brackets ? strchr(text, ']') : text + strcspn(text, ":");
	len = end ? (size_t)(end - text) : ADDRESS_TEXT;
	if (len >= ADDRESS_TEXT)
		return false;
	memcpy(ret_addr, text, len);
	ret_addr[len] = '\0';
	end += brackets;
	*ret_port = HTTP_LISTEN_PORT;
	return *end == '\0' || (*end == ':' && read_port(end + 1, ret_port));
}

static int read_address(const char *text, union address *ret, char error[HTTP_LISTEN_ERROR])
{
	char addr[ADDRESS_TEXT];
	uint16_t port;

	memset(ret, 0, sizeof(*ret));
	if (!split_address(text, addr, &port))
		return not_an_address(error, text);
	if (*text != '[' && inet_pton(AF_INET, addr, &ret->in.sin_addr) == 1) {
		ret->in.sin_family = AF_INET;
		ret->in.sin_port = htons(port);
		return ntohl(ret->in.sin_addr.s_addr) >> 24 == 127 ? 0 : not_loopback(error, text);
	}
	if (*text == '[' && inet_pton(AF_INET6, addr, &ret->in6.sin6_addr) == 1) {
		ret->in6.sin6_family = AF_INET6;
		ret->in6.sin6_port = htons(port);
		return IN6_IS_ADDR_LOOPBACK(&ret->in6.sin6_addr) ? 0 : not_loopback(error, text);
	}
	return not_an_address(error, text);
}

static void name_address(struct http_listen *l)
{
	union address a;
	socklen_t len = sizeof(a);
	char text[ADDRESS_TEXT];

	if (getsockname(l->fd, &a.sa, &len) < 0)
		return;
	if (a.sa.sa_family == AF_INET)
		snprintf(l->name, sizeof(l->name), "%s:%u",
			 inet_ntop(AF_INET, &a.in.sin_addr, text, sizeof(text)),
			 ntohs(a.in.sin_port));
	else
		snprintf(l->name, sizeof(l->name), "[%s]:%u",
			 inet_ntop(AF_INET6, &a.in6.sin6_addr, text, sizeof(text)),
			 ntohs(a.in6.sin6_port));
}

static int open_address(struct http_listen *l, const char *text, char error[HTTP_LISTEN_ERROR])
{
	union address a;
	const int on = 1;

	if (read_address(text, &a, error))
		return -1;
	l->fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return system_failed(error, "socket", text);
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(l->fd, &a.sa, a.sa.sa_family == AF_INET ? sizeof(a.in) : sizeof(a.in6)) < 0)
		return system_failed(error, "cannot bind", text);
	if (listen(l->fd, HTTP_LISTEN_BACKLOG) < 0)
		return system_failed(error, "cannot listen", text);
	name_address(l);
	return 0;
}

/* ---- a UNIX socket ---- */

/* Whether a program listens there. */
static bool in_use(const struct sockaddr_un *un)
{
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && (connect(fd, (const struct sockaddr *)un, sizeof(*un)) == 0 ||
			   errno != ECONNREFUSED);
}

/* Removes a socket that an earlier ddpmetrics has left. Other files stay. */
static int remove_old(const struct sockaddr_un *un, char error[HTTP_LISTEN_ERROR])
{
	struct stat st;

	if (lstat(un->sun_path, &st) < 0)
		return errno == ENOENT ? 0
				       : system_failed(error, "cannot examine it", un->sun_path);
	if (!S_ISSOCK(st.st_mode) || in_use(un)) {
		snprintf(error, HTTP_LISTEN_ERROR, "%s: %s", un->sun_path,
			 S_ISSOCK(st.st_mode) ? "another program listens there"
					      : "it is not a socket");
		return -1;
	}
	return unlink(un->sun_path) < 0
		       ? system_failed(error, "cannot remove the old one", un->sun_path)
		       : 0;
}

static int open_unix(struct http_listen *l, const char *text, char error[HTTP_LISTEN_ERROR])
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	mode_t old;
	int r;

	if (strlen(text) >= sizeof(un.sun_path)) {
		snprintf(error, HTTP_LISTEN_ERROR,
			 "'%.80s...': the path of a socket has at most %zu characters", text,
			 sizeof(un.sun_path) - 1);
		return -1;
	}
	strcpy(un.sun_path, text);
	if (remove_old(&un, error))
		return -1;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return system_failed(error, "socket", text);
	old = umask(0117);
	r = bind(l->fd, (struct sockaddr *)&un, sizeof(un));
	umask(old);
	if (r < 0)
		return system_failed(error, "cannot bind", text);
	strcpy(l->name, text);
	l->unix_socket = lstat(text, &l->file) == 0;
	return listen(l->fd, HTTP_LISTEN_BACKLOG) < 0 ? system_failed(error, "cannot listen", text)
						      : 0;
}

int http_listen_open(struct http_listen *l, const char *text, char ret_error[HTTP_LISTEN_ERROR])
{
	int r;

	*l = (struct http_listen){.fd = -1};
	r = *text == '/' ? open_unix(l, text, ret_error) : open_address(l, text, ret_error);
	if (r)
		http_listen_close(l);
	return r;
}

void http_listen_close(struct http_listen *l)
{
	struct stat st;

	if (l->unix_socket && lstat(l->name, &st) == 0 && st.st_ino == l->file.st_ino &&
	    st.st_dev == l->file.st_dev)
		unlink(l->name);
	cleanup_close(&l->fd);
	l->fd = -1;
	l->unix_socket = 0;
}
