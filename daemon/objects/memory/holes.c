/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/holes.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/mapping.h"
#include "ipc/memfd.h"
#include "util/minmax.h"
#include "util/span.h"

enum {
	BLOCK_SHIFT = 4,
	BLOCK = 1 << BLOCK_SHIFT, /* pages */
	KNOWN = 1 << 16,          /* blocks that can be remembered */
	UNIT_MAX = 512,           /* pages of a huge page */
	SAMPLE = 2048, /* twice the mean distance of accesses that are looked at all the same */
	USERS = 16,
	RECOUNT_MS = 1000,
};

/* A user whose memory had holes lately. */
struct holes_user {
	uid_t uid;
	bool used;
	bool punches; /* where pages had been seen */
	uint64_t recount_ms;
};

struct holes {
	uint64_t known[KNOWN]; /* number of a block << BLOCK | pages that are there, a bit each */
	uint64_t random;       /* which accesses are looked at: clients cannot know */
	uint32_t until_sample;
	unsigned page_shift;
	unsigned unit;      /* pages that one access to a hole may fill */
	void *mappings;     /* that are watched, a tree by addresses */
	struct list filled; /* those with charges */
	struct holes_user user[USERS];
	unsigned next_user; /* to be replaced */
};

/* Pages of a mapping that an access fills as a whole, and those in it that the access is to. */
struct stretch {
	uint8_t *p;
	unsigned n;
	unsigned skip, used;
	unsigned char there[UNIT_MAX];
};

/* Files in memory may be on huge pages, which one access fills as a whole. */
static bool huge_pages(void)
{
	char text[128] = "";
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");

	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	return strstr(text, "[always]") || strstr(text, "[within_size]") || strstr(text, "[force]");
}

static bool kernel_tells(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char there = 1;
	void *map;
	int fd;

	if (memfd_create_mapped("ddp-hole", page, &fd, &map))
		return false;
	if (mincore(map, page, &there) < 0)
		there = 1;
	munmap(map, page);
	close(fd);
	return !(there & 1);
}

int holes_new(ssize_t (*random)(void *, size_t, unsigned), struct holes **ret)
{
	struct holes *h;

	if (!kernel_tells())
		return HOLES_E_UNSEEN;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	if (random(&h->random, sizeof(h->random), 0) != (ssize_t)sizeof(h->random)) {
		free(h);
		return -EIO;
	}
	h->random |= 1;
	h->until_sample = SAMPLE;
	h->page_shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	h->unit = huge_pages() ? UNIT_MAX : 1;
	list_init(&h->filled);
	*ret = h;
	return 0;
}

void holes_free(struct holes *h)
{
	free(h);
}

/* ---- remembered pages ---- */

static uint64_t *place_of(struct holes *h, uint64_t block)
{
	return &h->known[block % KNOWN];
}

static bool is_known(const struct holes *h, uint64_t block, uint64_t pages)
{
	uint64_t e = h->known[block % KNOWN];

	return e >> BLOCK == block && (pages & ~e) == 0;
}

static void remember(struct holes *h, uint64_t block, uint64_t pages)
{
	uint64_t *e = place_of(h, block);

	*e = block << BLOCK | pages | (*e >> BLOCK == block ? *e : 0);
}

static void forget(struct holes *h, uint64_t block)
{
	uint64_t *e = place_of(h, block);

	if (*e >> BLOCK == block)
		*e = 0;
}

void holes_forget(struct holes *h, const uint8_t *p, uint64_t len)
{
	unsigned shift = h ? h->page_shift + BLOCK_SHIFT : 0;
	uint64_t first = (uintptr_t)p >> shift, last = ((uintptr_t)p + len - 1) >> shift;

	if (!h || len == 0)
		return;
	if (last - first >= KNOWN)
		memset(h->known, 0, sizeof(h->known));
	else
		for (; first <= last; first++)
			forget(h, first);
}

/* True for one access of SAMPLE / 2 on average. */
static bool is_sample(struct holes *h)
{
	if (--h->until_sample)
		return false;
	h->random ^= h->random << 13;
	h->random ^= h->random >> 7;
	h->random ^= h->random << 17;
	h->until_sample = 1 + (uint32_t)(h->random >> 32) % SAMPLE;
	return true;
}

/* ---- users ---- */

static struct holes_user *find_hole_user(struct holes *h, uid_t uid)
{
	for (unsigned i = 0; i < USERS; i++)
		if (h->user[i].used && h->user[i].uid == uid)
			return &h->user[i];
	return NULL;
}

static struct holes_user *add_hole_user(struct holes *h, uid_t uid)
{
	struct holes_user *u = find_hole_user(h, uid);

	if (u)
		return u;
	u = &h->user[h->next_user];
	h->next_user = (h->next_user + 1) % USERS;
	*u = (struct holes_user){.uid = uid, .used = true};
	return u;
}

static bool may_remember(struct holes *h, const struct client *c)
{
	const struct holes_user *u = find_hole_user(h, c->uid);

	return !u || !u->punches;
}

