/* SPDX-License-Identifier: BSD-2-Clause */
/* Setup for tests of work requests: a context of the fake daemon with a queue pair, a raw one,
 * memory and windows; requests that are posted, and that are refused. Each test program has its
 * own. */
#ifndef TESTS_IPC_WORK_H
#define TESTS_IPC_WORK_H

#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ipc/local_protocol.h"
#include "tests/ipc/fake.h"

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_qp *qp; /* number 101 */
static struct ddp_qp *raw;
static struct ddp_mr *mr;
static struct ddp_mw *mw;

static struct ddp_qp *make_qp(struct ddp_qp_init *init, int want)
{
	struct ddp_qp *ret = NULL;
	struct ddp_id *id;

	init->send_cq = init->recv_cq = cq;
	init->max_send_wr = init->max_recv_wr = 4;
	init->max_send_sge = 2;
	init->max_inline = 32;
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_qp(id, pd, init, &ret), want, "%s", ddp_last_reason());
	return ret;
}

static void start_as(void (*script)(struct fake *f, struct fake_reply *r))
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	fake_start(&fake);
	fake.script = script;
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), 0);
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
	qp = make_qp(&init, 0);
	init.qp_type = DDP_QP_RAW;
	init.raw_queues = 3;
	init.raw_notify = 0x80;
	raw = make_qp(&init, 0);
	cr_assert_eq(ddp_alloc_mr(pd, 4096, DDP_ACCESS_MW_BIND | DDP_ACCESS_LOCAL_WRITE, &mr), 0);
	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_2, &mw), 0);
}

static void start(void)
{
	start_as(NULL);
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

/* Numbers count from 101, in the order in which queue pairs are made. */
static struct ring *send_ring(struct ddp_qp *of)
{
	return &fake.qp[ddp_qp_num(of) - 101].sq;
}

/* Posts the request. Returns its entry in the ring. */
static const struct wqe_send *post(struct ddp_qp *to, struct ddp_send_wr wr)
{
	struct ring *r = send_ring(to);
	const struct wqe_send *e;

	cr_assert_eq(ddp_post_send(to, &wr, NULL), 0, "%s", ddp_last_reason());
	cr_assert_eq(ring_avail(r), 1);
	e = ring_peek(r);
	ring_release(r, 1);
	return e;
}

/* The request cannot be posted, for this reason, and the ring stays empty. */
static void refused(struct ddp_qp *to, struct ddp_send_wr wr, const char *reason)
{
	struct ddp_send_wr *bad = NULL;

	cr_assert_eq(ddp_post_send(to, &wr, &bad), -EINVAL, "%s", reason);
	cr_assert_eq(bad, &wr);
	cr_assert(reason_has(reason), "%s", reason);
	cr_assert_eq(ring_avail(send_ring(to)), 0);
}

#endif
