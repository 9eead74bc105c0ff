/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sctp_sim [--seed N] [--seeds FROM COUNT] [--seconds N] [--verbose]: runs seeds until one fails;
 * with
 * --seconds as many as it takes until so many seconds have passed in them. Two SCTP stacks, a
 * virtual clock, faults of the network and of the hosts.
 */
#include <errno.h>

#include "tests/sctp/sim/world.h"

enum { DEFAULT_COUNT = 200 };

static void usage(void)
{
	fputs("usage: sctp_sim [--seed N] [--seeds FROM COUNT] [--seconds N] [--verbose]\n",
	      stderr);
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

static uint64_t run(uint64_t seed, bool verbose, struct totals *sum)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t hash;

	if (!w)
		abort();
	w->seed = seed;
	w->verbose = verbose;
	w->hash = UINT64_C(0xcbf29ce484222325);
	w->sum = *sum;
	world_run(w);
	*sum = w->sum;
	hash = w->hash;
	free(w);
	return hash;
}

static void print(const struct totals *t)
{
	printf("%" PRIu64 " packets (%" PRIu64 " lost), %" PRIu64 " batches, %" PRIu64
	       " probes, %" PRIu64 " fragmented\n",
	       t->packets, t->lost, t->batches, t->probes, t->fragments);
	printf("%" PRIu64 " messages, %" PRIu64 " bytes, %" PRIu64 " ends of associations, %" PRIu64
	       " closed, %" PRIu64 " broken (%" PRIu64 " stalled), %" PRIu64 " restarts\n",
	       t->messages, t->bytes, t->conns, t->closed, t->broken, t->stalls, t->restarts);
	printf("%" PRIu64 " simulated seconds\n", t->us / SECOND);
	printf("%" PRIu64 " chunks repeated, %" PRIu64 " timeouts, %" PRIu64
	       " allocations that failed\n",
	       t->retransmits, t->timeouts, t->failures);
}

int main(int argc, char **argv)
{
	uint64_t from = 1, count = DEFAULT_COUNT, seconds = 0, hash = 0, i;
	struct totals sum = {0};
	bool verbose = false;

	(void)argc;
	while (*++argv) {
		if (strcmp(*argv, "--verbose") == 0) {
			verbose = true;
		} else if (strcmp(*argv, "--seed") == 0) {
			from = number(*++argv);
			count = 1;
		} else if (strcmp(*argv, "--seeds") == 0) {
			from = number(*++argv);
			count = number(*++argv);
		} else if (strcmp(*argv, "--seconds") == 0) {
			seconds = number(*++argv);
		} else {
			usage();
		}
	}
	for (i = 0; seconds ? sum.us < seconds * SECOND : i < count; i++)
		hash += run(from + i, verbose, &sum) * (2 * i + 1);
	printf("%" PRIu64 " seeds from %" PRIu64 ": all well, trace %016" PRIx64 "\n", i, from,
	       hash);
	print(&sum);
	return 0;
}
