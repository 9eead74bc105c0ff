/* SPDX-License-Identifier: BSD-2-Clause */
/* A file is taken as a whole: nothing of an earlier copy stays in it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/ddpcp/ddpcp_offer.h"

static bool no_truncate;

/* Replaces that of the C library. */
int ftruncate(int fd, off_t len)
{
	if (!no_truncate)
		return (int)syscall(SYS_ftruncate, fd, len);
	errno = EIO;
	return -1;
}

/* An earlier copy of the file was interrupted. */
static void leave_part(int root)
{
	struct ddpcp_file part;

	cr_assert_eq(ddpcp_file_create(&part, dup(root), "file"), 0);
	cr_assert_eq(ddpcp_file_pwrite(part.fd, "an earlier copy", 15, 0), 0);
	ddpcp_file_close(&part, true);
}

Test(ddpcp_offer, a_part_that_cannot_be_emptied_is_not_used)
{
	char top[] = "/tmp/test_ddpcp_offer.XXXXXX", data[] = "new";
	struct ddp_mr in = {.addr = data, .length = sizeof(data)};
	struct ddpcp_link link = {.in = &in, .over = true}; /* no peer waits for the answer */
	struct ddpcp_rec rec = {.kind = DDPCP_DATA, .name = "file", .meta = {.size = 3}};
	struct ddpcp_batch batch;
	struct ddpcp_sink sink = {.link = &link, .batch = &batch};
	struct ddpcp_xfer xfer;

	cr_assert_not_null(mkdtemp(top));
	sink.dir = open(top, O_RDONLY | O_DIRECTORY);
	cr_assert_eq(ddpcp_batch_init(&batch, sink.dir), 0);
	leave_part(sink.dir);
	no_truncate = true;
	cr_assert_eq(ddpcp_offer_take(&sink, &rec, &xfer), -EIO);
	no_truncate = false;
	ddpcp_batch_free(&batch);
	cr_assert_lt(faccessat(sink.dir, "file", F_OK, 0), 0);
	close(sink.dir);
	cr_assert_eq(rmdir(top), 0, "the part is gone");
}
