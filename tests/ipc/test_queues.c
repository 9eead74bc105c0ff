/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and posting: contents of the shared memory, rings of the bells, and invalid
 * contents from a hostile daemon. */
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
static struct ddp_wc wc[2 * ENTRIES];

static const struct wqe_cqe done = {.wr_id = 1, .qp_num = 101};

static void start_as(void (*script)(struct fake *f, struct fake_reply *r))
{
	struct ddp_cq_attr attr = {sizeof(attr), ENTRIES - 1, 0};
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

static void start(void)
{
	start_as(NULL);
}

static void stop(void)
{
	fake_stop(&fake);
}

static int readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

/* ---- memory of the rings ---- */

static int shared_fd;
static uint8_t *shared_map;

enum { CQ_AT = 8192, QP_AT = 4096, SHARED = 16384 };

/* Both rings lie in one memfd. */
static void share_rings(struct fake *f, struct fake_reply *r)
{
	struct fake_qp *q = &f->qp[0];

	if (r->hdr.op == MSG_CREATE_CQ) {
		r->cq.offset = CQ_AT;
		ring_init(&f->cq[0].ring, shared_map + CQ_AT, r->cq.entries,
			  sizeof(struct wqe_cqe));
	} else if (r->hdr.op == MSG_CREATE_QP) {
		r->qp.offset = QP_AT;
		ring_init(&q->sq, shared_map + QP_AT, q->sq.size, r->qp.sq_entry);
		ring_init(&q->rq, shared_map + QP_AT + r->qp.rq_offset, q->rq.size, r->qp.rq_entry);
	} else {
		return;
	}
	close(r->fds[0]);
	r->fds[0] = dup(shared_fd);
}

/* Replies without the members that came with minor 1. */
static void be_old(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_HELLO)
		r->hello.minor = 0;
	else if (r->hdr.op == MSG_CREATE_CQ)
		r->len = offsetof(struct msg_cq, offset);
	else if (r->hdr.op == MSG_CREATE_QP)
		r->len = offsetof(struct msg_qp, offset);
}

static void start_sharing(void)
{
	void *map;

	cr_assert_eq(memfd_create_mapped("fake-shared", SHARED, &shared_fd, &map), 0);
	shared_map = map;
	start_as(share_rings);
}

static void start_old(void)
{
	start_as(be_old);
}

/* Lines of this process's table of maps with that name. */
static unsigned maps_of(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned n = 0;

	while (fgets(line, sizeof(line), maps))
		n += strstr(line, name) != NULL;
	fclose(maps);
	return n;
}

/* A request and a completion pass. */
static void expect_rings_work(void)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .wr_id = 5}, *bad;

	cr_assert_eq(ddp_post_send(qp, &wr, &bad), 0, "%s", ddp_last_reason());
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 1);
	cr_expect_eq(((const struct wqe_send *)ring_peek(&fake.qp[0].sq))->wr_id, 5);
	fake_complete(&fake.cq[0], &done, false);
	cr_expect_eq(ddp_poll_cq(cq, ENTRIES, wc), 1);
}

Test(rings, those_in_one_memfd_share_a_mapping, .init = start_sharing, .fini = stop, .timeout = 30)
{
	unsigned before = maps_of("fake-shared");

	expect_rings_work();
	cr_expect_eq(before, 2, "the fake's and the library's");
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	cr_expect_eq(maps_of("fake-shared"), 2);
	cr_assert_eq(ddp_destroy_cq(cq), 0);
	cr_expect_eq(maps_of("fake-shared"), 1);
}

Test(rings, an_old_daemon_sends_a_memfd_for_each, .init = start_old, .fini = stop, .timeout = 30)
{
	expect_rings_work();
}

/* ---- completions ---- */

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

Test(cq, after_notify_the_descriptor_tells_until_the_queue_was_polled)
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

Test(cq, what_the_daemon_wrote_before_it_died_is_taken_first)
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
	r->cq.entries = 5;
}

static void reply_entries_0(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->cq.entries = 0;
}

static void reply_too_small(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->cq.bytes--;
}

static void reply_beyond_memfd(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->cq.bytes += 4096;
}

static void reply_huge(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->cq.entries = 1u << 31;
}

Test(cq, a_ring_that_does_not_fit_is_a_protocol_error)
{
	void (*const scripts[])(struct fake *, struct fake_reply *) = {
		reply_entries_5, reply_entries_0, reply_too_small, reply_beyond_memfd, reply_huge,
	};
	struct ddp_cq_attr attr = {sizeof(attr), 8, 0};
	struct ddp_cq *other;

	for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		fake.script = scripts[i];
		cr_assert_eq(ddp_create_cq(ctx, &attr, &other), -EPROTO, "script %u", i);
	}
}

