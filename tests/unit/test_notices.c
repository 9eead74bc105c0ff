/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: notices of Writes delay nobody: a turn writes some of them, of each client in turn, and
 * does not look at completion queues whose program has not read its last ones. */
#include <criterion/criterion.h>

#include "daemon/objects/memory/notice.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/sessions/bells.h"
#include "tests/unit/client_rig.h"

enum { QUEUES = 100, EACH = 16, MOST = 600 /* of a turn */ };

static struct rig_program greedy, other;
static struct cq *cq[QUEUES], *one;
static struct notice many[QUEUES][EACH], single;

static struct cq *make_cq(struct rig_program *p)
{
	const struct msg_create_cq req = {.hdr = {MSG_CREATE_CQ, 2}, .entries = 2 * EACH};

	return idtab_get(&p->c->handles.cqs, rig_call(p, &req, sizeof(req)));
}

static void start(void)
{
	rig_start();
	rig_attach(&greedy);
	rig_attach(&other);
	one = make_cq(&other);
	notice_init(&single);
	cr_assert_eq(notice_set(&single, one, 1), 0);
	for (unsigned q = 0; q < QUEUES; q++) {
		cq[q] = make_cq(&greedy);
		for (unsigned i = 0; i < EACH; i++) {
			notice_init(&many[q][i]);
			cr_assert_eq(notice_set(&many[q][i], cq[q], i), 0);
		}
	}
}

TestSuite(notices, .init = start, .timeout = 60);

static void write_to_all(void)
{
	for (unsigned q = 0; q < QUEUES; q++)
		for (unsigned i = 0; i < EACH; i++)
			notice_written(&many[q][i], 1);
}

static uint64_t completions(void)
{
	uint64_t n = 0;

	for (unsigned q = 0; q < QUEUES; q++)
		n += cq[q]->completions;
	return n;
}

/* The program takes all completions of the queue and rings. */
static void read_all(struct client *c, struct cq *q)
{
	atomic_store(&q->ring.sh->head, atomic_load(&q->ring.sh->tail));
	bell_ring(c->bells.page, 0);
	client_poll_bells(c);
	bells_take(&rig.worker);
}

Test(notices, a_turn_writes_some_and_clients_take_turns)
{
	write_to_all();
	notice_written(&single, 1);
	cr_expect(notice_write(&rig.worker), "more are due");
	cr_expect_leq(completions(), MOST);
	cr_expect_eq(one->completions, 1);
	for (unsigned turns = 0; notice_write(&rig.worker); turns++)
		cr_assert_lt(turns, 10);
	cr_expect_eq(completions(), QUEUES * EACH, "none is lost");
}

Test(notices, queues_that_are_not_read_cost_no_turn)
{
	write_to_all();
	while (notice_write(&rig.worker))
		;
	write_to_all();
	while (notice_write(&rig.worker))
		;
	cr_expect_eq(completions(), QUEUES * EACH, "one of a region waits in the ring");
	cr_expect(list_empty(&rig.worker.notice_clients), "no queue is looked at");
	read_all(greedy.c, cq[7]);
	cr_expect_not(list_empty(&rig.worker.notice_clients));
	while (notice_write(&rig.worker))
		;
	cr_expect_eq(completions(), (QUEUES + 1) * EACH);
	cr_expect_eq(cq[7]->completions, 2 * EACH);
}

Test(notices, a_queue_that_gets_another_ring_goes_on)
{
	const struct msg_resize_cq req = {
		.hdr = {MSG_RESIZE_CQ, 3}, .cq = one->handle, .entries = 4 * EACH};

	for (unsigned i = 0; i < 2; i++) {
		notice_written(&single, 1);
		while (notice_write(&rig.worker))
			;
	}
	cr_expect_eq(one->completions, 1);
	rig_call(&other, &req, sizeof(req));
	read_all(other.c, one);
	while (notice_write(&rig.worker))
		;
	cr_expect_eq(one->completions, 2);
}
