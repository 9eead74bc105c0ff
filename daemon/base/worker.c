/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/worker.h"

void worker_init(struct worker *w, struct daemon *d, uint32_t max_assocs)
{
	*w = (struct worker){.daemon = d};
	idtab_init(&w->assocs, max_assocs);
	list_init(&w->attentive);
	list_init(&w->active);
	list_init(&w->dirty_cqs);
	list_init(&w->low_srqs);
	list_init(&w->faulty);
}

void worker_deinit(struct worker *w)
{
	idtab_deinit(&w->assocs);
}
