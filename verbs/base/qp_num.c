/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/qp_num.h"

#include <errno.h>

#include "verbs/base/fork.h"

/* A hash table with linear probing. Entries are cleared, never removed, so that those after them
 * are found. 0 is not a number of libddpclient. */

static pthread_mutex_t lock = FORK_LOCK; /* of writers */

__attribute__((constructor)) static void hold_writers_lock(void)
{
	fork_hold(FORK_NUMBERS, &lock);
}

static uint64_t entry_of(uint32_t ddp, uint32_t ibv)
{
	return (uint64_t)ddp << 32 | ibv;
}

static uint32_t ddp_of(uint64_t entry)
{
	return (uint32_t)(entry >> 32);
}

static unsigned first_slot(uint32_t ddp)
{
	return (ddp * UINT32_C(2654435761) >> 16) % QP_NUM_SIZE;
}

/* The entry of this number, or 0. ret: where it is. */
static uint64_t find_number(const struct qp_nums *t, uint32_t ddp, unsigned *ret)
{
	unsigned i = first_slot(ddp);
	uint64_t e;

	for (unsigned n = 0; n < QP_NUM_SIZE; n++, i = (i + 1) % QP_NUM_SIZE) {
		e = __atomic_load_n(&t->entry[i], __ATOMIC_RELAXED);
		if (e == 0 || ddp_of(e) == ddp) {
			*ret = i;
			return e;
		}
	}
	return 0;
}

/* The slot of an entry that was never set, or is cleared: both numbers are the same. QP_NUM_SIZE:
 * the table is full. */
static unsigned find_free_slot(const struct qp_nums *t, uint32_t ddp)
{
	unsigned i = first_slot(ddp);

	for (unsigned n = 0; n < QP_NUM_SIZE; n++, i = (i + 1) % QP_NUM_SIZE)
		if (ddp_of(t->entry[i]) == (uint32_t)t->entry[i])
			return i;
	return QP_NUM_SIZE;
}

int qp_num_set(struct qp_nums *t, uint32_t ddp, uint32_t ibv)
{
	unsigned i = QP_NUM_SIZE;

	pthread_mutex_lock(&lock);
	if (find_number(t, ddp, &i) == 0)
		i = find_free_slot(t, ddp);
	if (i < QP_NUM_SIZE)
		__atomic_store_n(&t->entry[i], entry_of(ddp, ibv), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	return i < QP_NUM_SIZE ? 0 : ENOMEM;
}

void qp_num_clear(struct qp_nums *t, uint32_t ddp)
{
	qp_num_set(t, ddp, ddp);
}

void qp_num_void(struct qp_nums *t, uint32_t ddp)
{
	qp_num_set(t, ddp, QP_NUM_VOID);
}

uint32_t qp_num_ibv(const struct qp_nums *t, uint32_t ddp)
{
	unsigned i;
	const uint64_t e = find_number(t, ddp, &i);

	return e ? (uint32_t)e : ddp;
}
