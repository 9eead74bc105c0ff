/* SPDX-License-Identifier: BSD-2-Clause */
/* Users, programs and sessions take turns: who always has work gets the same as others who do. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "util/drr.h"
#include "util/minmax.h"

enum { USERS = 5, PROGRAMS = 4, SESSIONS = 8, MOST = 70000, ROUNDS = 40000 };

struct session {
	struct drr turn;
	uint64_t got;
	uint32_t cost; /* 0: any, up to MOST */
};

static struct drr root;
static struct {
	struct drr turn;
	struct {
		struct drr turn;
		struct session session[SESSIONS];
	} program[PROGRAMS];
} user[USERS];
static unsigned seed = 1;

static unsigned draw(unsigned below)
{
	return (unsigned)rand_r(&seed) % below;
}

static void start(void)
{
	drr_init(&root, NULL);
	for (unsigned u = 0; u < USERS; u++) {
		drr_init(&user[u].turn, &root);
		for (unsigned p = 0; p < PROGRAMS; p++) {
			drr_init(&user[u].program[p].turn, &user[u].turn);
			for (unsigned s = 0; s < SESSIONS; s++)
				drr_init(&user[u].program[p].session[s].turn,
					 &user[u].program[p].turn);
		}
	}
}

TestSuite(drr, .init = start);

static struct session *next(void)
{
	struct drr *leaf = drr_next(&root);

	return leaf ? list_entry(leaf, struct session, turn) : NULL;
}

static void serve(struct session *s)
{
	uint32_t cost = s->cost ? s->cost : 1 + draw(MOST);

	s->got += cost;
	drr_charge(&s->turn, cost);
}

static void serve_many(unsigned n)
{
	while (n-- > 0) {
		struct session *s = next();

		cr_assert_not_null(s);
		serve(s);
	}
}

static uint64_t got_program(unsigned u, unsigned p)
{
	uint64_t sum = 0;

	for (unsigned s = 0; s < SESSIONS; s++)
		sum += user[u].program[p].session[s].got;
	return sum;
}

static uint64_t got_user(unsigned u)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < PROGRAMS; p++)
		sum += got_program(u, p);
	return sum;
}

static void expect_close(uint64_t a, uint64_t b, const char *who)
{
	uint64_t apart = a > b ? a - b : b - a;

	cr_expect_leq(apart, 2 * MOST, "%s: %ju and %ju", who, (uintmax_t)a, (uintmax_t)b);
}

/* Users have 1, 2 ... programs with 1, 2 ... sessions. */
static unsigned programs_of(unsigned u)
{
	return 1 + u % PROGRAMS;
}

static unsigned sessions_of(unsigned u, unsigned p)
{
	return 1 + (3 * u + p) % SESSIONS;
}

static void all_have_work(void)
{
	for (unsigned u = 0; u < USERS; u++)
		for (unsigned p = 0; p < programs_of(u); p++)
			for (unsigned s = 0; s < sessions_of(u, p); s++)
				drr_add(&user[u].program[p].session[s].turn);
}

static void expect_shares(void)
{
	for (unsigned u = 0; u < USERS; u++) {
		expect_close(got_user(u), got_user(0), "users");
		for (unsigned p = 0; p < programs_of(u); p++) {
			const struct session *s = user[u].program[p].session;

			expect_close(got_program(u, p), got_program(u, 0), "programs");
			for (unsigned i = 0; i < sessions_of(u, p); i++)
				expect_close(s[i].got, s[0].got, "sessions");
		}
	}
}

Test(drr, shares_of_those_who_always_have_work_differ_by_the_largest_charges)
{
	all_have_work();
	for (unsigned i = 0; i < 20; i++) {
		serve_many(ROUNDS / 20);
		expect_shares();
	}
}

Test(drr, many_small_charges_are_no_more_than_few_large_ones)
{
	user[0].program[0].session[0].cost = 64;
	user[1].program[0].session[0].cost = MOST;
	drr_add(&user[0].program[0].session[0].turn);
	drr_add(&user[1].program[0].session[0].turn);
	serve_many(ROUNDS);
	expect_close(got_user(0), got_user(1), "users");
}

Test(drr, a_user_alone_gets_all)
{
	drr_add(&user[2].program[1].session[3].turn);
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert_eq(next(), &user[2].program[1].session[3]);
		serve(next());
	}
	drr_del(&user[2].program[1].session[3].turn);
	cr_expect_null(next());
	drr_assert_out(&root);
}

