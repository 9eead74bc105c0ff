/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/ring_map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "client-lib/base/reason.h"
#include "ipc/ring.h"
#include "util/checked.h"

struct ring_map {
	struct list link;
	dev_t dev; /* with ino: which memfd. Its number is not used again while it is mapped */
	ino_t ino;
	unsigned users;
	struct memfd_map map;
};

void ring_maps_init(struct ring_maps *s)
{
	pthread_mutex_init(&s->lock, NULL);
	list_init(&s->list);
}

void ring_maps_deinit(struct ring_maps *s)
{
	pthread_mutex_destroy(&s->lock);
}

int ring_map_memfd(const char *call, int fd, uint64_t len, struct memfd_map *ret)
{
	int r = memfd_map_client(fd, 0, len, true, ret);

	if (r > 0)
		return reason_fail(-EPROTO, "%s: the daemon's memfd: %s", call, memfd_reason(r));
	return r ? reason_errno(r, call, "mapping the daemon's memfd") : 0;
}

/* A mapping with the range. The memfd may have grown since another one was made. */
static struct ring_map *find_mapping(const struct ring_maps *s, const struct stat *st,
				     uint64_t offset, uint64_t len)
{
	list_foreach (it, &s->list) {
		struct ring_map *m = list_entry(it, struct ring_map, link);

		if (m->ino == st->st_ino && m->dev == st->st_dev &&
		    checked_range(offset, len, m->map.map_len))
			return m;
	}
	return NULL;
}

static int map_memfd(struct ring_maps *s, const char *call, int fd, const struct stat *st,
		     struct ring_map **ret)
{
	struct ring_map *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return reason_fail(-ENOMEM, "%s: out of memory", call);
	r = ring_map_memfd(call, fd, (uint64_t)st->st_size, &m->map);
	if (r) {
		free(m);
		return r;
	}
	m->dev = st->st_dev;
	m->ino = st->st_ino;
	list_add_tail(&s->list, &m->link);
	*ret = m;
	return 0;
}

int ring_map_get(struct ring_maps *s, const char *call, int fd, uint64_t offset, uint64_t len,
		 struct ring_map **ret, uint8_t **ret_addr)
{
	struct ring_map *m;
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return reason_errno(-errno, call, "the daemon's memfd");
	if (offset % RING_LINE != 0 || !checked_range(offset, len, (uint64_t)st.st_size))
		return reason_fail(-EPROTO, "%s: the daemon's rings lie outside their memfd", call);
	pthread_mutex_lock(&s->lock);
	m = find_mapping(s, &st, offset, len);
	if (!m)
		r = map_memfd(s, call, fd, &st, &m);
	if (r == 0) {
		m->users++;
		*ret = m;
		*ret_addr = m->map.addr + offset;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

void ring_map_put(struct ring_maps *s, struct ring_map *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&s->lock);
	if (--m->users == 0) {
		list_del(&m->link);
		memfd_unmap(&m->map);
		free(m);
	}
	pthread_mutex_unlock(&s->lock);
}
