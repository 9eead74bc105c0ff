/* SPDX-License-Identifier: BSD-2-Clause */
/* Which bell pages a turn reads, and how many bells it takes from them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "daemon/base/worker.h"
#include "daemon/objects/sessions/bells.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"

enum { IDLE_CLIENTS = 3000, CLIENTS = IDLE_CLIENTS + 10, PAGE = sizeof(struct bell_page) };

static struct worker w;
static struct drr users[2];
static struct client *made[CLIENTS];
static unsigned clients;

static void start(void)
{
	worker_init(&w, NULL, 1);
	w.now_ms = 1000;
	for (unsigned i = 0; i < 2; i++)
		drr_init(&users[i], &w.bells);
}

static void stop(void)
{
	while (clients > 0) {
		struct client *c = made[--clients];

		idtab_deinit(&c->handles.qps);
		free(c);
	}
}

TestSuite(bells, .init = start, .fini = stop);

static struct bell_page *page(int prot)
{
	void *p = mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

/* Of the first user. */
static struct client *client(struct bell_page *p)
{
	struct client *c = calloc(1, sizeof(*c));

	cr_assert_not_null(c);
	cr_assert_lt(clients, CLIENTS);
	made[clients++] = c;
	c->worker = &w;
	c->bells.page = p;
	list_init(&c->bells.polled);
	list_init(&c->bells.notices.quiet);
	drr_init(&c->bells.turn, &users[0]);
	idtab_init(&c->handles.qps, BELL_QUEUES);
	return c;
}

static struct client *polled_client(void)
{
	struct client *c = client(page(PROT_READ | PROT_WRITE));

	client_poll_bells(c);
	return c;
}

/* Rings for the first n queue pairs. */
static void ring(struct client *c, unsigned n)
{
	for (unsigned q = 0; q < n; q++)
		bell_ring(c->bells.page, q);
}

/* Bells of the client that the daemon has not taken yet. */
static unsigned left(const struct client *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BELL_WORDS; i++)
		n += (unsigned)__builtin_popcountll(c->bells.page->word[i]);
	return n;
}

/* Reads the client's page until the client counts as idle. */
static void fall_idle(struct client *c)
{
	for (int ms = 0; ms < 1000 && list_linked(&c->bells.polled); ms++, w.now_ms++)
		bells_take(&w);
	cr_assert_not(list_linked(&c->bells.polled));
}

Test(bells, a_turn_reads_no_page_of_an_idle_client)
{
	struct client *busy = polled_client();
	struct bell_page *forbidden = page(PROT_NONE); /* reading it ends the test */

	for (int i = 0; i < IDLE_CLIENTS; i++)
		client(forbidden);
	ring(busy, 1);
	cr_assert(bells_take(&w));
	cr_assert_eq(left(busy), 0);
	bells_sleep(&w);
	bells_awake(&w);
}

Test(bells, an_idle_client_must_ring_its_doorbell_and_its_page_is_not_read)
{
	struct client *c = polled_client();

	cr_assert_not(bell_ring(c->bells.page, 0), "its page is read in each turn");
	bells_take(&w);
	fall_idle(c);
	cr_assert_eq(mprotect(c->bells.page, PAGE, PROT_NONE), 0);
	cr_assert_not(bells_take(&w));
	cr_assert_eq(mprotect(c->bells.page, PAGE, PROT_READ | PROT_WRITE), 0);
	cr_assert(bell_ring(c->bells.page, 0), "it has to ring");
}

Test(bells, a_client_that_rings_its_doorbell_is_served_in_the_next_turn)
{
	struct client *c = polled_client();

	fall_idle(c);
	ring(c, 3);
	cr_assert_not(bells_take(&w));
	client_poll_bells(c); /* the effect of its doorbell */
	cr_assert(bells_take(&w));
	cr_assert_eq(left(c), 0);
	cr_assert_not(bell_ring(c->bells.page, 0), "and its page is read in each turn");
}

/* A turn completes something of this client. */
static void complete(struct client *c)
{
	static _Alignas(RING_LINE) uint8_t mem[4096];
	struct cq cq = {.client = c, .bell = -1};

	ring_init(&cq.ring, mem, 16, sizeof(struct wqe_cqe));
	list_init(&cq.dirty);
	list_init(&cq.waiters);
	cr_assert(cq_reserve_now(&cq));
	(void)cq_slot(&cq);
	cq_push(&cq, false);
	cr_assert(cq_ring_bells(&w));
}

