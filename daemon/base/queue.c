/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/queue.h"

#include <string.h>

static int pop_entry(struct ring *r, void *ret, size_t cap)
{
	int n = ring_avail(r);

	if (n == 0)
		return QUEUE_E_EMPTY;
	if (n < 0)
		return QUEUE_E_BROKEN;
	memcpy(ret, ring_peek(r), r->entry_size < cap ? r->entry_size : cap);
	ring_release(r, 1);
	return QUEUE_E_OK;
}

int queue_pop_send(struct ring *sq, struct wqe_send *ret)
{
	return pop_entry(sq, ret, sizeof(*ret));
}

int queue_pop_recv(struct ring *rq, struct wqe_recv *ret)
{
	return pop_entry(rq, ret, sizeof(*ret));
}

uint32_t queue_waiting(const struct ring *r)
{
	struct ring now = *r;
	int n;

	now.theirs = now.mine;
	n = ring_avail(&now);
	return n > 0 ? (uint32_t)n : 0;
}
