/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/rates.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/field/metric.h"

static bool is_same_object(const struct field_object *obj, const char *const *keys,
			   const struct ctl_record *a, const struct ctl_record *b)
{
	for (unsigned i = 0; i < METRIC_LABELS && keys[i]; i++) {
		const struct field *f = field_find(obj, keys[i]);

		if (memcmp((const char *)&a->status + f->offset,
			   (const char *)&b->status + f->offset, f->size) != 0)
			return false;
	}
	return true;
}

/* The same object in the earlier records, or NULL. */
static const struct ctl_record *find_earlier(const struct field_object *obj,
					     const struct ctl_record *rec,
					     const struct query_reply *before)
{
	const char *const *keys = metric_labels(obj->name);

	for (size_t i = 0; i < before->n; i++)
		if (!keys || is_same_object(obj, keys, rec, &before->recs[i]))
			return &before->recs[i];
	return NULL;
}

static uint64_t counter_value(const struct field *f, const struct ctl_record *rec)
{
	uint64_t v = 0;

	if (f->size == sizeof(v))
		memcpy(&v, (const char *)&rec->status + f->offset, sizeof(v));
	return v;
}

static void make_rates(const struct field_object *obj, struct ctl_record *rec,
		       const struct ctl_record *before, double seconds)
{
	for (unsigned i = 0; i < obj->nfields; i++) {
		const struct field *f = &obj->fields[i];
		uint64_t v, old;

		if (f->size != sizeof(v) || !metric_is_counter(obj, f))
			continue;
		v = counter_value(f, rec);
		old = before ? counter_value(f, before) : v;
		v = v > old ? (uint64_t)((double)(v - old) / seconds + 0.5) : 0;
		memcpy((char *)&rec->status + f->offset, &v, sizeof(v));
	}
}

void rates_apply(const struct field_object *obj, struct query_reply *now,
		 struct query_reply *before, double seconds)
{
	struct ctl_record *copy = NULL;

	if (now->n)
		copy = reallocarray(NULL, now->n, sizeof(*copy));
	if (copy)
		memcpy(copy, now->recs, now->n * sizeof(*copy));
	for (size_t i = 0; before->recs && i < now->n; i++)
		make_rates(obj, &now->recs[i], find_earlier(obj, &now->recs[i], before), seconds);
	free(before->recs);
	*before = (struct query_reply){.recs = copy, .n = copy ? now->n : 0};
}
