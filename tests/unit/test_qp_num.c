/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "verbs/base/fork.h"
#include "verbs/base/qp_num.h"

enum {
	LIVES = 50000,
	PORT = 0xc00000, /* with a place: the numbers that programs see */
	CROWD = 8,       /* numbers with the same first slot */
	ROUNDS = 200000,
	MODEL = 64,
};

static struct qp_nums t;

void fork_hold(enum fork_order order, pthread_mutex_t *lock)
{
	(void)order;
	(void)lock;
}

/* The most entries that a look-up may pass: those in a row without an empty one. */
static unsigned longest_row(void)
{
	unsigned row = 0, ret = 0;

	for (unsigned i = 0; i < 2 * QP_NUM_SIZE; i++) {
		row = t.entry[i % QP_NUM_SIZE] ? row + 1 : 0;
		ret = row > ret ? row : ret;
	}
	return ret < QP_NUM_SIZE ? ret : QP_NUM_SIZE;
}

/* True if a look-up of this number begins in one of n slots. */
static bool begins_in(uint32_t ddp, unsigned slot, unsigned n)
{
	static struct qp_nums one;
	bool ret = false;

	cr_assert_eq(qp_num_set(&one, ddp, PORT), 0);
	for (unsigned i = 0; i < n; i++)
		ret |= one.entry[(slot + i) % QP_NUM_SIZE] != 0;
	qp_num_clear(&one, ddp);
	return ret;
}

/* Numbers of which each begins in this slot. */
static void find_crowd(unsigned slot, uint32_t *ret)
{
	unsigned n = 0;

	for (uint32_t ddp = 1; n < CROWD; ddp++)
		if (begins_in(ddp, slot, 1))
			ret[n++] = ddp;
}

Test(qp_num, numbers_that_are_gone_cost_nothing)
{
	for (uint32_t n = 1; n <= LIVES; n++) {
		cr_assert_eq(qp_num_set(&t, n, PORT + n % 192), 0);
		cr_assert_eq(qp_num_ibv(&t, n), PORT + n % 192);
		if (n % 2)
			qp_num_void(&t, n);
		qp_num_clear(&t, n);
		cr_assert_eq(qp_num_ibv(&t, n), n);
	}
	cr_assert_eq(longest_row(), 0);
}

Test(qp_num, those_that_live_among_them_stay_near)
{
	enum { LIVE = QP_NUM_SIZE / 8 };

	for (uint32_t n = 1; n <= LIVES; n++) {
		cr_assert_eq(qp_num_set(&t, n, PORT + n % 192), 0);
		if (n > LIVE)
			qp_num_clear(&t, n - LIVE);
	}
	cr_assert_leq(longest_row(), 64);
	for (uint32_t n = LIVES - LIVE + 1; n <= LIVES; n++)
		cr_assert_eq(qp_num_ibv(&t, n), PORT + n % 192);
}

/* In a row that goes on where the table begins. */
Test(qp_num, each_order_of_removal_leaves_the_others)
{
	uint32_t crowd[CROWD];

	find_crowd(QP_NUM_SIZE - 2, crowd);
	for (unsigned first = 0; first < CROWD; first++) {
		for (unsigned i = 0; i < CROWD; i++)
			cr_assert_eq(qp_num_set(&t, crowd[i], PORT + i), 0);
		for (unsigned gone = 0; gone < CROWD; gone++) {
			qp_num_clear(&t, crowd[(first + 3 * gone) % CROWD]);
			for (unsigned i = gone + 1; i < CROWD; i++) {
				unsigned k = (first + 3 * i) % CROWD;

				cr_assert_eq(qp_num_ibv(&t, crowd[k]), PORT + k);
			}
			cr_assert_eq(longest_row(), CROWD - 1 - gone);
		}
	}
}

/* By comparison with an array, in a part of the table where rows meet. */
Test(qp_num, sets_and_clears_do_what_they_say)
{
	uint32_t num[MODEL], ibv[MODEL] = {0}, rng = 1;
	unsigned n = 0;

	for (uint32_t ddp = 1; n < MODEL; ddp++)
		if (begins_in(ddp, QP_NUM_SIZE - 12, 24))
			num[n++] = ddp;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned i = (rng = rng * 1664525 + 1013904223) >> 26;

		ibv[i] = ibv[i] ? 0 : PORT + round % 192;
		if (ibv[i])
			cr_assert_eq(qp_num_set(&t, num[i], ibv[i]), 0);
		else
			qp_num_clear(&t, num[i]);
		for (i = 0; i < MODEL; i++)
			cr_assert_eq(qp_num_ibv(&t, num[i]), ibv[i] ? ibv[i] : num[i]);
	}
}

Test(qp_num, a_full_table_says_so_and_keeps_what_it_has)
{
	for (uint32_t n = 1; n <= QP_NUM_SIZE; n++)
		cr_assert_eq(qp_num_set(&t, n, PORT), 0);
	cr_assert_eq(qp_num_set(&t, QP_NUM_SIZE + 1, PORT), ENOMEM);
	cr_assert_eq(qp_num_ibv(&t, QP_NUM_SIZE + 1), QP_NUM_SIZE + 1);
	cr_assert_eq(qp_num_set(&t, 7, PORT + 7), 0);
	cr_assert_eq(qp_num_ibv(&t, 7), PORT + 7);
	qp_num_clear(&t, 8);
	cr_assert_eq(qp_num_set(&t, QP_NUM_SIZE + 1, PORT + 1), 0);
	cr_assert_eq(qp_num_ibv(&t, QP_NUM_SIZE + 1), PORT + 1);
	cr_assert_eq(qp_num_ibv(&t, 8), 8);
}

/* ---- readers ---- */

static uint32_t crowd_of_readers[CROWD];
static bool ends;

/* The last ones of a row, which removals move. */
static void *read_numbers(void *arg)
{
	const uint32_t *crowd = crowd_of_readers;
	bool *is_wrong = arg;

	while (!__atomic_load_n(&ends, __ATOMIC_RELAXED))
		for (unsigned i = CROWD / 2; i < CROWD; i++)
			*is_wrong |= qp_num_ibv(&t, crowd[i]) != PORT + i;
	return NULL;
}

Test(qp_num, a_reader_finds_a_number_while_it_moves)
{
	bool is_wrong = false;
	pthread_t reader;

	find_crowd(0, crowd_of_readers);
	for (unsigned i = 0; i < CROWD; i++)
		cr_assert_eq(qp_num_set(&t, crowd_of_readers[i], PORT + i), 0);
	cr_assert_eq(pthread_create(&reader, NULL, read_numbers, &is_wrong), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned i = round % (CROWD / 2);

		qp_num_clear(&t, crowd_of_readers[i]);
		qp_num_set(&t, crowd_of_readers[i], PORT + i);
	}
	__atomic_store_n(&ends, true, __ATOMIC_RELAXED);
	cr_assert_eq(pthread_join(reader, NULL), 0);
	cr_assert_not(is_wrong);
}
