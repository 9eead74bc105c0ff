/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of the memory map are read as the kernel writes them. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/base/maps.h"

struct line {
	char text[160];
	int prot;
	enum maps_kind kind;
};

enum { R = PROT_READ, RW = PROT_READ | PROT_WRITE };

ParameterizedTestParameters(maps, knows_what_lies_there)
{
	static struct line lines[] = {
		{"55d0c8f0b000-55d0c8f2c000 rw-p 00000000 00:00 0    [heap]", RW, MAPS_ANON},
		{"7ffd6d0a3000-7ffd6d0c4000 rw-p 00000000 00:00 0    [stack]", RW, MAPS_ANON},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ", RW, MAPS_ANON},
		{"7f0000000000-7f0000001000 ---p 00000000 00:00 0 ", 0, MAPS_ANON},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0  [anon:pool]", RW, MAPS_ANON},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:06 7  /dev/zero", RW, MAPS_ANON},
		{"7f0000000000-7f0000001000 rw-p 00001000 08:01 42 /bin/true", RW, MAPS_FILE},
		{"7f0000000000-7f0000001000 rw-p 00001000 08:01 42 /a b (deleted)", RW, MAPS_FILE},
		{"7f0000000000-7f0000001000 r--s 00001000 08:01 42 /srv/file", R, MAPS_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:01 9 /memfd:x (deleted)", RW,
		 MAPS_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:01 9 /dev/zero (deleted)", RW,
		 MAPS_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:19 9 /dev/shm/x", RW, MAPS_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:01 9 /SYSV00000000 (deleted)", RW,
		 MAPS_SYSV},
		{"7f0000000000-7f0000200000 rw-p 00000000 00:0f 9 /anon_hugepage (deleted)", RW,
		 MAPS_HUGE},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:05 9 /dev/mem", RW, MAPS_DEVICE},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:05 9 /dev/mem", RW, MAPS_DEVICE},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:15 9 "
		 "/sys/devices/pci0000:00/0000:00:03.0/resource0",
		 RW, MAPS_DEVICE},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:15 9 /proc/bus/pci/00/03.0", RW,
		 MAPS_DEVICE},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:0e 9 anon_inode:[perf_event]", RW,
		 MAPS_DEVICE},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:0e 9 anon_inode:[vfio-device]", RW,
		 MAPS_DEVICE},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:08 9 socket:[4711]", RW, MAPS_DEVICE},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:0e 9 anon_inode:dmabuf", RW,
		 MAPS_SHARED},
		{"7fff00000000-7fff00002000 r-xp 00000000 00:00 0 [vdso]", R | PROT_EXEC,
		 MAPS_KERNEL},
		{"7fff00000000-7fff00004000 r--p 00000000 00:00 0 [vvar]", R, MAPS_KERNEL},
	};

	return cr_make_param_array(struct line, lines, sizeof(lines) / sizeof(lines[0]));
}

ParameterizedTest(struct line *l, maps, knows_what_lies_there)
{
	struct maps_area a;

	cr_assert_eq(maps_parse(l->text, &a), 0, "%s", l->text);
	cr_assert_eq(a.kind, l->kind, "%s: %d", l->text, (int)a.kind);
	cr_assert_eq(a.prot, l->prot, "%s: %d", l->text, a.prot);
}

Test(maps, reads_all_numbers)
{
	struct maps_area a;

	cr_assert_eq(maps_parse("1000-3000 rw-s fffffffff000 00:01 4294967297 /memfd:x", &a), 0);
	cr_assert_eq(a.start, 0x1000);
	cr_assert_eq(a.end, 0x3000);
	cr_assert_eq(a.offset, 0xfffffffff000);
	cr_assert_eq(a.ino, 4294967297);
}

Test(maps, refuses_other_lines)
{
	static const char *const bad[] = {
		"",
		"x",
		"1000-1000 rw-p 0 0:0 0",
		"2000-1000 rw-p 0 0:0 0",
		"1000-2000 rw",
		"1000-2000 rw-p 0 0 0",
		"1000-2000 rw-p 0 0:0",
		"1000-2000 rw-p 0 0:0 x",
		"1000 2000 rw-p 0 0:0 0",
		"fffffffffffffffff-2000 rw-p 0 0:0 0",
	};
	struct maps_area a = {.start = 7};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(maps_parse(bad[i], &a), -EINVAL, "%s", bad[i]);
	cr_assert_eq(a.start, 7);
}

static int sum(const struct maps_area *a, void *arg)
{
	*(size_t *)arg += a->end - a->start;
	return 0;
}

static int stop_at_once(const struct maps_area *a, void *arg)
{
	(void)a;
	(void)arg;
	return 5;
}

/* Lines are cut anywhere by the reads. */
Test(maps, reads_long_files)
{
	FILE *f = tmpfile();
	size_t total = 0;

	for (unsigned i = 1; i <= 1000; i++)
		fprintf(f, "%x000-%x000 rw-p 00000000 08:01 42 /%*d\n", 2 * i, 2 * i + 1,
			(int)(i % 200) + 1, 7);
	fflush(f);
	rewind(f);
	cr_assert_eq(maps_each(fileno(f), sum, &total), 0);
	cr_assert_eq(total, 1000 * 4096);
	lseek(fileno(f), 0, SEEK_SET);
	cr_assert_eq(maps_each(fileno(f), stop_at_once, NULL), 5);
	fclose(f);
}

struct copies {
	struct maps_area at[64];
	size_t count;
};

static int copy(const struct maps_area *a, void *arg)
{
	struct copies *c = arg;

	cr_assert_lt(c->count, 64);
	c->at[c->count++] = *a;
	return 0;
}

/* The same for the lines of a file and for the answers of the kernel, if it can be asked. */
Test(maps, reads_a_range)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 40 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t from = (uintptr_t)p, to = from + 40 * page;
	struct copies asked = {.count = 0}, read = {.count = 0};
	FILE *f = tmpfile(), *maps;

	for (int i = 1; i < 40; i += 2)
		mprotect(p + i * page, page, i % 3 ? PROT_NONE : PROT_READ);
	munmap(p + 10 * page, 3 * page);
	cr_assert_eq(mmap(p + 20 * page, page, PROT_READ, MAP_SHARED | MAP_FIXED, fileno(f), 0),
		     p + 20 * page);
	cr_assert_eq(maps_range_own(from, to, copy, &asked), 0);
	maps = fopen("/proc/self/maps", "re");
	for (int c; (c = getc(maps)) != EOF;)
		putc(c, f);
	fclose(maps);
	fflush(f);
	cr_assert_eq(maps_range(fileno(f), from, to, copy, &read), 0);
	cr_assert_eq(asked.count, read.count, "%zu, %zu", asked.count, read.count);
	for (size_t i = 0; i < read.count; i++)
		cr_assert_arr_eq(&asked.at[i], &read.at[i], sizeof(asked.at[i]), "area %zu", i);
	cr_assert_eq(maps_range_own(from, to, stop_at_once, NULL), 5);
	cr_assert_eq(maps_range(fileno(f), from, to, stop_at_once, NULL), 5);
	asked.count = 0;
	cr_assert_eq(maps_range_own(from + 10 * page, from + 13 * page, copy, &asked), 0);
	cr_assert_eq(asked.count, 0, "a hole");
	fclose(f);
}

Test(maps, has_this_process)
{
	size_t total = 0;

	cr_assert_eq(maps_each_own(sum, &total), 0);
	cr_assert_gt(total, 1 << 20);
}
