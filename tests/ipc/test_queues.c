/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: the contents of their rings, the bells, and invalid contents from a hostile
 * daemon. */
#include <netinet/in.h>

#include "tests/ipc/queues.h"

static struct ddp_wc wc[2 * ENTRIES];

static const struct wqe_cqe done = {.wr_id = 1, .qp_num = 101};

TestSuite(cq, .init = start, .fini = stop, .timeout = 30);

Test(cq, entries_are_rounded_up)
{
	cr_assert_eq(fake.cq[0].ring.size, ENTRIES);
}

Test(cq, an_empty_queue_has_nothing)
{
	cr_assert_eq(ddp_poll_cq(cq, ENTRIES, wc), 0);
	cr_assert_eq(ddp_wait_cq(cq, ENTRIES, wc, 0), 0);
	cr_assert_eq(ddp_wait_cq(cq, ENTRIES, wc, 5), 0);
	cr_assert_eq(ddp_poll_cq(cq, -1, wc), -EINVAL);
	cr_assert_eq(ddp_wait_cq(cq, 0, wc, 0), -EINVAL);
}

Test(cq, a_completion_arrives_with_all_its_fields)
{
	struct wqe_cqe e = {
		.wr_id = 0x1122334455667788,
		.qp_num = 9,
		.status = DDP_WC_REM_ACCESS_ERR,
		.opcode = DDP_WC_RECV,
		.flags = DDP_WC_WITH_INV,
		.byte_len = 3,
		.inv_rkey = 4,
		.err_perr = 5,
		.err_term = 0x1101,
		.err_stag = 6,
		.err_to = 1ull << 40,
		.err_len = 8,
		.imm = 1ull << 39,
		.qn = 7,
	};

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 1);
	cr_assert_eq(wc->wr_id, e.wr_id);
	cr_assert_eq(wc->qp_num, 9);
	cr_assert_eq(wc->status, DDP_WC_REM_ACCESS_ERR);
	cr_assert_eq(wc->opcode, DDP_WC_RECV);
	cr_assert_eq(wc->wc_flags, DDP_WC_WITH_INV);
	cr_assert_eq(wc->byte_len, 3);
	cr_assert_eq(wc->invalidated_rkey, 4);
	cr_assert_eq(wc->err_kind, 5);
	cr_assert_eq(wc->term, 0x1101);
	cr_assert_eq(wc->err_stag, 6);
	cr_assert_eq(wc->err_to, 1ull << 40);
	cr_assert_eq(wc->err_len, 8);
	cr_assert_eq(wc->imm_data, 1ull << 39);
	cr_assert_eq(wc->qn, 7);
	cr_assert_eq(wc->stag, 0);
}

Test(cq, a_full_queue_is_taken_in_parts_and_in_order)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		fake_complete(&fake.cq[0], &(struct wqe_cqe){.wr_id = i}, false);
	cr_assert_eq(ddp_poll_cq(cq, 3, wc), 3);
	cr_assert_eq(ddp_wait_cq(cq, 2 * ENTRIES, wc + 3, -1), ENTRIES - 3);
	for (unsigned i = 0; i < ENTRIES; i++)
		cr_assert_eq(wc[i].wr_id, i);
}

Test(cq, polling_needs_no_bell)
{
	for (unsigned i = 0; i < 100; i++) {
		fake_complete(&fake.cq[0], &done, false);
		cr_assert_eq(ddp_poll_cq(cq, 1, wc), 1);
		cr_assert_eq(ddp_poll_cq(cq, 1, wc), 0);
	}
	cr_assert_eq(readable(ddp_cq_fd(cq)), 0);
}

Test(cq, after_notify_the_descriptor_is_readable_until_the_queue_is_polled)
{
	for (unsigned i = 0; i < 100; i++) {
		cr_assert_eq(ddp_req_notify_cq(cq, 0), 0);
		cr_assert_eq(readable(ddp_cq_fd(cq)), 0);
		fake_complete(&fake.cq[0], &done, false);
		fake_complete(&fake.cq[0], &done, false);
		cr_assert_eq(readable(ddp_cq_fd(cq)), POLLIN);
		cr_assert_eq(ddp_poll_cq(cq, ENTRIES, wc), 2);
		cr_assert_eq(readable(ddp_cq_fd(cq)), 0);
	}
}

