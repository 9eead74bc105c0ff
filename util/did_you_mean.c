/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/did_you_mean.h"

#include <stddef.h>
#include <string.h>

#include "util/minmax.h"

enum { LONGEST = 32 };

static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[LONGEST + 1];
	size_t n = strlen(b);

	if (strlen(a) > LONGEST || n > LONGEST)
		return LONGEST;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned above = row[j];

			row[j] = min_u32(min_u32(above, row[j - 1]) + 1,
					 corner + (a[i - 1] != b[j - 1]));
			corner = above;
		}
	}
	return row[n];
}

void did_you_mean_consider(struct did_you_mean *n, const char *candidate)
{
	unsigned d = edit_distance(n->word, candidate);

	if (d > strlen(n->word) / 3 + 1 || (n->nearest && d >= n->distance))
		return;
	n->nearest = candidate;
	n->distance = d;
}
