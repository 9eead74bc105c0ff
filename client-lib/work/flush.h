/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon leaves undone when it ends. The library keeps the wr_id of each request until the
 * daemon has counted it as complete (ring_done() in ipc/ring.h), so that the program gets a
 * completion for each one that it has posted, also after the daemon was killed.
 */
#ifndef DDP_FLUSH_H
#define DDP_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/context/ddp_impl.h"

/* Makes room for the wr_id of the next entry of the queue, whose lock is held. Returns 0, or
 * -ENOMEM with the reason set. */
int flush_make_room(struct queue *q, const char *call);

/* Keeps the wr_id of the next entry, before it is reserved. The queue's lock is held. Returns like
 * flush_make_room(). */
static inline int flush_keep(struct queue *q, const char *call, uint64_t wr_id)
{
	uint32_t at = q->ring.mine;

	if (!q->counted)
		return 0;
	if (at - q->done >= q->ids_size) {
		int r = flush_make_room(q, call);

		if (r)
			return r;
	}
	q->ids[at & (q->ids_size - 1)] = wr_id;
	return 0;
}

/* Takes up to n completions with DDP_WC_FLUSH_ERR for requests that the daemon has left. The CQ's
 * lock is held, the daemon has ended, and the ring is empty. Returns how many, 0 at the end. */
int flush_take(struct ddp_cq *cq, int n, struct ddp_wc *wc);

#endif