Test(cq, a_late_ring_is_emptied_by_the_next_poll)
{
	struct fake_cq *f = &fake.cq[0];

	/* The daemon decides to ring, the program arms the queue again, and then the daemon rings.
	 */
	ddp_req_notify_cq(cq, 0);
	ring_awake(&f->ring);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 0);
	ddp_req_notify_cq(cq, 0);
	doorbell_ring(f->bell);
	cr_assert_eq(readable(ddp_cq_fd(cq)), POLLIN);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 0);
	cr_assert_eq(readable(ddp_cq_fd(cq)), 0);
	fake_complete(f, &done, false);
	cr_assert_eq(readable(ddp_cq_fd(cq)), POLLIN, "the second request is still valid");
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 1);
	cr_assert_eq(readable(ddp_cq_fd(cq)), 0);
}

Test(cq, notify_reports_completions_that_are_there_already)
{
	fake_complete(&fake.cq[0], &done, false);
	cr_assert_eq(ddp_req_notify_cq(cq, 0), 1);
}

Test(cq, solicited_only_sleeps_through_the_others)
{
	cr_assert_eq(ddp_req_notify_cq(cq, 1), 0);
	fake_complete(&fake.cq[0], &done, false);
	cr_assert_eq(readable(ddp_cq_fd(cq)), 0);
	fake_complete(&fake.cq[0], &done, true);
	cr_assert_eq(readable(ddp_cq_fd(cq)), POLLIN);
}

static void *complete_when_asleep(void *arg)
{
	struct fake_cq *f = arg;

	while (ring_sleeper(&f->ring) == RING_RUNS)
		sched_yield();
	fake_complete(f, &done, false);
	return NULL;
}

Test(cq, a_call_for_any_completion_is_wider_than_one_for_solicited_ones)
{
	const struct wqe_cqe e = {.wr_id = 1};

	cr_assert_eq(ddp_req_notify_cq(cq, 1), 0);
	cr_assert_eq(ddp_req_notify_cq(cq, 0), 0);
	cr_assert_eq(ddp_req_notify_cq(cq, 1), 0);
	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(readable(ddp_cq_fd(cq)), POLLIN);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 1);
	cr_assert_eq(readable(ddp_cq_fd(cq)), 0);
	cr_assert_eq(ddp_req_notify_cq(cq, 1), 0);
	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(readable(ddp_cq_fd(cq)), 0, "it was for one event");
}

/* A second queue of the context, which keeps its events. */
static struct ddp_cq *keeper(void)
{
	struct ddp_cq_attr attr = DDP_INIT(ddp_cq_attr);
	struct ddp_cq *ret;

	attr.entries = ENTRIES;
	attr.keep_events = 1;
	cr_assert_eq(ddp_create_cq(ctx, &attr, &ret), 0);
	return ret;
}

Test(cq, kept_events_are_taken_one_at_a_time_and_not_by_polls)
{
	struct ddp_cq *k = keeper();

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(ddp_req_notify_cq(k, 0), 0);
		fake_complete(&fake.cq[1], &(struct wqe_cqe){.wr_id = 1}, false);
		cr_assert_eq(ddp_poll_cq(k, 1, wc), 1);
		cr_assert_eq(ddp_poll_cq(k, 1, wc), 0);
	}
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(readable(ddp_cq_fd(k)), POLLIN);
		cr_assert_eq(ddp_get_cq_event(k, 0), 0, "event %d", i);
	}
	cr_assert_eq(readable(ddp_cq_fd(k)), 0);
	cr_assert_eq(ddp_get_cq_event(k, 0), -EAGAIN);
	cr_assert_eq(ddp_get_cq_event(k, 1), -EAGAIN);
	cr_assert_eq(ddp_wait_cq(k, 1, wc, 0), -EINVAL);
	cr_assert_eq(ddp_get_cq_event(cq, 0), -EINVAL);
}

Test(cq, events_that_are_never_taken_are_bounded_and_one_remains)
{
	struct ddp_cq *k = keeper();
	int events = 0;

	for (int i = 0; i < 10000; i++) {
		cr_assert_eq(ddp_req_notify_cq(k, 0), 0);
		fake_complete(&fake.cq[1], &(struct wqe_cqe){.wr_id = 1}, false);
		cr_assert_eq(ddp_poll_cq(k, 1, wc), 1);
	}
	while (ddp_get_cq_event(k, 0) == 0)
		events++;
	cr_assert(events > 0 && events < 1000, "%d", events);
}

