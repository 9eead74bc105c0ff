/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/stags.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "proto/ddp/stag.h"

enum {
	LEAST = 1024, /* entries that there is always room for */
	/* The table grows when this part of its room is in use. A lookup then needs one probe in
	 * most cases. */
	GROW_FROM = 2,
	SHRINK_BELOW = 8, /* it shrinks when less than this part is */
};

/* Memory of the table, mapped so that it goes back to the system. */
struct memory {
	void *map; /* NULL: none */
	size_t len;
};

struct stags {
	struct stag_table *table;
	struct memory now, old; /* old: entries still move from there */
	uint32_t room, max;     /* entries that fit now, and at most */
	stags_random_fn *random;
	uint32_t drawn[64]; /* random values that are not used yet */
	unsigned left;
};

static void unmap(struct memory *m)
{
	if (m->map)
		munmap(m->map, m->len);
	*m = (struct memory){0};
}

int stags_new(uint32_t max, stags_random_fn *random, struct stags **ret)
{
	struct stags *s = calloc(1, sizeof(*s));
	uint32_t room = max < LEAST ? max : LEAST;
	void *mem = calloc(1, stag_table_size(room));

	if (!s || !mem) {
		free(s);
		free(mem);
		return -ENOMEM;
	}
	s->table = stag_table_init(mem, room);
	s->room = room;
	s->max = max;
	s->random = random;
	*ret = s;
	return 0;
}

struct stags *stags_free(struct stags *s)
{
	if (!s)
		return NULL;
	unmap(&s->now);
	unmap(&s->old);
	free(s->table);
	free(s);
	return NULL;
}

struct stag_table *stags_table(const struct stags *s)
{
	return s->table;
}

static int refill(struct stags *s)
{
	ssize_t n;

	do
		n = s->random(s->drawn, sizeof(s->drawn), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(s->drawn))
		return n < 0 ? -errno : -EIO;
	s->left = sizeof(s->drawn) / sizeof(s->drawn[0]);
	return 0;
}

/* Not below 256: the owner may change the key, and no value may become 0. */
static int draw_stag(struct stags *s, uint32_t *ret)
{
	do {
		int r = s->left == 0 ? refill(s) : 0;

		if (r)
			return r;
		*ret = s->drawn[--s->left];
	} while (*ret <= STAG_KEY);
	return 0;
}

/* ---- size of the table ---- */

static int resize(struct stags *s, uint32_t room)
{
	struct memory next = {.len = stag_slots_size(room)};

	next.map = mmap(NULL, next.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (next.map == MAP_FAILED)
		return -ENOMEM;
	stag_table_resize(s->table, next.map, room);
	s->old = s->now;
	s->now = next;
	s->room = room;
	return 0;
}

/* If it fails, there may still be room: stag_add() decides. */
static void make_room(struct stags *s)
{
	if (stag_table_used(s->table) < s->room / GROW_FROM || s->room == s->max ||
	    stag_table_moving(s->table))
		return;
	resize(s, s->room < s->max / 2 ? s->room * 2 : s->max);
}

/* After each change. A table that cannot shrink for lack of memory stays as it is. */
static void shrink_table(struct stags *s)
{
	if (stag_table_moving(s->table))
		return;
	unmap(&s->old);
	if (s->room > LEAST && stag_table_used(s->table) < s->room / SHRINK_BELOW)
		resize(s, s->room / 2);
}

/* ---- entries ---- */

int stags_add(struct stags *s, struct stag_region *r)
{
	struct stag_region added = *r;
	int e;

	make_room(s);
	do {
		e = draw_stag(s, &added.stag);
		if (e)
			return e;
		e = stag_add(s->table, &added);
	} while (e == STAG_ADD_E_TAKEN);
	if (e)
		return s->room < s->max ? -ENOMEM : -ENOSPC;
	r->stag = added.stag;
	shrink_table(s);
	return 0;
}

bool stags_remove(struct stags *s, uint32_t stag)
{
	bool removed = stag_remove(s->table, stag);

	shrink_table(s);
	return removed;
}

void stags_replace(struct stags *s, const struct stag_region *r)
{
	stag_remove(s->table, r->stag);
	stag_add(s->table, r); /* the place is free */
}

const char *stags_str(int r)
{
	if (r == -ENOMEM)
		return "out of memory for the table of STags";
	return r == -ENOSPC ? "the daemon's table of STags is full"
			    : "cannot get random numbers for an STag";
}
