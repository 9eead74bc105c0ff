/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/option.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONG_ONLY = 256, /* value of getopt_long() for row 0, if it has no letter */
	LEFT = 64,       /* bytes of the left column of --help */
	NUMBER = 32,     /* bytes of a number as text */
};

/* ---- numbers ---- */

/* Bits to shift by for a unit; -1 for one that does not exist. */
static int unit_shift(const char *unit)
{
	if (!*unit)
		return 0;
	if (unit[1])
		return -1;
	switch (toupper((unsigned char)*unit)) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return -1;
	}
}

int option_parse_num(const char *text, bool units, uint64_t min, uint64_t max, uint64_t *ret)
{
	char *end;
	uint64_t v;
	int shift;

	if (!isdigit((unsigned char)*text)) /* strtoull takes blanks and signs */
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	shift = unit_shift(end);
	if (shift < 0 || (shift > 0 && !units))
		return -EINVAL;
	if (v > UINT64_MAX >> shift)
		return -ERANGE;
	v <<= shift;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int option_parse_seconds(const char *text, double min, double max, double *ret)
{
	char *end;
	double v;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	if (strspn(text, "0123456789.") != strlen(text)) /* nor hexadecimal, nor exponents */
		return -EINVAL;
	v = strtod(text, &end);
	if (end == text || *end)
		return -EINVAL;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* ---- members ---- */

static bool is_number(const struct option_row *row)
{
	return row->type == OPTION_NUM || row->type == OPTION_SIZE || row->type == OPTION_SECONDS;
}

static void put_num(const struct option_row *row, void *opts, uint64_t v)
{
	uint8_t *p = (uint8_t *)opts + row->offset;
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	if (row->size == sizeof(v16))
		memcpy(p, &v16, sizeof(v16));
	else if (row->size == sizeof(v32))
		memcpy(p, &v32, sizeof(v32));
	else
		memcpy(p, &v, sizeof(v));
}

static double get_number(const struct option_row *row, const void *opts)
{
	const uint8_t *p = (const uint8_t *)opts + row->offset;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;
	double d;

	if (row->type == OPTION_SECONDS) {
		memcpy(&d, p, sizeof(d));
		return d;
	}
	if (row->size == sizeof(v16)) {
		memcpy(&v16, p, sizeof(v16));
		return v16;
	}
	if (row->size == sizeof(v32)) {
		memcpy(&v32, p, sizeof(v32));
		return v32;
	}
	memcpy(&v64, p, sizeof(v64));
	return (double)v64;
}

static int set_number(const struct option_row *row, void *opts, const char *arg)
{
	uint64_t v;
	double d;
	int r;

	if (row->type == OPTION_SECONDS) {
		r = option_parse_seconds(arg, row->min, row->max, &d);
		if (r == 0)
			memcpy((uint8_t *)opts + row->offset, &d, sizeof(d));
		return r;
	}
	r = option_parse_num(arg, row->type == OPTION_SIZE, (uint64_t)row->min, (uint64_t)row->max,
			     &v);
	if (r == 0)
		put_num(row, opts, v);
	return r;
}

/* A number as the user writes it. */
static void number_text(const struct option_row *row, double v, char buf[NUMBER])
{
	static const char units[] = "KMG";
	int unit = -1;

	for (;
	     row->type == OPTION_SIZE && v >= 1024 && v / 1024 == (uint64_t)(v / 1024) && unit < 2;
	     unit++)
		v /= 1024;
	snprintf(buf, NUMBER, "%.10g%.*s", v, unit >= 0, unit >= 0 ? units + unit : "");
}

/* ---- the command line ---- */

static int value_of(const struct option_table *t, unsigned i)
{
	return t->rows[i].letters ? (unsigned char)*t->rows[i].letters : LONG_ONLY + (int)i;
}

/* NULL: getopt_long() did not recognize the option. */
static const struct option_row *find_row(const struct option_table *t, int value)
{
	if (value >= LONG_ONLY)
		return &t->rows[value - LONG_ONLY];
	for (unsigned i = 0; i < t->n; i++)
		if (t->rows[i].letters && strchr(t->rows[i].letters, value))
			return &t->rows[i];
	return NULL;
}

/* The arguments of getopt_long(): letters, with a colon if they have an argument, and long options.
 */
static void getopt_form(const struct option_table *t, char letters[4 * OPTION_MAX],
			struct option longs[OPTION_MAX + 1])
{
	size_t n = 0;

	for (unsigned i = 0; i < t->n; i++) {
		const struct option_row *row = &t->rows[i];

		for (const char *l = row->letters; l && *l; l++)
			n += (size_t)snprintf(letters + n, 3, "%c%s", *l, row->arg ? ":" : "");
		longs[i] = (struct option){
			.name = row->name,
			.has_arg = row->arg ? required_argument : no_argument,
			.val = value_of(t, i),
		};
	}
	letters[n] = '\0';
	longs[t->n] = (struct option){0};
}

static enum option_result wrong_number(const struct option_row *row, const char *arg,
				       char ret_error[OPTION_ERROR])
{
	char min[NUMBER], max[NUMBER];

	number_text(row, row->min, min);
	number_text(row, row->max, max);
	snprintf(ret_error, OPTION_ERROR, "--%s: '%.100s' is not %s between %s and %s%s", row->name,
		 arg, row->noun, min, max, row->type == OPTION_SECONDS ? " s" : "");
	return OPTION_R_WRONG;
}

static enum option_result set_member(const struct option_row *row, void *opts, const char *arg,
				     char ret_error[OPTION_ERROR])
{
	bool on = row->type == OPTION_FLAG;

	switch (row->type) {
	case OPTION_FLAG:
	case OPTION_UNFLAG:
		memcpy((uint8_t *)opts + row->offset, &on, sizeof(on));
		return OPTION_R_OK;
	case OPTION_STRING:
		memcpy((uint8_t *)opts + row->offset, &arg, sizeof(arg));
		return OPTION_R_OK;
	case OPTION_HELP:
		return OPTION_R_HELP;
	case OPTION_VERSION:
		return OPTION_R_VERSION;
	default:
		return set_number(row, opts, arg) < 0 ? wrong_number(row, arg, ret_error)
						      : OPTION_R_OK;
	}
}

enum option_result option_parse(const struct option_table *t, int argc, char **argv, void *opts,
				char ret_error[OPTION_ERROR])
{
	struct option longs[OPTION_MAX + 1];
	enum option_result r = OPTION_R_OK;
	char letters[4 * OPTION_MAX];
	int value;

	getopt_form(t, letters, longs);
	*ret_error = '\0';
	while (r == OPTION_R_OK && (value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct option_row *row = find_row(t, value);

		r = row ? set_member(row, opts, optarg, ret_error) : OPTION_R_WRONG;
	}
	return r;
}

/* ---- --help ---- */

/* "-c, -C, --count N" */
static void left_column(const struct option_row *row, char buf[LEFT])
{
	int n = 0;

	for (const char *l = row->letters; l && *l; l++)
		n += snprintf(buf + n, LEFT - (size_t)n, "-%c, ", *l);
	snprintf(buf + n, LEFT - (size_t)n, "%s--%s%s%s", n ? "" : "    ", row->name,
		 row->arg ? " " : "", row->arg ? row->arg : "");
}

static void print_number(FILE *out, const struct option_row *row, const void *defaults)
{
	double v = get_number(row, defaults);
	char text[NUMBER];

	number_text(row, row->min, text);
	fprintf(out, ", %s to ", text);
	number_text(row, row->max, text);
	fputs(text, out);
	number_text(row, v, text);
	if (v != 0)
		fprintf(out, " [%s]", text);
}

void option_help(FILE *out, const struct option_table *t, const void *defaults)
{
	char left[LEFT];
	int width = 0;

	for (unsigned i = 0; i < t->n; i++) {
		left_column(&t->rows[i], left);
		if ((int)strlen(left) > width)
			width = (int)strlen(left);
	}
	for (unsigned i = 0; i < t->n; i++) {
		left_column(&t->rows[i], left);
		fprintf(out, "  %-*s  %s", width, left, t->rows[i].help);
		if (is_number(&t->rows[i]))
			print_number(out, &t->rows[i], defaults);
		putc('\n', out);
	}
}