Test(cq, sizes_out_of_range_are_refused)
{
	struct ddp_cq_attr attr = {sizeof(attr), 0, 0};
	struct ddp_cq *other;

	cr_assert_eq(ddp_create_cq(ctx, &attr, &other), -EINVAL);
	attr.entries = RING_MAX_ENTRIES + 1;
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

Test(cq, an_entry_that_is_none_is_a_protocol_error_after_those_before_it)
{
	fake_complete(&fake.cq[0], &done, false);
	fake_complete(&fake.cq[0], &(struct wqe_cqe){.status = CQE_STATUS_COUNT}, false);
	cr_assert_eq(ddp_poll_cq(cq, ENTRIES, wc), 1);
	cr_assert_eq(ddp_poll_cq(cq, ENTRIES, wc), -EPROTO);
}

Test(cq, an_opcode_that_is_none_is_a_protocol_error)
{
	fake_complete(&fake.cq[0], &(struct wqe_cqe){.opcode = WQE_OPCODE_COUNT}, false);
	cr_assert_eq(ddp_wait_cq(cq, ENTRIES, wc, -1), -EPROTO);
}

/* ---- posting ---- */

TestSuite(post, .init = start, .fini = stop, .timeout = 30);

static struct ddp_sge sges[3] = {{100, 10, 1}, {200, 20, 2}, {300, 30, 3}};

static const struct wqe_send *sent(void)
{
	struct ring *r = &fake.qp[0].sq;
	const struct wqe_send *e;

	cr_assert_gt(ring_avail(r), 0);
	e = ring_peek(r);
	ring_release(r, 1);
	return e;
}

/* rows: 5041-5.2-06 */
Test(post, a_request_is_in_the_ring_with_all_its_fields)
{
	struct ddp_send_wr wr = {
		.wr_id = 77,
		.sg_list = sges,
		.num_sge = 2,
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = DDP_SEND_SIGNALED | DDP_SEND_FENCE,
		.invalidate_rkey = 5,
		.rdma = {1ull << 50, 6},
	};
	const struct wqe_send *e;

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	e = sent();
	cr_assert_eq(e->wr_id, 77);
	cr_assert_eq(e->opcode, DDP_WR_RDMA_WRITE);
	cr_assert_eq(e->flags, DDP_SEND_SIGNALED | DDP_SEND_FENCE);
	cr_assert_eq(e->num_sge, 2);
	cr_assert_eq(e->inv_rkey, 5);
	cr_assert_eq(e->remote_addr, 1ull << 50);
	cr_assert_eq(e->rkey, 6);
	cr_assert_arr_eq(e->sge, sges, 2 * sizeof(sges[0]));
}

Test(post, inline_data_is_copied_at_once)
{
	char a[] = "hello ", b[] = "world";
	struct ddp_sge parts[2] = {{(uintptr_t)a, 6, 0}, {(uintptr_t)b, 6, 0}};
	struct ddp_send_wr wr = {.sg_list = parts, .num_sge = 2, .send_flags = DDP_SEND_INLINE};
	const struct wqe_send *e;

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	memset(a, 'x', 6);
	e = sent();
	cr_assert_eq(e->inline_len, 12);
	cr_assert_eq(e->num_sge, 0);
	cr_assert_str_eq((const char *)e->data, "hello world");
}

Test(post, too_much_is_refused_with_the_limit)
{
	struct ddp_send_wr three = {.sg_list = sges, .num_sge = 3};
	struct ddp_sge big[2] = {{(uintptr_t)sges, 20, 0}, {(uintptr_t)sges, 1, 0}};
	struct ddp_send_wr data = {.sg_list = big, .num_sge = 2, .send_flags = DDP_SEND_INLINE};
	struct ddp_recv_wr recv = {.sg_list = sges, .num_sge = 2}, *bad_recv = NULL;
	struct ddp_send_wr *bad = NULL;

	cr_assert_eq(ddp_post_send(qp, &three, &bad), -EINVAL);
	cr_assert_eq(bad, &three);
	cr_assert(strstr(ddp_last_reason(), "at most 2"));
	three.num_sge = -1;
	cr_assert_eq(ddp_post_send(qp, &three, &bad), -EINVAL);
	cr_assert_eq(ddp_post_send(qp, &data, &bad), -EINVAL);
	big[1].length = UINT32_MAX;
	cr_assert_eq(ddp_post_send(qp, &data, &bad), -EINVAL, "no wrap");
	cr_assert_eq(ddp_post_recv(qp, &recv, &bad_recv), -EINVAL);
	cr_assert_eq(bad_recv, &recv);
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 0);
	cr_assert_eq(ring_avail(&fake.qp[0].rq), 0);
}

Test(post, a_list_is_posted_up_to_where_the_queue_is_full)
{
	struct ddp_send_wr wr[6] = {0}, *bad = NULL;

	for (unsigned i = 0; i < 6; i++)
		wr[i] = (struct ddp_send_wr){.wr_id = i, .next = i < 5 ? &wr[i + 1] : NULL};
	cr_assert_eq(ddp_post_send(qp, wr, &bad), -ENOMEM);
	cr_assert_eq(bad, &wr[4], "3 were asked for, which is 4");
	cr_assert(strstr(ddp_last_reason(), "all 4 entries"));
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 4);
	cr_assert_eq(sent()->wr_id, 0);
	cr_assert_eq(ddp_post_send(qp, bad, &bad), -ENOMEM);
	cr_assert_eq(bad, &wr[5]);
}

