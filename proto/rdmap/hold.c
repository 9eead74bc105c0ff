/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/hold.h"

#include <string.h>

#include "util/checked.h"

/* Entries follow each other; the message follows its entry. */
struct entry {
	uint32_t len;
	uint32_t room; /* bytes to the next entry */
	uint16_t ssn;
	uint16_t live;
	uint32_t pad;
};

enum {
	ALIGN = 8,
	BYTES_PER_SLOT =
		64, /* of at; a message takes no less, so the slots last as long as the bytes */
	MIN_SLOTS = 64,
	MAX_SLOTS = 32768, /* numbers that can be ahead */
};

static uint32_t slots_of(uint32_t bytes)
{
	uint32_t n = MIN_SLOTS;

	while (n < MAX_SLOTS && n < bytes / BYTES_PER_SLOT)
		n *= 2;
	return n;
}

static size_t mem_size(uint32_t bytes)
{
	return checked_round_up(bytes, ALIGN);
}

size_t hold_size(uint32_t bytes)
{
	return mem_size(bytes) + slots_of(bytes) * sizeof(uint32_t);
}

uint32_t hold_room(uint32_t len)
{
	uint64_t room = checked_round_up(sizeof(struct entry) + (uint64_t)len, ALIGN);

	if (room < BYTES_PER_SLOT)
		return BYTES_PER_SLOT;
	return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

void hold_init(struct hold *h, void *mem, uint32_t bytes)
{
	*h = (struct hold){
		.mem = mem,
		.at = (uint32_t *)(void *)((uint8_t *)mem + mem_size(bytes)),
		.mask = slots_of(bytes) - 1,
		.size = bytes,
	};
}

static struct entry *entry_at(const struct hold *h, uint32_t off)
{
	return (struct entry *)(void *)(h->mem + off);
}

static uint32_t *ssn_slot(const struct hold *h, uint16_t ssn)
{
	return &h->at[ssn & h->mask];
}

/* The entry of this number, or NULL. */
static struct entry *find_entry(const struct hold *h, uint16_t ssn)
{
	uint32_t off1 = h->n > 0 ? *ssn_slot(h, ssn) : 0;
	struct entry *e = off1 ? entry_at(h, off1 - 1) : NULL;

	return e && e->ssn == ssn ? e : NULL;
}

/* A contiguous part of the ring after the youngest entry. False if there is none. */
static bool allocate(struct hold *h, uint32_t room, uint32_t *ret)
{
	if (h->wrap == 0 && room > h->size - h->tail && h->tail > 0 && room < h->head) {
		h->wrap = h->tail;
		h->tail = 0;
	}
	/* After the wrap the tail stays before the head: they are equal only in an empty ring. */
	if (h->wrap ? room >= h->head - h->tail : room > h->size - h->tail)
		return false;
	*ret = h->tail;
	h->tail += room;
	return true;
}

uint32_t hold_reach(const struct hold *h, uint32_t len)
{
	struct hold next = *h;
	uint32_t room = hold_room(len), off;

	return room <= h->size && allocate(&next, room, &off) ? off + room : 0;
}

uint8_t *hold_add(struct hold *h, uint16_t ssn, uint32_t len)
{
	uint32_t room = hold_room(len);
	uint32_t off;

	if (room > h->size || *ssn_slot(h, ssn) || !allocate(h, room, &off))
		return NULL;
	*entry_at(h, off) = (struct entry){.len = len, .room = room, .ssn = ssn, .live = 1};
	*ssn_slot(h, ssn) = off + 1;
	h->n++;
	h->bytes += room;
	return (uint8_t *)(entry_at(h, off) + 1);
}

uint8_t *hold_find(const struct hold *h, uint16_t ssn, uint32_t *ret_len)
{
	struct entry *e = find_entry(h, ssn);

	if (!e)
		return NULL;
	*ret_len = e->len;
	return (uint8_t *)(e + 1);
}

bool hold_has(const struct hold *h, const uint8_t *p)
{
	uintptr_t at = (uintptr_t)p, mem = (uintptr_t)h->mem;

	return h->n > 0 && at >= mem && at - mem <= h->size;
}

/* Frees the oldest entries, up to the first with a message. */
static void trim_oldest(struct hold *h)
{
	if (h->n == 0) {
		h->head = h->tail = h->wrap = 0;
		return;
	}
	while (!entry_at(h, h->head)->live) {
		h->head += entry_at(h, h->head)->room;
		if (h->wrap && h->head == h->wrap)
			h->head = h->wrap = 0;
	}
}

static void remove_entry(struct hold *h, struct entry *e)
{
	*ssn_slot(h, e->ssn) = 0;
	e->live = 0;
	h->n--;
	h->bytes -= e->room;
	trim_oldest(h);
}

void hold_del(struct hold *h, uint16_t ssn)
{
	struct entry *e = find_entry(h, ssn);

	if (e)
		remove_entry(h, e);
}

bool hold_take(struct hold *h, uint32_t *pos, uint16_t *ret_ssn, uint8_t **ret_p, uint32_t *ret_len)
{
	for (; h->n > 0 && *pos <= h->mask; (*pos)++) {
		struct entry *e = h->at[*pos] ? entry_at(h, h->at[*pos] - 1) : NULL;

		if (!e)
			continue;
		*ret_ssn = e->ssn;
		*ret_p = (uint8_t *)(e + 1);
		*ret_len = e->len;
		remove_entry(h, e);
		return true;
	}
	return false;
}

void hold_clear(struct hold *h)
{
	if (h->n > 0)
		memset(h->at, 0, (h->mask + 1U) * sizeof(h->at[0]));
	h->n = h->bytes = 0;
	h->head = h->tail = h->wrap = 0;
}
