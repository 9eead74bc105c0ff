/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/ipc/objects.h"

TestSuite(srq, .init = start, .fini = stop, .timeout = 20);

static void make_srq(struct ddp_srq **ret)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);

	attr.max_wr = 3;
	attr.max_sge = 2;
	attr.limit = 2;
	attr.max_per_qp = 1;
	attr.user = &fake;
	cr_assert_eq(ddp_create_srq(pd, &attr, ret), 0, "%s", ddp_last_reason());
}

Test(srq, the_daemon_learns_size_and_limits)
{
	const struct msg_create_srq *m;

	make_srq(&srq);
	m = &fake_last(&fake, MSG_CREATE_SRQ)->create_srq;
	cr_assert_eq(m->pd, 1);
	cr_assert_eq(m->entries, 4, "rounded up");
	cr_assert_eq(m->max_sge, 2);
	cr_assert_eq(m->limit, 2);
	cr_assert_eq(m->per_qp, 1);
	cr_assert_neq(m->cookie, 0);
}

Test(srq, sizes_out_of_range_are_refused)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);

	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), -EINVAL);
	attr.max_wr = RING_MAX_ENTRIES + 1;
	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), -EINVAL);
	attr.max_wr = 1;
	attr.max_sge = WQE_MAX_SGE + 1;
	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), -EINVAL);
	attr.max_sge = 0;
	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), 0);
	cr_assert_eq(fake_last(&fake, MSG_CREATE_SRQ)->create_srq.max_sge, 1);
}

static void entry_too_small(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_srq.entry = 0;
}

static void entry_misaligned(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_srq.entry += 8;
}

static void ring_too_small(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_srq.bytes--;
}

static void beyond_memfd(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_srq.bytes += 1 << 20;
}

static void beyond_memfd_at_offset(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_srq.offset = 1 << 20;
}

static void offset_misaligned(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_srq.offset = 8;
	r->create_srq.bytes -= 8;
}

Test(srq, a_ring_that_does_not_fit_is_a_protocol_error)
{
	void (*const scripts[])(struct fake *, struct fake_reply *) = {
		entry_too_small, entry_misaligned,       ring_too_small,
		beyond_memfd,    beyond_memfd_at_offset, offset_misaligned};
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	unsigned fds = open_fds();

	attr.max_wr = 64;
	for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		fake.script = scripts[i];
		cr_assert_eq(ddp_create_srq(pd, &attr, &srq), -EPROTO, "script %u", i);
		fake_last(&fake, MSG_DESTROY_SRQ);
	}
	fake.script = refuse;
	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), -EBUSY);
	cr_assert_eq(open_fds(), fds);
	fake.script = NULL;
	cr_assert_eq(ddp_create_srq(pd2, &attr, &srq), 0);
	cr_assert_eq(ddp_dealloc_pd(pd2), -EBUSY);
	cr_assert_eq(ddp_destroy_srq(srq), 0);
	cr_assert_eq(fake_last(&fake, MSG_DESTROY_SRQ)->destroy_srq.handle, 9);
	cr_assert_eq(ddp_dealloc_pd(pd2), 0);
	cr_assert_eq(ddp_destroy_srq(NULL), 0);
}

Test(srq, limits_change_one_by_one)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	const struct msg_modify_srq *m;

	make_srq(&srq);
	attr.limit = 5;
	attr.max_per_qp = 6;
	cr_assert_eq(ddp_modify_srq(srq, &attr, DDP_SRQ_LIMIT), 0);
	m = &fake_last(&fake, MSG_MODIFY_SRQ)->modify_srq;
	cr_assert_eq(m->srq, 9);
	cr_assert_eq(m->what, MSG_SRQ_LIMIT);
	cr_assert_eq(m->limit, 5);
	cr_assert_eq(m->per_qp, 0);
	cr_assert_eq(ddp_modify_srq(srq, &attr, DDP_SRQ_LIMIT | DDP_SRQ_MAX_PER_QP), 0);
	m = &fake_last(&fake, MSG_MODIFY_SRQ)->modify_srq;
	cr_assert_eq(m->what, MSG_SRQ_LIMIT | MSG_SRQ_PER_QP);
	cr_assert_eq(m->per_qp, 6);
	cr_assert_eq(ddp_modify_srq(srq, &attr, 0), -EINVAL);
	cr_assert_eq(ddp_modify_srq(srq, &attr, 4), -EINVAL);
	fake.script = refuse;
	cr_assert_eq(ddp_modify_srq(srq, &attr, DDP_SRQ_LIMIT), -EBUSY);
}

