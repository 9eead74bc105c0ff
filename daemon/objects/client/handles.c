/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/client/handles.h"

#include <errno.h>
#include <stddef.h>

#include "daemon/objects/client/client.h"

static const struct {
	size_t table; /* in struct handles */
	const char *words;
} kinds[] = {
#define X(type, table, words) [HANDLES_##type] = {offsetof(struct handles, table), words},
	HANDLES(X)
#undef X
};

void *handles_find(const struct client *c, enum handles_kind kind, uint32_t handle,
		   struct reply *rep)
{
	const struct idtab *table = (const void *)((const char *)&c->handles + kinds[kind].table);
	void *object = idtab_get(table, handle);

	if (!object)
		reply_violation(rep, ENOENT, "%s 0x%x: unknown handle", kinds[kind].words, handle);
	return object;
}