Test(cq, the_daemons_death_comes_after_the_last_kept_event)
{
	struct ddp_cq *k = keeper();

	cr_assert_eq(ddp_req_notify_cq(k, 0), 0);
	fake_complete(&fake.cq[1], &(struct wqe_cqe){.wr_id = 1}, false);
	fake_die(&fake);
	cr_assert_eq(ddp_get_cq_event(k, -1), 0);
	cr_assert_eq(ddp_get_cq_event(k, -1), -EPIPE);
}

Test(cq, a_queue_changes_its_size)
{
	cr_assert_eq(ddp_resize_cq(cq, 0), -EINVAL);
	cr_assert_eq(ddp_resize_cq(cq, 65537), -EINVAL);
	cr_assert_eq(ddp_resize_cq(cq, 33), 0);
	cr_assert_eq(fake_last(&fake, MSG_RESIZE_CQ)->resize_cq.entries, 64);
	for (int i = 0; i < 64; i++)
		fake_complete(&fake.cq[0], &(struct wqe_cqe){.wr_id = 1}, false);
	cr_assert_eq(ddp_poll_cq(cq, 8, wc), 8);
	cr_assert_eq(ddp_resize_cq(cq, 2), 0);
	cr_assert_eq(ddp_poll_cq(cq, 8, wc), 0, "the new ring is empty");
	fake_complete(&fake.cq[0], &(struct wqe_cqe){.wr_id = 7}, false);
	cr_assert_eq(ddp_poll_cq(cq, 8, wc), 1);
	cr_assert_eq(wc[0].wr_id, 7);
}

static void too_small(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_RESIZE_CQ && r->len == sizeof(r->resize_cq))
		r->resize_cq.bytes = 64;
}

static void refuse_resize(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_RESIZE_CQ)
		fake_refuse(r, EBUSY, "too few");
}

Test(cq, a_refused_size_changes_nothing_and_an_invalid_reply_breaks_the_queue)
{
	fake.script = refuse_resize;
	cr_assert_eq(ddp_resize_cq(cq, 64), -EBUSY);
	cr_assert_eq(ddp_poll_cq(cq, 8, wc), 0);
	fake.script = too_small;
	cr_assert_eq(ddp_resize_cq(cq, 64), -EPROTO);
	cr_assert_eq(ddp_poll_cq(cq, 8, wc), -EPROTO);
}

Test(cq, a_sleeper_is_woken_by_a_completion)
{
	for (unsigned i = 0; i < 20; i++) {
		pthread_t t;

		pthread_create(&t, NULL, complete_when_asleep, &fake.cq[0]);
		cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), 1);
		pthread_join(t, NULL);
	}
}

static void *die_when_asleep(void *arg)
{
	(void)arg;
	while (ring_sleeper(&fake.cq[0].ring) == RING_RUNS)
		sched_yield();
	fake_die(&fake);
	return NULL;
}

/* A system call that the program need not wait for. */
Test(cq, a_wait_returns_a_completion_before_it_reads_the_bell)
{
	for (unsigned i = 0; i < 100; i++) {
		cr_assert_eq(ddp_req_notify_cq(cq, 0), 0);
		fake_complete(&fake.cq[0], &done, false);
		cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), 1);
		cr_assert(readable(ddp_cq_fd(cq)));
		cr_assert_eq(ddp_wait_cq(cq, 1, wc, 0), 0);
		cr_assert_not(readable(ddp_cq_fd(cq)), "it would not sleep");
	}
}

Test(cq, the_daemons_death_wakes_a_sleeper)
{
	pthread_t t;

	pthread_create(&t, NULL, die_when_asleep, NULL);
	cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), -EPIPE);
	cr_assert(strstr(ddp_last_reason(), "daemon has ended"));
	pthread_join(t, NULL);
	cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), -EPIPE, "and so does every later wait");
}

static void *wait_forever(void *arg)
{
	struct ddp_wc one;

	(void)arg;
	return (void *)(intptr_t)ddp_wait_cq(cq, 1, &one, -1);
}

Test(cq, the_daemons_death_wakes_all_sleepers)
{
	pthread_t t[4];
	void *r;

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, wait_forever, NULL);
	die_when_asleep(NULL);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		cr_assert_eq((intptr_t)r, -EPIPE);
	}
}

Test(cq, completions_written_before_the_daemon_died_come_first)
{
	fake_complete(&fake.cq[0], &done, false);
	fake_complete(&fake.cq[0], &done, false);
	fake_die(&fake);
	cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), 1);
	cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), 1);
	cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), -EPIPE);
}

