/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the library and of the program: the library against a fake daemon. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

/* ---- lists ---- */

enum { RANGES = 70, REFUSED = 40 };

static struct ddp_mr *mrs[RANGES];
static struct iovec ranges[RANGES];

/* All of them lie in the memfd of a region. */
static void make_ranges(void)
{
	cr_assert_eq(ddp_alloc_mr(pd, 1 << 20, DDP_ACCESS_LOCAL_WRITE, &mr), 0);
	for (size_t i = 0; i < RANGES; i++)
		ranges[i] = (struct iovec){(char *)mr->addr + 100 * i, 50 + i};
}

static unsigned count_records(uint32_t op)
{
	unsigned n = 0;

	for (unsigned i = 0; i < fake.nrec; i++)
		n += fake.rec[i].hdr.op == op;
	return n;
}

Test(memory, each_range_of_a_list_becomes_a_region)
{
	make_ranges();
	cr_assert_eq(ddp_reg_mrs(pd, ranges, RANGES, DDP_ACCESS_REMOTE_READ, NULL, mrs), 0, "%s",
		     ddp_last_reason());
	for (size_t i = 0; i < RANGES; i++) {
		const struct msg_reg_own_mr *req = &fake.rec[2 + i].reg_own_mr;

		cr_assert_eq(req->reg.hdr.op, MSG_REG_OWN_MR);
		cr_assert_eq(req->reg.offset, 100 * i);
		cr_assert_eq(req->reg.len, 50 + i);
		cr_assert_eq(req->reg.access, DDP_ACCESS_REMOTE_READ);
		cr_assert_eq(mrs[i]->addr, ranges[i].iov_base);
		cr_assert_eq(mrs[i]->iova, (uintptr_t)ranges[i].iov_base);
		cr_assert_eq(mrs[i]->rkey, 0x1a2b3c00 + 3 + i, "the reply of this one");
	}
	cr_assert_eq(ddp_dealloc_pd(pd), -EBUSY);
	cr_assert_eq(ddp_dereg_mrs(mrs, RANGES), 0);
	cr_assert_eq(count_records(MSG_DEREG_MR), RANGES);
	for (size_t i = 0; i < RANGES; i++)
		cr_assert_null(mrs[i]);
	cr_assert_eq(ddp_dereg_mrs(mrs, RANGES), 0, "NULL has no effect");
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
}

/* Answers the first one of 32 when the next one is there. */
static void wait_for_the_next(struct fake *f, struct fake_reply *r)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};

	if (r->hdr.op == MSG_REG_OWN_MR && count_records(MSG_REG_OWN_MR) % 32 == 1 &&
	    poll(&p, 1, 10000) != 1)
		fake_refuse(r, EIO, "the next request waits for this reply");
}

Test(memory, requests_of_a_list_do_not_wait_for_replies)
{
	make_ranges();
	fake.script = wait_for_the_next;
	cr_assert_eq(ddp_reg_mrs(pd, ranges, RANGES, 1, NULL, mrs), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_dereg_mrs(mrs, RANGES), 0);
}

static void refuse_some(struct fake *f, struct fake_reply *r)
{
	char text[40];
	unsigned n = count_records(MSG_REG_OWN_MR);

	(void)f;
	if (r->hdr.op != MSG_REG_OWN_MR)
		return;
	r->reg_own_mr.handle = 1000 + n;
	if (n < REFUSED)
		return;
	snprintf(text, sizeof(text), "region %u is one too many", n);
	fake_refuse(r, EDQUOT, text);
}

Test(memory, all_ranges_of_a_list_or_none)
{
	struct ddp_mr *untouched = mr;
	unsigned before;

	make_ranges();
	before = open_fds();
	mrs[0] = untouched;
	fake.script = refuse_some;
	cr_assert_eq(ddp_reg_mrs(pd, ranges, RANGES, 1, NULL, mrs), -EDQUOT);
	cr_assert(reason_has("region 40 is one too many"));
	cr_assert_eq(mrs[0], untouched);
	cr_assert_eq(count_records(MSG_DEREG_MR), REFUSED - 1);
	for (uint32_t n = 1; n < REFUSED; n++) {
		unsigned times = 0;

		for (unsigned i = 0; i < fake.nrec; i++)
			times += fake.rec[i].hdr.op == MSG_DEREG_MR &&
				 fake.rec[i].dereg_mr.handle == 1000 + n;
		cr_assert_eq(times, 1, "region %u", n);
	}
	cr_assert_eq(open_fds(), before);
	fake.script = NULL;
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0, "%s", ddp_last_reason());
}

Test(memory, a_range_that_cannot_be_registered_sends_nothing)
{
	make_ranges();
	ranges[5].iov_len = 0;
	cr_assert_eq(ddp_reg_mrs(pd, ranges, 32, 1, NULL, mrs), -EINVAL);
	cr_assert_eq(count_records(MSG_REG_OWN_MR), 0);
	cr_assert_eq(ddp_reg_mrs(pd, ranges, 0, 1, NULL, mrs), 0);
	cr_assert_eq(ddp_reg_mrs(pd, ranges, 2, 1,
				 &(struct ddp_reg_attr){.struct_size = sizeof(struct ddp_reg_attr),
							.flags = DDP_REG_IOVA},
				 mrs),
		     -EINVAL);
	cr_assert(reason_has("DDP_REG_IOVA"));
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
}

static void refuse_second(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_DEREG_MR && count_records(MSG_DEREG_MR) == 2)
		fake_refuse(r, EBUSY, "a window is bound to it");
}

Test(memory, a_region_that_stays_does_not_stop_the_others)
{
	make_ranges();
	cr_assert_eq(ddp_reg_mrs(pd, ranges, 4, 1, NULL, mrs), 0);
	fake.script = refuse_second;
	cr_assert_eq(ddp_dereg_mrs(mrs, 4), -EBUSY);
	cr_assert(reason_has("a window is bound to it"));
	cr_assert_null(mrs[0]);
	cr_assert_not_null(mrs[1]);
	cr_assert_null(mrs[2]);
	cr_assert_null(mrs[3]);
	cr_assert_eq(ddp_dereg_mrs(mrs, 4), 0);
}

Test(memory, without_a_daemon_a_list_ends_all_the_same)
{
	make_ranges();
	cr_assert_eq(ddp_reg_mrs(pd, ranges, RANGES, 1, NULL, mrs), 0);
	fake_die(&fake);
	cr_assert_eq(ddp_reg_mrs(pd, ranges, 2, 1, NULL, &mr), -EPIPE);
	cr_assert_eq(ddp_dereg_mrs(mrs, RANGES), 0);
	for (size_t i = 0; i < RANGES; i++)
		cr_assert_null(mrs[i]);
}