static struct ddp_qp *make_qp(struct ddp_pd *of, int want)
{
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	struct ddp_qp *qp = NULL;
	struct ddp_id *id;

	init.srq = srq;
	init.max_recv_wr = 100;
	init.max_recv_sge = 16;
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_qp(id, of, &init, &qp), want, "%s", ddp_last_reason());
	return qp;
}

Test(srq, a_queue_pair_that_uses_it_has_no_receives_of_its_own)
{
	struct ddp_recv_wr wr = {.wr_id = 1}, *bad = NULL;
	const struct msg_create_qp *m;
	struct ddp_qp *qp;

	make_srq(&srq);
	make_qp(pd2, -EINVAL);
	cr_assert(reason_has("SRQ and QP have different PDs"));
	qp = make_qp(pd, 0);
	m = &fake_last(&fake, MSG_CREATE_QP)->create_qp;
	cr_assert_eq(m->srq, 9);
	cr_assert_eq(m->rq_entries, 0);
	cr_assert_eq(m->max_recv_sge, 2, "those of the SRQ");
	cr_assert_eq(ddp_post_recv(qp, &wr, &bad), -EINVAL);
	cr_assert_eq(bad, &wr);
	cr_assert(reason_has("ddp_post_srq_recv"));
	cr_assert_eq(ddp_destroy_srq(srq), -EBUSY);
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	cr_assert_eq(ddp_destroy_srq(srq), 0);
}

Test(srq, receives_are_in_the_ring_and_ring_no_bell)
{
	struct ddp_sge sges[3] = {{100, 10, 1}, {200, 20, 2}, {300, 30, 3}};
	struct ddp_recv_wr wr[5], *bad = NULL;
	const struct wqe_recv *e;

	make_srq(&srq);
	cr_assert(bell_sleep(fake.page));
	for (unsigned i = 0; i < 5; i++)
		wr[i] = (struct ddp_recv_wr){i, i < 4 ? &wr[i + 1] : NULL, sges, 2, i};
	cr_assert_eq(ddp_post_srq_recv(srq, wr, &bad), -ENOMEM);
	cr_assert_eq(bad, &wr[4]);
	cr_assert(reason_has("ddp_post_srq_recv: SRQ 9: all 4 entries"));
	cr_assert_eq(ring_avail(&fake.srq), 4);
	ring_release(&fake.srq, 3);
	e = ring_peek(&fake.srq);
	cr_assert_eq(e->wr_id, 3);
	cr_assert_eq(e->num_sge, 2);
	cr_assert_eq(e->qn, 3);
	cr_assert_arr_eq(e->sge, sges, 2 * sizeof(sges[0]));
	wr[4].num_sge = 3;
	cr_assert_eq(ddp_post_srq_recv(srq, &wr[4], &bad), -EINVAL);
	cr_assert(reason_has("num_sge 3: SRQ 9 was made for at most 2"));
	wr[4].num_sge = 0;
	wr[4].qn = DDP_QN_TAGGED;
	cr_assert_eq(ddp_post_srq_recv(srq, &wr[4], NULL), 0);
	cr_assert_eq(bell_take(fake.page), 0);
}

