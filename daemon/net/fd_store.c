/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/fd_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/base/sdnotify.h"
#include "util/addr.h"

struct fd_store {
	struct llp_fd_store hooks;
	struct sdnotify_stored stored[SDNOTIFY_STORED_MAX]; /* that are not taken yet */
	struct sockaddr_storage at[SDNOTIFY_STORED_MAX];
	unsigned n;
};

/* Colons end names in LISTEN_FDNAMES. */
static void name_of(const struct sockaddr_storage *at, char ret[ADDR_TEXT_MAX])
{
	addr_text(at, ret);
	for (char *p = ret; *p; p++)
		if (*p == ':')
			*p = '_';
}

static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return addr_same_host(a, b) && addr_port(a) == addr_port(b);
}

static int take_stored_fd(void *arg, const struct sockaddr_storage *at)
{
	struct fd_store *s = arg;

	for (unsigned i = 0; i < s->n; i++)
		if (is_same(&s->at[i], at)) {
			int fd = s->stored[i].fd;

			s->stored[i] = s->stored[--s->n];
			s->at[i] = s->at[s->n];
			return fd;
		}
	return -1;
}

static void put_fd(void *arg, const struct sockaddr_storage *at, int fd)
{
	char name[ADDR_TEXT_MAX];

	(void)arg;
	name_of(at, name);
	sdnotify_store(fd, name);
}

static void drop_fd(void *arg, const struct sockaddr_storage *at)
{
	char name[ADDR_TEXT_MAX];

	(void)arg;
	name_of(at, name);
	sdnotify_unstore(name);
}

static void read_addresses(struct fd_store *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		socklen_t len = sizeof(s->at[i]);

		if (getsockname(s->stored[i].fd, (struct sockaddr *)&s->at[i], &len))
			s->at[i].ss_family = AF_UNSPEC;
	}
}

int fd_store_new(const struct sdnotify_fds *fds, struct fd_store **ret)
{
	struct fd_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->hooks = (struct llp_fd_store){take_stored_fd, put_fd, drop_fd, s};
	s->n = fds->nstored;
	memcpy(s->stored, fds->stored, sizeof(s->stored));
	read_addresses(s);
	if (s->n)
		log_debug("the service manager kept %u sockets", s->n);
	*ret = s;
	return 0;
}

void fd_store_drop_rest(struct fd_store *s)
{
	for (; s && s->n > 0; s->n--) {
		const struct sdnotify_stored *last = &s->stored[s->n - 1];

		log_info("listen: the socket %s of an earlier daemon is not needed any more",
			 last->name);
		close(last->fd);
		sdnotify_unstore(last->name);
	}
}

void fd_store_free(struct fd_store *s)
{
	for (unsigned i = 0; s && i < s->n; i++)
		close(s->stored[i].fd);
	free(s);
}

const struct llp_fd_store *fd_store_hooks(const struct fd_store *s)
{
	return &s->hooks;
}
