/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of a program that has too few free descriptors fail with the name and the value of the
 * limit, and make nothing; with enough of them they succeed.
 *
 *   few_descriptors SOCKET
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

enum { MOST = 12 }; /* descriptors that a call needs */

static struct end e;
static struct ddp_id *id;
static void *shared;

/* What a call makes; undone by the second function. */
static struct {
	struct ddp_ctx *ctx;
	struct ddp_cq *cq;
	struct ddp_qp *qp;
	struct ddp_srq *srq;
	struct ddp_mr *mr;
} made;

static int open_context(void)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);

	attr.socket = e.socket;
	return ddp_open(&attr, &made.ctx);
}

static int close_context(void)
{
	return ddp_close(made.ctx);
}

static int create_cq(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);

	attr.entries = 4096;
	return ddp_create_cq(e.ctx, &attr, &made.cq);
}

static int destroy_cq(void)
{
	return ddp_destroy_cq(made.cq);
}

static int create_srq(void)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);

	attr.max_wr = 4;
	return ddp_create_srq(e.pd, &attr, &made.srq);
}

static int destroy_srq(void)
{
	return ddp_destroy_srq(made.srq);
}

static int create_qp(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.send_cq = init.recv_cq = e.cq;
	init.max_send_wr = init.max_recv_wr = 4;
	return ddp_create_qp(id, e.pd, &init, &made.qp);
}

static int destroy_qp(void)
{
	return ddp_destroy_qp(made.qp);
}

static int alloc_mr(void)
{
	return ddp_alloc_mr(e.pd, RIG_SIZE, RIG_ALL, &made.mr);
}

static int reg_shared(void)
{
	return ddp_reg_mr(e.pd, shared, 4096, DDP_ACCESS_REMOTE_READ, NULL, &made.mr);
}

static int dereg_mr(void)
{
	return ddp_dereg_mr(made.mr);
}

static rlim_t first_free(void)
{
	int fd = dup(0);

	if (fd < 0)
		fail("dup");
	close(fd);
	return (rlim_t)fd;
}

static void limit(rlim_t n)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = n ? n : l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		fail("setrlimit");
}

/* Objects of the daemon. */
static unsigned objects(void)
{
	struct ddp_pd_attr attr = DDP_INIT(ddp_pd_attr);

	MUST(ddp_query_pd(e.pd, &attr));
	return attr.mrs + attr.mws + attr.qps + attr.srqs;
}

/* With ever more free descriptors, until the call succeeds. */
static void try(const char *name, int (*call)(void), int (*undo)(void))
{
	const unsigned before = objects();
	const rlim_t used = first_free();
	unsigned n;
	int r;

	for (n = 0; n < MOST; n++) {
		char expected[64];

		limit(used + n);
		r = call();
		limit(0);
		if (r == 0)
			break;
		snprintf(expected, sizeof(expected), "(RLIMIT_NOFILE, %u)", (unsigned)(used + n));
		if (r != -EMFILE || !strstr(ddp_last_reason(), expected) ||
		    !strstr(ddp_last_reason(), "this process"))
			fail("%s with %u descriptors: %s, without %s", name, n, strerror(-r),
			     expected);
		if (objects() != before || first_free() != used)
			fail("%s with %u descriptors leaves something", name, n);
	}
	if (n == 0 || n == MOST)
		fail("%s takes %u descriptors", name, n);
	ok("%s names the limit; it needs %u descriptors", name, n);
	MUST(undo());
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: few_descriptors SOCKET\n");
		return 2;
	}
	alarm(LIFE_S);
	end_open(&e, "e", argv[1]);
	MUST(ddp_create_id(e.ctx, NULL, &id));
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("mmap");
	try("ddp_open", open_context, close_context);
	try("ddp_create_cq", create_cq, destroy_cq);
	try("ddp_create_srq", create_srq, destroy_srq);
	try("ddp_create_qp", create_qp, destroy_qp);
	try("ddp_alloc_mr", alloc_mr, dereg_mr);
	try("ddp_reg_mr", reg_shared, dereg_mr);
	MUST(ddp_destroy_id(id));
	end_close(&e);
	return 0;
}