/* No starvation: a session that gets work has its turn after one turn of each sibling. */
Test(drr, a_newcomer_waits_for_a_turn_of_each_other_user)
{
	struct session *late = &user[4].program[0].session[0];
	uint64_t before[USERS];

	for (unsigned u = 0; u + 1 < USERS; u++)
		for (unsigned s = 0; s < SESSIONS; s++)
			drr_add(&user[u].program[0].session[s].turn);
	serve_many(1000);
	for (unsigned u = 0; u < USERS; u++)
		before[u] = got_user(u);
	drr_add(&late->turn);
	while (next() != late)
		serve(next());
	for (unsigned u = 0; u + 1 < USERS; u++)
		cr_expect_leq(got_user(u) - before[u], 2 * MOST);
}

/* Nor does it save turns up while it has no work, nor shed its debt by having none for a moment. */
Test(drr, pauses_are_no_advantage)
{
	struct session *steady = &user[0].program[0].session[0];
	struct session *pausing = &user[1].program[0].session[0];

	drr_add(&steady->turn);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct session *s;

		drr_add(&pausing->turn);
		s = next();
		serve(s);
		if (s == pausing)
			drr_del(&s->turn);
	}
	cr_expect_leq(pausing->got, steady->got + (uint64_t)2 * MOST);
	for (unsigned i = 0; i < ROUNDS; i++)
		serve(steady);
	drr_add(&pausing->turn);
	steady->got = pausing->got = 0;
	serve_many(ROUNDS);
	expect_close(pausing->got, steady->got, "after a pause");
}

Test(drr, a_held_node_has_no_turns_and_gets_no_more_afterwards)
{
	all_have_work();
	serve_many(100);
	drr_hold(&user[1].program[1].turn);
	for (unsigned i = 0; i < 1000; i++) {
		struct session *s = next();

		cr_assert_neq(s->turn.parent, &user[1].program[1].turn);
		serve(s);
	}
	drr_add(&user[1].program[1].session[SESSIONS - 1].turn);
	cr_expect_not(drr_has_turn(&user[1].program[1].turn));
	drr_release(&user[1].program[1].turn);
	for (unsigned u = 0; u < USERS; u++)
		for (unsigned p = 0; p < PROGRAMS; p++)
			for (unsigned s = 0; s < SESSIONS; s++)
				user[u].program[p].session[s].got = 0;
	serve_many(ROUNDS);
	for (unsigned u = 0; u < USERS; u++)
		expect_close(got_user(u), got_user(0), "users");
	expect_close(got_program(1, 1), got_program(1, 0), "programs");
}

/* Sessions gain and lose work, and programs are held, at random: who has work and is not held
 * is served in the end, and nobody else is. */
Test(drr, nobody_is_forgotten)
{
	bool work[USERS][PROGRAMS][SESSIONS] = {0}, held[USERS][PROGRAMS] = {0};

	for (unsigned i = 0; i < 200000; i++) {
		unsigned u = draw(USERS), p = draw(PROGRAMS), s = draw(SESSIONS);
		struct drr *leaf = &user[u].program[p].session[s].turn;

		switch (draw(8)) {
		case 0:
			drr_add(leaf);
			work[u][p][s] = true;
			break;
		case 1:
			drr_del(leaf);
			work[u][p][s] = false;
			break;
		case 2:
			held[u][p] = !held[u][p];
			if (held[u][p])
				drr_hold(&user[u].program[p].turn);
			else
				drr_release(&user[u].program[p].turn);
			break;
		default:
			if (next())
				serve(next());
		}
	}
	for (struct session *s; (s = next());) {
		unsigned u = 0, p = 0;

		while (s < user[u].program[0].session ||
		       s >= user[u].program[PROGRAMS - 1].session + SESSIONS)
			u++;
		while (s < user[u].program[p].session || s >= user[u].program[p].session + SESSIONS)
			p++;
		cr_assert(drr_has_turn(&s->turn) && !held[u][p]);
		cr_assert(work[u][p][s - user[u].program[p].session]);
		work[u][p][s - user[u].program[p].session] = false;
		drr_del(&s->turn);
	}
	for (unsigned u = 0; u < USERS; u++)
		for (unsigned p = 0; p < PROGRAMS; p++)
			for (unsigned s = 0; s < SESSIONS; s++)
				cr_assert(!work[u][p][s] || held[u][p]);
}
