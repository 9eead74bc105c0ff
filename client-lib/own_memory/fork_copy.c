/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/fork_copy.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

static size_t length(const struct maps_area *area)
{
	return area->end - area->start;
}

/* Copies the data of an area. */
static int copy_area(const struct sparse *file, const struct maps_area *area, char *to)
{
	const uint64_t limit = area->offset + length(area);
	uint64_t start = area->offset, end = limit;
	int r = 0;

	for (; r == 0 && start < limit && sparse_data(file, &start, &end); start = end, end = limit)
		r = sparse_read(file, start, to + (start - area->offset), end - start);
	return r;
}

static int copy_all(const struct sparse *file, const struct fork_copy *c)
{
	char *to = c->pages;
	int r = 0;

	for (size_t i = 0; i < c->count && r == 0; to += length(&c->areas[i++]))
		r = copy_area(file, &c->areas[i], to);
	return r;
}

static void drop_pages(struct fork_copy *c)
{
	if (c->pages)
		munmap(c->pages, c->len);
	c->pages = NULL;
}

static void *map_memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void take_areas(const struct area_list *ours, struct fork_copy *c)
{
	size_t bytes = ours->count * sizeof(*ours->at);

	c->areas = bytes ? map_memory(bytes) : NULL;
	if (!c->areas)
		return;
	memcpy(c->areas, ours->at, bytes);
	c->count = ours->count;
	for (size_t i = 0; i < c->count; i++)
		c->len += length(&c->areas[i]);
}

void fork_copy_make(const struct sparse *file, struct fork_copy *ret)
{
	struct mapped_areas mapped = {.all = false};
	struct fork_copy c = {0};

	if (file->fd >= 0 && mapped_areas_read(file, 0, 0, &mapped) == 0)
		take_areas(&mapped.ours, &c);
	mapped_areas_free(&mapped);
	if (c.len) {
		c.pages = map_memory(c.len);
		if (c.pages && copy_all(file, &c))
			drop_pages(&c);
	}
	*ret = c;
}

/* Makes the area private. Its pages are the parent's until they are written. */
static void map_private(const struct sparse *file, const struct maps_area *area)
{
	mmap((void *)area->start, length(area), area->prot, MAP_PRIVATE | MAP_FIXED, file->fd,
	     (off_t)area->offset);
}

static bool put_copy(const struct maps_area *area, void *from)
{
	if (area->prot != (PROT_READ | PROT_WRITE) && mprotect(from, length(area), area->prot) < 0)
		return false;
	return mremap(from, length(area), length(area), MREMAP_MAYMOVE | MREMAP_FIXED,
		      (void *)area->start) != MAP_FAILED;
}

void fork_copy_use(const struct sparse *file, struct fork_copy *c)
{
	char *from = c->pages;

	for (size_t i = 0; i < c->count; i++) {
		if (!from || !put_copy(&c->areas[i], from))
			map_private(file, &c->areas[i]);
		if (from)
			from += length(&c->areas[i]);
	}
	c->pages = NULL; /* it has moved */
	fork_copy_free(c);
}

void fork_copy_free(struct fork_copy *c)
{
	drop_pages(c);
	if (c->areas)
		munmap(c->areas, c->count * sizeof(*c->areas));
	*c = (struct fork_copy){0};
}
