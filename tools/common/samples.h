/* SPDX-License-Identifier: BSD-2-Clause */
/* A growing list of numbers, and its statistics. */
#ifndef TOOLS_SAMPLES_H
#define TOOLS_SAMPLES_H

#include <stddef.h>

/* All zero is an empty list. */
struct samples {
	double *v;
	size_t n, room;
};

/* Returns 0 or -ENOMEM. */
int samples_add(struct samples *s, double v);

/* The list is then empty. */
void samples_free(struct samples *s);

struct samples_summary {
	size_t n;
	double min, median, mean, p99, p999, max; /* all 0 if n is 0 */
};

/* Sorts the samples. The median of an even number is the mean of the two in the middle; p99 and
 * p999 are the smallest samples that 99 % and 99.9 % do not exceed. */
void samples_summarize(struct samples *s, struct samples_summary *ret);

#endif
