/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/known_memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct known_memfd {
	dev_t dev;
	ino_t ino;
	int fd;
	unsigned refs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;

static int compare(const void *left, const void *right)
{
	const struct known_memfd *a = left, *b = right;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return a->dev < b->dev ? -1 : a->dev > b->dev;
}

/* A reference, or NULL; with the lock. */
static struct known_memfd *find(dev_t dev, ino_t ino)
{
	struct known_memfd key = {.dev = dev, .ino = ino};
	struct known_memfd **found = tfind(&key, &tree, compare);

	if (!found)
		return NULL;
	(*found)->refs++;
	return *found;
}

static int add(int fd, const struct stat *st, struct known_memfd **ret)
{
	struct known_memfd *k = malloc(sizeof(*k));

	if (!k)
		return -ENOMEM;
	*k = (struct known_memfd){.dev = st->st_dev, .ino = st->st_ino, .refs = 1};
	k->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (k->fd < 0 || !tsearch(k, &tree, compare)) {
		int r = k->fd < 0 ? -errno : -ENOMEM;

		if (k->fd >= 0)
			close(k->fd);
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

int known_memfd_get(int fd, struct known_memfd **ret)
{
	struct known_memfd *k;
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	pthread_mutex_lock(&lock);
	k = find(st.st_dev, st.st_ino);
	if (!k)
		r = add(fd, &st, &k);
	pthread_mutex_unlock(&lock);
	if (r == 0)
		*ret = k;
	return r;
}

struct known_memfd *known_memfd_find(dev_t dev, ino_t ino)
{
	struct known_memfd *k;

	pthread_mutex_lock(&lock);
	k = find(dev, ino);
	pthread_mutex_unlock(&lock);
	return k;
}

int known_memfd_fd(const struct known_memfd *k)
{
	return k->fd;
}

void known_memfd_put(struct known_memfd *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&lock);
	if (--k->refs == 0) {
		tdelete(k, &tree, compare);
		close(k->fd);
		free(k);
	}
	pthread_mutex_unlock(&lock);
}
