/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/datagrams/numbers.h"

#include <stddef.h>
#include <sys/random.h>

#include "daemon/base/state.h"
#include "daemon/base/worker.h"
#include "daemon/objects/datagrams/datagram.h"

enum { NUMBERS = NUMBERS_LAST - NUMBERS_FIRST + 1 };

/* Each daemon begins elsewhere: a sender that knows a number of the one before rarely
 * finds another queue pair. */
static uint32_t first_number(const struct worker *w)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)w->now_ms;
	return NUMBERS_FIRST + random % NUMBERS;
}

static uint32_t number_after(uint32_t number)
{
	return number < NUMBERS_LAST ? number + 1 : NUMBERS_FIRST;
}

uint32_t numbers_next(struct worker *w)
{
	uint32_t n = w->last_datagram ? number_after(w->last_datagram) : first_number(w);

	while (numbers_find(w, n))
		n = number_after(n);
	w->last_datagram = n;
	return n;
}

uint32_t numbers_of_session(struct daemon *d)
{
	if (++d->last_qp == NUMBERS_FIRST)
		d->last_qp = NUMBERS_ABOVE;
	return d->last_qp;
}

void numbers_add(struct worker *w, struct datagram *d)
{
	list_add_tail(&w->datagrams[d->number % WORKER_BUCKETS], &d->by_number);
}

void numbers_del(struct datagram *d)
{
	list_del(&d->by_number);
}

struct datagram *numbers_find(const struct worker *w, uint32_t number)
{
	list_foreach (it, &w->datagrams[number % WORKER_BUCKETS]) {
		struct datagram *d = list_entry(it, struct datagram, by_number);

		if (d->number == number)
			return d;
	}
	return NULL;
}
