/* SPDX-License-Identifier: BSD-2-Clause */
/* Users with many records in their sockets do not keep the daemon from those of others. */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/acct.h"
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
