/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/own_bad.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct end *owner;
static size_t page;

static int reg(const void *p, size_t len)
{
	struct ddp_mr *mr;

	return ddp_reg_mr(owner->pd, (void *)p, len, DDP_ACCESS_REMOTE_READ, NULL, &mr);
}

static void numbers(void)
{
	struct ddp_reg_attr attr = DDP_INIT(ddp_reg_attr);
	static char some[10];
	struct ddp_mr *mr;

	attr.flags = 16;
	REFUSED("an unknown flag", ddp_reg_mr(owner->pd, some, 10, 0, &attr, &mr), EINVAL);
	REFUSED("no bytes", reg(some, 0), EINVAL);
	REFUSED("NULL", reg(NULL, 1), EFAULT);
	REFUSED("a range that wraps", reg(some, SIZE_MAX - 5), EFAULT);
	REFUSED("a range that ends at the last address", reg(some, -(uintptr_t)some), EFAULT);
	REFUSED("a huge range", reg(some, 1UL << 46), EFAULT);
	REFUSED("an address beyond all", reg((void *)-8L, 4), EFAULT);
}

static void half_mapped(void)
{
	char *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + 3 * page, page, PROT_NONE);
	REFUSED("PROT_NONE behind memory", reg(p, 4 * page), EFAULT);
	REFUSED("PROT_NONE alone", reg(p + 3 * page, 1), EFAULT);
	munmap(p + 2 * page, page);
	REFUSED("a hole", reg(p, 3 * page), EFAULT);
	REFUSED("a hole before memory", reg(p + 2 * page, 2 * page), EFAULT);
	REFUSED("a hole between memory", reg(p + page, 3 * page), EFAULT);
	munmap(p, page);
	REFUSED("the last byte of a range that begins in a hole", reg(p + page - 1, 2), EFAULT);
	munmap(p, 4 * page);
}

/* The code that the kernel maps, and the clock before it: pages without a struct page (VM_PFNMAP),
 * as those of devices. */
static void of_the_kernel(void)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);

	if (!vdso)
		return;
	REFUSED("the vdso", reg(vdso, 4), EFAULT);
	REFUSED("the clock", reg(vdso - page, 4), EFAULT);
}

static void mapped_of(const char *what, int fd, size_t len)
{
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("no %s here: %s\n", what, strerror(errno));
	} else {
		REFUSED(what, reg(p, page), EOPNOTSUPP);
		munmap(p, len);
	}
	if (fd >= 0)
		close(fd);
}

/* Without hardware: rings that are shared with the kernel. */
static void of_devices(void)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(clock),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.exclude_kernel = 1,
	};
	struct io_uring_params params = {0};

	mapped_of("the ring of a performance counter",
		  (int)syscall(SYS_perf_event_open, &clock, 0, -1, -1, 0), 2 * page);
	mapped_of("a ring of io_uring", (int)syscall(SYS_io_uring_setup, 1, &params), page);
}

void own_bad(struct end *e)
{
	owner = e;
	page = (size_t)sysconf(_SC_PAGESIZE);
	numbers();
	half_mapped();
	of_the_kernel();
	of_devices();
}
