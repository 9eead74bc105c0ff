/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/samples.h"

#include <errno.h>
#include <stdlib.h>

int samples_add(struct samples *s, double v)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		double *bigger = reallocarray(s->v, room, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		s->v = bigger;
		s->room = room;
	}
	s->v[s->n++] = v;
	return 0;
}

void samples_free(struct samples *s)
{
	free(s->v);
	*s = (struct samples){0};
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void samples_summarize(struct samples *s, struct samples_summary *ret)
{
	double sum = 0;

	*ret = (struct samples_summary){.n = s->n};
	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof(*s->v), by_value);
	for (size_t i = 0; i < s->n; i++)
		sum += s->v[i];
	ret->min = s->v[0];
	ret->max = s->v[s->n - 1];
	ret->mean = sum / (double)s->n;
	ret->median = (s->v[(s->n - 1) / 2] + s->v[s->n / 2]) / 2;
	ret->p99 = s->v[s->n - 1 - s->n / 100];
	ret->p999 = s->v[s->n - 1 - s->n / 1000];
}
