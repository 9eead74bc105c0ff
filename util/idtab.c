/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/idtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct idtab_slot {
	void *obj;
	uint32_t next_free; /* slot + 1, or 0 */
	uint16_t gen;
};

static uint32_t slot_index(uint32_t id)
{
	return (id & 0xffff) - 1;
}

void idtab_init(struct idtab *t, uint32_t max)
{
	*t = (struct idtab){.max = max < 65535 ? max : 65535};
}

void idtab_allow(struct idtab *t, uint32_t max)
{
	if (max > 65535)
		max = 65535;
	if (max > t->max)
		t->max = max;
}

void idtab_deinit(struct idtab *t)
{
	free(t->slots);
	idtab_init(t, t->max);
}

static int add_slots(struct idtab *t)
{
	uint32_t size = t->size ? t->size * 2 : 16;
	struct idtab_slot *slots;

	if (t->size == t->max)
		return IDTAB_E_FULL;
	if (size > t->max)
		size = t->max;
	slots = realloc(t->slots, size * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots + t->size, 0, (size - t->size) * sizeof(*slots));
	for (uint32_t i = size; i-- > t->size;) {
		slots[i].next_free = t->free1;
		t->free1 = i + 1;
	}
	t->slots = slots;
	t->size = size;
	return 0;
}

int idtab_add(struct idtab *t, void *obj, uint32_t *ret_id)
{
	struct idtab_slot *s;
	int r;

	if (t->free1 == 0) {
		r = add_slots(t);
		if (r)
			return r;
	}
	s = &t->slots[t->free1 - 1];
	*ret_id = (uint32_t)s->gen << 16 | t->free1;
	t->free1 = s->next_free;
	s->obj = obj;
	t->used++;
	return 0;
}

static struct idtab_slot *used_slot(const struct idtab *t, uint32_t id)
{
	uint32_t i = slot_index(id);

	if ((id & 0xffff) == 0 || i >= t->size)
		return NULL;
	if (!t->slots[i].obj || t->slots[i].gen != id >> 16)
		return NULL;
	return &t->slots[i];
}

void *idtab_get(const struct idtab *t, uint32_t id)
{
	const struct idtab_slot *s = used_slot(t, id);

	return s ? s->obj : NULL;
}

void *idtab_at(const struct idtab *t, uint32_t slot)
{
	return slot < t->size ? t->slots[slot].obj : NULL;
}

void *idtab_del(struct idtab *t, uint32_t id)
{
	struct idtab_slot *s = used_slot(t, id);
	void *obj;

	if (!s)
		return NULL;
	obj = s->obj;
	s->obj = NULL;
	s->gen++;
	s->next_free = t->free1;
	t->free1 = slot_index(id) + 1;
	t->used--;
	return obj;
}

void *idtab_next(const struct idtab *t, uint32_t *pos)
{
	while (*pos < t->size) {
		void *obj = t->slots[(*pos)++].obj;

		if (obj)
			return obj;
	}
	return NULL;
}
