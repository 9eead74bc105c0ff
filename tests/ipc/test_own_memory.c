/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Promise: a registration takes as long as it is large, however many there are, and leaves no
 * memory map; pages have places of their own, whatever the program does to its memory. A plain
 * program, because one of Criterion has more than one thread.
 */
#include <ddp/ddp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client-lib/base/maps.h"
#include "client-lib/own_memory/own_memory.h"
#include "client-lib/own_memory/threads.h"

enum { MANY = 2000, FEW = 100 };

static const struct own_memory_how HOW = {.write = true};

static size_t page;
static struct own_memory regions[MANY];

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "FAILED: line %d: %s: %s\n", __LINE__, #condition,         \
				ddp_last_reason());                                                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char *map_pages(size_t pages)
{
	char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	CHECK(p != MAP_FAILED);
	return p;
}

static struct own_memory get(void *p, size_t len, const struct own_memory_how *how)
{
	struct own_memory m = {0};

	CHECK(own_memory_get("test", p, len, how, &m) == 0);
	return m;
}

/* What the daemon would see at the start of the region. */
static char byte_of(const struct own_memory *m)
{
	char c = 0;

	CHECK(pread(m->fd, &c, 1, (off_t)m->offset) == 1);
	return c;
}

static int count(const struct maps_area *area, void *n)
{
	(void)area;
	++*(size_t *)n;
	return 0;
}

static size_t areas(void)
{
	size_t n = 0;

	CHECK(maps_each_own(count, &n) == 0);
	return n;
}

/* Bytes that this process has read so far, those of /proc as well. */
static unsigned long bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	unsigned long n = 0;

	if (!f || fscanf(f, "rchar: %lu", &n) != 1)
		exit(77);
	fclose(f);
	return n;
}

/* Whether the kernel can be asked for one area: then reading one reads no line. */
static bool can_query(void)
{
	unsigned long before = bytes_read(), itself, with;
	size_t n = 0;

	itself = bytes_read() - before;
	before = bytes_read();
	CHECK(maps_range_own((uintptr_t)&n, (uintptr_t)&n + 1, count, &n) == 0);
	with = bytes_read() - before;
	return with < itself + 60;
}

/* Every second page. */
static void the_cost_of_a_region_is_not_that_of_all_others(void)
{
	char *p = map_pages(2 * MANY);
	size_t before;
	unsigned long io;

	memset(p, 7, 2 * MANY * page);
	regions[0] = get(p, 1, &HOW);
	own_memory_put(&regions[0], false);
	before = areas();
	for (size_t i = 0; i < MANY - FEW; i++)
		regions[i] = get(p + 2 * i * page, page, &HOW);
	io = bytes_read();
	for (size_t i = MANY - FEW; i < MANY; i++)
		regions[i] = get(p + 2 * i * page, page, &HOW);
	for (size_t i = 0; i < FEW; i++)
		own_memory_put(&regions[i], false);
	io = bytes_read() - io;
	if (can_query()) /* the pages themselves are read once, and their entries in the page map */
		CHECK(io < 4 * FEW * page);
	for (size_t i = FEW; i < MANY; i++)
		own_memory_put(&regions[i], false);
	CHECK(areas() < before + FEW); /* allocators, above all that of a sanitizer, have some */
	for (size_t i = 0; i < 2 * MANY * page; i++)
		CHECK(p[i] == 7);
	munmap(p, 2 * MANY * page);
}

/* Regions on every second page, more than a process can have memory maps for. */
static void beyond_half_of_the_limit_gaps_are_filled(void)
{
	enum { AREAS_OF_OTHERS = 1000 };
	const size_t most = maps_max(), n = most / 2 + AREAS_OF_OTHERS;
	struct own_memory *m;
	char *p;

	if (most == 0 || most > 200000) {
		printf("vm.max_map_count is %zu: gaps are not filled here\n", most);
		return;
	}
	m = calloc(n, sizeof(*m));
	p = map_pages(2 * n);
	CHECK(m);
	for (size_t i = 0; i < n; i++) {
		m[i] = get(p + 2 * i * page, page, &HOW);
		p[2 * i * page] = (char)i;
	}
	CHECK(areas() <= most / 2 + AREAS_OF_OTHERS);
	for (size_t i = 0; i < n; i += 97)
		CHECK(byte_of(&m[i]) == (char)i && p[(2 * i + 1) * page] == 0);
	for (size_t i = 0; i < n; i++)
		own_memory_put(&m[i], false);
	for (size_t i = 0; i < n; i++)
		CHECK(p[2 * i * page] == (char)i);
	munmap(p, 2 * n * page);
	free(m);
}

