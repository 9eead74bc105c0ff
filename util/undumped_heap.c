/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/undumped_heap.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "util/minmax.h"
#include "util/undumped.h"

enum {
	SMALLEST = 32, /* bytes of a block, with its head */
	LARGEST = 65536,
	SIZES = 23, /* 32, 48, 64, 96, 128, 192 ... 65536 */
	ALONE = SIZES,
	CHUNK = 262144,
};

/* Before the bytes of its owner. */
struct head {
	size_t size; /* of the block, with its head */
	unsigned kind;
	struct head *next; /* of free ones; the owner's bytes while it is in use */
};

enum { HEAD = offsetof(struct head, next) };

_Static_assert(HEAD % 16 == 0 && sizeof(struct head) <= SMALLEST, "aligned, and fits");

static struct {
	pthread_mutex_t lock;
	struct head *free[SIZES];
	uint8_t *at; /* the rest of a chunk */
	size_t left;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t size_of(unsigned kind)
{
	size_t power = (size_t)SMALLEST << kind / 2;

	return kind % 2 ? power + power / 2 : power;
}

static unsigned find_kind(size_t size)
{
	unsigned kind = 0;

	while (size_of(kind) < size)
		kind++;
	return kind;
}

/* The rest of a chunk that is too short for this block is not used any more. */
static struct head *cut_block(size_t size)
{
	struct head *h;

	if (heap.left < size) {
		uint8_t *chunk = undumped_map(CHUNK, 0);

		if (!chunk)
			return NULL;
		heap.at = chunk;
		heap.left = CHUNK;
	}
	h = (struct head *)(void *)heap.at;
	heap.at += size;
	heap.left -= size;
	return h;
}

static struct head *take_block(unsigned kind)
{
	struct head *h;

	pthread_mutex_lock(&heap.lock);
	h = heap.free[kind];
	if (h)
		heap.free[kind] = h->next;
	else
		h = cut_block(size_of(kind));
	pthread_mutex_unlock(&heap.lock);
	return h;
}

void *undumped_heap_alloc(size_t n)
{
	unsigned kind = ALONE;
	struct head *h;

	if (n > SIZE_MAX - HEAD)
		return NULL;
	n += HEAD;
	if (n > LARGEST) {
		h = undumped_map(n, 0);
	} else {
		kind = find_kind(n);
		n = size_of(kind);
		h = take_block(kind);
	}
	if (!h)
		return NULL;
	h->size = n;
	h->kind = kind;
	return (uint8_t *)h + HEAD;
}

static struct head *head_of(void *p)
{
	return (struct head *)(void *)((uint8_t *)p - HEAD);
}

void undumped_heap_free(void *p)
{
	struct head *h = p ? head_of(p) : NULL;

	if (!h)
		return;
	if (h->kind == ALONE) {
		undumped_unmap(h, h->size);
		return;
	}
	explicit_bzero(p, h->size - HEAD);
	pthread_mutex_lock(&heap.lock);
	h->next = heap.free[h->kind];
	heap.free[h->kind] = h;
	pthread_mutex_unlock(&heap.lock);
}

void *undumped_heap_resize(void *p, size_t n)
{
	size_t has = p ? head_of(p)->size - HEAD : 0;
	void *to;

	if (p && n <= has && n > 0)
		return p;
	to = n > 0 || !p ? undumped_heap_alloc(n) : NULL;
	if (to && p)
		memcpy(to, p, min_u64(n, has));
	if (to || n == 0)
		undumped_heap_free(p);
	return to;
}