Test(bells, a_client_that_answers_completions_need_not_ring_its_doorbell)
{
	struct client *c = polled_client();

	for (unsigned i = 0; i < 3; i++) {
		cr_assert_not(bell_ring(c->bells.page, 0), "its answer is expected");
		cr_assert(bells_take(&w));
		cr_assert_eq(left(c), 0);
		fall_idle(c);
		complete(c);
	}
}

Test(bells, a_client_that_only_receives_is_not_polled)
{
	struct client *c = polled_client();

	ring(c, 1);
	cr_assert(bells_take(&w));
	complete(c);
	for (unsigned i = 0; i < 3; i++) {
		fall_idle(c);
		complete(c);
		cr_assert_not(list_linked(&c->bells.polled));
	}
	cr_assert(bell_ring(c->bells.page, 0), "it has to ring");
}

Test(bells, a_bell_that_is_rung_while_polling_ends_is_not_lost)
{
	struct client *c = polled_client();

	for (int ms = 0; ms < 200; ms++, w.now_ms++) {
		bool must_ring = bell_ring(c->bells.page, 0);

		if (must_ring)
			client_poll_bells(c);
		cr_assert(bells_take(&w));
		cr_assert_eq(left(c), 0);
		w.now_ms += (uint64_t)ms;
		bells_take(&w);
	}
}

static unsigned rings_left(struct client *const *c, unsigned n)
{
	unsigned sum = 0;

	while (n-- > 0)
		sum += left(c[n]);
	return sum;
}

Test(bells, a_turn_has_a_budget_and_clients_take_turns)
{
	struct client *flooding = polled_client(), *quiet = polled_client();
	unsigned before;

	ring(flooding, BELL_QUEUES);
	ring(quiet, 1);
	cr_assert(bells_take(&w));
	before = left(flooding);
	cr_assert_gt(before, BELL_QUEUES / 2, "%u bells were taken in one turn",
		     BELL_QUEUES - before);
	cr_assert_eq(left(quiet), 0);
	for (int turns = 0; left(flooding) > 0; turns++) {
		cr_assert_lt(turns, 1000);
		cr_assert(bells_take(&w));
	}
}

/* Many clients of a user have as many bells taken as the one of another. */
Test(bells, users_take_turns)
{
	struct client *many[10], *one = polled_client();
	unsigned n, of_many, of_one;

	for (unsigned i = 0; i < 10; i++)
		ring(many[i] = polled_client(), BELL_QUEUES);
	one->bells.turn.parent = &users[1];
	ring(one, BELL_QUEUES);
	n = rings_left(many, 10);
	for (unsigned turns = 0; turns < 10; turns++)
		cr_assert(bells_take(&w));
	of_many = n - rings_left(many, 10);
	of_one = BELL_QUEUES - left(one);
	cr_expect_gt(of_one, 0);
	cr_expect(of_many <= of_one + 128 && of_one <= of_many + 128, "%u and %u", of_many, of_one);
}

/* So many clients have rung lately that a turn does not read all their pages. */
Test(bells, a_turn_reads_some_pages_and_the_next_one_begins_with_the_others)
{
	struct client *c[1000];
	unsigned n;

	for (unsigned i = 0; i < 1000; i++)
		ring(c[i] = polled_client(), 1);
	bells_take(&w);
	n = rings_left(c, 1000);
	cr_expect(n >= 500 && n < 1000, "%u", n);
	for (unsigned turns = 0; turns < 5; turns++)
		bells_take(&w);
	cr_expect_eq(rings_left(c, 1000), 0);
	cr_expect(bells_sleep(&w));
}

Test(bells, a_daemon_with_bells_left_does_not_sleep)
{
	struct client *c = polled_client();

	ring(c, BELL_QUEUES);
	bells_take(&w);
	cr_assert_not(bells_sleep(&w));
	bells_awake(&w);
	while (left(c) > 0)
		bells_take(&w);
	cr_assert(bells_sleep(&w));
	cr_assert(bell_ring(c->bells.page, 0), "while it sleeps, polled clients ring, too");
}
