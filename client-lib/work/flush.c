/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/work/flush.h"

#include <errno.h>
#include <stdlib.h>

#include "client-lib/base/reason.h"
#include "ipc/wqe.h"
#include "util/opcode.h"

enum { FIRST_IDS = 64 };

/* ---- keeping ---- */

/* The index behind the last entry that is complete, as the daemon says; at least the one it said
 * before. */
static uint32_t read_done(struct queue *q)
{
	uint32_t done = ring_done(&q->ring);

	return done - q->done <= q->ring.published - q->done ? done : q->done;
}

static int grow_ids(struct queue *q, const char *call)
{
	uint32_t before = q->ids_size, size = before ? before * 2 : FIRST_IDS;
	uint64_t *ids = malloc(size * sizeof(*ids));

	if (!ids)
		return reason_fail(-ENOMEM, "%s: out of memory", call);
	for (uint32_t i = q->done; i != q->ring.mine; i++)
		ids[i & (size - 1)] = q->ids[i & (before - 1)];
	free(q->ids);
	q->ids = ids;
	q->ids_size = size;
	return 0;
}

int flush_make_room(struct queue *q, const char *call)
{
	q->done = read_done(q);
	return q->ring.mine - q->done < q->ids_size ? 0 : grow_ids(q, call);
}

/* ---- after the end of the daemon ---- */

static bool is_of(const struct wqe_cqe *e, const struct cq_user *user)
{
	bool recv = opcode_has(e->opcode, OPCODE_COMPLETION);

	return e->qp_num == user->num && recv == user->recv;
}

/* The daemon counts an entry after its completion is in the ring: it may have been killed in
 * between. Only the last completion can be such a one. */
static uint32_t done_at_end(const struct ddp_cq *cq, const struct cq_user *user)
{
	uint32_t done = read_done(user->queue);
	const struct wqe_cqe last =
		*(const struct wqe_cqe *)ring_slot(&cq->ring, cq->ring.mine - 1);

	if (is_of(&last, user) && (int32_t)(last.index - done) > 0 &&
	    last.index - done <= user->queue->ring.mine - done)
		return last.index;
	return done;
}

/* Entries of the ring that were not overwritten have the opcode, unless the daemon changed them. */
static enum ddp_wc_opcode opcode_at(const struct cq_user *user, uint32_t index)
{
	const struct ring *ring = &user->queue->ring;
	const struct wqe_send *e = ring_slot(ring, index);
	const uint8_t op = e->opcode;

	if (user->recv)
		return DDP_WC_RECV;
	return ring->mine - index <= ring->size && op < WQE_OPCODE_COUNT ? (enum ddp_wc_opcode)op
									 : DDP_WC_SEND;
}

static int take_of_user(struct ddp_cq *cq, struct cq_user *user, int n, struct ddp_wc *wc)
{
	struct queue *q = user->queue;
	int got = 0;

	pthread_mutex_lock(&q->lock);
	if (!user->flushing && q->ids)
		q->done = done_at_end(cq, user);
	user->flushing = true;
	for (; got < n && q->ids && q->done != q->ring.mine; q->done++, got++)
		wc[got] = (struct ddp_wc){
			.wr_id = q->ids[q->done & (q->ids_size - 1)],
			.status = DDP_WC_FLUSH_ERR,
			.opcode = opcode_at(user, q->done),
			.qp_num = user->num,
			.err_kind = REASON_DAEMON_ENDED,
		};
	pthread_mutex_unlock(&q->lock);
	return got;
}

int flush_take(struct ddp_cq *cq, int n, struct ddp_wc *wc)
{
	int got = 0;

	list_foreach (it, &cq->users) {
		struct cq_user *user = list_entry(it, struct cq_user, link);

		if (got < n && user->queue)
			got += take_of_user(cq, user, n - got, wc + got);
	}
	return got;
}
