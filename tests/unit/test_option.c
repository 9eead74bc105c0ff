/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines from a table: numbers, options, messages and --help. */
#include <criterion/criterion.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "util/option.h"

static uint64_t parsed(const char *text, bool units)
{
	uint64_t v = 4711;

	cr_assert_eq(option_parse_num(text, units, 0, UINT64_MAX, &v), 0, "%s", text);
	return v;
}

static void refused(const char *text, bool units, uint64_t min, uint64_t max, int err)
{
	uint64_t v = 4711;

	cr_expect_eq(option_parse_num(text, units, min, max, &v), err, "%s", text);
	cr_expect_eq(v, 4711, "'%s' touched the output", text);
}

Test(option, units_are_powers_of_1024_in_either_case)
{
	cr_expect_eq(parsed("0", true), 0);
	cr_expect_eq(parsed("64", true), 64);
	cr_expect_eq(parsed("4k", true), 4096);
	cr_expect_eq(parsed("4K", true), 4096);
	cr_expect_eq(parsed("1M", true), 1048576);
	cr_expect_eq(parsed("3g", true), UINT64_C(3) << 30);
	cr_expect_eq(parsed("18446744073709551615", true), UINT64_MAX);
	cr_expect_eq(parsed("17179869183G", true), UINT64_C(17179869183) << 30);
}

