/* SPDX-License-Identifier: BSD-2-Clause */
/* Users with many records in their sockets do not keep the daemon from those of others. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/acct.h"
#include "daemon/base/queue.h"
#include "daemon/objects/sessions/bells.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/service/attach.h"
#include "ipc/ctl.h"
#include "ipc/ring.h"
#include "tests/unit/client_rig.h"
#include "util/drr.h"

enum { CLIENTS = 3, RECORDS = 20, LONG = 1000 };

static struct rig_program many[CLIENTS], one;
static struct worker *const w = &rig.worker;
static uint32_t sent;

/* The rig has one uid: the node of another one is made up. */
static struct drr other_user;

/* How long each look at the clock takes, each request of the many, and each of the one. */
static uint64_t look_us, many_us, one_us;

static uint64_t clock_us(void *user)
{
	static uint64_t looks;
	uint64_t us = 1000000 + look_us * ++looks;

	(void)user;
	for (unsigned i = 0; i < CLIENTS; i++)
		us += many[i].c ? many_us * many[i].c->handles.pds.used : 0;
	return us + (one.c ? one_us * one.c->handles.pds.used : 0);
}

static void start(void)
{
	rig_clock_us = clock_us;
	rig_start();
	for (unsigned i = 0; i < CLIENTS; i++)
		rig_attach(&many[i]);
	rig_attach(&one);
	drr_init(&other_user, &w->requests);
	one.c->io.turn.parent = &other_user;
}

TestSuite(requests, .init = start);

static void ask(struct rig_program *p)
{
	const struct msg_hdr pd = {MSG_ALLOC_PD, ++sent};

	cr_assert_eq(send(p->fd, &pd, sizeof(pd), 0), sizeof(pd));
	drr_add(&p->c->io.turn); /* its socket is readable */
}

static unsigned answers(const struct rig_program *p)
{
	unsigned char rec[MSG_MAX];
	unsigned n = 0;

	while (recv(p->fd, rec, sizeof(rec), MSG_DONTWAIT) > 0)
		n++;
	return n;
}

static void many_ask(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		for (unsigned k = 0; k < RECORDS; k++)
			ask(&many[i]);
}

Test(requests, users_take_turns)
{
	many_ask();
	ask(&one);
	cr_expect(attach_take_records(w, LONG));
	cr_expect_eq(answers(&one), 1, "it waits for one record of the other user");
}

Test(requests, so_do_the_clients_of_a_user)
{
	unsigned n[CLIENTS];

	many_ask();
	for (unsigned turns = 0; turns < 3; turns++)
		cr_expect(attach_take_records(w, LONG));
	for (unsigned i = 0; i < CLIENTS; i++) {
		n[i] = answers(&many[i]);
		cr_expect(n[i] > 0 && n[i] <= n[0] + 1 && n[0] <= n[i] + 1, "%u and %u", n[i],
			  n[0]);
	}
}

/* While there is other work, few are taken at once; and none is forgotten. */
Test(requests, a_turn_takes_few_while_there_is_other_work)
{
	unsigned n = 0, turns = 0;

	many_ask();
	cr_expect(attach_take_records(w, LONG));
	for (unsigned i = 0; i < CLIENTS; i++)
		n += answers(&many[i]);
	cr_expect_leq(n, 8);
	for (; drr_has_work(&w->requests); turns++) {
		cr_assert_lt(turns, 100);
		cr_expect(attach_take_records(w, LONG));
		for (unsigned i = 0; i < CLIENTS; i++)
			n += answers(&many[i]);
	}
	cr_expect_eq(n, CLIENTS * RECORDS);
	cr_expect_not(attach_take_records(w, 0));
}

Test(requests, a_client_that_goes_has_no_more_turns)
{
	ask(&one);
	ask(&many[0]);
	attach_free(one.c);
	one.c = NULL;
	drr_assert_out(&other_user);
	cr_expect(attach_take_records(w, 0));
	cr_expect_eq(answers(&many[0]), 1);
}

static unsigned taken(uint64_t others_us)
{
	unsigned n = 0;

	attach_take_records(w, others_us);
	for (unsigned i = 0; i < CLIENTS; i++)
		n += answers(&many[i]);
	return n;
}

/* An excess is missing in the next turns. */
Test(requests, requests_take_no_longer_than_the_other_work)
{
	look_us = 30;
	many_ask();
	cr_expect_eq(taken(50), 2);
	cr_expect_eq(taken(5), 0);
	cr_expect_eq(taken(6), 1);
	cr_expect_eq(taken(0), 4, "100 us, if nobody waits");
	cr_expect_eq(taken(60), 2);
}

Test(requests, a_turn_is_short_while_there_is_no_other_work)
{
	many_us = 90;
	many_ask();
	cr_expect_eq(taken(0), 2);
}

Test(requests, users_take_turns_by_the_time_of_their_requests)
{
	unsigned n = 0, of_one = 0;

	many_us = 50;
	one_us = 5;
	many_ask();
	for (unsigned i = 0; i < RECORDS; i++)
		ask(&one);
	while (of_one < RECORDS) {
		n += taken(LONG);
		of_one += answers(&one);
	}
	cr_expect(n >= 2 && n <= RECORDS / 4, "%u, which take ten times as long", n);
}