/* ---- mappings ---- */

static int compare_places(const void *left, const void *right)
{
	const struct mapping *a = left, *b = right;
	const uint8_t *a_end = (const uint8_t *)a->map.map + a->map.map_len;
	const uint8_t *b_end = (const uint8_t *)b->map.map + b->map.map_len;

	if (a_end <= (const uint8_t *)b->map.map)
		return -1;
	return b_end <= (const uint8_t *)a->map.map;
}

static struct mapping *mapping_of(const struct holes *h, uint64_t page)
{
	struct mapping key = {
		.map = {.map = (void *)(uintptr_t)(page << h->page_shift), .map_len = 1}};
	struct mapping **found = tfind(&key, &h->mappings, compare_places);

	return found ? *found : NULL;
}

static uint64_t page_of(const struct holes *h, const void *p)
{
	return (uintptr_t)p >> h->page_shift;
}

static uint64_t first_page(const struct holes *h, const struct mapping *m)
{
	return page_of(h, m->map.map);
}

static uint64_t end_page(const struct holes *h, const struct mapping *m)
{
	return page_of(h, m->map.addr + (m->end - m->start) - 1) + 1;
}

int holes_watch(struct mapping *m, struct reply *rep)
{
	struct holes *h = m->client->worker->holes;
	size_t words;
	int r;

	if (!h)
		return 0;
	words = (end_page(h, m) - first_page(h, m) + 63) / 64;
	r = client_charge(m->client, ACCT_MEMORY, words * sizeof(uint64_t), &m->holes.memory, rep);
	if (r)
		return r;
	m->holes.page = calloc(words, sizeof(uint64_t));
	if (!m->holes.page || !tsearch(m, &h->mappings, compare_places))
		return reply_refuse(rep, ENOMEM, "memory region: out of memory");
	holes_forget(h, m->map.map, m->map.map_len);
	return 0;
}

void holes_unwatch(struct mapping *m)
{
	struct holes *h = m->client->worker->holes;

	if (!h || !m->map.map)
		return;
	holes_forget(h, m->map.map, m->map.map_len);
	tdelete(m, &h->mappings, compare_places);
	list_del(&m->holes.link);
	acct_release(&m->holes.bytes);
	acct_release(&m->holes.memory);
	free(m->holes.page);
	m->holes.page = NULL;
}

/* ---- looking ---- */

/* Which of at most UNIT_MAX pages are there, 1 or 0. False: unknown, because the kernel may not
 * tell; then it says that all are, also a page that never is. */
