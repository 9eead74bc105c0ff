/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/memfd_table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct memfd_entry {
	dev_t dev;
	ino_t ino;
	int fd;
	unsigned refs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;

static int compare_inodes(const void *left, const void *right)
{
	const struct memfd_entry *a = left, *b = right;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return a->dev < b->dev ? -1 : a->dev > b->dev;
}

/* A reference, or NULL; with the lock. */
static struct memfd_entry *find_entry(dev_t dev, ino_t ino)
{
	struct memfd_entry key = {.dev = dev, .ino = ino};
	struct memfd_entry **found = tfind(&key, &tree, compare_inodes);

	if (!found)
		return NULL;
	(*found)->refs++;
	return *found;
}

static int add_entry(int fd, const struct stat *st, struct memfd_entry **ret)
{
	struct memfd_entry *m = malloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct memfd_entry){.dev = st->st_dev, .ino = st->st_ino, .refs = 1};
	m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (m->fd < 0 || !tsearch(m, &tree, compare_inodes)) {
		int r = m->fd < 0 ? -errno : -ENOMEM;

		if (m->fd >= 0)
			close(m->fd);
		free(m);
		return r;
	}
	*ret = m;
	return 0;
}

int memfd_table_get(int fd, struct memfd_entry **ret)
{
	struct memfd_entry *m;
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	pthread_mutex_lock(&lock);
	m = find_entry(st.st_dev, st.st_ino);
	if (!m)
		r = add_entry(fd, &st, &m);
	pthread_mutex_unlock(&lock);
	if (r == 0)
		*ret = m;
	return r;
}

struct memfd_entry *memfd_table_find(dev_t dev, ino_t ino)
{
	struct memfd_entry *m;

	pthread_mutex_lock(&lock);
	m = find_entry(dev, ino);
	pthread_mutex_unlock(&lock);
	return m;
}

int memfd_table_fd(const struct memfd_entry *m)
{
	return m->fd;
}

void memfd_table_put(struct memfd_entry *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&lock);
	if (--m->refs == 0) {
		tdelete(m, &tree, compare_inodes);
		close(m->fd);
		free(m);
	}
	pthread_mutex_unlock(&lock);
}
