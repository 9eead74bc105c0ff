/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/base/error.h"
#include "verbs/base/fork.h"

enum {
	SENTENCES = 128, /* that error.c remembers */
	REASONS = 64,    /* that it writes */
	MANY = 1000,
	OTHERS = 200,
};

static char folder[] = "/tmp/test_verbs_error.XXXXXX";
static char other[OTHERS][16]; /* sentences differ by their addresses */

void fork_hold(enum fork_order order, pthread_mutex_t *lock)
{
	(void)order;
	(void)lock;
}

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(unsetenv("DDPVERBS_DEBUG"), 0);
	cr_assert_eq(setenv("DDPVERBS_FOLDER", folder, 1), 0);
	cr_assert_eq(chdir(folder), 0);
	for (unsigned i = 0; i < OTHERS; i++)
		snprintf(other[i], sizeof(other[i]), "sentence %u", i);
}

static void teardown(void)
{
	(void)unlink("printed");
	(void)unlink("reasons");
	(void)rmdir(folder);
}

TestSuite(verbs_error, .init = setup, .fini = teardown);

static unsigned lines_of(const char *file)
{
	FILE *f = fopen(file, "re");
	unsigned n = 0;

	fflush(stderr);
	cr_assert_not_null(f, "%s", file);
	for (int c; (c = getc(f)) != EOF;)
		n += c == '\n';
	fclose(f);
	return n;
}

Test(verbs_error, a_sentence_is_printed_once_and_so_many_are_remembered)
{
	cr_assert_not_null(freopen("printed", "we", stderr));
	for (unsigned i = 0; i < MANY; i++)
		error_once("ibv_create_flow", "there is no hardware");
	cr_expect_eq(lines_of("printed"), 1);
	for (unsigned i = 0; i < OTHERS; i++)
		for (unsigned k = 0; k < 2; k++)
			error_once("ibv_create_flow", other[i]);
	cr_expect_eq(lines_of("printed"), 1 + 2 * OTHERS - (SENTENCES - 1));
	error_once("ibv_create_flow", "there is no hardware");
	error_once("ibv_create_flow", other[SENTENCES - 2]);
	cr_expect_eq(lines_of("printed"), 1 + 2 * OTHERS - (SENTENCES - 1));
}

Test(verbs_error, a_reason_is_written_once_and_so_many_at_most)
{
	for (unsigned i = 0; i < MANY; i++)
		error_event("RDMA_CM_EVENT_DISCONNECTED", "the host is down");
	cr_expect_eq(lines_of("reasons"), 1);
	for (unsigned i = 0; i < OTHERS; i++)
		error_event("RDMA_CM_EVENT_DISCONNECTED", other[i]);
	cr_expect_eq(lines_of("reasons"), REASONS);
	error_event("RDMA_CM_EVENT_DISCONNECTED", "");
	cr_expect_eq(lines_of("reasons"), REASONS);
}
