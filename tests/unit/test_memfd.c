/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapped memory cannot disappear, and a memfd whose memory could is refused with the reason. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/memfd.h"

TestSuite(memfd);

/* A memfd as a client would make it. */
static int make(unsigned flags, off_t size, int seals)
{
	int fd = memfd_create("test", flags | MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, size), 0);
	if (seals)
		cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int sealed(off_t size)
{
	return make(MFD_ALLOW_SEALING, size, F_SEAL_SHRINK);
}

/* The same file, opened in another mode. */
static int reopen(int fd, int flags)
{
	char path[40];
	int other;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, flags | O_CLOEXEC);
	cr_assert_geq(other, 0);
	return other;
}

Test(memfd, created_memory_is_zero_and_shared)
{
	uint8_t c = 1;
	uint8_t *p;
	void *map;
	int fd;

	cr_assert_eq(memfd_create_mapped("test", 10000, &fd, &map), 0);
	p = map;
	for (int i = 0; i < 10000; i++)
		cr_assert_eq(p[i], 0);
	p[9999] = 42;
	cr_assert_eq(pread(fd, &c, 1, 9999), 1);
	cr_assert_eq(c, 42);
}

Test(memfd, created_memory_cannot_be_resized)
{
	void *map;
	int fd;

	cr_assert_eq(memfd_create_mapped("test", 8192, &fd, &map), 0);
	cr_assert_eq(ftruncate(fd, 4096), -1);
	cr_assert_eq(ftruncate(fd, 16384), -1);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	cr_assert_eq(memfd_verify(fd, 0, 8192, true), 0);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

Test(memfd, an_impossible_size_is_an_error_without_a_leak)
{
	int next = dup(0), fd = 7;
	void *map = &fd;

	close(next);
	cr_assert_eq(memfd_create_mapped("test", UINT64_MAX, &fd, &map), -EFBIG);
	cr_assert_lt(memfd_create_mapped("test", 0, &fd, &map), 0);
	cr_assert_eq(fd, 7, "untouched on failure");
	cr_assert_eq(map, &fd, "untouched on failure");
	cr_assert_eq(dup(0), next);
}

Test(memfd, a_sealed_memfd_is_fine)
{
	cr_assert_eq(memfd_verify(sealed(4096), 0, 4096, true), 0);
}

Test(memfd, the_missing_seal_is_added)
{
	int fd = make(MFD_ALLOW_SEALING, 4096, 0);

	cr_assert_eq(memfd_verify(fd, 0, 4096, true), 0);
	cr_assert(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK);
	cr_assert_eq(ftruncate(fd, 0), -1);
	cr_assert_eq(ftruncate(fd, 8192), 0, "it may still grow");
}

/* rows: 5041-8.3.2-04 */
Test(memfd, one_that_cannot_be_sealed_is_refused)
{
	cr_assert_eq(memfd_verify(make(0, 4096, 0), 0, 4096, true), MEMFD_E_UNSEALED);
	cr_assert_eq(memfd_verify(make(MFD_ALLOW_SEALING, 4096, F_SEAL_SEAL), 0, 4096, true),
		     MEMFD_E_UNSEALED);
}

Test(memfd, a_read_only_descriptor_of_an_unsealed_one_is_refused)
{
	/* Its seals can be read, but not added to. */
	int fd = reopen(make(MFD_ALLOW_SEALING, 4096, 0), O_RDONLY);

	cr_assert_eq(memfd_verify(fd, 0, 4096, false), MEMFD_E_UNSEALED);
}

Test(memfd, other_files_are_refused)
{
	int sv[2];
	FILE *f = tmpfile();

	cr_assert_not_null(f);
	cr_assert_eq(ftruncate(fileno(f), 4096), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	cr_assert_eq(memfd_verify(sv[0], 0, 4096, false), MEMFD_E_NOT_MEMFD);
	cr_assert_eq(memfd_verify(open("/dev/zero", O_RDWR), 0, 4096, true), MEMFD_E_NOT_MEMFD);
	/* A file of tmpfs has seals, but takes none. */
	cr_assert_gt(memfd_verify(fileno(f), 0, 4096, true), 0);
	cr_assert_eq(memfd_verify(-1, 0, 4096, true), -EBADF);
}

Test(memfd, huge_pages_are_refused)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (fd < 0 || ftruncate(fd, 2 << 20) < 0)
		cr_skip_test("no huge pages here");
	cr_assert_eq(memfd_verify(fd, 0, 4096, true), MEMFD_E_HUGE);
}

Test(memfd, the_range_is_checked_against_the_file_size)
{
	int fd = sealed(10000);

	cr_assert_eq(memfd_verify(fd, 0, 10000, true), 0);
	cr_assert_eq(memfd_verify(fd, 9999, 1, true), 0);
	cr_assert_eq(memfd_verify(fd, 0, 10001, true), MEMFD_E_RANGE);
	cr_assert_eq(memfd_verify(fd, 1, 10000, true), MEMFD_E_RANGE);
	cr_assert_eq(memfd_verify(fd, 10000, 1, true), MEMFD_E_RANGE);
	cr_assert_eq(memfd_verify(fd, UINT64_MAX, 2, true), MEMFD_E_RANGE);
	cr_assert_eq(memfd_verify(fd, 2, UINT64_MAX, true), MEMFD_E_RANGE);
	cr_assert_eq(memfd_verify(fd, 0, 0, true), MEMFD_E_RANGE, "an empty range is invalid");
}

/* rows: 5041-8.3.2-04 5041-8.3-04 */
Test(memfd, the_mode_of_the_descriptor_limits_the_mapping)
{
	int fd = sealed(4096);

	cr_assert_eq(memfd_verify(reopen(fd, O_RDONLY), 0, 4096, false), 0);
	cr_assert_eq(memfd_verify(reopen(fd, O_RDONLY), 0, 4096, true), MEMFD_E_ACCESS);
	cr_assert_eq(memfd_verify(reopen(fd, O_WRONLY), 0, 4096, false), MEMFD_E_ACCESS);
	cr_assert_eq(memfd_verify(reopen(fd, O_WRONLY), 0, 4096, true), MEMFD_E_ACCESS);
}

/* rows: 5041-8.3.2-04 5041-8.3-04 */
Test(memfd, seals_against_writing_count_where_writing_is_wanted)
{
	int w = make(MFD_ALLOW_SEALING, 4096, F_SEAL_SHRINK | F_SEAL_WRITE);
	int f = make(MFD_ALLOW_SEALING, 4096, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);

	cr_assert_eq(memfd_verify(w, 0, 4096, true), MEMFD_E_WRITE_SEALED);
	cr_assert_eq(memfd_verify(f, 0, 4096, true), MEMFD_E_WRITE_SEALED);
	cr_assert_eq(memfd_verify(w, 0, 4096, false), 0);
	cr_assert_eq(memfd_verify(f, 0, 4096, false), 0);
}

Test(memfd, a_part_at_any_offset_is_mapped)
{
	int fd = sealed(20000);
	struct memfd_map m;

	cr_assert_eq(pwrite(fd, "here", 4, 5001), 4);
	cr_assert_eq(memfd_map_client(fd, 5001, 10000, true, &m), 0);
	close(fd);
	cr_assert_arr_eq(m.addr, "here", 4);
	m.addr[9999] = 1;
	memfd_unmap(&m);
	cr_assert_null(m.map);
	memfd_unmap(&m);
}

/* Whether the mapping at the address has the flag in /proc/self/smaps. */
static bool has_flag(const void *at, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long begin, end;
	bool here = false, has = false;
	char line[512];

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			here = begin <= (unsigned long)at && (unsigned long)at < end;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			has = strstr(line, flag) != NULL;
	}
	fclose(f);
	return has;
}

