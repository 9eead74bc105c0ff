/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

void *alloc_zeroed(size_t len)
{
	void *p = calloc(1, len ? len : 1);

	if (!p) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static void digest(struct world *w, const char *s)
{
	for (; *s; s++)
		w->hash = (w->hash ^ (uint8_t)*s) * 0x100000001b3u;
}

void trace(struct world *w, const char *fmt, ...)
{
	char *line = w->lines[w->nlines++ % TRACE_LINES];
	uint64_t now = simclock_now(w->clock);
	va_list ap;
	int n;

	n = snprintf(line, TRACE_WIDTH, "%6" PRIu64 ".%03u ", now / 1000, (unsigned)(now % 1000));
	va_start(ap, fmt);
	vsnprintf(line + n, (size_t)(TRACE_WIDTH - n), fmt, ap);
	va_end(ap);
	digest(w, line);
	if (w->verbose)
		puts(line);
}

void fail(struct world *w, const char *fmt, ...)
{
	uint64_t n = w->nlines < TRACE_LINES ? w->nlines : TRACE_LINES;
	va_list ap;

	if (!w->verbose)
		for (uint64_t i = w->nlines - n; i < w->nlines; i++)
			puts(w->lines[i % TRACE_LINES]);
	printf("FAILED: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\nreproduce: sim%s --seed %" PRIu64 "\n", w->sctp ? " --sctp" : "", w->seed);
	fflush(stdout);
	exit(1);
}
