/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events: the library asks for one after each ring, names its object, and holds the
 * object until the event is acknowledged. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "ipc/doorbell.h"
#include "tests/ipc/fake.h"

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_cq *cq;
static struct ddp_srq *srq;
static struct ddp_id *id;
static struct ddp_qp *qp;

static void start(void)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};

	fake_start(&fake);
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), 0);
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
}

static void stop(void)
{
	fake_stop(&fake);
}

TestSuite(async, .init = start, .fini = stop, .timeout = 30);

static void make_objects(void)
{
	struct ddp_srq_attr attr = {.struct_size = sizeof(attr), .max_wr = 4};
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};

	init.max_send_wr = init.max_recv_wr = 4;
	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), 0);
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0, "%s", ddp_last_reason());
}

static bool readable(void)
{
	struct pollfd p = {.fd = ddp_async_fd(ctx), .events = POLLIN};

	cr_assert_geq(p.fd, 0, "%s", ddp_last_reason());
	return poll(&p, 1, 0) == 1;
}

/* The daemon has this event, and rings. */
static void post(struct msg_async m)
{
	cr_assert_geq(ddp_async_fd(ctx), 0);
	fake.async = m;
	cr_assert_eq(doorbell_ring(fake.async_bell), 0);
}

Test(async, the_descriptor_is_readable_until_the_event_is_taken)
{
	struct ddp_async_event ev;

	make_objects();
	cr_expect_not(readable());
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 0), -EAGAIN);
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 1), -EAGAIN);
	post((struct msg_async){.type = MSG_ASYNC_QP_FATAL, .handle = 1, .err = EPROTO, .term = 7});
	cr_expect(readable());
	cr_assert_eq(ddp_get_async_event(ctx, &ev, -1), 0);
	cr_expect_eq(ev.type, DDP_ASYNC_QP_FATAL);
	cr_expect_eq(ev.qp, qp);
	cr_expect_null(ev.cq);
	cr_expect_null(ev.srq);
	cr_expect_eq(ev.err, -EPROTO);
	cr_expect_eq(ev.term, 7);
	cr_expect_not(readable());
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 0), -EAGAIN);
}

Test(async, an_object_is_held_until_its_event_is_acknowledged)
{
	struct ddp_async_event ev[3];

	make_objects();
	post((struct msg_async){.type = MSG_ASYNC_QP_FATAL, .handle = 1});
	cr_assert_eq(ddp_get_async_event(ctx, &ev[0], 0), 0);
	post((struct msg_async){.type = MSG_ASYNC_CQ_OVERRUN, .handle = 1});
	cr_assert_eq(ddp_get_async_event(ctx, &ev[1], 0), 0);
	post((struct msg_async){.type = MSG_ASYNC_SRQ_LIMIT, .handle = 9});
	cr_assert_eq(ddp_get_async_event(ctx, &ev[2], 0), 0);
	cr_expect_eq(ev[1].cq, cq);
	cr_expect_eq(ev[2].srq, srq);
	cr_expect_eq(ddp_destroy_qp(qp), -EBUSY);
	cr_expect(strstr(ddp_last_reason(), "ddp_ack_async_event() for each, then try again"));
	ddp_ack_async_event(&ev[0]);
	cr_expect_eq(ddp_destroy_qp(qp), 0);
	cr_expect_eq(ddp_destroy_cq(cq), -EBUSY);
	cr_expect_eq(ddp_destroy_srq(srq), -EBUSY);
	ddp_ack_async_event(&ev[1]);
	ddp_ack_async_event(&ev[2]);
	cr_expect_eq(ddp_destroy_cq(cq), 0);
	cr_expect_eq(ddp_destroy_srq(srq), 0);
}

Test(async, events_of_the_port_have_no_object)
{
	struct ddp_async_event ev;

	post((struct msg_async){.type = MSG_ASYNC_PORT_DOWN});
	cr_assert_eq(ddp_get_async_event(ctx, &ev, 0), 0);
	cr_expect_eq(ev.type, DDP_ASYNC_PORT_DOWN);
	ddp_ack_async_event(&ev);
	post((struct msg_async){.type = MSG_ASYNC_PORT_UP});
	cr_assert_eq(ddp_get_async_event(ctx, &ev, 0), 0);
	cr_expect_eq(ev.type, DDP_ASYNC_PORT_UP);
	cr_expect_null(ev.qp);
	cr_expect_str_eq(ddp_async_str(ev.type), "port up");
	cr_expect_str_eq(ddp_async_str(99), "?");
}

Test(async, an_object_that_is_gone_has_no_event)
{
	struct ddp_async_event ev;

	make_objects();
	post((struct msg_async){.type = MSG_ASYNC_QP_FATAL, .handle = 77});
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 0), -EAGAIN);
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	post((struct msg_async){.type = MSG_ASYNC_QP_FATAL, .handle = 1});
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 0), -EAGAIN);
}

Test(async, the_end_of_the_daemon_is_one_event)
{
	struct ddp_async_event ev;

	cr_assert_geq(ddp_async_fd(ctx), 0);
	fake_die(&fake);
	cr_expect(readable());
	cr_assert_eq(ddp_get_async_event(ctx, &ev, -1), 0);
	cr_expect_eq(ev.type, DDP_ASYNC_DEVICE_GONE);
	cr_expect_eq(ddp_get_async_event(ctx, &ev, -1), -EPIPE);
}

/* A daemon that is killed closes its descriptors one after the other. */
Test(async, the_end_is_an_event_while_the_bell_is_open)
{
	struct ddp_async_event ev;
	int last;

	cr_assert_geq(ddp_async_fd(ctx), 0);
	last = dup(fake.async_bell);
	fake_die(&fake);
	cr_expect_not(readable());
	cr_assert_eq(ddp_get_async_event(ctx, &ev, 0), 0);
	cr_expect_eq(ev.type, DDP_ASYNC_DEVICE_GONE);
	close(last);
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 0), -EPIPE);
}

Test(async, an_event_out_of_range_is_a_violation)
{
	struct ddp_async_event ev;

	post((struct msg_async){.type = 99});
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 0), -EPROTO);
	post((struct msg_async){.type = MSG_ASYNC_PORT_UP, .err = -1});
	cr_expect_eq(ddp_get_async_event(ctx, &ev, 0), -EPROTO);
}

static void old(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_HELLO)
		r->hello.minor = 4;
}

Test(async, an_old_daemon_has_none)
{
	struct ddp_async_event ev;
	struct ddp_ctx *other;
	struct fake second;

	fake_start(&second);
	second.script = old;
	cr_assert_eq(ddp_open(NULL, &other), 0);
	cr_expect_eq(ddp_async_fd(other), -EOPNOTSUPP);
	cr_expect_eq(ddp_get_async_event(other, &ev, 0), -EOPNOTSUPP);
	cr_assert_eq(ddp_close(other), 0);
	fake_stop(&second);
}
