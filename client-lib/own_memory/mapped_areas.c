/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/mapped_areas.h"

#include <errno.h>
#include <stdlib.h>

struct reader {
	const struct sparse *file;
	uintptr_t end; /* of the range */
	struct mapped_areas *m;
};

static int add_to_list(struct area_list *list, const struct maps_area *area)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		struct maps_area *at = realloc(list->at, room * sizeof(*at));

		if (!at)
			return -ENOMEM;
		list->at = at;
		list->room = room;
	}
	list->at[list->count++] = *area;
	return 0;
}

bool mapped_area_is_ours(const struct sparse *file, const struct maps_area *area)
{
	return area->kind == MAPS_SHARED && area->ino == file->ino && area->dev == file->dev;
}

/* Adds the part of the area that continues the range. */
static int add_part(struct reader *r, struct maps_area area)
{
	uintptr_t from = r->m->hole;

	if (area.end <= from || area.start >= r->end || area.start > from)
		return 0;
	area.offset += from - area.start;
	area.start = from;
	if (area.end > r->end)
		area.end = r->end;
	r->m->hole = area.end;
	return add_to_list(&r->m->range, &area);
}

static int on_area(const struct maps_area *area, void *arg)
{
	struct reader *r = arg;

	if (r->file->fd >= 0 && mapped_area_is_ours(r->file, area)) {
		int e = add_to_list(&r->m->ours, area);

		if (e)
			return e;
	}
	return add_part(r, *area);
}

int mapped_areas_read(const struct sparse *file, uintptr_t start, uintptr_t end,
		      struct mapped_areas *ret)
{
	struct reader r = {
		.file = file,
		.end = end,
		.m = ret,
	};

	*ret = (struct mapped_areas){.hole = start, .all = true};
	return maps_each_own(on_area, &r);
}

int mapped_areas_near(const struct sparse *file, uintptr_t start, uintptr_t end, uintptr_t margin,
		      struct mapped_areas *ret)
{
	uintptr_t from = start > margin ? start - margin : 0;
	uintptr_t to = end < UINTPTR_MAX - margin ? end + margin : UINTPTR_MAX;
	struct reader r = {
		.file = file,
		.end = end,
		.m = ret,
	};

	*ret = (struct mapped_areas){.hole = start};
	return maps_range_own(from, to, on_area, &r);
}

void mapped_areas_free(struct mapped_areas *m)
{
	free(m->range.at);
	free(m->ours.at);
	*m = (struct mapped_areas){0};
}