Test(post, receives_are_in_their_ring_and_ring_nobody)
{
	struct ddp_recv_wr wr = {.wr_id = 8, .sg_list = sges, .num_sge = 1};
	struct ring *r = &fake.qp[0].rq;
	const struct wqe_recv *e;

	cr_assert(bell_sleep(fake.page));
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(ddp_post_recv(qp, &wr, NULL), 0);
	cr_assert_eq(ddp_post_recv(qp, &wr, NULL), -ENOMEM);
	cr_assert_eq(ring_avail(r), 4);
	e = ring_peek(r);
	cr_assert_eq(e->wr_id, 8);
	cr_assert_eq(e->num_sge, 1);
	cr_assert_eq(e->qn, 0);
	cr_assert_arr_eq(e->sge, sges, sizeof(sges[0]));
	cr_assert_eq(bell_take(fake.page), 0);
	cr_assert_eq(doorbell_drain(fake.bell), 0);
}

Test(post, the_daemon_is_rung_only_when_it_sleeps)
{
	struct ddp_send_wr wr = {.num_sge = 0};

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	cr_assert_eq(doorbell_drain(fake.bell), 0);
	cr_assert_eq(bell_take(fake.page), 1ull << (fake.qp[0].slot / 64));
	bell_take_word(fake.page, fake.qp[0].slot / 64);
	cr_assert(bell_sleep(fake.page));
	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	cr_assert_eq(doorbell_drain(fake.bell), 1);
}

Test(post, values_that_do_not_fit_stay_wrong)
{
	struct ddp_send_wr wr = {
		.opcode = (enum ddp_wr_opcode)0x100,
		.send_flags = 0x100,
	};
	const struct wqe_send *e;

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	e = sent();
	cr_assert_neq(e->opcode, DDP_WR_SEND);
	cr_assert_neq(e->flags, 0);
}

Test(post, an_index_out_of_range_is_a_protocol_error)
{
	struct ddp_send_wr wr = {.num_sge = 0};
	struct ddp_recv_wr recv = {.num_sge = 0};

	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
		cr_assert_eq(ddp_post_recv(qp, &recv, NULL), 0);
	}
	ring_release(&fake.qp[0].sq, 5);
	ring_release(&fake.qp[0].rq, 0x70000000);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EPROTO);
		cr_assert_eq(ddp_post_recv(qp, &recv, NULL), -EPROTO);
	}
}

Test(post, a_full_queue_of_a_dead_daemon_is_a_broken_pipe)
{
	struct ddp_send_wr wr = {.num_sge = 0};
	int r = 0;

	fake_die(&fake);
	for (unsigned i = 0; i < 10 && r == 0; i++)
		r = ddp_post_send(qp, &wr, NULL);
	cr_assert_eq(r, -EPIPE);
}

static void slot_out_of_range(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->qp.slot = BELL_QUEUES;
}

static void entry_too_small(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->qp.sq_entry = 64;
}

static void entry_crooked(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->qp.rq_entry += 8;
}

static void rings_overlap(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->qp.rq_offset -= 64;
}

static void offset_wraps(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->qp.rq_offset = UINT64_MAX - 63;
}

static void beyond_memfd(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->qp.rq_offset += 1 << 20;
	r->qp.bytes += 1 << 20;
}

Test(post, rings_that_do_not_fit_are_a_protocol_error)
{
	void (*const scripts[])(struct fake *, struct fake_reply *) = {
		slot_out_of_range, entry_too_small, entry_crooked,
		rings_overlap,     offset_wraps,    beyond_memfd,
	};
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	struct ddp_qp *other;

	init.max_send_sge = 4;
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		fake.script = scripts[i];
		cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EPROTO, "script %u", i);
		cr_assert_null(ddp_id_qp(id));
	}
}

Test(post, what_no_ring_can_hold_is_refused)
{
	struct ddp_qp_init good = {.struct_size = sizeof(good), .send_cq = cq, .recv_cq = cq};
	struct ddp_qp_init init = good;
	struct ddp_qp *other;

	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL, "it has one");
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	init.max_send_wr = RING_MAX_ENTRIES + 1;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	init = good;
	init.max_recv_sge = WQE_MAX_SGE + 1;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	init = good;
	init.max_inline = WQE_MAX_INLINE + 1;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	init = good;
	init.recv_cq = NULL;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	cr_assert_eq(ddp_create_qp(id, pd, &good, &other), 0);
}

static void state_out_of_range(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->qp_state.state = DDP_QP_ERROR + 1;
}

Test(post, a_query_tells_the_state)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	cr_assert_eq(ddp_query_qp(qp, &attr), 0);
	cr_assert_eq(attr.state, DDP_QP_RTS);
	cr_assert_eq(attr.max_tagged, 1400);
	cr_assert_eq(attr.qp_num, ddp_qp_num(qp));
	cr_assert_eq(attr.max_ord, 12);
	cr_assert_eq(attr.max_ird, 34);
	fake.script = state_out_of_range;
	cr_assert_eq(ddp_query_qp(qp, &attr), -EPROTO);
}
