/* SPDX-License-Identifier: BSD-2-Clause */
/* Users with many records in their sockets do not keep the daemon from those of others. */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/acct.h"
#include "daemon/service/attach.h"
#include "tests/unit/client_rig.h"
#include "util/drr.h"

enum { CLIENTS = 3, RECORDS = 20 };

static struct rig_program many[CLIENTS], one;
static struct worker *const w = &rig.worker;
static uint32_t sent;

/* The rig has one uid: the node of another one is made up. */
static struct drr other_user;

static void start(void)
{
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
	cr_expect(attach_take_records(w, true));
	cr_expect_eq(answers(&one), 1, "it waits for one record of the other user");
}

Test(requests, so_do_the_clients_of_a_user)
{
	unsigned n[CLIENTS];

	many_ask();
	for (unsigned turns = 0; turns < 3; turns++)
		cr_expect(attach_take_records(w, true));
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
	cr_expect(attach_take_records(w, true));
	for (unsigned i = 0; i < CLIENTS; i++)
		n += answers(&many[i]);
	cr_expect_leq(n, 8);
	for (; drr_has_work(&w->requests); turns++) {
		cr_assert_lt(turns, 100);
		cr_expect(attach_take_records(w, true));
		for (unsigned i = 0; i < CLIENTS; i++)
			n += answers(&many[i]);
	}
	cr_expect_eq(n, CLIENTS * RECORDS);
	cr_expect_not(attach_take_records(w, false));
}

Test(requests, a_client_that_goes_has_no_more_turns)
{
	ask(&one);
	ask(&many[0]);
	attach_free(one.c);
	drr_assert_out(&other_user);
	cr_expect(attach_take_records(w, false));
	cr_expect_eq(answers(&many[0]), 1);
}
