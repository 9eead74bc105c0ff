/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/ddp/ssn.h"

#include <assert.h>
#include <string.h>

enum { LINE = 64 };

static_assert(sizeof(struct ssn_rec) <= LINE, "a record is one cache line");

static const uint32_t IN_USE = UINT32_C(1) << 31; /* in ssn_rec.next, beside the index */
static const uint32_t INDEX = (UINT32_C(1) << 31) - 1;

/*
 * A hash table with chains. Consecutive numbers of a stream use consecutive buckets, and there are
 * as many buckets as numbers in a window, so a bucket holds at most one record of each stream,
 * whatever numbers a peer chooses.
 *
 * Indexes are stored plus one, so that zeroed memory is empty. Records at or above
 * `fresh` were never used since the store was last empty; they are not in the free list. Buckets
 * and records are in blocks, which go back when the store is empty.
 */
enum {
	BUCKETS = BLOCKS_SIZE / sizeof(uint16_t), /* of a block */
	RECS = BLOCKS_SIZE / LINE,
};

static uint32_t buckets(uint32_t max)
{
	assert(max <= UINT16_MAX);
	return max <= SSN_WINDOW ? SSN_WINDOW : 2 * SSN_WINDOW;
}

static uint32_t bucket_blocks(uint32_t max)
{
	return buckets(max) / BUCKETS;
}

static uint32_t rec_blocks(uint32_t max)
{
	return (max + RECS - 1) / RECS;
}

uint32_t ssn_store_blocks(uint32_t max)
{
	return bucket_blocks(max) + rec_blocks(max);
}

size_t ssn_store_size(uint32_t max)
{
	return ssn_store_blocks(max) * sizeof(uint8_t *) + bucket_blocks(max) * sizeof(uint16_t);
}

void ssn_store_init(struct ssn_store *s, struct blocks *pool, void *mem, uint32_t max)
{
	*s = (struct ssn_store){.pool = pool, .mask = buckets(max) - 1, .max = max};
	s->bucket = mem;
	s->rec = s->bucket + bucket_blocks(max);
	s->bucket_used = (uint16_t *)(void *)(s->rec + rec_blocks(max));
}

/* The bucket of a number, or NULL if its block has none in use. */
static uint16_t *bucket_of(const struct ssn_store *s, uint16_t sid, uint16_t ssn)
{
	/* The odd factor separates streams that are at the same number. */
	uint32_t i = (ssn + sid * UINT32_C(40503)) & s->mask;
	uint16_t *block = (uint16_t *)(void *)s->bucket[i / BUCKETS];

	return block ? &block[i % BUCKETS] : NULL;
}

/* NULL: the pool has no block left. */
static uint16_t *make_bucket(struct ssn_store *s, uint16_t sid, uint16_t ssn)
{
	uint32_t i = ((ssn + sid * UINT32_C(40503)) & s->mask) / BUCKETS;

	if (!s->bucket[i]) {
		uint8_t *block = blocks_take(s->pool);

		if (!block)
			return NULL;
		s->bucket[i] = memset(block, 0, BLOCKS_SIZE);
		s->bucket_used[s->buckets_used++] = (uint16_t)i;
	}
	return bucket_of(s, sid, ssn);
}

static struct ssn_rec *rec_at(const struct ssn_store *s, uint32_t i)
{
	return (struct ssn_rec *)(void *)(s->rec[i / RECS] + (size_t)(i % RECS) * LINE);
}

static struct ssn_rec *rec_of(const struct ssn_store *s, uint32_t next)
{
	uint32_t i1 = next & INDEX;

	return i1 ? rec_at(s, i1 - 1) : NULL;
}

/* The index of an unused record plus 1; 0: there is none. */
static uint32_t take_unused(struct ssn_store *s)
{
	uint32_t i1 = s->free1;

	if (i1) {
		s->free1 = rec_of(s, i1)->next;
		return i1;
	}
	if (s->fresh == s->max)
		return 0;
	if (s->fresh % RECS == 0) {
		uint8_t *block = blocks_take(s->pool);

		if (!block)
			return 0;
		s->rec[s->fresh / RECS] = block;
	}
	return ++s->fresh;
}

static void give_unused(struct ssn_store *s, uint32_t i1)
{
	rec_of(s, i1)->next = s->free1;
	s->free1 = i1;
}

void ssn_store_clear(struct ssn_store *s)
{
	while (s->buckets_used > 0) {
		uint8_t **block = &s->bucket[s->bucket_used[--s->buckets_used]];

		blocks_give(s->pool, *block);
		*block = NULL;
	}
	for (uint32_t n = rec_blocks(s->fresh); n > 0; n--)
		blocks_give(s->pool, s->rec[n - 1]);
	s->used = s->fresh = s->free1 = 0;
}

struct ssn_rec *ssn_store_add(struct ssn_store *s, uint16_t sid, uint16_t ssn)
{
	uint32_t i1 = take_unused(s);
	struct ssn_rec *r;
	uint16_t *head;

	if (!i1)
		return NULL;
	r = rec_of(s, i1);
	head = make_bucket(s, sid, ssn);
	if (!head) {
		give_unused(s, i1);
		if (s->used == 0)
			ssn_store_clear(s);
		return NULL;
	}
	*r = (struct ssn_rec){.next = *head | IN_USE, .own = (uint16_t)i1, .sid = sid, .ssn = ssn};
	*head = (uint16_t)i1;
	s->used++;
	return r;
}

struct ssn_rec *ssn_store_find(struct ssn_store *s, uint16_t sid, uint16_t ssn)
{
	const uint16_t *head = bucket_of(s, sid, ssn);
	struct ssn_rec *r = head ? rec_of(s, *head) : NULL;

	while (r && (r->sid != sid || r->ssn != ssn))
		r = rec_of(s, r->next);
	return r;
}

static void unlink_rec(struct ssn_store *s, const struct ssn_rec *r)
{
	uint16_t *head = bucket_of(s, r->sid, r->ssn);
	struct ssn_rec *before = rec_of(s, *head);

	if (before == r) {
		*head = (uint16_t)(r->next & INDEX);
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
	give_unused(s, r->own);
	if (--s->used == 0)
		ssn_store_clear(s);
}

void ssn_store_drop(struct ssn_store *s, uint16_t sid, uint16_t first)
{
	uint32_t left = s->used;

	for (uint32_t i = 0; left > 0 && i < s->fresh; i++) {
		struct ssn_rec *r = rec_at(s, i);

		if (!(r->next & IN_USE))
			continue;
		left--;
		if (r->sid == sid && ssn_diff(r->ssn, first) >= 0)
			ssn_store_del(s, r);
	}
}
