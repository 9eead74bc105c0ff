/* SPDX-License-Identifier: BSD-2-Clause */
/* ddp_reopen(): the context and its objects at the next daemon. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/doorbell.h"
#include "tests/ipc/listening.h"

enum { SMALL = 5000, LARGE = 100000 };

static struct ddp_mr *small, *large, *foreign, *copied;
static struct ddp_mw *mw, *free_mw;

/* Regions of all kinds. */
static void make_memory(void)
{
	int fd = memfd_create("foreign", MFD_ALLOW_SEALING);
	void *shared = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_eq(ftruncate(fd, 16384), 0);
	cr_assert_eq(ddp_alloc_mr(pd, SMALL, DDP_ACCESS_LOCAL_WRITE, &small), 0);
	cr_assert_eq(ddp_alloc_mr(pd, LARGE, DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_MW_BIND, &large),
		     0);
	cr_assert_eq(ddp_reg_memfd(pd, fd, 4096, 100, NULL, 7, DDP_ACCESS_REMOTE_WRITE, &foreign),
		     0);
	close(fd);
	cr_assert_eq(ddp_reg_mr(pd, shared, SMALL, DDP_ACCESS_REMOTE_WRITE, NULL, &copied), 0);
	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &mw), 0);
	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_2, &free_mw), 0);
	cr_assert_eq(ddp_bind_mw(mw, large, large->iova + 8, 16, DDP_ACCESS_REMOTE_WRITE), 0);
}

static void begin(void)
{
	start();
	make_memory();
}

TestSuite(reopen, .init = begin, .fini = stop, .timeout = 60);

/* The n-th request of that kind, counted from 0. */
static const union fake_record *nth(uint32_t op, unsigned n)
{
	for (unsigned i = 0; i < fake.nrec; i++)
		if (fake.rec[i].hdr.op == op && n-- == 0)
			return &fake.rec[i];
	cr_assert_fail("no such request: %s", msg_op_str(op));
	return NULL;
}

static void expect_region(const struct msg_reg_mr *m, const struct ddp_mr *region, uint64_t offset,
			  unsigned access)
{
	cr_expect_eq(m->pd, 2, "the domain of this daemon, whose second request made it");
	cr_expect_eq(m->len, region->length);
	cr_expect_eq(m->iova, region->iova);
	cr_expect_eq(m->offset, offset);
	cr_expect_eq(m->access, access);
}

Test(reopen, memory_and_windows_are_as_before)
{
	const struct msg_bind_mw *bind;
	uint32_t key = small->lkey;
	char *at = small->addr;

	memcpy(at, "abc", 3);
	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	expect_region(&nth(MSG_REG_MR, 0)->reg_mr, small, 0, DDP_ACCESS_LOCAL_WRITE);
	expect_region(&nth(MSG_REG_MR, 1)->reg_mr, large, 0,
		      DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_MW_BIND);
	expect_region(&nth(MSG_REG_MR, 2)->reg_mr, foreign, 4096, DDP_ACCESS_REMOTE_WRITE);
	cr_expect_neq(small->lkey, key);
	cr_expect_eq(small->lkey, small->rkey);
	cr_expect_eq(small->addr, at);
	cr_expect_eq(memcmp(at, "abc", 3), 0);
	bind = &nth(MSG_BIND_MW, 0)->bind_mw;
	cr_expect_eq(bind->addr, large->iova + 8);
	cr_expect_eq(bind->len, 16);
	cr_expect_eq(bind->access, DDP_ACCESS_REMOTE_WRITE);
	cr_expect_eq(mw->rkey >> 8, 0x4d5e6f);
	cr_assert_eq(ddp_dereg_mr(small), 0);
	cr_expect_eq(fake_last(&fake, MSG_DEREG_MR)->dereg_mr.handle, 7);
}

/* A script that looks at the region which is registered. */
static char seen[4];
static void look(struct fake *f, struct fake_reply *r)
{
	if (r->hdr.op == MSG_REG_MR && !seen[0])
		memcpy(seen, f->mr.addr, 3);
}

Test(reopen, the_daemon_has_the_bytes_of_the_program)
{
	memcpy(small->addr, "xyz", 3);
	fake_restart(&fake, look);
	cr_assert_eq(ddp_reopen(ctx, 0), 0);
	cr_expect_str_eq(seen, "xyz");
}

Test(reopen, memory_that_is_copied_is_copied_for_the_next_daemon)
{
	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	cr_assert_not_null(fake.agent, "the agent has memory of this daemon");
	cr_expect_eq(nth(MSG_REG_OWN_MR, 0)->reg_own_mr.reg.len, SMALL);
	doorbell_ring(fake.agent_bell);
	cr_assert_eq(ddp_dereg_mr(copied), 0);
}

Test(reopen, a_listener_has_its_port_and_its_events)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);
	int fd = ddp_fd(ctx);
	struct ddp_id *other, *id;
	const struct msg_listen *m;

	attr.service_key = 77;
	attr.backlog = 3;
	cr_assert_eq(ddp_create_id(ctx, NULL, &other), 0);
	cr_assert_eq(ddp_listen_service(other, &attr), 0);
	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	m = &nth(MSG_LISTEN, 0)->listen;
	cr_expect_eq(m->port, 5043);
	cr_expect_eq(m->backlog, 7);
	cr_expect_eq(nth(MSG_LISTEN_KEY, 0)->listen_key.key, 77);
	cr_expect_eq(nth(MSG_LISTEN_KEY, 0)->listen_key.listen.port, 5043, "the port it had got");
	cr_expect_eq(ddp_fd(ctx), fd);
	fake_event(&fake,
		   (struct msg_event){.type = MSG_EV_REQUEST, .cookie = m->cookie, .request = 4});
	cr_assert_eq(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1), 1);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_expect_eq(ev->listener, listener);
	id = ev->id;
	ddp_ack_cm_event(ev);
	cr_expect_eq(ddp_destroy_id(id), 0);
	cr_expect_eq(ddp_destroy_id(listener), 0);
}

