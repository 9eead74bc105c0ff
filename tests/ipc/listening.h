/* SPDX-License-Identifier: BSD-2-Clause */
/* Setup for tests of sessions: a context of the fake daemon, with a listener. Each test program has
 * its own. */
#ifndef TESTS_IPC_LISTENING_H
#define TESTS_IPC_LISTENING_H

#include <criterion/criterion.h>
#include <ddp/ddp.h>

#include "tests/ipc/fake.h"

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_id *listener;
static struct ddp_cm_event *ev;

static void start(void)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};

	fake_start(&fake);
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), 0);
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
	cr_assert_eq(ddp_create_id(ctx, &fake, &listener), 0);
	cr_assert_eq(ddp_listen(listener, NULL, 5043, 7), 0);
}

static void stop(void)
{
	fake_stop(&fake);
}

static struct ddp_qp *make_qp(struct ddp_id *id)
{
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	struct ddp_qp *qp;

	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0);
	cr_assert_eq(ddp_id_qp(id), qp);
	return qp;
}

static inline struct ddp_id *make_id(void)
{
	struct ddp_id *id;

	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	make_qp(id);
	return id;
}

/* Cookie of the listener in the daemon. */
static uint32_t cookie(void)
{
	return fake.rec[2].listen.cookie;
}

/* A peer requests a session. Returns the new id. */
static inline struct ddp_id *request(uint32_t number)
{
	struct ddp_id *id;

	fake_event(&fake, (struct msg_event){.type = MSG_EV_REQUEST,
					     .cookie = cookie(),
					     .request = number,
					     .assoc = 3,
					     .stream = 4,
					     .private_len = 3,
					     .private_data = "abc"});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

#endif
