/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the library and of the program: the library against a fake daemon. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/local_protocol.h"
#include "tests/ipc/fake.h"

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_mr
	*mr; /* reachable after a test, so that only leaks of the library are reported */

static void start(void)
{
	fake_start(&fake);
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), 0);
}

static void stop(void)
{
	fake_stop(&fake);
}

static bool reason_has(const char *part)
{
	if (strstr(ddp_last_reason(), part))
		return true;
	fprintf(stderr, "reason is: %s\n", ddp_last_reason());
	return false;
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

static void refuse(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, EDQUOT, "protection domain: user 1000 has 16 of at most 16");
}

TestSuite(memory, .init = start, .fini = stop, .timeout = 20);

Test(memory, allocated_memory_is_shared_with_the_daemon)
{

	cr_assert_eq(ddp_alloc_mr(pd, 5000, DDP_ACCESS_REMOTE_WRITE, &mr), 0);
	cr_assert_eq(mr->length, 5000, "as asked");
	cr_assert_eq(mr->iova, (uintptr_t)mr->addr);
	cr_assert_eq(fake_last(&fake, MSG_REG_MR)->reg_mr.len, 5000);
	cr_assert_eq(fake_last(&fake, MSG_REG_MR)->reg_mr.iova, mr->iova);
	cr_assert_eq(fake_last(&fake, MSG_REG_MR)->reg_mr.access, DDP_ACCESS_REMOTE_WRITE);
	cr_assert_eq(mr->lkey, mr->rkey);
	memcpy(mr->addr, "seen", 4);
	cr_assert_arr_eq(fake.mr.addr, "seen", 4);
	fake.mr.addr[4999] = 9;
	cr_assert_eq(((uint8_t *)mr->addr)[4999], 9);
	cr_assert_eq(mr->memfd, -1, "it is shared with other regions");
}

Test(memory, long_memory_has_a_memfd_of_its_own)
{
	unsigned before = open_fds();
	char c = 0;

	cr_assert_eq(ddp_alloc_mr(pd, 65537, DDP_ACCESS_REMOTE_WRITE, &mr), 0);
	cr_assert_eq(fake_last(&fake, MSG_REG_MR)->reg_mr.offset, 0);
	memcpy(mr->addr, "seen", 4);
	cr_assert_arr_eq(fake.mr.addr, "seen", 4);
	cr_assert_eq(pread(mr->memfd, &c, 1, 0), 1);
	cr_assert_eq(c, 's');
	cr_assert_eq(ftruncate(mr->memfd, 0), -1, "sealed");
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(open_fds(), before);
}

Test(memory, a_registration_that_is_refused_leaves_nothing)
{
	unsigned before = open_fds();

	fake.script = refuse;
	cr_assert_eq(ddp_alloc_mr(pd, 5000, 1, &mr), -EDQUOT);
	cr_assert_eq(open_fds(), before);
	fake.script = NULL;
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
}

Test(memory, impossible_lengths_are_refused)
{

	cr_assert_eq(ddp_alloc_mr(pd, 0, 1, &mr), -EINVAL);
	cr_assert_eq(ddp_alloc_mr(pd, SIZE_MAX, 1, &mr), -EINVAL);
	cr_assert_lt(ddp_alloc_mr(pd, SIZE_MAX / 4, 1, &mr), 0);
}

static int memfd(unsigned flags, off_t size)
{
	int fd = memfd_create("test", flags);

	cr_assert_eq(ftruncate(fd, size), 0);
	return fd;
}

Test(memory, a_memfd_of_the_program_is_taken_at_any_offset)
{
	int fd = memfd(MFD_ALLOW_SEALING, 10000);

	cr_assert_eq(ddp_reg_memfd(pd, fd, 4999, 5001, NULL, 77, 1, &mr), 0);
	cr_assert_eq(pwrite(fd, "x", 1, 4999), 1);
	cr_assert_eq(fake.mr.addr[0], 'x');
	cr_assert_eq(mr->iova, 77);
	cr_assert_null(mr->addr);
	cr_assert_eq(mr->memfd, -1);
	close(fd);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
}

/* rows: 5041-8.3-04 */
Test(memory, unsafe_memfds_are_refused_before_they_are_sent)
{
	int fd = memfd(MFD_ALLOW_SEALING, 10000);
	unsigned incoming = fake.nrec;
	char path[40];

	cr_assert_eq(ddp_reg_memfd(pd, memfd(0, 10000), 0, 10000, NULL, 0, 1, &mr), -EPERM);
	cr_assert(reason_has("not sealed against shrinking"));
	cr_assert_eq(ddp_reg_memfd(pd, fd, 1, 10000, NULL, 0, 1, &mr), -EINVAL);
	cr_assert_eq(ddp_reg_memfd(pd, fd, -1, 1, NULL, 0, 1, &mr), -EINVAL);
	cr_assert_eq(ddp_reg_memfd(pd, fd, 0, 0, NULL, 0, 1, &mr), -EINVAL);
	cr_assert_eq(ddp_reg_memfd(pd, 0, 0, 10, NULL, 0, 1, &mr), -EINVAL);
	cr_assert_eq(ddp_reg_memfd(pd, -1, 0, 10, NULL, 0, 1, &mr), -EBADF);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDONLY);
	cr_assert_eq(ddp_reg_memfd(pd, fd, 0, 10000, NULL, 0, DDP_ACCESS_REMOTE_WRITE, &mr),
		     -EPERM);
	cr_assert_eq(fake.nrec, incoming);
	cr_assert_eq(ddp_reg_memfd(pd, fd, 0, 10000, NULL, 0, DDP_ACCESS_REMOTE_READ, &mr), 0);
}

Test(memory, binding_gives_new_keys)
{
	uint32_t before;

	cr_assert_eq(ddp_alloc_mr(pd, 100, 1, &mr), 0);
	before = mr->rkey;
	cr_assert_eq(ddp_bind_mr(mr, NULL), 0);
	cr_assert_neq(mr->rkey, before);
	cr_assert_eq(mr->lkey, mr->rkey);
	cr_assert_eq(fake_last(&fake, MSG_BIND_MR)->bind_mr.mr, 7);
	cr_assert_eq(fake_last(&fake, MSG_BIND_MR)->bind_mr.qp, 0);
}