Test(option, invalid_numbers_are_refused)
{
	const char *const wrong[] = {"",    " 1", "-1",   "+1",  "1 ",  "K",
				     "1KB", "1x", "0x10", "1.5", "1e3", "1KK"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refused(wrong[i], true, 0, UINT64_MAX, -EINVAL);
	refused("1K", false, 0, UINT64_MAX, -EINVAL);
}

Test(option, numbers_that_do_not_fit_are_refused_and_do_not_wrap)
{
	refused("18446744073709551616", true, 0, UINT64_MAX, -ERANGE);
	refused("17179869184G", true, 0, UINT64_MAX, -ERANGE);
	refused("18014398509481984K", true, 0, UINT64_MAX, -ERANGE);
	refused("0", true, 1, 10, -ERANGE);
	refused("11", true, 1, 10, -ERANGE);
	refused("1K", true, 1, 1023, -ERANGE);
}

Test(option, seconds_have_decimals_and_an_upper_limit)
{
	double v = 7;

	cr_expect_eq(option_parse_seconds("0.25", 0, 60, &v), 0);
	cr_expect_float_eq(v, 0.25, 1e-12);
	cr_expect_eq(option_parse_seconds(".5", 0, 60, &v), 0);
	cr_expect_eq(option_parse_seconds("60", 0, 60, &v), 0);
	cr_expect_eq(option_parse_seconds("60.01", 0, 60, &v), -ERANGE);
	for (const char *const *w = (const char *const[]){"", ".", "-1", "1s", "inf", "nan", "0x1",
							  "1e1", "1.2.3", NULL};
	     *w; w++)
		cr_expect_eq(option_parse_seconds(*w, 0, 60, &v), -EINVAL, "%s", *w);
	cr_expect_float_eq(v, 60, 1e-12);
}

struct opts {
	bool flag, on;
	const char *text;
	uint16_t port;
	uint32_t size;
	uint64_t count;
	double wait;
};

#define OPTION_STRUCT struct opts

static const struct option_row rows[] = {
	OPTION_ROW_FLAG(flag, "f", "flag", "a flag"),
	OPTION_ROW_UNFLAG(on, NULL, "no-on", "off"),
	OPTION_ROW_STRING(text, NULL, "text", "TEXT", "text"),
	OPTION_ROW_NUM(port, "p", "port", "PORT", "a port", 1, 65535, "port"),
	OPTION_ROW_SIZE(size, "S", "size", "BYTES", "a size", 1, 16 << 20, "size"),
	OPTION_ROW_NUM(count, "cn", "count", "N", "a number of rounds", 1, UINT32_MAX, "rounds"),
	OPTION_ROW_SECONDS(wait, "W", "wait", "a timeout", 0, 3600, "timeout"),
	OPTION_ROW_HELP("h"),
	OPTION_ROW_VERSION(NULL, "versions"),
};

static const struct option_table table = {rows, sizeof(rows) / sizeof(rows[0])};

/* Parses up to seven words into o. */
static enum option_result parse(struct opts *o, char error[OPTION_ERROR], char *const *words)
{
	static char name[] = "test";
	char *argv[9] = {name};
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = *words;
	optind = 0;
	opterr = 0;
	return option_parse(&table, argc, argv, o, error);
}

#define PARSE(o, error, ...) parse(o, error, (char *[]){__VA_ARGS__, NULL})

Test(option, letters_and_names_set_the_members)
{
	struct opts o = {.on = true};
	char error[OPTION_ERROR];

	cr_assert_eq(PARSE(&o, error, "-f", "--no-on", "--text=a b", "-p7", "-S", "4K", "operand"),
		     OPTION_R_OK);
	cr_expect(o.flag);
	cr_expect_not(o.on);
	cr_expect_str_eq(o.text, "a b");
	cr_expect_eq(o.port, 7);
	cr_expect_eq(o.size, 4096);
	cr_expect_eq(optind, 7);
	cr_assert_eq(PARSE(&o, error, "-c", "2"), OPTION_R_OK);
	cr_expect_eq(o.count, 2);
	cr_assert_eq(PARSE(&o, error, "-n", "3", "--wait", "0.5"), OPTION_R_OK);
	cr_expect_eq(o.count, 3);
	cr_expect_float_eq(o.wait, 0.5, 1e-12);
}

Test(option, help_and_version_end_the_parsing)
{
	struct opts o = {0};
	char error[OPTION_ERROR];

	cr_expect_eq(PARSE(&o, error, "-f", "--help", "-p", "unknown"), OPTION_R_HELP);
	cr_expect_eq(PARSE(&o, error, "--version"), OPTION_R_VERSION);
}

Test(option, a_message_names_option_value_and_range)
{
	struct opts o = {.port = 5};
	char error[OPTION_ERROR];

	cr_expect_eq(PARSE(&o, error, "-p", "65536"), OPTION_R_WRONG);
	cr_expect_str_eq(error, "--port: '65536' is not a port between 1 and 65535");
	cr_expect_eq(o.port, 5);
	cr_expect_eq(PARSE(&o, error, "--size", "17M"), OPTION_R_WRONG);
	cr_expect_str_eq(error, "--size: '17M' is not a size between 1 and 16M");
	cr_expect_eq(PARSE(&o, error, "-W", "-1"), OPTION_R_WRONG);
	cr_expect_str_eq(error, "--wait: '-1' is not a timeout between 0 and 3600 s");
	cr_expect_eq(PARSE(&o, error, "-W", "3601"), OPTION_R_WRONG);
}

Test(option, getopt_reports_unknown_options)
{
	struct opts o = {0};
	char error[OPTION_ERROR];

	cr_expect_eq(PARSE(&o, error, "--unknown"), OPTION_R_WRONG);
	cr_expect_str_eq(error, "");
	cr_expect_eq(PARSE(&o, error, "-p"), OPTION_R_WRONG);
	cr_expect_eq(PARSE(&o, error, "-x"), OPTION_R_WRONG);
}

Test(option, help_shows_ranges_and_defaults)
{
	const struct opts defaults = {.port = 5043, .size = 64 << 10, .wait = 0.2};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	option_help(f, &table, &defaults);
	fclose(f);
	cr_expect_str_eq(text, "  -f, --flag          a flag\n"
			       "      --no-on         off\n"
			       "      --text TEXT     text\n"
			       "  -p, --port PORT     port, 1 to 65535 [5043]\n"
			       "  -S, --size BYTES    size, 1 to 16M [64K]\n"
			       "  -c, -n, --count N   rounds, 1 to 4294967295\n"
			       "  -W, --wait SECONDS  timeout, 0 to 3600 [0.2]\n"
			       "  -h, --help          this text\n"
			       "      --version       versions\n");
	free(text);
}
