/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/queue.h"

#include "util/checked.h"
#include "util/minmax.h"
#include "util/words.h"

enum { WORD = sizeof(uint64_t) };

/* QUEUE_E_OK: there is one. */
static int has_entry(struct ring *r)
{
	int n = ring_avail(r);

	if (n == 0)
		return QUEUE_E_EMPTY;
	return n > 0 ? QUEUE_E_OK : QUEUE_E_BROKEN;
}

/* Copies an entry: its head, then as much of the rest as the copied head says is used. */
static void copy_send(struct wqe_send *to, const struct ring *r)
{
	const struct wqe_send *from = ring_peek(r);
	size_t most = min_size(r->entry_size, sizeof(*to)) - WQE_SEND_HEAD, used;

	words_copy(to, from, WQE_SEND_HEAD);
	used = to->flags & WQE_INLINE ? to->inline_len : to->num_sge * sizeof(to->sge[0]);
	words_copy(to->data, from->data, checked_round_up(min_size(used, most), WORD));
}

static void copy_recv(struct wqe_recv *to, const struct ring *r)
{
	const struct wqe_recv *from = ring_peek(r);
	size_t most = min_size(r->entry_size, sizeof(*to)) - WQE_RECV_HEAD;

	words_copy(to, from, WQE_RECV_HEAD);
	words_copy(to->sge, from->sge, min_size(to->num_sge * sizeof(to->sge[0]), most));
}

int queue_pop_send(struct ring *sq, struct wqe_send *ret)
{
	int r = has_entry(sq);

	if (r != QUEUE_E_OK)
		return r;
	copy_send(ret, sq);
	ring_release(sq, 1);
	return QUEUE_E_OK;
}

int queue_pop_recv(struct ring *rq, struct wqe_recv *ret)
{
	int r = has_entry(rq);

	if (r != QUEUE_E_OK)
		return r;
	copy_recv(ret, rq);
	ring_release(rq, 1);
	return QUEUE_E_OK;
}

uint32_t queue_waiting(const struct ring *r)
{
	struct ring now = *r;
	int n;

	now.theirs = now.mine;
	n = ring_avail(&now);
	return n > 0 ? (uint32_t)n : 0;
}
