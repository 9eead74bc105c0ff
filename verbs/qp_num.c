/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/qp_num.h"

#include <errno.h>
#include <pthread.h>

/* A hash table with linear probing. Entries are cleared, never removed, so that those behind them
 * are found. 0 is no number of libddpclient. */
enum { SIZE = 16384 };

struct entry {
	uint32_t ddp;
	uint32_t ibv; /* the same number: cleared */
};

static struct entry table[SIZE];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static unsigned place(uint32_t ddp)
{
	return (ddp * UINT32_C(2654435761) >> 16) % SIZE;
}

/* The entry of this number, or NULL. */
static struct entry *find(uint32_t ddp)
{
	unsigned i = place(ddp);

	for (unsigned n = 0; n < SIZE && table[i].ddp != 0; n++, i = (i + 1) % SIZE)
		if (table[i].ddp == ddp)
			return &table[i];
	return NULL;
}

/* One that was never set, or is cleared. NULL: the table is full. */
static struct entry *find_free(uint32_t ddp)
{
	unsigned i = place(ddp);

	for (unsigned n = 0; n < SIZE; n++, i = (i + 1) % SIZE)
		if (table[i].ddp == table[i].ibv)
			return &table[i];
	return NULL;
}

int qp_num_set(uint32_t ddp, uint32_t ibv)
{
	struct entry *e;

	pthread_rwlock_wrlock(&lock);
	e = find(ddp);
	if (!e)
		e = find_free(ddp);
	if (e)
		*e = (struct entry){ddp, ibv};
	pthread_rwlock_unlock(&lock);
	return e ? 0 : ENOMEM;
}

void qp_num_clear(uint32_t ddp)
{
	qp_num_set(ddp, ddp);
}

uint32_t qp_num_ibv(uint32_t ddp)
{
	const struct entry *e;
	uint32_t ret;

	pthread_rwlock_rdlock(&lock);
	e = find(ddp);
	ret = e ? e->ibv : ddp;
	pthread_rwlock_unlock(&lock);
	return ret;
}