static int post_until_full(struct ddp_qp *qp)
{
	struct ddp_send_wr send = {.num_sge = 0};
	int r;

	while ((r = ddp_post_send(qp, &send, NULL)) == 0)
		continue;
	return r;
}

Test(reopen, what_belonged_to_sessions_is_destroyed_without_the_daemon)
{
	struct ddp_id *id = make_id(), *asked = request(9);
	struct ddp_qp *qp = ddp_id_qp(id), *another;
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_wc wc;
	unsigned before;

	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	before = fake.nrec;
	init.send_cq = init.recv_cq = cq;
	cr_expect_eq(post_until_full(qp), -EPIPE);
	while (ddp_wait_cq(cq, 1, &wc, -1) == 1)
		cr_expect_eq(wc.status, DDP_WC_FLUSH_ERR, "what was posted");
	cr_expect_eq(ddp_wait_cq(cq, 1, &wc, -1), -EPIPE);
	cr_expect_eq(ddp_disconnect(id), -EPIPE);
	cr_expect_eq(ddp_accept(asked, NULL), -EINVAL);
	cr_expect_eq(ddp_bind_mr(small, qp), -EPIPE);
	cr_expect_eq(ddp_notify_mr(small, cq, 1), -EPIPE);
	cr_expect_eq(ddp_find_id(ctx, ddp_qp_num(qp)), NULL);
	cr_expect_eq(ddp_destroy_qp(qp), 0);
	cr_expect_eq(ddp_create_qp(id, pd, &init, &another), -EPIPE);
	cr_expect_eq(ddp_destroy_cq(cq), 0);
	cr_expect_eq(ddp_destroy_id(asked), 0);
	cr_expect_eq(fake.nrec, before, "the daemon does not know them");
}

Test(reopen, a_notice_ends_and_its_queue_can_be_destroyed)
{
	cr_assert_eq(ddp_notify_mr(small, cq, 1), 0);
	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 0), 0);
	cr_expect_eq(ddp_destroy_cq(cq), 0);
	cr_expect_eq(ddp_dereg_mr(small), 0);
}

Test(reopen, a_window_of_a_region_that_is_gone_is_not_bound)
{
	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_dereg_mr(large), 0);
	cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	for (unsigned i = 0; i < fake.nrec; i++)
		cr_expect_neq(fake.rec[i].hdr.op, MSG_BIND_MW);
}

Test(reopen, asynchronous_events_begin_again)
{
	struct ddp_async_event async;
	int fd = ddp_async_fd(ctx);

	fake_die(&fake);
	cr_assert_eq(ddp_get_async_event(ctx, &async, -1), 0);
	cr_expect_eq(async.type, DDP_ASYNC_DEVICE_GONE);
	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 0), 0);
	cr_expect_eq(ddp_async_fd(ctx), fd);
	fake.async = (struct msg_async){.type = MSG_ASYNC_PORT_DOWN};
	doorbell_ring(fake.async_bell);
	cr_assert_eq(ddp_get_async_event(ctx, &async, -1), 0);
	cr_expect_eq(async.type, DDP_ASYNC_PORT_DOWN);
	fake_die(&fake);
	cr_assert_eq(ddp_get_async_event(ctx, &async, -1), 0);
	cr_expect_eq(async.type, DDP_ASYNC_DEVICE_GONE, "and again");
}

static void refuse_listen(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_LISTEN)
		fake_refuse(r, EADDRINUSE, "another program listens on port 5043");
}

Test(reopen, a_failure_changes_nothing_and_the_call_can_be_repeated)
{
	uint32_t key = small->lkey;
	struct ddp_pd *more;

	fake_restart(&fake, refuse_listen);
	cr_assert_eq(ddp_reopen(ctx, 0), -EADDRINUSE);
	cr_expect_str_eq(ddp_last_reason(), "ddp_reopen: another program listens on port 5043");
	cr_expect_eq(small->lkey, key);
	cr_expect_eq(ddp_alloc_pd(ctx, &more), -EPIPE);
	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	cr_expect_eq(ddp_alloc_pd(ctx, &more), 0);
}

Test(reopen, again_and_again)
{
	for (int i = 0; i < 5; i++) {
		fake_restart(&fake, NULL);
		cr_assert_eq(ddp_reopen(ctx, 0), 0, "%s", ddp_last_reason());
	}
	cr_expect_eq(ddp_dereg_mr(copied), 0);
	cr_expect_eq(ddp_dealloc_mw(mw), 0);
	cr_expect_eq(ddp_dereg_mr(large), 0);
}

Test(reopen, the_daemon_has_to_end_first)
{
	cr_assert_eq(ddp_reopen(ctx, 0), -EISCONN);
	cr_expect_str_eq(ddp_last_reason(), "ddp_reopen: the daemon has not ended");
}

Test(reopen, without_a_daemon_it_waits_until_the_time_is_over)
{
	fake_die(&fake);
	cr_expect_eq(ddp_reopen(ctx, 0), -ECONNREFUSED);
	cr_expect_eq(ddp_reopen(ctx, 120), -ECONNREFUSED);
}
