/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/datagrams/outbox.h"

enum {
	OPEN_BYTES = OUTBOX_BYTES - OUTBOX_BYTES / 4,
	OPEN_ENTRIES = OUTBOX_ENTRIES - OUTBOX_ENTRIES / 4,
};

void outbox_init(struct outbox *o, uint8_t *mem)
{
	*o = (struct outbox){.mem = mem, .entries = (void *)(mem + OUTBOX_BYTES)};
}

static struct outbox_entry *entry(const struct outbox *o, uint32_t i)
{
	return &o->entries[i % OUTBOX_ENTRIES];
}

static uint32_t begin_of(const struct outbox *o)
{
	return entry(o, o->head)->at;
}

static uint32_t end_of(const struct outbox *o)
{
	const struct outbox_entry *last = entry(o, o->tail - 1);

	return last->at + last->len;
}

/* From the first byte in use to the end of the last one. */
static uint32_t used_bytes(const struct outbox *o)
{
	uint32_t begin, end;

	if (o->head == o->tail)
		return 0;
	begin = begin_of(o);
	end = end_of(o);
	return end > begin ? end - begin : OUTBOX_BYTES - begin + end;
}

static bool has_entry_of(const struct outbox *o, uint32_t from)
{
	for (uint32_t i = o->head; i != o->tail; i++)
		if (entry(o, i)->from == from)
			return true;
	return false;
}

static bool may_add(const struct outbox *o, uint32_t from, uint32_t len)
{
	uint32_t n = o->tail - o->head;

	if (n < OPEN_ENTRIES && used_bytes(o) + len <= OPEN_BYTES)
		return true;
	return n < OUTBOX_ENTRIES && !has_entry_of(o, from);
}

/* Where len bytes fit in one piece, or OUTBOX_BYTES. A byte stays free, so that the end never
 * reaches the beginning from below. */
static uint32_t find_piece(const struct outbox *o, uint32_t len)
{
	uint32_t begin, end;

	if (o->head == o->tail)
		return len <= OUTBOX_BYTES ? 0 : OUTBOX_BYTES;
	begin = begin_of(o);
	end = end_of(o);
	if (end > begin && OUTBOX_BYTES - end >= len)
		return end;
	if (end > begin)
		return len < begin ? 0 : OUTBOX_BYTES;
	return len < begin - end ? end : OUTBOX_BYTES;
}

uint8_t *outbox_add(struct outbox *o, uint32_t from, uint32_t len)
{
	uint32_t at = may_add(o, from, len) ? find_piece(o, len) : OUTBOX_BYTES;

	if (at == OUTBOX_BYTES)
		return NULL;
	*entry(o, o->tail++) = (struct outbox_entry){at, len, from};
	return o->mem + at;
}

uint32_t outbox_waiting(const struct outbox *o)
{
	return o->tail - o->taken;
}

const struct outbox_entry *outbox_take(struct outbox *o)
{
	return o->taken == o->tail ? NULL : entry(o, o->taken++);
}

uint32_t outbox_done(struct outbox *o)
{
	return entry(o, o->head++)->from;
}