static bool see_pages(const struct mapping *m, uint8_t *p, unsigned n, unsigned shift,
		      unsigned char *ret)
{
	unsigned char witness = 1;

	if (mincore(p, (size_t)n << shift, ret) < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		ret[i] &= 1;
	return !memchr(ret, 1, n) || (mincore(m->hole, 1, &witness) == 0 && !(witness & 1));
}

static uint64_t bytes_of(const struct holes *h, uint64_t pages)
{
	return pages << h->page_shift;
}

/* Pages that were charged and are holes again: those of a word of the bits. Returns how many are
 * left. */
static unsigned recount_word(const struct holes *h, const struct mapping *m, uint64_t i)
{
	uint64_t first = first_page(h, m) + i * 64;
	unsigned n = (unsigned)min_u64(64, end_page(h, m) - first);
	uint64_t *word = &m->holes.page[i];
	unsigned char there[64];

	if (see_pages(m, (uint8_t *)(uintptr_t)(first << h->page_shift), n, h->page_shift, there))
		for (unsigned k = 0; k < n; k++)
			if (!there[k])
				*word &= ~(UINT64_C(1) << k);
	return (unsigned)__builtin_popcountll(*word);
}

static void recount_mapping(const struct holes *h, struct mapping *m)
{
	uint64_t words = (end_page(h, m) - first_page(h, m) + 63) / 64, left = 0;
	struct reply rep;

	for (uint64_t i = 0; i < words; i++)
		if (m->holes.page[i])
			left += recount_word(h, m, i);
	if (bytes_of(h, left) < m->holes.bytes.amount)
		client_change(m->client, &m->holes.bytes, bytes_of(h, left), &rep);
}

static void recount_mappings(struct holes *h, uid_t uid)
{
	list_foreach (it, &h->filled) {
		struct mapping *m = list_entry(it, struct mapping, holes.link);

		if (m->client->uid == uid)
			recount_mapping(h, m);
	}
}

/* The user is at its limit: pages that were punched meanwhile no longer count. That takes long, so
 * it is done again at once only if it helped much. False if it was not done. */
static bool recount_user(struct holes *h, const struct client *c)
{
	const struct acct *a = c->daemon->acct;
	struct holes_user *u = add_hole_user(h, c->uid);
	uint64_t before = acct_used(a, c->uid, ACCT_SPARSE), after;

	if (c->worker->now_ms < u->recount_ms)
		return false;
	recount_mappings(h, c->uid);
	after = acct_used(a, c->uid, ACCT_SPARSE);
	if (before - after < before / 8)
		u->recount_ms = c->worker->now_ms + RECOUNT_MS;
	return true;
}

static int charge_fill(struct holes *h, struct mapping *m, uint64_t pages, struct reply *rep)
{
	return client_set_charge(m->client, ACCT_SPARSE, m->holes.bytes.amount + bytes_of(h, pages),
				 &m->holes.bytes, rep);
}

/* The pages of the stretch that are holes are going to be filled. */
static bool fill_stretch(struct holes *h, struct mapping *m, const struct stretch *s)
{
	uint64_t at = page_of(h, s->p) - first_page(h, m);
	unsigned holes = 0;
	struct reply rep;
	int r;

	for (unsigned i = 0; i < s->n; i++)
		holes += !s->there[i];
	r = charge_fill(h, m, holes, &rep);
	if (r == -EDQUOT && recount_user(h, m->client))
		r = charge_fill(h, m, holes, &rep);
	if (r) {
		snprintf(m->client->regions.unfilled, sizeof(m->client->regions.unfilled), "%s",
			 rep.reason);
		return false;
	}
	for (unsigned i = 0; i < s->n; i++)
		if (!s->there[i])
			m->holes.page[(at + i) / 64] |= UINT64_C(1) << (at + i) % 64;
	if (!list_linked(&m->holes.link))
		list_add_tail(&h->filled, &m->holes.link);
	return true;
}

/* Pages [from, to) of the mapping, rounded to the pages that one access may fill. Unknown ones
 * count as holes. */
static void see_stretch(const struct holes *h, const struct mapping *m, uint64_t from, uint64_t to,
			struct stretch *ret)
{
	const uint64_t unit = h->unit;
	uint64_t first = max_u64(from / unit * unit, first_page(h, m));
	uint64_t end = min_u64((to + unit - 1) / unit * unit, end_page(h, m));

	ret->p = (uint8_t *)(uintptr_t)(first << h->page_shift);
	ret->n = (unsigned)(end - first);
	ret->skip = (unsigned)(from - first);
	ret->used = (unsigned)(to - from);
	if (!see_pages(m, ret->p, ret->n, h->page_shift, ret->there))
		memset(ret->there, 0, ret->n);
}

static bool has_hole(const struct stretch *s)
{
	return memchr(s->there + s->skip, 0, s->used);
}

/* A page of its memory that had been seen is a hole again. */
static void note_punched(struct holes *h, const struct client *c)
{
	add_hole_user(h, c->uid)->punches = true;
	memset(h->known, 0, sizeof(h->known));
}

/* Looks at pages of a block. */
static bool look(struct holes *h, uint64_t block, uint64_t pages)
{
	uint64_t from = block * BLOCK + (unsigned)__builtin_ctzll(pages);
	uint64_t to = block * BLOCK + 64 - (unsigned)__builtin_clzll(pages);
	bool known = is_known(h, block, pages);
	struct mapping *m = mapping_of(h, from);
	struct stretch s;

	if (!m) { /* memory of our own */
		remember(h, block, pages);
		return true;
	}
	see_stretch(h, m, from, to, &s);
	if (has_hole(&s)) {
		if (known)
			note_punched(h, m->client);
		if (!fill_stretch(h, m, &s))
			return false;
	}
	if (may_remember(h, m->client))
		remember(h, block, pages);
	return true;
}

/* The bits of pages [from, to) that are in the block. */
static uint64_t pages_in(uint64_t block, uint64_t from, uint64_t to)
{
	uint64_t first = max_u64(from, block * BLOCK) - block * BLOCK;
	uint64_t end = min_u64(to, (block + 1) * BLOCK) - block * BLOCK;

	return (UINT64_C(1) << end) - (UINT64_C(1) << first);
}

__attribute__((noinline)) static bool fill_pages(struct holes *h, uint64_t from, uint64_t to)
{
	for (uint64_t block = from / BLOCK; block <= (to - 1) / BLOCK; block++) {
		uint64_t pages = pages_in(block, from, to);

		if ((!is_known(h, block, pages) || is_sample(h)) && !look(h, block, pages))
			return false;
	}
	return true;
}

/* Most spans lie in one block that is known. */
static inline bool fill_span(struct holes *h, const struct span *s)
{
	uint64_t from = page_of(h, s->p), last = page_of(h, s->p + s->len - 1);
	uint64_t block = from / BLOCK;
	uint64_t pages = (UINT64_C(2) << last % BLOCK) - (UINT64_C(1) << from % BLOCK);

	if (s->len == 0)
		return true;
	if (last / BLOCK == block && is_known(h, block, pages) && h->until_sample > 1) {
		h->until_sample--;
		return true;
	}
	return fill_pages(h, from, last + 1);
}

bool holes_fill(struct client *c, const struct span *at, unsigned n)
{
	struct holes *h = c->worker->holes;

	if (!h)
		return true;
	for (unsigned i = 0; i < n; i++)
		if (!fill_span(h, &at[i]))
			return false;
	return true;
}
