/* SPDX-License-Identifier: BSD-2-Clause */
/* What is completed: options, their arguments and operands. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "util/complete.h"

struct opts {
	bool all;
	const char *file, *dir;
	uint32_t num;
};

#define OPTION_STRUCT struct opts

static const struct option_row rows[] = {
	OPTION_ROW_FLAG(all, "a", "all", "all"),
	OPTION_ROW_STRING(file, "f", "file", "FILE", "a file"),
	OPTION_ROW_STRING(dir, NULL, "root", "DIR", "a folder"),
	OPTION_ROW_NUM(num, "nN", "num", "N", "a number", 0, 9, "a number"),
};

static const struct option_table table = {rows, sizeof(rows) / sizeof(rows[0])};

static struct complete c;
static char *text;
static size_t len;

/* Reads the words; the answer about options goes to text. Returns whether it is one. */
static bool ask(int n, char **words)
{
	char *argv[16] = {"program", "--complete"};
	bool answered;
	FILE *out;

	free(text);
	text = NULL;
	out = open_memstream(&text, &len);
	cr_assert_not_null(out);
	memcpy(argv + 2, words, (size_t)n * sizeof(*words));
	cr_assert(complete_asked(n + 2, argv));
	complete_read(&c, &table, n + 2, argv, out);
	answered = complete_option(&c);
	if (!answered)
		complete_list(&c, "one  two three", "number");
	fclose(out);
	return answered;
}

#define ASK(...) ask(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), (char *[]){__VA_ARGS__})

static void after_each(void)
{
	free(text);
	text = NULL;
}

TestSuite(complete, .fini = after_each);

Test(complete, options_begin_with_what_is_typed)
{
	cr_assert(ASK("-"));
	cr_expect_str_eq(text, "-a\tall\n--all\tall\n-f\ta file\n--file\ta file\n--root\ta folder\n"
			       "-n\ta number\n-N\ta number\n--num\ta number\n");
	cr_assert(ASK("x", "--f"));
	cr_expect_str_eq(text, "--file\ta file\n");
}

Test(complete, an_argument_is_what_its_name_says)
{
	cr_assert(ASK("--file", ""));
	cr_expect_str_eq(text, "\tfiles\n");
	cr_assert(ASK("--file=/x"));
	cr_expect_str_eq(text, "\tfiles\n");
	cr_expect_str_eq(c.cur, "/x");
	cr_assert(ASK("-af", "/x"));
	cr_expect_str_eq(text, "\tfiles\n");
	cr_assert(ASK("--root", ""));
	cr_expect_str_eq(text, "\tdirs\n");
	cr_assert(ASK("-N", "-"));
	cr_expect_str_eq(text, "", "a number");
	cr_assert(ASK("--unknown=x"));
	cr_expect_str_eq(text, "");
}

Test(complete, operands_are_counted_without_options)
{
	cr_assert_not(ASK("-af", "/x", "one", "--num=3", "-n4", "two", "t"));
	cr_assert_eq(c.n, 2);
	cr_expect_str_eq(c.operand[0], "one");
	cr_expect_str_eq(c.operand[1], "two");
	cr_expect_str_eq(complete_arg(&c, "file"), "/x");
	cr_expect_str_eq(complete_arg(&c, "num"), "4", "the last one");
	cr_expect_null(complete_arg(&c, "root"));
	cr_expect_str_eq(text, "two\tnumber\nthree\tnumber\n");
	cr_assert_not(ASK("--", "-a", "-"), "no options after --");
	cr_assert_eq(c.n, 1);
	cr_assert_not(ASK(""));
	cr_expect_str_eq(text, "one\tnumber\ntwo\tnumber\nthree\tnumber\n");
}

Test(complete, more_operands_than_are_kept_are_ignored)
{
	char *argv[COMPLETE_OPERANDS + 20];

	for (size_t i = 0; i < sizeof(argv) / sizeof(argv[0]); i++)
		argv[i] = "x";
	complete_read(&c, &table, sizeof(argv) / sizeof(argv[0]), argv, stdout);
	cr_expect_eq(c.n, COMPLETE_OPERANDS);
}

Test(complete, words_cannot_control_the_terminal)
{
	FILE *out = open_memstream(&text, &len);

	cr_assert_not_null(out);
	c = (struct complete){.options = &table, .out = out, .cur = "", .prefix = ""};
	complete_word(&c, "word", "a\x1b[2Jb\nc\td");
	complete_word(&c, "line\nfeed", NULL);
	fclose(out);
	cr_expect_str_eq(text, "word\ta?[2Jb?c?d\n");
}
