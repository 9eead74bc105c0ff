/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/session/early_queue.h"

#include <stddef.h>
#include <string.h>

#include "util/be.h"
#include "util/checked.h"
#include "util/minmax.h"

enum entry_state { WAITING, READY, DEAD };

/* Entries follow each other; the message follows its entry. */
struct entry {
	uint32_t len;
	uint32_t ppid;
	uint16_t sid;
	uint16_t state;
	uint32_t room; /* bytes to the next entry */
};

enum { ALIGN = 8, STEP = 4096 /* bytes */ };

void early_queue_init(struct early_queue *s, const struct early_memory *owner, uint32_t max)
{
	*s = (struct early_queue){.owner = *owner, .max = max};
}

/* ---- memory ---- */

static bool resize_memory(struct early_queue *s, uint32_t to)
{
	void *mem = s->owner.resize(s->owner.user, s->mem, s->size, to);

	if (!mem && to > 0)
		return false;
	s->mem = mem;
	s->size = to;
	return true;
}

void early_queue_clear(struct early_queue *s)
{
	if (s->size > 0)
		resize_memory(s, 0);
	early_queue_init(s, &(struct early_memory){s->owner.resize, s->owner.user}, s->max);
}

/* Twice as much, or as little as will do. */
static bool grow_memory(struct early_queue *s, uint64_t needed)
{
	uint64_t step = checked_round_up(needed, STEP);

	if (needed > s->max)
		return false;
	return resize_memory(s, (uint32_t)min_u64(max_u64(2 * (uint64_t)s->size, step), s->max)) ||
	       resize_memory(s, (uint32_t)min_u64(step, s->max));
}

/* ---- entries ---- */

static struct entry *entry_at(const struct early_queue *s, uint32_t off)
{
	return (struct entry *)(void *)(s->mem + off);
}

static void remove_entry(struct early_queue *s, struct entry *e)
{
	if (e->state == READY)
		s->ready--;
	e->state = DEAD;
	if (--s->live == 0)
		s->used = 0;
}

/* Moves the live entries together. */
static void compact(struct early_queue *s)
{
	uint32_t to = 0;

	for (uint32_t at = 0; at < s->used;) {
		uint32_t room = entry_at(s, at)->room;

		if (entry_at(s, at)->state != DEAD) {
			memmove(s->mem + to, s->mem + at, room);
			to += room;
		}
		at += room;
	}
	s->used = to;
	s->scan = 0;
}

uint8_t *early_queue_add(struct early_queue *s, uint16_t sid, uint32_t ppid, uint32_t len)
{
	uint64_t room = checked_round_up(sizeof(struct entry) + (uint64_t)len, ALIGN);
	struct entry *e;

	if (room > s->size - s->used)
		compact(s);
	if (room > s->size - s->used && !grow_memory(s, s->used + room))
		return NULL;
	e = entry_at(s, s->used);
	*e = (struct entry){.len = len, .ppid = ppid, .sid = sid, .room = (uint32_t)room};
	s->used += (uint32_t)room;
	s->live++;
	return (uint8_t *)(e + 1);
}

/* Makes entries of the stream ready: all, or the first one that begins with *ssn. */
static void release_entries(struct early_queue *s, uint16_t sid, const uint16_t *ssn)
{
	s->scan = 0;
	for (uint32_t at = 0; at < s->used; at += entry_at(s, at)->room) {
		struct entry *e = entry_at(s, at);

		if (e->sid != sid || e->state != WAITING)
			continue;
		if (ssn && be_get16((const uint8_t *)(e + 1)) != *ssn)
			continue;
		e->state = READY;
		s->ready++;
		if (ssn)
			return;
	}
}

void early_queue_release(struct early_queue *s, uint16_t sid)
{
	release_entries(s, sid, NULL);
}

void early_queue_release_ssn(struct early_queue *s, uint16_t sid, uint16_t ssn)
{
	release_entries(s, sid, &ssn);
}

uint32_t early_queue_drop(struct early_queue *s, uint16_t sid)
{
	uint32_t n = 0;

	for (uint32_t at = 0, next; at < s->used; at = next) {
		struct entry *e = entry_at(s, at);

		next = at + e->room;
		if (e->sid == sid && e->state != DEAD) {
			remove_entry(s, e);
			n++;
		}
	}
	return n;
}

bool early_queue_take(struct early_queue *s, uint16_t *ret_sid, uint32_t *ret_ppid, uint8_t **ret_p,
		      uint32_t *ret_len)
{
	struct entry *e;

	if (s->ready == 0) {
		if (s->live == 0 && s->size > 0)
			early_queue_clear(s);
		return false;
	}
	while (entry_at(s, s->scan)->state != READY)
		s->scan += entry_at(s, s->scan)->room;
	e = entry_at(s, s->scan);
	*ret_sid = e->sid;
	*ret_ppid = e->ppid;
	*ret_p = (uint8_t *)(e + 1);
	*ret_len = e->len;
	remove_entry(s, e);
	return true;
}
