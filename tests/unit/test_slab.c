/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of slabs are zeroed, have their own pages, and are freed completely. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/slab.h"

enum {
	LIVE = 300, /* more than a slab holds, at their average length */
	STEPS = 20000,
	THREADS = 4,
};

static struct slabs slabs;

static void start(void)
{
	slab_init(&slabs, "test", SLAB_BYTES_MAX);
}

static void stop(void)
{
	slab_deinit(&slabs);
}

TestSuite(slab, .init = start, .fini = stop, .timeout = 60);

static bool all(const struct slab_range *r, uint8_t value)
{
	const uint8_t *p = r->addr;

	for (size_t i = 0; i < r->len; i++)
		if (p[i] != value)
			return false;
	return true;
}

static unsigned open_fds(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/fd");

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static blkcnt_t blocks(const struct slab_range *r)
{
	struct stat st;

	cr_assert_eq(fstat(r->fd, &st), 0);
	return st.st_blocks;
}

Test(slab, a_range_is_zero_when_it_is_used_again)
{
	struct slab_range keep, r;
	blkcnt_t before;
	void *addr;

	cr_assert_eq(slab_alloc(&slabs, 1, &keep), 0);
	cr_assert_eq(slab_alloc(&slabs, SLAB_RANGE_MAX, &r), 0);
	before = blocks(&r);
	addr = r.addr;
	memset(r.addr, 7, r.len);
	slab_free(&slabs, &r);
	cr_expect_null(r.slab);
	cr_expect_eq(blocks(&keep), before, "the memory is given back");
	cr_assert_eq(slab_alloc(&slabs, SLAB_RANGE_MAX, &r), 0);
	cr_expect_eq(r.addr, addr);
	cr_expect(all(&r, 0));
	slab_free(&slabs, &r);
	slab_free(&slabs, &r);
	slab_free(&slabs, &keep);
}

Test(slab, a_range_has_whole_pages_of_a_sealed_memfd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct slab_range a, b;
	char c = 0;

	cr_assert_eq(slab_alloc(&slabs, 1, &a), 0);
	cr_assert_eq(slab_alloc(&slabs, page + 1, &b), 0);
	cr_expect_eq(a.len, page);
	cr_expect_eq(b.len, 2 * page);
	cr_expect_eq((uintptr_t)b.addr % page, 0);
	cr_expect_eq(a.fd, b.fd);
	memset(b.addr, 'b', b.len);
	cr_expect_eq(pread(b.fd, &c, 1, (off_t)b.offset), 1);
	cr_expect_eq(c, 'b');
	cr_expect(all(&a, 0));
	cr_expect_eq(ftruncate(a.fd, 0), -1);
	cr_expect_eq(ftruncate(a.fd, 2 * SLAB_BYTES_MAX), -1);
	slab_free(&slabs, &a);
	slab_free(&slabs, &b);
}

/* Allocates and frees at random. The pages of each range have a value of their own; one that
 * another range wrote to is found when it is freed. */
static bool churn(struct slab_range *live, unsigned n, unsigned seed, uint8_t first)
{
	bool held = true;

	for (int i = 0; i < STEPS / THREADS && held; i++) {
		unsigned k = (unsigned)rand_r(&seed) % n;
		struct slab_range *r = &live[k];
		uint8_t value = (uint8_t)(first + k % 50);

		if (r->slab) {
			held = all(r, value);
			slab_free(&slabs, r);
		} else {
			size_t len = (size_t)rand_r(&seed) % SLAB_RANGE_MAX + 1;

			held = slab_alloc(&slabs, len, r) == 0 && r->len >= len && all(r, 0);
			if (held)
				memset(r->addr, value, r->len);
		}
	}
	for (unsigned k = 0; k < n; k++) {
		if (live[k].slab)
			held &= all(&live[k], (uint8_t)(first + k % 50));
		slab_free(&slabs, &live[k]);
	}
	return held;
}

Test(slab, ranges_never_overlap)
{
	static struct slab_range live[LIVE];
	unsigned before = open_fds();

	for (unsigned seed = 1; seed <= THREADS; seed++)
		cr_assert(churn(live, LIVE, seed, 1), "seed %u", seed);
	cr_expect(list_empty(&slabs.list));
	cr_expect_eq(open_fds(), before);
}

static void *run(void *arg)
{
	struct slab_range *live = calloc(LIVE / THREADS, sizeof(*live));
	unsigned me = *(unsigned *)arg;
	bool held = churn(live, LIVE / THREADS, me, (uint8_t)(1 + me * 50));

	free(live);
	return held ? arg : NULL;
}

Test(slab, threads_share_slabs)
{
	unsigned number[THREADS];
	pthread_t t[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		number[i] = i;
		cr_assert_eq(pthread_create(&t[i], NULL, run, &number[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *held;

		cr_assert_eq(pthread_join(t[i], &held), 0);
		cr_expect_not_null(held, "thread %u", i);
	}
	cr_expect(list_empty(&slabs.list));
}