Test(cq, a_program_that_only_polls_learns_that_the_daemon_died)
{
	int r = 0;

	fake_die(&fake);
	for (unsigned i = 0; i < 10000 && r == 0; i++)
		r = ddp_poll_cq(cq, 1, wc);
	cr_assert_eq(r, -EPIPE);
}

Test(cq, the_daemons_death_shows_at_the_descriptor)
{
	ddp_req_notify_cq(cq, 0);
	fake_die(&fake);
	cr_assert(readable(ddp_cq_fd(cq)) & POLLHUP);
	cr_assert_eq(ddp_req_notify_cq(cq, 0), 0);
}

Test(cq, a_daemon_that_waits_for_room_is_woken)
{
	struct fake_cq *f = &fake.cq[0];

	fake_complete(f, &done, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 1);
	cr_assert_eq(bell_take(fake.page), 0, "the daemon does not wait");
	fake_complete(f, &done, false);
	ring_block(&f->ring);
	cr_assert(bell_sleep(fake.page));
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 1);
	cr_assert_eq(bell_take(fake.page), 1ull << (fake.qp[0].slot / 64));
	cr_assert_eq(bell_take_word(fake.page, fake.qp[0].slot / 64),
		     1ull << (fake.qp[0].slot % 64));
	cr_assert_gt(doorbell_drain(fake.bell), 0, "it slept");
}

static void reply_entries_5(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_cq.entries = 5;
}

static void reply_entries_0(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_cq.entries = 0;
}

static void reply_too_small(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_cq.bytes--;
}

static void reply_beyond_memfd(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_cq.bytes += 4096;
}

static void reply_huge(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_cq.entries = 1u << 31;
}

Test(cq, a_ring_that_does_not_fit_is_a_protocol_error)
{
	void (*const scripts[])(struct fake *, struct fake_reply *) = {
		reply_entries_5, reply_entries_0, reply_too_small, reply_beyond_memfd, reply_huge,
	};
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};
	struct ddp_cq *other;

	for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		fake.script = scripts[i];
		cr_assert_eq(ddp_create_cq(ctx, &attr, &other), -EPROTO, "script %u", i);
	}
}

Test(cq, sizes_out_of_range_are_refused)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 0};
	struct ddp_cq *other;

	cr_assert_eq(ddp_create_cq(ctx, &attr, &other), -EINVAL);
	attr.entries = RING_MAX_COMPLETIONS + 1;
	cr_assert_eq(ddp_create_cq(ctx, &attr, &other), -EINVAL);
}

Test(cq, an_index_out_of_range_is_a_permanent_protocol_error)
{
	struct fake_cq *f = &fake.cq[0];

	fake_complete(f, &done, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), 1);
	f->ring.mine += ENTRIES + 1;
	ring_submit(&f->ring);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), -EPROTO);
	f->ring.mine -= ENTRIES;
	ring_submit(&f->ring);
	cr_assert_eq(ddp_poll_cq(cq, 1, wc), -EPROTO);
	cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), -EPROTO);
}

Test(cq, an_index_that_runs_backwards_is_a_protocol_error)
{
	fake.cq[0].ring.mine--;
	ring_submit(&fake.cq[0].ring);
	cr_assert_eq(ddp_req_notify_cq(cq, 0), -EPROTO);
	cr_assert_eq(ddp_wait_cq(cq, 1, wc, -1), -EPROTO);
}

Test(cq, an_invalid_entry_is_a_protocol_error_after_the_entries_before_it)
{
	fake_complete(&fake.cq[0], &done, false);
	fake_complete(&fake.cq[0], &(struct wqe_cqe){.status = CQE_STATUS_COUNT}, false);
	cr_assert_eq(ddp_poll_cq(cq, ENTRIES, wc), 1);
	cr_assert_eq(ddp_poll_cq(cq, ENTRIES, wc), -EPROTO);
}

Test(cq, an_invalid_opcode_is_a_protocol_error)
{
	fake_complete(&fake.cq[0], &(struct wqe_cqe){.opcode = WQE_OPCODE_COUNT}, false);
	cr_assert_eq(ddp_wait_cq(cq, ENTRIES, wc, -1), -EPROTO);
}

/* ---- ddp_wait() ---- */

static const struct msg_event lost = {.type = MSG_EV_DISCONNECTED, .err = ETIMEDOUT};

