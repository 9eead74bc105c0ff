/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers memory that the program had before, and lets a peer write, read and add there.
 *
 *   own_memory SOCKET-OF-A SOCKET-OF-B ADDRESS-OF-B [SEED]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/own_bad.h"
#include "tests/system/own_changes.h"
#include "tests/system/own_rounds.h"
#include "tests/system/rig.h"

enum { ADDS = 500 };

/* A sanitizer needs memory maps of its own when there are none left. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAPS_ARE_OURS = 0 };
#else
enum { MAPS_ARE_OURS = 1 };
#endif

/* What a program would share: the last byte says that the rest is there. */
struct message {
	char text[5000];
	volatile char ready;
};

static struct end a, b;
static struct session s;
static size_t page;

/* ---- helpers ---- */

static struct ddp_mr *reg(void *addr, size_t len)
{
	struct ddp_mr *mr;

	MUST(ddp_reg_mr(b.pd, addr, len, RIG_ALL, NULL, &mr));
	return mr;
}

static void rung_is(struct ddp_mr *mr, const char *what, enum ddp_mr_rung rung)
{
	struct ddp_mr_attr attr = DDP_INIT(ddp_mr_attr);

	MUST(ddp_query_mr(mr, &attr));
	if (attr.rung != rung || !attr.reason || !*attr.reason)
		fail("%s: rung %d: %s, expected %d", what, (int)attr.rung, attr.reason, (int)rung);
	ok("%s: rung %d: %s", what, (int)rung, attr.reason);
}

static void *map_pages(size_t pages)
{
	void *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	return p;
}

/* The peer's Write of the first len bytes of its memory. */
static void peer_writes(const struct ddp_mr *mr, uint64_t at, uint32_t len)
{
	session_send(&s, 0,
		     (struct ddp_send_wr){.opcode = DDP_WR_RDMA_WRITE, .rdma = {at, mr->rkey}}, 0,
		     len);
	end_done(&a, DDP_WC_RDMA_WRITE, DDP_WC_SUCCESS);
}

