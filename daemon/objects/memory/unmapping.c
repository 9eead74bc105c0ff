/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/unmapping.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "daemon/base/event_loop.h"
#include "daemon/base/worker.h"
#include "util/list.h"
#include "util/minmax.h"

enum {
	PIECE = 1 << 20,
	TURN_US = 200, /* of pieces, and the last one */
};

/* Of addresses: as many as a user may register by default. */
#define MOST ((uint64_t)(sizeof(void *) == 8 ? 65536 : 64) << 20)

struct unmapping {
	struct list link; /* in worker.unmappings */
	struct memfd_map map;
	struct acct_charge charge;
};

static struct unmapping *oldest(const struct worker *w)
{
	return list_entry(w->unmappings.next, struct unmapping, link);
}

static void unmap_piece(struct worker *w, struct unmapping *u, size_t most)
{
	size_t len = u->map.map_len < most ? u->map.map_len : most;

	munmap(u->map.map, len);
	u->map.map = (uint8_t *)u->map.map + len;
	u->map.map_len -= len;
	w->unmapping_bytes -= len;
	if (u->map.map_len > 0)
		return;
	list_del(&u->link);
	acct_release(&u->charge);
	free(u);
}

void unmapping_add(struct worker *w, struct memfd_map *map, struct acct_charge *charge)
{
	struct unmapping *u = map->map_len > PIECE ? malloc(sizeof(*u)) : NULL;

	if (!u) {
		memfd_unmap(map);
		acct_release(charge);
		return;
	}
	*u = (struct unmapping){.map = *map, .charge = *charge};
	*map = (struct memfd_map){0};
	*charge = (struct acct_charge){0};
	list_init(&u->link);
	list_add_tail(&w->unmappings, &u->link);
	w->unmapping_bytes += u->map.map_len;
	while (w->unmapping_bytes > MOST)
		unmap_piece(w, oldest(w), SIZE_MAX);
}

bool unmapping_run(struct worker *w)
{
	uint64_t end;

	if (list_empty(&w->unmappings))
		return false;
	end = event_loop_clock_us(w->loop) + TURN_US;
	do
		unmap_piece(w, oldest(w), PIECE);
	while (!list_empty(&w->unmappings) && event_loop_clock_us(w->loop) < end);
	return !list_empty(&w->unmappings);
}

bool unmapping_finish(struct worker *w)
{
	bool any = !list_empty(&w->unmappings);

	while (!list_empty(&w->unmappings))
		unmap_piece(w, oldest(w), SIZE_MAX);
	return any;
}
