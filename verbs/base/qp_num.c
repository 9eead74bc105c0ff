/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/qp_num.h"

#include <errno.h>
#include <stdbool.h>

#include "verbs/base/fork.h"

/*
 * A hash table with linear probing. An entry that is removed leaves no gap between another one and
 * the slot where its look-up begins: entries after it move back. A reader may miss one that moves
 * meanwhile, so it looks again, with the lock, if an entry was removed since it began. 0 is not a
 * number of libddpclient.
 */

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

/* The entry of this number, or 0. ret: where it is or would be; QP_NUM_SIZE: the table is full. */
static uint64_t find_number(const struct qp_nums *t, uint32_t ddp, unsigned *ret)
{
	unsigned i = first_slot(ddp);
	uint64_t e;

	for (unsigned n = 0; n < QP_NUM_SIZE; n++, i = (i + 1) % QP_NUM_SIZE) {
		e = __atomic_load_n(&t->entry[i], __ATOMIC_ACQUIRE);
		if (e == 0 || ddp_of(e) == ddp) {
			*ret = i;
			return e;
		}
	}
	*ret = QP_NUM_SIZE;
	return 0;
}

/* A reader that sees the entry sees the changes before it. */
static void store_entry(struct qp_nums *t, unsigned i, uint64_t e)
{
	__atomic_store_n(&t->entry[i], e, __ATOMIC_RELEASE);
}

int qp_num_set(struct qp_nums *t, uint32_t ddp, uint32_t ibv)
{
	unsigned i;

	pthread_mutex_lock(&lock);
	find_number(t, ddp, &i);
	if (i < QP_NUM_SIZE)
		store_entry(t, i, entry_of(ddp, ibv));
	pthread_mutex_unlock(&lock);
	return i < QP_NUM_SIZE ? 0 : ENOMEM;
}

/* Slots from one to another, where the table begins again after its end. */
static unsigned distance(unsigned from, unsigned to)
{
	return (to + QP_NUM_SIZE - from) % QP_NUM_SIZE;
}

/* An entry after the gap moves there unless its look-up begins after the gap. */
static void close_gap(struct qp_nums *t, unsigned gap)
{
	unsigned i = gap;

	for (unsigned n = 1; n < QP_NUM_SIZE; n++) {
		uint64_t e;

		i = (i + 1) % QP_NUM_SIZE;
		e = t->entry[i];
		if (e == 0)
			break;
		if (distance(first_slot(ddp_of(e)), i) < distance(gap, i))
			continue;
		store_entry(t, gap, e);
		gap = i;
	}
	store_entry(t, gap, 0);
}

void qp_num_clear(struct qp_nums *t, uint32_t ddp)
{
	unsigned i;

	pthread_mutex_lock(&lock);
	if (find_number(t, ddp, &i)) {
		__atomic_store_n(&t->removals, t->removals + 1, __ATOMIC_RELAXED);
		close_gap(t, i);
		__atomic_store_n(&t->removals, t->removals + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

void qp_num_void(struct qp_nums *t, uint32_t ddp)
{
	qp_num_set(t, ddp, QP_NUM_VOID);
}

/* During a removal the number is odd. */
static bool find_without_lock(const struct qp_nums *t, uint32_t ddp, uint64_t *ret)
{
	const uint32_t removals = __atomic_load_n(&t->removals, __ATOMIC_ACQUIRE);
	unsigned i;

	*ret = find_number(t, ddp, &i);
	return removals % 2 == 0 && __atomic_load_n(&t->removals, __ATOMIC_RELAXED) == removals;
}

uint32_t qp_num_ibv(const struct qp_nums *t, uint32_t ddp)
{
	unsigned i;
	uint64_t e;

	if (!find_without_lock(t, ddp, &e)) {
		pthread_mutex_lock(&lock);
		e = find_number(t, ddp, &i);
		pthread_mutex_unlock(&lock);
	}
	return e ? (uint32_t)e : ddp;
}
