/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim [--sctp] [--seed N] [--seeds FROM COUNT] [--jobs N] [--longest] [--verbose]: runs seeds until
 * one fails, in N processes, then the test without seeds, longest.c. --longest: only that one.
 * --sctp: over real stacks of SCTP and a network of packets, without longest.c. Without options:
 * 500 seeds, longest.c and 100 seeds over SCTP.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/world.h"

enum { DEFAULT_COUNT = 500, SCTP_COUNT = 100, JOBS_MAX = 64 };

struct options {
	uint64_t from, count;
	unsigned jobs;
	bool far;
	bool sctp;
	bool verbose;
};

static void usage(void)
{
	fputs("usage: sim [--sctp] [--seed N] [--seeds FROM COUNT] [--jobs N] [--longest] "
	      "[--verbose]\n",
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

static unsigned jobs(const char *s)
{
	uint64_t n = number(s);

	if (n < 1 || n > JOBS_MAX)
		usage();
	return (unsigned)n;
}

static struct options parse(char **argv)
{
	struct options o = {.from = 1, .count = DEFAULT_COUNT, .jobs = 1, .far = true};

	while (*++argv) {
		if (strcmp(*argv, "--verbose") == 0) {
			o.verbose = true;
		} else if (strcmp(*argv, "--sctp") == 0) {
			o.sctp = true;
			o.far = false;
		} else if (strcmp(*argv, "--longest") == 0) {
			o.count = 0;
		} else if (strcmp(*argv, "--seed") == 0) {
			o.from = number(*++argv);
			o.count = 1;
			o.far = false;
		} else if (strcmp(*argv, "--seeds") == 0) {
			o.from = number(*++argv);
			o.count = number(*++argv);
		} else if (strcmp(*argv, "--jobs") == 0) {
			o.jobs = jobs(*++argv);
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
	struct world *w = alloc_zeroed(sizeof(*w));
	uint64_t hash;

	w->seed = seed;
	w->verbose = o->verbose;
	w->sctp = o->sctp;
	w->hash = 0xcbf29ce484222325u;
	w->lines = alloc_zeroed(TRACE_LINES * sizeof(*w->lines));
	world_run(w);
	add(sum, &w->sum);
	hash = w->hash;
	free(w->lines);
	free(w);
	return hash;
}

/* The result of a run of several seeds; it does not depend on the distribution of seeds to jobs. */
struct result {
	struct totals sum;
	uint64_t hash;
};

/* Every seed of one job: the first, and then every jobs-th. */
static struct result run_share(const struct options *o, unsigned job)
{
	struct result r = {0};

	for (uint64_t i = job; i < o->count; i += o->jobs)
		r.hash += run(o->from + i, o, &r.sum) * (2 * i + 1);
	return r;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Runs a share in a process of its own. Returns the descriptor to read its result from. */
static int start_job(const struct options *o, unsigned job, pid_t *ret_pid)
{
	struct result r;
	int fd[2];

	if (pipe(fd) < 0)
		die("pipe");
	fflush(stdout);
	*ret_pid = fork();
	if (*ret_pid < 0)
		die("fork");
	if (*ret_pid > 0) {
		close(fd[1]);
		return fd[0];
	}
	close(fd[0]);
	r = run_share(o, job);
	if (write(fd[1], &r, sizeof(r)) != sizeof(r))
		die("write");
	exit(0);
}

/* The result of a job. A job that failed has printed the reason: the others are ended. */
static void finish_job(int fd, pid_t pid, struct result *sum, bool *ret_failed)
{
	struct result r = {0};
	bool got = false;
	int status;

	if (*ret_failed)
		kill(pid, SIGTERM);
	else
		got = read(fd, &r, sizeof(r)) == sizeof(r);
	close(fd);
	if (waitpid(pid, &status, 0) != pid || status != 0 || !got)
		*ret_failed = true;
	add(&sum->sum, &r.sum);
	sum->hash += r.hash;
}

static struct result run_jobs(const struct options *o)
{
	struct result sum = {0};
	pid_t pid[JOBS_MAX];
	bool failed = false;
	int fd[JOBS_MAX];

	if (o->jobs == 1)
		return run_share(o, 0);
	for (unsigned i = 0; i < o->jobs; i++)
		fd[i] = start_job(o, i, &pid[i]);
	for (unsigned i = 0; i < o->jobs; i++)
		finish_job(fd[i], pid[i], &sum, &failed);
	if (failed)
		exit(1);
	return sum;
}

static void print(const struct totals *t)
{
	printf("%u messages, %u sessions (rejected %u, refused %u, overflow %u, withdrawn %u)\n",
	       t->messages, t->sessions, t->rejected, t->refused, t->overflow, t->withdrawn);
	printf("sends %u writes %u reads %u inline %u fenced %u invalidations %u\n", t->sends,
	       t->writes, t->reads, t->inlined, t->fenced, t->invalidated);
	printf("immediate %u atomics %u (on shared cells %u, swapped %u, not %u)\n", t->imms,
	       t->atomics, t->cells, t->swapped, t->unswapped);
	printf("binds %u local invalidations %u through windows %u dead STags tried %u used again "
	       "%u\n",
	       t->binds, t->unbinds, t->windowed, t->old_keys, t->reused_stags);
	printf("enhanced %u (rejected %u, unsupported %u, ORD lowered %u), first a Send %u Write "
	       "%u "
	       "Read %u, none %u\n",
	       t->enhanced, t->enh_rejected, t->enh_unsupported, t->dropped_ord,
	       t->rtr[WIRE_RTR_SEND], t->rtr[WIRE_RTR_WRITE], t->rtr[WIRE_RTR_READ], t->no_rtr);
	printf("raw %u (beside others %u) received %u notices %u errors %u messages after them %u "
	       "half-closed %u timed out %u\n",
	       t->raws, t->mixed, t->raw_sends, t->notices, t->raw_errors, t->msgs_after_error,
	       t->half_closed, t->raw_timeouts);
	printf("overtaken %u, early %u; sessions near a wrap %u\n", t->ahead, t->early, t->wrapped);
	printf("late receives %u, credits %u, of no receive %u; sessions with placing in order %u, "
	       "with completions "
	       "after acknowledgments %u\n",
	       t->held, t->credits, t->not_ready, t->in_order, t->acked);
	printf("ended by error %u, by loss %u, after what was posted %u; flushed %u, failed "
	       "locally %u\n",
	       t->errors, t->lost, t->sent_first, t->flushed, t->local_errors);
}

static void run_all(const struct options *o)
{
	struct result r = run_jobs(o);

	if (o->far)
		r.sum.far = longest_run();
	printf("%" PRIu64 " seeds from %" PRIu64 "%s: passed, trace %016" PRIx64 "\n", o->count,
	       o->from, o->sctp ? " over SCTP" : "", r.hash);
	print(&r.sum);
	if (o->sctp)
		printf("%u packets, %u chunks sent again, %u timeouts; %u cuts, %u restarts\n",
		       r.sum.packets, r.sum.retransmits, r.sum.timeouts, r.sum.cuts,
		       r.sum.restarts);
	else
		rows_print(&r.sum);
}

int main(int argc, char **argv)
{
	struct options o = parse(argv);

	run_all(&o);
	if (argc == 1) {
		o.sctp = true;
		o.far = false;
		o.count = SCTP_COUNT;
		run_all(&o);
	}
	return 0;
}