/* An event of the id of start(). */
static void session_event(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(5043)};
	struct msg_event rec = lost;

	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&to, NULL), 0, "%s", ddp_last_reason());
	rec.cookie = fake_last(&fake, MSG_CONNECT)->connect.cookie;
	fake_event(&fake, rec);
}

Test(cq, one_call_returns_completions_and_then_the_event)
{
	struct ddp_cm_event *ev = NULL;

	fake_complete(&fake.cq[0], &done, false);
	session_event();
	cr_assert_eq(ddp_wait(cq, ENTRIES, wc, &ev, -1), 1);
	cr_assert_null(ev, "the completion came first");
	cr_assert_eq(ddp_wait(cq, ENTRIES, wc, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_DISCONNECTED);
	cr_assert_eq(ev->id, id);
	ddp_ack_cm_event(ev);
	cr_assert_eq(ddp_wait(cq, ENTRIES, wc, &ev, 0), 0);
	cr_assert_null(ev, "nothing is left");
	cr_assert_eq(ddp_wait(cq, ENTRIES, wc, &ev, 5), 0);
	cr_assert_eq(ddp_wait(cq, 0, wc, &ev, 5), -EINVAL);
}

Test(cq, completions_without_end_do_not_keep_an_event_back)
{
	struct ddp_cm_event *ev = NULL;
	unsigned calls = 0;

	session_event();
	while (!ev) {
		fake_complete(&fake.cq[0], &done, false);
		cr_assert_eq(ddp_wait(cq, 1, wc, &ev, -1), 1);
		cr_assert_lt(calls++, 1000);
	}
	ddp_ack_cm_event(ev);
}

static void *event_when_asleep(void *arg)
{
	struct msg_event rec = lost;

	rec.cookie = *(uint32_t *)arg;
	while (ring_sleeper(&fake.cq[0].ring) == RING_RUNS)
		sched_yield();
	fake_event(&fake, rec);
	return NULL;
}

Test(cq, a_sleeper_in_ddp_wait_is_woken_by_either)
{
	struct ddp_cm_event *ev = NULL;
	uint32_t cookie;
	pthread_t t;

	session_event();
	cr_assert_eq(ddp_wait(cq, 1, wc, &ev, -1), 0);
	ddp_ack_cm_event(ev);
	cookie = fake_last(&fake, MSG_CONNECT)->connect.cookie;
	pthread_create(&t, NULL, event_when_asleep, &cookie);
	cr_assert_eq(ddp_wait(cq, 1, wc, &ev, -1), 0);
	cr_assert_eq(ev->id, id);
	ddp_ack_cm_event(ev);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, complete_when_asleep, &fake.cq[0]);
	cr_assert_eq(ddp_wait(cq, 1, wc, &ev, -1), 1);
	cr_assert_null(ev);
	pthread_join(t, NULL);
}

Test(cq, ddp_wait_returns_what_came_before_the_daemons_death)
{
	struct ddp_cm_event *ev = NULL;
	int events = 0, completions = 0, r;

	fake_complete(&fake.cq[0], &done, false);
	session_event();
	fake_die(&fake);
	while ((r = ddp_wait(cq, 1, wc, &ev, -1)) >= 0) {
		completions += r;
		events += ev != NULL;
		ddp_ack_cm_event(ev);
		cr_assert_lt(completions + events, 3);
	}
	cr_assert_eq(r, -EPIPE);
	cr_assert_eq(completions, 1);
	cr_assert_eq(events, 1);
}

Test(cq, the_number_of_a_queue_pair_leads_to_the_programs_object)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_id *other[5];
	struct ddp_qp *q[5];

	init.send_cq = init.recv_cq = cq;
	init.max_send_wr = init.max_recv_wr = 3;
	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(ddp_create_id(ctx, &q[i], &other[i]), 0);
		cr_assert_eq(ddp_create_qp(other[i], pd, &init, &q[i]), 0);
	}
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(ddp_id_user(ddp_find_id(ctx, ddp_qp_num(q[i]))), &q[i]);
	cr_assert_eq(ddp_find_id(ctx, ddp_qp_num(qp)), id);
	cr_assert_null(ddp_find_id(ctx, 4711));
	cr_assert_eq(ddp_destroy_qp(q[1]), 0);
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(ddp_find_id(ctx, 102 + i) == NULL, i == 1, "QP %u", 102 + i);
}
