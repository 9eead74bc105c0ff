/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/worker.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MANY = 64, TRIM_MS = 1000 };

/* free() gives back only the end of the heap. */
static void trim_heap(struct timer *t)
{
	struct worker *w = list_entry(t, struct worker, trim);

	w->freed = 0;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void worker_freed(struct worker *w)
{
	if (++w->freed == MANY)
		timer_set(&w->timers, &w->trim, w->now_ms + TRIM_MS);
}

void worker_init(struct worker *w, struct daemon *d, uint32_t max_assocs)
{
	*w = (struct worker){.daemon = d};
	block_pool_open(&w->pool);
	idtab_init(&w->assocs, max_assocs);
	for (unsigned i = 0; i < WORKER_BUCKETS; i++) {
		list_init(&w->by_peer[i]);
		list_init(&w->by_id[i]);
		list_init(&w->datagrams[i]);
	}
	list_init(&w->ports);
	list_init(&w->polled);
	list_init(&w->active);
	list_init(&w->served);
	drr_init(&w->users, NULL);
	drr_init(&w->others, &w->users);
	drr_init(&w->requests, NULL);
	drr_init(&w->bells, NULL);
	list_init(&w->dirty_cqs);
	list_init(&w->notice_clients);
	list_init(&w->low_srqs);
	list_init(&w->dirty_async);
	list_init(&w->agents);
	list_init(&w->unmappings);
	list_init(&w->faulty);
	timer_init(&w->trim, trim_heap);
	journal_init(&w->journal, &w->timers);
	log_limit_init(&w->client_log, &w->timers, "clients");
	log_limit_init(&w->socket_log, &w->timers, "the socket");
}

void worker_deinit(struct worker *w)
{
	journal_deinit(&w->journal);
	log_limit_deinit(&w->client_log);
	log_limit_deinit(&w->socket_log);
	timer_cancel(&w->timers, &w->trim);
	idtab_deinit(&w->assocs);
	block_pool_close(&w->pool);
}
