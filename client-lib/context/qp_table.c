/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/context/qp_table.h"

#include <errno.h>
#include <stdlib.h>

#include "client-lib/context/ddp_impl.h"

enum { FIRST_SIZE = 16 };

/* The daemon counts QPs, so the low bits of the numbers spread them evenly. */
static struct ddp_qp **chain_of(const struct qp_table *t, uint32_t num)
{
	return &t->buckets[num & (t->size - 1)];
}

static void insert(struct qp_table *t, struct ddp_qp *qp)
{
	struct ddp_qp **head = chain_of(t, qp->num);

	qp->next_num = *head;
	*head = qp;
}

/* Returns 0 or -ENOMEM, with the table unchanged. */
static int grow_table(struct qp_table *t)
{
	struct qp_table bigger = {.size = t->size ? 2 * t->size : FIRST_SIZE, .used = t->used};

	bigger.buckets = calloc(bigger.size, sizeof(struct ddp_qp *));
	if (!bigger.buckets)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->size; i++) {
		struct ddp_qp *qp = t->buckets[i];

		while (qp) {
			struct ddp_qp *next = qp->next_num;

			insert(&bigger, qp);
			qp = next;
		}
	}
	free(t->buckets);
	*t = bigger;
	return 0;
}

int qp_table_add(struct qp_table *t, struct ddp_qp *qp)
{
	int r = t->used == t->size ? grow_table(t) : 0;

	if (r)
		return r;
	insert(t, qp);
	t->used++;
	return 0;
}

void qp_table_del(struct qp_table *t, struct ddp_qp *qp)
{
	struct ddp_qp **at = chain_of(t, qp->num);

	while (*at != qp)
		at = &(*at)->next_num;
	*at = qp->next_num;
	t->used--;
}

struct ddp_qp *qp_table_find(const struct qp_table *t, uint32_t num)
{
	struct ddp_qp *qp = t->size ? *chain_of(t, num) : NULL;

	while (qp && qp->num != num)
		qp = qp->next_num;
	return qp;
}

void qp_table_deinit(struct qp_table *t)
{
	free(t->buckets);
}