static void peer_reads(const struct ddp_mr *mr, uint64_t at, uint32_t len)
{
	session_send(&s, 0,
		     (struct ddp_send_wr){.opcode = DDP_WR_RDMA_READ, .rdma = {at, mr->rkey}},
		     RIG_HALF, len);
	end_done(&a, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
}

/* A Write is placed when a later Read is answered. */
static void peer_puts(const struct ddp_mr *mr, uint64_t at, const char *text)
{
	memcpy(end_at(&a, 0), text, strlen(text) + 1);
	peer_writes(mr, at, (uint32_t)strlen(text) + 1);
	peer_reads(mr, at, 1);
}

/* As libraries that watch memory do it (libfabric, UCX): they replace calls of the C library, and
 * then write to tables of theirs, which lie on pages of the heap. */
static char *volatile table;

__attribute__((visibility("default"))) void *mremap(void *old, size_t len, size_t new_len,
						    int flags, ...)
{
	void *addr = NULL;
	va_list more;

	if (flags & MREMAP_FIXED) {
		va_start(more, flags);
		addr = va_arg(more, void *);
		va_end(more);
	}
	if (table)
		++*table;
	return (void *)syscall(SYS_mremap, old, len, new_len, flags, addr);
}

/* ---- data ---- */

static void polls_last_byte(void)
{
	struct message *m = calloc(1, sizeof(*m));
	struct ddp_mr *mr;

	strcpy(m->text, "before");
	mr = reg(m, sizeof(*m));
	same("bytes of before the registration", m->text, "before", 7);
	end_fill(&a, 0, sizeof(*m), 1);
	end_at(&a, 0)[sizeof(m->text)] = 1;
	peer_writes(mr, mr->iova, sizeof(*m));
	while (!m->ready)
		;
	same("a Write to a struct of malloc()", m->text, end_at(&a, 0), sizeof(m->text));
	MUST(ddp_dereg_mr(mr));
	same("after the end of the registration", m->text, end_at(&a, 0), sizeof(m->text));
	free(m);
}

static void reads_static_memory(void)
{
	static char text[300];
	struct ddp_mr *mr = reg(text, sizeof(text));

	strcpy(text, "stored after the registration");
	peer_reads(mr, mr->iova, sizeof(text));
	same("a Read of a static variable", end_at(&a, RIG_HALF), text, sizeof(text));
	MUST(ddp_dereg_mr(mr));
}

static void adds_on_the_stack(void)
{
	uint64_t local[1000] = {0}, *counter = &local[500];
	struct ddp_mr *mr = reg(local, sizeof(local));

	for (unsigned i = 0; i < ADDS; i++) {
		session_send(&s, 0,
			     (struct ddp_send_wr){.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD,
						  .rdma = {(uintptr_t)counter, mr->rkey},
						  .atomic.compare_add = 1},
			     RIG_HALF, 8);
		__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
		end_done(&a, DDP_WC_FETCH_ADD, DDP_WC_SUCCESS);
	}
	is("additions of both to a variable on the stack", *counter, 2 * ADDS);
	MUST(ddp_dereg_mr(mr));
	is("its value after the registration", local[500], 2 * ADDS);
}

/* ---- rungs ---- */

static void tells_the_rung(void)
{
	char *p = map_pages(4);
	struct ddp_mr *first = reg(p + 10, page), *second = reg(p, page), *third;

	rung_is(first, "private memory", DDP_MR_ADOPTED);
	rung_is(second, "the same page again", DDP_MR_SHARED);
	MUST(ddp_dereg_mr(first));
	peer_puts(second, second->iova, "still shared");
	same("a page that one of two regions has left", p, "still shared", 13);
	MUST(ddp_dereg_mr(second));
	first = reg(p, page);
	rung_is(first, "after the last region", DDP_MR_ADOPTED);
	MUST(ddp_dereg_mr(first));
	third = reg(end_at(&b, 100), 50);
	rung_is(third, "memory of ddp_alloc_mr()", DDP_MR_SHARED);
	peer_puts(third, third->iova, "by both");
	same("memory of two regions", end_at(&b, 100), "by both", 8);
	MUST(ddp_dereg_mr(third));
	munmap(p, 4 * page);
}

static void keeps_pages(void)
{
	struct ddp_reg_attr attr = DDP_INIT(ddp_reg_attr);
	char *p = map_pages(1);
	struct ddp_mr *mr;

	attr.flags = DDP_REG_KEEP | DDP_REG_IOVA;
	attr.iova = 4711;
	MUST(ddp_reg_mr(b.pd, p, page, RIG_ALL, &attr, &mr));
	is("iova", mr->iova, 4711);
	peer_puts(mr, 4711, "kept");
	MUST(ddp_dereg_mr(mr));
	mr = reg(p, page);
	rung_is(mr, "kept pages", DDP_MR_SHARED);
	same("their bytes", p, "kept", 5);
	MUST(ddp_dereg_mr(mr));
	munmap(p, page);
}

/* ---- what the program does with its memory ---- */

static void maps_again(void)
{
	char *p = map_pages(2), *q;
	struct ddp_mr *old = reg(p, 2 * page), *mr;

	munmap(p, 2 * page);
	q = mmap(p, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0);
	mr = reg(q, 2 * page);
	rung_is(mr, "new memory at an old address", DDP_MR_ADOPTED);
	strcpy(q, "new");
	peer_puts(old, old->iova, "for the old");
	same("the old region does not see it", q, "new", 4);
	MUST(ddp_dereg_mr(old));
	same("nor does its end change it", q, "new", 4);
	peer_puts(mr, mr->iova, "for the new");
	same("the new region does", q, "for the new", 12);
	MUST(ddp_dereg_mr(mr));
	munmap(q, 2 * page);
}

static void moves(void)
{
	char *p = map_pages(2), *q;
	struct ddp_mr *mr = reg(p, 2 * page);

	q = mremap(p, 2 * page, 8 * page, MREMAP_MAYMOVE);
	if (q == MAP_FAILED)
		fail("mremap: %s", strerror(errno));
	q[7 * page] = 1; /* no SIGBUS */
	peer_puts(mr, mr->iova, "follows");
	same("memory that moved and grew", q, "follows", 8);
	MUST(ddp_dereg_mr(mr));
	same("after the registration", q, "follows", 8);
	mr = reg(q, 8 * page);
	peer_puts(mr, mr->iova, "again");
	same("registered at its new place", q, "again", 6);
	MUST(ddp_dereg_mr(mr));
	munmap(q, 8 * page);
}

static void *waits_for_end(void *fd)
{
	char c;

	while (read(*(int *)fd, &c, 1) > 0)
		;
	return NULL;
}

/* With another thread, pages are frozen while they move. */
static void moves_the_table_of_a_watcher(void)
{
	char *p = map_pages(2);
	int ends[2];
	pthread_t thread;
	struct ddp_mr *mr;

	if (pipe(ends) < 0 || pthread_create(&thread, NULL, waits_for_end, ends))
		fail("no second thread");
	strcpy(p + 1, "watched");
	table = p;
	mr = reg(p, 2 * page);
	peer_reads(mr, mr->iova + 1, 8);
	MUST(ddp_dereg_mr(mr));
	table = NULL;
	same("memory with a table of a library that watches memory", p + 1, "watched", 8);
	close(ends[1]);
	pthread_join(thread, NULL);
	close(ends[0]);
	munmap(p, 2 * page);
}

/* Whether a byte at p can be written. */
static bool stores(void *p)
{
	int fd = open("/dev/zero", O_RDONLY);
	bool done = read(fd, p, 1) == 1;

	close(fd);
	return done;
}

static void protects_and_advises(void)
{
	char *p = map_pages(3);
	struct ddp_mr *mr;

	strcpy(p, "constant");
	mprotect(p, page, PROT_READ);
	REFUSED("rights to write to read-only memory",
		ddp_reg_mr(b.pd, p, page, RIG_ALL, NULL, &mr), EACCES);
	MUST(ddp_reg_mr(b.pd, p, 2 * page, DDP_ACCESS_REMOTE_READ, NULL, &mr));
	peer_reads(mr, mr->iova, 9);
	same("a Read of read-only memory", end_at(&a, RIG_HALF), "constant", 9);
	is("the kernel cannot write to it", stores(p), false);
	MUST(ddp_dereg_mr(mr));
	is("nor after the registration", stores(p), false);
	mprotect(p, page, PROT_READ | PROT_WRITE);
	mr = reg(p, 3 * page);
	strcpy(p + page, "advice");
	madvise(p, 3 * page, MADV_DONTNEED);
	same("MADV_DONTNEED keeps the bytes of registered pages", p + page, "advice", 7);
	is("MADV_FREE of them fails", madvise(p, 3 * page, MADV_FREE) == -1 && errno == EINVAL, 1);
	same("and keeps them too", p + page, "advice", 7);
	MUST(ddp_dereg_mr(mr));
	madvise(p, 3 * page, MADV_DONTNEED);
	is("and zeroes them afterwards", (uint64_t)(unsigned char)p[page], 0);
	munmap(p, 3 * page);
}

/* The child's view of its parent's registered memory. Its exit status is 0 if all is well. */
static int child(char *p)
{
	if (strcmp(p, "parent") || p[page])
		return 1;
	strcpy(p, "child");
	p[page] = 1;
	return strcmp(p, "child") || p[page] != 1;
}

static void forks(char *p, const char *what)
{
	struct ddp_mr *mr = reg(p, 2 * page);
	int status;
	pid_t pid;

	strcpy(p, "parent");
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(child(p));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("fork: %s", strerror(errno));
	if (status)
		fail("%s: the child sees wrong bytes: status 0x%x", what, (unsigned)status);
	same(what, p, "parent", 7);
	is("untouched pages", (uint64_t)p[page], 0);
	peer_puts(mr, mr->iova, "peer");
	same("a Write after the fork", p, "peer", 5);
	MUST(ddp_dereg_mr(mr));
}

static void forks_with_pages(void)
{
	char *p = map_pages(2);

	forks(p, "the child does not write to its parent's memory");
	munmap(p, 2 * page);
}

/* Every second page, registered at the same time: a Write to one changes nothing around it. */
static void takes_every_second_page(void)
{
	struct ddp_mr *mrs[500];
	char *p = map_pages(1000);

	for (size_t i = 0; i < 500; i++)
		MUST(ddp_reg_mr(b.pd, p + 2 * i * page, page, RIG_ALL, NULL, &mrs[i]));
	peer_puts(mrs[250], mrs[250]->iova, "one of 500");
	same("one of 500 regions", p + 500 * page, "one of 500", 11);
	is("the region before it", (uint64_t)p[498 * page], 0);
	is("the page between them", (uint64_t)p[499 * page], 0);
	is("the region after it", (uint64_t)p[502 * page], 0);
	for (size_t i = 0; i < 500; i++)
		MUST(ddp_dereg_mr(mrs[i]));
	same("after all registrations", p + 500 * page, "one of 500", 11);
	munmap(p, 1000 * page);
}

static uint32_t regions_of_domain(void)
{
	struct ddp_pd_attr attr = DDP_INIT(ddp_pd_attr);

	MUST(ddp_query_pd(b.pd, &attr));
	return attr.mrs;
}

/* All ranges of a list, of which one cannot be registered, and then all without it. */
static void takes_a_list(void)
{
	enum { RANGES = 300 };
	static struct iovec range[RANGES];
	struct ddp_mr *mrs[RANGES];
	char *p = map_pages(RANGES),
	     *bad = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t before = regions_of_domain();

	for (size_t i = 0; i < RANGES; i++)
		range[i] = (struct iovec){p + i * page + i, page / 2};
	range[RANGES - 1].iov_base = bad;
	is("a list with memory that is not readable",
	   (uint64_t)-ddp_reg_mrs(b.pd, range, RANGES, RIG_ALL, NULL, mrs), EFAULT);
	is("regions after it", regions_of_domain(), before);
	range[RANGES - 1].iov_base = p;
	MUST(ddp_reg_mrs(b.pd, range, RANGES, RIG_ALL, NULL, mrs));
	is("regions of the list", regions_of_domain(), before + RANGES);
	peer_puts(mrs[0], mrs[0]->iova, "the first");
	peer_puts(mrs[200], mrs[200]->iova + 10, "one of 300");
	same("the first range of a list", p, "the first", 10);
	same("a range in the middle", p + 200 * page + 210, "one of 300", 11);
	MUST(ddp_dereg_mrs(mrs, RANGES));
	is("regions at the end", regions_of_domain(), before);
	munmap(p, RANGES * page);
	munmap(bad, page);
}

static size_t count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	size_t n = 0;

	for (int c; f && (c = getc(f)) != EOF;)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* With the pages between them, a thousand regions are one memory map. */
static void fills_gaps(void)
{
	enum { REGIONS = 1000 };
	static struct ddp_mr *mrs[REGIONS];
	struct ddp_reg_attr attr = DDP_INIT(ddp_reg_attr);
	char *p = map_pages(2 * REGIONS);
	size_t before = count_maps(), maps;

	attr.flags = DDP_REG_GAPS;
	for (size_t i = 0; i < REGIONS; i++) {
		p[(2 * i + 1) * page] = (char)i;
		MUST(ddp_reg_mr(b.pd, p + 2 * i * page + 8, 100, RIG_ALL, &attr, &mrs[i]));
	}
	maps = count_maps();
	if (maps > before + 8)
		fail("%d regions on every second page take %zu memory maps", REGIONS,
		     maps - before);
	peer_puts(mrs[700], mrs[700]->iova, "one of many");
	same("a region whose neighbors are adopted with it", p + 1400 * page + 8, "one of many",
	     12);
	MUST(ddp_dereg_mr(mrs[700]));
	madvise(p + 1399 * page, page, MADV_DONTNEED);
	is("the page before it is private again", (uint64_t)p[1399 * page], 0);
	for (size_t i = 0; i < REGIONS; i++) {
		if (i != 700)
			MUST(ddp_dereg_mr(mrs[i]));
		if (i != 699 && p[(2 * i + 1) * page] != (char)i)
			fail("the page behind region %zu has changed", i);
	}
	munmap(p, 2 * REGIONS * page);
	ok("gaps between regions are filled");
}

/* Holes in other memory leave no room for one more. */
static void names_the_limit_of_maps(void)
{
	enum { HOLES = 70000, TRIES = 64 };
	const size_t len = 2 * HOLES * page;
	char *other =
		mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *p = mmap(NULL, 2 * TRIES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	struct ddp_mr *mr[TRIES];
	size_t n = 0, hole = 0;
	int r = 0;

	memset(p, 7, 2 * TRIES * page);
	while (hole < HOLES && mprotect(other + 2 * hole * page, page, PROT_NONE) == 0)
		hole++;
	munmap(other, 32 * page);
	while (n < TRIES &&
	       (r = ddp_reg_mr(b.pd, p + 2 * n * page, page, RIG_ALL, NULL, &mr[n])) == 0)
		n++;
	munmap(other, len);
	if (hole == HOLES)
		printf("vm.max_map_count is large here\n");
	else if (r != -ENOMEM || !strstr(ddp_last_reason(), "vm.max_map_count is "))
		fail("beyond vm.max_map_count: %d: %s", r, ddp_last_reason());
	for (size_t i = 0; i < 2 * TRIES * page; i++)
		if (p[i] != 7)
			fail("byte %zu is lost at the limit of memory maps", i);
	while (n > 0)
		MUST(ddp_dereg_mr(mr[--n]));
	munmap(p, 2 * TRIES * page);
	ok("the limit of memory maps is named, and no byte is lost");
}

static void is_lazy(void)
{
	const size_t len = 1UL << 30;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char in_core[4];
	struct ddp_mr *mr;

	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	p[0] = 1;
	mr = reg(p, len);
	mincore(p, 4 * page, in_core);
	is("a touched page of 1 GiB", in_core[0] & 1, 1);
	is("an untouched one stays so", in_core[2] & 1, 0);
	peer_puts(mr, mr->iova + len - 100, "the end");
	same("a Write to an untouched page", p + len - 100, "the end", 8);
	MUST(ddp_dereg_mr(mr));
	same("after the registration", p + len - 100, "the end", 8);
	munmap(p, len);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	page = (size_t)sysconf(_SC_PAGESIZE);
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	session_open(&s, &a, &b, argv[3], NULL);
	polls_last_byte();
	reads_static_memory();
	adds_on_the_stack();
	tells_the_rung();
	keeps_pages();
	maps_again();
	moves();
	moves_the_table_of_a_watcher();
	protects_and_advises();
	forks_with_pages();
	takes_every_second_page();
	takes_a_list();
	fills_gaps();
	if (MAPS_ARE_OURS)
		names_the_limit_of_maps();
	is_lazy();
	own_changes(&s);
	own_bad(&b);
	own_rounds(&b, argc > 4 ? (unsigned)atoi(argv[4]) : 1);
	session_close(&s, 0);
	end_close(&a);
	end_close(&b);
	return 0;
}
