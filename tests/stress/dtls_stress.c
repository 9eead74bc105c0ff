/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dtls_stress [JOBS [SEED]]
 *
 * Promise: the thread of handshakes runs each job once, its owner gets each job back once, with all
 * that the job wrote, is woken for it, and jobs that are left at the end are given back as well.
 * The owner adds and takes in many orders, and sleeps without a limit: the watchdog ends the
 * program if it is not woken.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "llp/dtls/dtls_worker.h"
#include "tests/stress/pace.h"

enum { MAX = 16 };

/* No member is atomic: the thread sanitizer sees whether a job belongs to one thread at a time. */
struct work {
	struct dtls_job job;
	bool added;
	uint64_t asked, answer; /* the thread writes the answer */
	uint64_t rng, runs;
};

static struct work work[MAX];
static uint64_t total_added, total_taken;

static void must(bool ok, const char *failure)
{
	if (ok)
		return;
	fprintf(stderr, "dtls_stress: %s\n", failure);
	exit(1);
}

static void run(struct dtls_job *j)
{
	struct work *w = list_entry(j, struct work, job);

	pace_spin(&w->rng);
	w->answer = w->asked * 3 + 1;
	w->runs++;
}

static void take(struct dtls_job *j, bool ended)
{
	struct work *w = list_entry(j, struct work, job);

	must(w->added, "a job was given back twice");
	w->added = false;
	total_taken++;
	must(w->runs <= 1, "a job ran twice");
	must(w->runs == 1 || ended, "a job was given back before it ran");
	must(w->runs == 0 || w->answer == w->asked * 3 + 1, "the answer of a job is missing");
}

static void add(struct dtls_worker *d, struct work *w, uint64_t n)
{
	if (w->added)
		return;
	w->asked = n;
	w->runs = w->answer = 0;
	w->job.run = run;
	w->added = dtls_worker_add(d, &w->job);
	total_added += w->added;
	must(w->added, "the queue is full too early");
}

static unsigned count_added(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MAX; i++)
		n += work[i].added;
	return n;
}

static void take_all(struct dtls_worker *d, bool ended)
{
	struct dtls_job *j;

	while ((j = dtls_worker_take(d)))
		take(j, ended);
}

/* The thread of the owner: it sleeps only if something is on its way. */
static void serve(struct dtls_worker *d, uint64_t jobs, uint64_t *rng)
{
	for (uint64_t n = 0; n < jobs; n++) {
		add(d, &work[pace_draw(rng, MAX)], n);
		must(dtls_worker_busy(d), "a job was forgotten");
		if (pace_draw(rng, 3) == 0)
			take_all(d, false);
		if (count_added() == MAX || (count_added() && pace_draw(rng, 8) == 0)) {
			struct pollfd p = {dtls_worker_fd(d), POLLIN, 0};

			must(poll(&p, 1, -1) == 1, "poll");
			take_all(d, false);
		}
		pace_spin(rng);
	}
}

static void run_part(uint64_t jobs, uint64_t *rng)
{
	struct dtls_worker *d;

	for (unsigned i = 0; i < MAX; i++)
		work[i] = (struct work){.rng = *rng + i + 1};
	must(dtls_worker_new(MAX, &d) == 0, "no thread");
	serve(d, jobs, rng);
	dtls_worker_end(d);
	take_all(d, true);
	must(count_added() == 0 && !dtls_worker_busy(d), "a job was lost at the end");
	dtls_worker_free(d);
}

int main(int argc, char **argv)
{
	uint64_t jobs = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, rng = seed;
	struct pace_parts parts = {0};

	while (pace_part(&parts))
		run_part(jobs / PACE_PARTS, &rng);
	must(total_added == total_taken, "not all jobs came back");
	printf("seed %" PRIu64 ": %" PRIu64 " jobs in %u parts\n", seed, total_added, parts.done);
	return 0;
}