/* The rig must not use it any more. */
static void ring_all(struct rig_program *p)
{
	for (uint32_t q = 0; q < 64 * 64; q++)
		bell_ring(p->c->bells.page, q);
}

/* A record takes effect after the entries before it, but those have no turn of their own. */
Test(requests, a_record_waits_for_the_bells_before_it_in_turns_with_others)
{
	unsigned turns = 0;

	ring_all(&many[0]);
	ask(&many[0]);
	ask(&one);
	for (unsigned i = 0; i < 2; i++)
		cr_expect(attach_take_records(w, LONG));
	cr_expect_eq(answers(&one), 1);
	cr_expect_eq(answers(&many[0]), 0, "it takes 4,096 bells at once");
	for (; answers(&many[0]) == 0; turns++) {
		cr_assert_lt(turns, 40, "it waits for bells after it");
		cr_assert_neq(many[0].c->bells.before, 0);
		ring_all(&many[0]);
		cr_assert(attach_take_records(w, LONG));
	}
	cr_expect_eq(many[0].c->bells.before, 0);
	cr_expect(bell_any(many[0].c->bells.page), "the bells after it are for other turns");
}

/* Those that the record waits for are taken by turns of bells meanwhile. */
Test(requests, bells_after_a_record_are_not_taken_for_those_before_it)
{
	struct client *c = many[0].c;

	client_poll_bells(c);
	for (unsigned i = 0; i < 2; i++) {
		for (uint32_t q = 0; q < 3 * 64; q++)
			bell_ring(c->bells.page, q);
		if (i == 0)
			ask(&many[0]);
		cr_assert(attach_take_records(w, LONG));
		cr_expect_eq(answers(&many[0]), i);
		cr_expect(bells_take(w));
	}
}

/* ---- queue pairs with more work than a bell takes at a time ---- */

enum { ENTRIES = 1024, ROOM = 2 * ENTRIES };

/* A queue pair of datagrams of the first client, and the handle of an address. */
static struct qp *datagrams;
static uint32_t address;

static uint32_t make_cq(uint32_t entries)
{
	const struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 1}, .entries = entries};

	return rig_call(&many[0], &cq, sizeof(cq));
}