Test(srq, receives_ring_every_queue_pair_while_a_message_waits)
{
	struct ddp_recv_wr wr = {.wr_id = 1};
	struct ddp_qp *first, *second;

	make_srq(&srq);
	first = make_qp(pd, 0);
	second = make_qp(pd, 0);
	ring_sleep(&fake.srq, RING_SLEEPS);
	cr_assert_eq(ddp_post_srq_recv(srq, &wr, NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		unsigned slot = fake.qp[i].slot;

		cr_expect_eq(bell_take_word(fake.page, slot / 64), UINT64_C(1) << slot % 64);
	}
	cr_assert_eq(ddp_destroy_qp(first), 0);
	cr_assert_eq(ddp_post_srq_recv(srq, &wr, NULL), 0);
	cr_expect_eq(bell_take_word(fake.page, fake.qp[0].slot / 64), 0, "it is gone");
	cr_expect_neq(bell_take_word(fake.page, fake.qp[1].slot / 64), 0);
	cr_assert_eq(ddp_destroy_qp(second), 0);
}

Test(srq, a_hold_is_asked_for_and_what_is_refused_leaves_nothing)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	const struct msg_options *m;
	struct ddp_qp *qp;
	struct ddp_id *id;

	attr.max_wr = 4;
	attr.hold_bytes = 1000;
	attr.hold_ms = 20;
	cr_assert_eq(ddp_create_srq(pd, &attr, &srq), 0);
	m = &fake_last(&fake, MSG_SRQ_OPTIONS)->srq_options;
	cr_expect_eq(m->handle, 9);
	cr_expect_eq(m->what, MSG_OPTIONS_HOLD);
	cr_expect_eq(m->hold_bytes, 1000);
	cr_expect_eq(m->hold_ms, 20);
	init.options = DDP_QP_KEEP_RECVS;
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0);
	m = &fake_last(&fake, MSG_QP_OPTIONS)->qp_options;
	cr_expect_eq(m->what, MSG_OPTIONS_FLAGS);
	cr_expect_eq(m->flags, MSG_QP_KEEP_RECVS);
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	cr_assert_eq(ddp_destroy_srq(srq), 0);
}

Test(srq, a_full_queue_of_a_dead_daemon_is_a_broken_pipe)
{
	struct ddp_recv_wr wr = {.wr_id = 1};
	int r = 0;

	make_srq(&srq);
	fake_die(&fake);
	for (unsigned i = 0; i < 10 && r == 0; i++)
		r = ddp_post_srq_recv(srq, &wr, NULL);
	cr_assert_eq(r, -EPIPE);
}

Test(srq, after_the_daemon_died_everything_can_be_freed)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct ddp_mr before = *mr;

	make_srq(&srq);
	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &mw), 0);
	fake_die(&fake);
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_ACCESS, &attr), -EPIPE);
	cr_assert_eq(memcmp(mr, &before, sizeof(before)), 0);
	cr_assert_eq(ddp_bind_mw(mw, mr, mr->iova, 8, 4), -EPIPE);
	cr_assert_eq(ddp_destroy_srq(srq), 0);
	cr_assert_eq(ddp_dealloc_mw(mw), 0);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_destroy_cq(cq), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
	cr_assert_eq(ddp_dealloc_pd(pd2), 0);
	cr_assert_eq(ddp_close(ctx), 0);
}

Test(srq, its_event_carries_the_user_pointer)
{
	struct ddp_cm_event *ev;
	uint32_t cookie;

	make_srq(&srq);
	cookie = fake_last(&fake, MSG_CREATE_SRQ)->create_srq.cookie;
	fake_event(&fake, (struct msg_event){.type = MSG_EV_SRQ_LIMIT, .cookie = cookie});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_SRQ_LIMIT);
	cr_assert_eq(ev->srq_user, &fake);
	cr_assert_null(ev->id);
	cr_assert_eq(ddp_destroy_srq(srq), 0, "an event does not hold it");
	ddp_ack_cm_event(ev);
	fake_event(&fake, (struct msg_event){.type = MSG_EV_SRQ_LIMIT, .cookie = cookie});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, 0), -EAGAIN, "it is gone");
}
