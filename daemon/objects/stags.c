/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/stags.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/stag.h"

struct stags {
	struct stag_table *table;
	stags_random_fn *random;
	uint32_t drawn[64]; /* random values that are not used yet */
	unsigned left;
};

int stags_new(uint32_t max, stags_random_fn *random, struct stags **ret)
{
	struct stags *s = calloc(1, sizeof(*s));
	void *mem = calloc(1, stag_table_size(max));

	if (!s || !mem) {
		free(s);
		free(mem);
		return -ENOMEM;
	}
	s->table = stag_table_init(mem, max);
	s->random = random;
	*ret = s;
	return 0;
}

struct stags *stags_free(struct stags *s)
{
	if (!s)
		return NULL;
	free(s->table);
	free(s);
	return NULL;
}

struct stag_table *stags_table(const struct stags *s)
{
	return s->table;
}

static int refill(struct stags *s)
{
	ssize_t n;

	do
		n = s->random(s->drawn, sizeof(s->drawn), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(s->drawn))
		return n < 0 ? -errno : -EIO;
	s->left = sizeof(s->drawn) / sizeof(s->drawn[0]);
	return 0;
}

/* Not below 256: the owner may change the key, and no value may become 0. */
static int draw(struct stags *s, uint32_t *ret)
{
	do {
		int r = s->left == 0 ? refill(s) : 0;

		if (r)
			return r;
		*ret = s->drawn[--s->left];
	} while (*ret <= STAG_KEY);
	return 0;
}

int stags_add(struct stags *s, struct stag_region *r)
{
	struct stag_region added = *r;
	int e;

	do {
		e = draw(s, &added.stag);
		if (e)
			return e;
		e = stag_add(s->table, &added);
	} while (e == STAG_ADD_E_TAKEN);
	if (e)
		return -ENOSPC;
	r->stag = added.stag;
	return 0;
}

const char *stags_str(int r)
{
	return r == -ENOSPC ? "the daemon's table of STags is full"
			    : "the system has no random numbers for an STag";
}
