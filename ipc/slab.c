/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/slab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/memfd.h"
#include "util/checked.h"

enum {
	PAGE_MIN = 4096,
	WORD_BITS = 64,
	WORDS = SLAB_BYTES_MAX / PAGE_MIN / WORD_BITS,
};

struct slab {
	struct list link;
	int fd;
	void *map;
	unsigned used;        /* pages */
	uint64_t busy[WORDS]; /* a bit for each page in use; unused pages are zero */
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void slab_init(struct slabs *s, const char *name, size_t bytes)
{
	*s = (struct slabs){.name = name, .bytes = bytes};
	pthread_mutex_init(&s->lock, NULL);
	list_init(&s->list);
}

void slab_deinit(struct slabs *s)
{
	pthread_mutex_destroy(&s->lock);
}

/* ---- the bitmap of a slab ---- */

static bool is_busy(const struct slab *s, unsigned page)
{
	return s->busy[page / WORD_BITS] >> page % WORD_BITS & 1;
}

static void mark(struct slab *s, unsigned first, unsigned n, bool busy)
{
	for (unsigned i = first; i < first + n; i++) {
		uint64_t bit = (uint64_t)1 << i % WORD_BITS;

		if (busy)
			s->busy[i / WORD_BITS] |= bit;
		else
			s->busy[i / WORD_BITS] &= ~bit;
	}
	s->used += busy ? n : -n;
}

/* The first of n unused pages in a row, or -1. */
static int find(const struct slab *s, unsigned n, unsigned pages)
{
	unsigned run = 0;

	if (n > pages - s->used)
		return -1;
	for (unsigned i = 0; i < pages; i++) {
		run = is_busy(s, i) ? 0 : run + 1;
		if (run == n)
			return (int)(i + 1 - n);
	}
	return -1;
}

/* ---- slabs ---- */

static int add_slab(struct slabs *s, struct slab **ret)
{
	struct slab *slab = calloc(1, sizeof(*slab));
	int r;

	if (!slab)
		return -ENOMEM;
	r = memfd_create_mapped(s->name, s->bytes, &slab->fd, &slab->map);
	if (r) {
		free(slab);
		return r;
	}
	list_add_tail(&s->list, &slab->link);
	s->count++;
	*ret = slab;
	return 0;
}

static void destroy(struct slabs *s, struct slab *slab)
{
	list_del(&slab->link);
	s->count--;
	munmap(slab->map, s->bytes);
	close(slab->fd);
	free(slab);
}

/* Finds len bytes in a row. NULL: no slab has them, and *ret_first is the first page of a new one.
 */
static struct slab *find_pages(const struct slabs *s, size_t len, unsigned *ret_first)
{
	size_t page = page_size();

	list_foreach (it, &s->list) {
		struct slab *slab = list_entry(it, struct slab, link);
		int first = find(slab, (unsigned)(len / page), (unsigned)(s->bytes / page));

		if (first >= 0) {
			*ret_first = (unsigned)first;
			return slab;
		}
	}
	*ret_first = 0;
	return NULL;
}

bool slab_fits(struct slabs *s, size_t length)
{
	unsigned first;
	bool fits;

	pthread_mutex_lock(&s->lock);
	fits = find_pages(s, checked_round_up(length, page_size()), &first);
	pthread_mutex_unlock(&s->lock);
	return fits;
}

int slab_alloc(struct slabs *s, size_t length, struct slab_range *ret)
{
	size_t page = page_size();
	size_t len = checked_round_up(length, page);
	struct slab *slab;
	unsigned first;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	slab = find_pages(s, len, &first);
	if (!slab)
		r = add_slab(s, &slab);
	if (r == 0) {
		mark(slab, first, (unsigned)(len / page), true);
		*ret = (struct slab_range){slab, slab->fd, first * page,
					   (uint8_t *)slab->map + first * page, len};
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

void slab_free(struct slabs *s, struct slab_range *r)
{
	struct slab *slab = r->slab;
	size_t page = page_size();

	if (!slab)
		return;
	/* Gives the memory back; the range reads as zeros from here on. */
	if (!s->final && fallocate(slab->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   (off_t)r->offset, (off_t)r->len) < 0)
		memset(r->addr, 0, r->len);
	pthread_mutex_lock(&s->lock);
	mark(slab, (unsigned)(r->offset / page), (unsigned)(r->len / page), false);
	if (slab->used == 0)
		destroy(s, slab);
	pthread_mutex_unlock(&s->lock);
	*r = (struct slab_range){0};
}