static void make_datagrams(uint32_t send_cq_entries, uint32_t recv_cq_entries)
{
	struct msg_hdr pd = {MSG_ALLOC_PD, 1};
	struct msg_create_qp qp = {
		.hdr = {MSG_CREATE_QP, 1},
		.type = MSG_QP_DATAGRAM,
		.sq_entries = ENTRIES,
		.rq_entries = ENTRIES,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct msg_create_ah ah = {.hdr = {MSG_CREATE_AH, 1}};

	ah.pd = qp.pd = rig_call(&many[0], &pd, sizeof(pd));
	ah.remote = (struct msg_addr){.family = AF_INET, .bytes = {127, 0, 0, 1}};
	address = rig_call(&many[0], &ah, sizeof(ah));
	qp.send_cq = make_cq(send_cq_entries);
	qp.recv_cq = make_cq(recv_cq_entries);
	datagrams = idtab_get(&many[0].c->handles.qps, rig_call(&many[0], &qp, sizeof(qp)));
}

static void publish(struct ring *r, uint32_t n)
{
	atomic_fetch_add(&r->sh->tail, n);
	bell_ring(many[0].c->bells.page, client_slot(datagrams->handle));
}

/* To a number that no queue pair has. */
static void post_sends(uint32_t n, uint8_t flags)
{
	struct ring *r = &datagrams->wq.sq;
	const uint32_t tail = atomic_load(&r->sh->tail);

	for (uint32_t i = 0; i < n; i++) {
		struct wqe_send *e = ring_slot(r, tail + i);

		e->opcode = WQE_SEND;
		e->flags = flags;
		e->inv_rkey = address;
	}
	publish(r, n);
}

/* Turns until the record is answered. In each of them the client posts so many more requests. */
static unsigned turns_to_answer(uint32_t more, bool bells)
{
	unsigned turns = 0;

	ask(&many[0]);
	for (; answers(&many[0]) == 0; turns++) {
		uint32_t before = datagrams->wq.sq.mine;

		cr_assert_lt(turns, ROOM);
		cr_assert(attach_take_records(w, LONG));
		cr_expect_leq(datagrams->wq.sq.mine - before, 256, "in one turn");
		if (bells)
			bells_take(w);
		if (more)
			post_sends(more, 0);
	}
	return turns;
}

Test(requests, a_record_waits_for_all_datagrams_before_it)
{
	make_datagrams(16, 16);
	for (unsigned bells = 0; bells < 2; bells++) {
		uint32_t begin = datagrams->wq.sq.mine;

		post_sends(1000, 0);
		cr_expect_gt(turns_to_answer(0, bells), 2, "turns are short");
		cr_expect_eq(datagrams->wq.sq.mine - begin, 1000);
	}
}

/* A program that posts as fast as the daemon sends waits for the datagrams before the record. */
Test(requests, datagrams_after_a_record_do_not_hold_it)
{
	make_datagrams(16, 16);
	for (unsigned bells = 0; bells < 2; bells++) {
		uint32_t begin = datagrams->wq.sq.mine, n;

		post_sends(500, 0);
		cr_expect_lt(turns_to_answer(128, bells), 6);
		n = datagrams->wq.sq.mine - begin;
		cr_expect(n >= 500 && n < ENTRIES, "%u", n);
		while (queue_waiting(&datagrams->wq.sq) > 0)
			cr_assert(bells_take(w));
	}
}

/* They wait until the program reads its completions. */
Test(requests, datagrams_without_room_for_completions_do_not_hold_a_record)
{
	make_datagrams(16, 16);
	post_sends(500, WQE_SIGNALED);
	cr_expect_lt(turns_to_answer(1, false), 4);
	cr_expect_eq(datagrams->wq.sq.mine, 16);
}

static void end_datagrams(void)
{
	const struct msg_handle m = {.hdr = {MSG_DISCONNECT, 1}, .handle = datagrams->handle};

	rig_call(&many[0], &m, sizeof(m));
	cr_assert_eq(datagrams->state, QP_ERROR);
}

Test(requests, a_record_waits_for_all_entries_that_are_flushed)
{
	make_datagrams(ROOM, ROOM);
	end_datagrams();
	post_sends(700, 0);
	publish(&datagrams->wq.rq, 1000);
	cr_expect_gt(turns_to_answer(0, false), 1, "turns are short");
	cr_expect_eq(datagrams->wq.sq.mine, 700);
	cr_expect_eq(datagrams->wq.rq.mine, 1000);
}

/* Those that are posted go on to be flushed meanwhile. */
Test(requests, receives_without_room_for_completions_do_not_hold_a_record)
{
	make_datagrams(2 * ROOM, 16);
	end_datagrams();
	post_sends(500, 0);
	publish(&datagrams->wq.rq, 1000);
	cr_expect_lt(turns_to_answer(256, false), 4);
	cr_expect_geq(datagrams->wq.sq.mine, 500);
	cr_expect_eq(datagrams->wq.rq.mine, 16);
}

static void fail(struct rig_program *p)
{
	client_fault(p->c, "at fault");
	p->c = NULL;
	cr_expect(attach_end_faulty(w));
}

Test(requests, a_client_that_owns_little_ends_at_once)
{
	uint32_t before = rig.clients.used;

	ask(&one);
	attach_take_records(w, 0);
	fail(&one);
	cr_expect_eq(rig.clients.used, before - 1);
	cr_expect_not(drr_has_work(&w->requests));
}

static void own_much(struct rig_program *p)
{
	for (unsigned i = 0; i < 50 * RECORDS; i++) {
		const struct msg_hdr pd = {MSG_ALLOC_PD, ++sent};

		rig_call(p, &pd, sizeof(pd));
	}
}

/* It ends in turns with requests of others, and they are no longer than these. */
Test(requests, a_client_that_owns_much_ends_little_by_little)
{
	uint32_t before = rig.clients.used, left;
	struct client *c = one.c;

	own_much(&one);
	fail(&one);
	ask(&many[0]);
	left = c->handles.pds.used;
	cr_expect_gt(left, 40 * RECORDS);
	cr_expect_eq(rig.clients.used, before);
	cr_expect_eq(taken(LONG), 1);
	cr_expect_lt(c->handles.pds.used, left);
	cr_expect_gt(c->handles.pds.used, 0, "it is one turn after the other");
	while (attach_take_records(w, LONG))
		;
	cr_expect_eq(rig.clients.used, before - 1);
	drr_assert_out(&other_user);
}

/* Whether the program reads or not; and none of its objects is left out. */
Test(requests, an_answer_for_ddpctl_is_made_in_turns_with_requests_of_others)
{
	const struct ctl_show show = {
		.hdr = {MSG_CTL_SHOW, 1}, .version = CTL_VERSION, .object = CTL_PD};
	unsigned n = 0, turns = 0, got;

	own_much(&one);
	cr_assert_eq(send(one.fd, &show, sizeof(show), 0), sizeof(show));
	drr_add(&one.c->io.turn);
	for (unsigned i = 0; i < RECORDS; i++)
		ask(&many[0]);
	for (; n <= 50 * RECORDS; turns++) {
		unsigned of_many = taken(LONG);

		cr_expect(of_many > 0 || turns > 2, "it does not wait for the whole answer");
		got = answers(&one);
		cr_assert(got > 0 && got <= 8 * 33, "%u records in a turn", got);
		n += got;
	}
	cr_expect_eq(n, 50 * RECORDS + 1, "and the end");
	ask(&one);
	cr_expect_eq(taken(LONG), 0);
	cr_expect_eq(answers(&one), 1, "its requests are read again");
}