/* Memory that moves, grows there, and lies over the places of the addresses behind its old ones. */
static void memory_that_has_grown_elsewhere_keeps_its_bytes(void)
{
	char *p = map_pages(8), *q, *fresh;
	struct own_memory old = get(p, 2 * page, &HOW), new;

	q = mremap(p, 2 * page, 8 * page, MREMAP_MAYMOVE | MREMAP_FIXED, map_pages(8));
	CHECK(q != MAP_FAILED);
	memset(q, 3, 8 * page);
	fresh = mmap(p + 4 * page, page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	*fresh = 4;
	new = get(fresh, page, &HOW);
	CHECK(byte_of(&new) == 4);
	CHECK(byte_of(&old) == 3);
	CHECK(q[4 * page] == 3);
	own_memory_put(&old, false);
	CHECK(q[0] == 3);
	CHECK(q[4 * page] == 3);
	own_memory_put(&new, false);
	CHECK(*fresh == 4);
	/* What has grown stays mapped from the file after the last region. */
	new = get(fresh, page, &HOW);
	*fresh = 5;
	CHECK(byte_of(&new) == 5);
	CHECK(q[4 * page] == 3);
	own_memory_put(&new, false);
}

/* Pages that stay adopted keep their place when the program moves them. */
static void kept_pages_keep_their_place(void)
{
	char *p = map_pages(1), *q, *fresh;
	struct own_memory m = get(p, page, &HOW);

	*p = 1;
	own_memory_put(&m, true);
	q = mremap(p, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, map_pages(1));
	CHECK(q != MAP_FAILED);
	fresh = mmap(p, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
	*fresh = 2;
	m = get(fresh, page, &HOW);
	CHECK(byte_of(&m) == 2);
	CHECK(*q == 1);
	own_memory_put(&m, false);
	CHECK(*q == 1);
	CHECK(*fresh == 2);
}

/* The old region keeps the old page, although new memory at its address is a region as well. */
static void new_memory_at_an_old_address_has_another_place(void)
{
	char *p = map_pages(1);
	struct own_memory old = get(p, page, &HOW), new;

	*p = 1;
	munmap(p, page);
	CHECK(p == mmap(p, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			-1, 0));
	new = get(p, page, &HOW);
	*p = 2;
	CHECK(byte_of(&old) == 1);
	CHECK(byte_of(&new) == 2);
	own_memory_put(&old, false);
	own_memory_put(&new, false);
	CHECK(*p == 2);
}

/* A region over pages of another one and others. */
static void regions_overlap(void)
{
	char *p = map_pages(4);
	struct own_memory one = get(p + page, 2 * page, &HOW), all;

	p[2 * page] = 1;
	p[3 * page] = 2;
	all = get(p, 4 * page, &HOW);
	CHECK(all.offset + page == one.offset);
	own_memory_put(&one, false);
	p[2 * page] = 3;
	all.offset += 2 * page;
	CHECK(byte_of(&all) == 3);
	all.offset += page;
	CHECK(byte_of(&all) == 2);
	own_memory_put(&all, false);
	CHECK(p[2 * page] == 3);
}

/* What the parent writes from now on is not for the child. */
static void fork_once(char *mark)
{
	int fds[2], status;
	pid_t child;

	CHECK(pipe(fds) == 0);
	*mark = 'b';
	child = fork();
	if (child == 0) {
		CHECK(read(fds[0], &status, 1) == 1);
		_exit(*mark != 'b');
	}
	*mark = 'p';
	CHECK(write(fds[1], mark, 1) == 1);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	close(fds[0]);
	close(fds[1]);
}

#ifdef __SANITIZE_ADDRESS__
enum { HEAP_BY_SBRK = 0 };
#else
enum { HEAP_BY_SBRK = 1 };
#endif

/* All of the heap is adopted, what the library uses around fork() included, and the parent goes on
 * at once. */
static void a_child_has_a_heap_of_its_own(void)
{
	static void *taken[8 * 512];
	char *first, *end;
	struct own_memory m;

	if (!HEAP_BY_SBRK) {
		puts("left out: a child has a heap of its own");
		return;
	}
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		taken[i] = malloc(i / 8 * 16); /* all free pieces before */
	first = malloc(1000);
	free(malloc(100000)); /* it grows */
	end = sbrk(0);
	CHECK(first < end);
	m = get(first, (size_t)(end - first), &HOW);
	for (int i = 0; i < FEW; i++)
		fork_once(first);
	own_memory_put(&m, false);
	free(first);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		free(taken[i]);
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	if (!threads_alone()) /* a sanitizer has threads of its own */
		return 77;
	the_cost_of_a_region_is_not_that_of_all_others();
	beyond_half_of_the_limit_gaps_are_filled();
	memory_that_has_grown_elsewhere_keeps_its_bytes();
	kept_pages_keep_their_place();
	new_memory_at_an_old_address_has_another_place();
	regions_overlap();
	a_child_has_a_heap_of_its_own();
	return 0;
}
