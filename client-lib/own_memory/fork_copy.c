/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/fork_copy.h"

#include <stdbool.h>
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
	const struct area_list *ours = &c->mapped.ours;
	char *to = c->pages;
	int r = 0;

	for (size_t i = 0; i < ours->count && r == 0; to += length(&ours->at[i++]))
		r = copy_area(file, &ours->at[i], to);
	return r;
}

static void drop_pages(struct fork_copy *c)
{
	if (c->pages)
		munmap(c->pages, c->len);
	c->pages = NULL;
}

void fork_copy_make(const struct sparse *file, struct fork_copy *ret)
{
	struct fork_copy c = {0};

	if (file->fd >= 0 && mapped_areas_read(file, 0, 0, &c.mapped) == 0)
		for (size_t i = 0; i < c.mapped.ours.count; i++)
			c.len += length(&c.mapped.ours.at[i]);
	if (c.len) {
		c.pages = mmap(NULL, c.len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (c.pages == MAP_FAILED)
			c.pages = NULL;
		else if (copy_all(file, &c))
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
	const struct area_list *ours = &c->mapped.ours;
	char *from = c->pages;

	for (size_t i = 0; i < ours->count; i++) {
		if (!from || !put_copy(&ours->at[i], from))
			map_private(file, &ours->at[i]);
		if (from)
			from += length(&ours->at[i]);
	}
	c->pages = NULL; /* it has moved */
	fork_copy_free(c);
}

void fork_copy_free(struct fork_copy *c)
{
	drop_pages(c);
	mapped_areas_free(&c->mapped);
	*c = (struct fork_copy){0};
}
