/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of early messages from the heap, without a limit. */
#ifndef TESTS_LIB_EARLY_MEMORY_H
#define TESTS_LIB_EARLY_MEMORY_H

#include <stdlib.h>

#include "proto/session/early_queue.h"

static inline void *early_memory_resize(void *user, void *p, uint32_t from, uint32_t to)
{
	(void)user;
	(void)from;
	if (to > 0)
		return realloc(p, to);
	free(p);
	return NULL;
}

static const struct early_memory early_memory = {early_memory_resize, NULL};

#endif
