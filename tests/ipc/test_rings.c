/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of the rings: separate memfds, or ranges of one. */
#include <stddef.h>

#include "ipc/memfd.h"
#include "tests/ipc/queues.h"

static struct ddp_wc wc[2 * ENTRIES];

static const struct wqe_cqe done = {.wr_id = 1, .qp_num = 101};

static int shared_fd;
static uint8_t *shared_map;

enum { CQ_AT = 8192, QP_AT = 4096, SHARED = 16384 };

/* Both rings lie in one memfd. */
static void share_rings(struct fake *f, struct fake_reply *r)
{
	struct fake_qp *q = &f->qp[0];

	if (r->hdr.op == MSG_CREATE_CQ) {
		r->create_cq.offset = CQ_AT;
		ring_init(&f->cq[0].ring, shared_map + CQ_AT, r->create_cq.entries,
			  sizeof(struct wqe_cqe));
	} else if (r->hdr.op == MSG_CREATE_QP) {
		r->create_qp.offset = QP_AT;
		ring_init(&q->sq, shared_map + QP_AT, q->sq.size, r->create_qp.sq_entry);
		ring_init(&q->rq, shared_map + QP_AT + r->create_qp.rq_offset, q->rq.size,
			  r->create_qp.rq_entry);
	} else {
		return;
	}
	close(r->fds[0]);
	r->fds[0] = dup(shared_fd);
}

/* Replies without the members that came with minor 1. */
static void omit_offsets(struct fake *f, struct fake_reply *r)
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

static void start_without_offsets(void)
{
	start_as(omit_offsets);
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

Test(rings, an_old_daemon_sends_a_memfd_for_each, .init = start_without_offsets, .fini = stop,
     .timeout = 30)
{
	expect_rings_work();
}