Test(memfd, memory_of_clients_is_left_out_of_core_dumps)
{
	int fd = sealed(8192), own;
	struct memfd_map m;
	void *map;

	cr_assert_eq(memfd_map_client(fd, 0, 8192, true, &m), 0);
	cr_assert(has_flag(m.addr, " dd"));
	cr_assert_eq(memfd_create_mapped("test", 8192, &own, &map), 0);
	cr_assert_not(has_flag(map, " dd"), "the flag is not that of each mapping");
}

Test(memfd, writes_are_seen_by_the_other_side)
{
	int fd = sealed(4096);
	struct memfd_map m;
	char got[3];

	cr_assert_eq(memfd_map_client(fd, 100, 3, true, &m), 0);
	memcpy(m.addr, "abc", 3);
	cr_assert_eq(pread(fd, got, 3, 100), 3);
	cr_assert_arr_eq(got, "abc", 3);
}

Test(memfd, a_write_sealed_one_can_be_mapped_for_reading)
{
	int fd = make(MFD_ALLOW_SEALING, 4096, 0);
	struct memfd_map m;

	cr_assert_eq(pwrite(fd, "const", 5, 0), 5);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
	cr_assert_eq(memfd_map_client(fd, 0, 4096, false, &m), 0);
	cr_assert_arr_eq(m.addr, "const", 5);
}

Test(memfd, refused_memory_is_not_mapped)
{
	struct memfd_map m = {.map_len = 7};

	cr_assert_eq(memfd_map_client(make(0, 4096, 0), 0, 4096, true, &m), MEMFD_E_UNSEALED);
	cr_assert_eq(m.map_len, 7, "untouched on failure");
}

/* rows: 5041-8.3.1-03 */
Test(memfd, memory_stays_readable_after_the_client_tried_to_shrink_it)
{
	int fd = sealed(8192);
	struct memfd_map m;

	cr_assert_eq(memfd_map_client(fd, 0, 8192, true, &m), 0);
	m.addr[5000] = 9;
	cr_assert_eq(ftruncate(fd, 0), -1);
	cr_assert_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
	cr_assert_eq(m.addr[5000], 0, "a hole reads as zeros");
}

Test(memfd, each_refusal_has_a_text_and_an_errno_value)
{
	for (int i = MEMFD_E_OK + 1; i < MEMFD_E_COUNT; i++) {
		cr_assert_gt(strlen(memfd_reason(i)), 5);
		cr_assert(memfd_errno(i) == EINVAL || memfd_errno(i) == EPERM);
	}
	cr_assert_eq(memfd_errno(MEMFD_E_UNSEALED), EPERM);
	cr_assert_eq(memfd_errno(MEMFD_E_NOT_MEMFD), EINVAL);
	cr_assert_str_eq(memfd_reason(MEMFD_E_COUNT), "?");
	cr_assert_str_eq(memfd_reason(-1), "?");
}
