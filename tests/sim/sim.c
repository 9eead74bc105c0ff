/* SPDX-License-Identifier: BSD-2-Clause */
/* sim [--seed N] [--seeds FROM COUNT] [--verbose]: runs seeds until one fails. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

enum { DEFAULT_COUNT = 500 };

struct options {
	uint64_t from, count;
	bool verbose;
};

static void usage(void)
{
	fputs("usage: sim [--seed N] [--seeds FROM COUNT] [--verbose]\n", stderr);
	exit(2);
}

static uint64_t number(const char *s)
{
	char *end;
	uint64_t v;

	if (!s)
		usage();
	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno || *end || end == s)
		usage();
	return v;
}

static struct options parse(char **argv)
{
	struct options o = {.from = 1, .count = DEFAULT_COUNT};

	while (*++argv) {
		if (strcmp(*argv, "--verbose") == 0) {
			o.verbose = true;
		} else if (strcmp(*argv, "--seed") == 0) {
			o.from = number(*++argv);
			o.count = 1;
		} else if (strcmp(*argv, "--seeds") == 0) {
			o.from = number(*++argv);
			o.count = number(*++argv);
		} else {
			usage();
		}
	}
	return o;
}

static void add(struct totals *sum, const struct totals *t)
{
	unsigned *a = (unsigned *)sum;
	const unsigned *b = (const unsigned *)t;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*a); i++)
		a[i] += b[i];
}

static uint64_t run(uint64_t seed, const struct options *o, struct totals *sum)
{
	struct world *w = get(sizeof(*w));
	uint64_t hash;

	w->seed = seed;
	w->verbose = o->verbose;
	w->hash = 0xcbf29ce484222325u;
	w->lines = get(TRACE_LINES * sizeof(*w->lines));
	world_run(w);
	add(sum, &w->sum);
	hash = w->hash;
	free(w->lines);
	free(w);
	return hash;
}

int main(int argc, char **argv)
{
	struct options o = parse(argv);
	struct totals t = {0};
	uint64_t hash = 0;

	(void)argc;
	for (uint64_t i = 0; i < o.count; i++)
		hash = (hash ^ run(o.from + i, &o, &t)) * 0x100000001b3u;
	printf("%" PRIu64 " seeds from %" PRIu64 ": all well, trace %016" PRIx64 "\n", o.count,
	       o.from, hash);
	printf("%u messages, %u sessions (rejected %u, refused %u, overflow %u, withdrawn %u)\n",
	       t.messages, t.sessions, t.rejected, t.refused, t.overflow, t.withdrawn);
	printf("sends %u writes %u reads %u inline %u fenced %u invalidations %u\n", t.sends,
	       t.writes, t.reads, t.inlined, t.fenced, t.invalidated);
	printf("overtaken %u, stashed %u; sessions near a wrap %u\n", t.ahead, t.stashed,
	       t.wrapped);
	printf("ended by error %u, by loss %u; flushed %u, failed locally %u\n", t.errors, t.lost,
	       t.flushed, t.local_errors);
	rows_print(&t);
	return 0;
}
