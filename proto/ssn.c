/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ssn.h"

#include <assert.h>

#include "util/checked.h"

enum { LINE = 64 };

static_assert(sizeof(struct ssn_rec) <= LINE, "a record is one cache line");

static const uint32_t IN_USE = UINT32_C(1) << 31; /* in ssn_rec.next, beside the index */

/*
 * A hash table with chains. Consecutive numbers of a stream use consecutive buckets, and there are
 * as many buckets as numbers in a window, so a bucket holds at most one record of each stream,
 * whatever numbers a peer chooses.
 *
 * Indexes are stored plus one, so that zeroed memory is empty. Records at or above
 * `fresh` were never used since the store was last empty; they are not in the free list.
 */
struct ssn_store {
	uint16_t *bucket;
	struct ssn_rec *rec;
	uint32_t mask;
	uint32_t max;
	uint32_t used;
	uint32_t fresh;
	uint32_t free1;
};

static uint32_t buckets(uint32_t max)
{
	assert(max <= UINT16_MAX);
	return max <= SSN_WINDOW ? SSN_WINDOW : 2 * SSN_WINDOW;
}

size_t ssn_store_size(uint32_t max)
{
	return sizeof(struct ssn_store) + buckets(max) * sizeof(uint16_t) + LINE +
	       max * sizeof(struct ssn_rec);
}

struct ssn_store *ssn_store_init(void *mem, uint32_t max)
{
	struct ssn_store *s = mem;

	*s = (struct ssn_store){.mask = buckets(max) - 1, .max = max};
	s->bucket = (uint16_t *)(void *)(s + 1);
	s->rec = (struct ssn_rec *)checked_round_up((uintptr_t)(s->bucket + buckets(max)), LINE);
	return s;
}

static uint16_t *bucket_of(const struct ssn_store *s, uint16_t sid, uint16_t ssn)
{
	/* The odd factor separates streams that are at the same number. */
	return &s->bucket[(ssn + sid * UINT32_C(40503)) & s->mask];
}

static struct ssn_rec *rec_of(const struct ssn_store *s, uint32_t next)
{
	uint32_t i1 = next & ~IN_USE;

	return i1 ? &s->rec[i1 - 1] : NULL;
}

static struct ssn_rec *take(struct ssn_store *s)
{
	struct ssn_rec *r = rec_of(s, s->free1);

	if (r)
		s->free1 = r->next;
	else if (s->fresh < s->max)
		r = &s->rec[s->fresh++];
	return r;
}

struct ssn_rec *ssn_store_add(struct ssn_store *s, uint16_t sid, uint16_t ssn)
{
	uint16_t *head = bucket_of(s, sid, ssn);
	struct ssn_rec *r = take(s);

	if (!r)
		return NULL;
	*r = (struct ssn_rec){.next = *head | IN_USE, .sid = sid, .ssn = ssn};
	*head = (uint16_t)(r - s->rec + 1);
	s->used++;
	return r;
}

struct ssn_rec *ssn_store_find(struct ssn_store *s, uint16_t sid, uint16_t ssn)
{
	struct ssn_rec *r = rec_of(s, *bucket_of(s, sid, ssn));

	while (r && (r->sid != sid || r->ssn != ssn))
		r = rec_of(s, r->next);
	return r;
}

static void unlink_rec(struct ssn_store *s, const struct ssn_rec *r)
{
	uint16_t *head = bucket_of(s, r->sid, r->ssn);
	struct ssn_rec *before = rec_of(s, *head);

	if (before == r) {
		*head = (uint16_t)(r->next & ~IN_USE);
		return;
	}
	while (rec_of(s, before->next) != r)
		before = rec_of(s, before->next);
	before->next = r->next;
}

void ssn_store_del(struct ssn_store *s, struct ssn_rec *r)
{
	assert(r->next & IN_USE);
	unlink_rec(s, r);
	r->next = s->free1;
	s->free1 = (uint32_t)(r - s->rec + 1);
	if (--s->used == 0) {
		/* Start again at the first record, so that a past burst does not slow down later
		 * drops. */
		s->fresh = 0;
		s->free1 = 0;
	}
}

void ssn_store_drop(struct ssn_store *s, uint16_t sid, uint16_t first)
{
	uint32_t left = s->used;

	for (uint32_t i = 0; left > 0 && i < s->fresh; i++) {
		struct ssn_rec *r = &s->rec[i];

		if (!(r->next & IN_USE))
			continue;
		left--;
		if (r->sid == sid && ssn_diff(r->ssn, first) >= 0)
			ssn_store_del(s, r);
	}
}
