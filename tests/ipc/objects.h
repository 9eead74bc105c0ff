/* SPDX-License-Identifier: BSD-2-Clause */
/* Setup for tests of objects: a context of the fake daemon, two domains, a region. Each test
 * program has its own. */
#ifndef TESTS_IPC_OBJECTS_H
#define TESTS_IPC_OBJECTS_H

#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "tests/ipc/fake.h"

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd, *pd2;
static struct ddp_cq *cq;
static struct ddp_mr *mr;
static struct ddp_mw *mw __attribute__((unused));
static struct ddp_srq *srq __attribute__((unused));

static void start(void)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};

	fake_start(&fake);
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), 0);
	cr_assert_eq(ddp_alloc_pd(ctx, &pd2), 0);
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
	cr_assert_eq(ddp_alloc_mr(pd, 5000, DDP_ACCESS_LOCAL_WRITE, &mr), 0);
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

static inline void refuse(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, EBUSY, "a window is bound to it");
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

#endif
