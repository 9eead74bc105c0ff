/* SPDX-License-Identifier: BSD-2-Clause */
/* Setup for tests of the rings: a context of the fake daemon, a domain, a completion queue and a
 * queue pair. Each test program has its own. */
#ifndef TESTS_IPC_QUEUES_H
#define TESTS_IPC_QUEUES_H

#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ipc/doorbell.h"
#include "tests/ipc/fake.h"

enum { ENTRIES = 8 };

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_id *id;
static struct ddp_qp *qp;

static void start_as(void (*script)(struct fake *f, struct fake_reply *r))
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = ENTRIES - 1};
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	fake_start(&fake);
	fake.script = script;
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), 0);
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 3;
	init.max_send_sge = 2;
	init.max_inline = 20;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0, "%s", ddp_last_reason());
}

static inline void start(void)
{
	start_as(NULL);
}

static void stop(void)
{
	fake_stop(&fake);
}

static inline int readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

#endif
