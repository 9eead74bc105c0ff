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

static struct number *find_number(const struct worker *w, uint32_t value)
{
	list_foreach (it, &w->datagrams[value % WORKER_BUCKETS]) {
		struct number *n = list_entry(it, struct number, link);

		if (n->value == value)
			return n;
	}
	return NULL;
}

uint32_t numbers_next(struct worker *w)
{
	uint32_t n = w->last_datagram ? number_after(w->last_datagram) : first_number(w);

	while (find_number(w, n))
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

static void link_number(struct worker *w, struct number *n, uint32_t value, struct datagram *to)
{
	n->value = value;
	n->to = to;
	list_add_tail(&w->datagrams[value % WORKER_BUCKETS], &n->link);
}

void numbers_add(struct worker *w, struct datagram *d)
{
	link_number(w, &d->number, d->number.value, d);
}

void numbers_del(struct datagram *d)
{
	list_del(&d->number.link);
	list_del(&d->first.link);
}

bool numbers_take(struct worker *w, struct datagram *d, struct datagram *from)
{
	if (!list_linked(&from->number.link))
		return false;
	if (!list_linked(&d->first.link))
		link_number(w, &d->first, d->number.value, NULL);
	list_del(&d->number.link);
	list_del(&from->number.link);
	link_number(w, &d->number, from->number.value, d);
	return true;
}

uint32_t numbers_reach(const struct datagram *d)
{
	return list_linked(&d->number.link) && d->number.to == d ? d->number.value : 0;
}

struct datagram *numbers_find(const struct worker *w, uint32_t number)
{
	const struct number *n = find_number(w, number);

	return n ? n->to : NULL;
}
