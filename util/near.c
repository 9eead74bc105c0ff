/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/near.h"

#include <stddef.h>
#include <string.h>

#include "util/minmax.h"

enum { NEAR_MAX_LEN = 32 };

static unsigned distance(const char *a, const char *b)
{
	unsigned row[NEAR_MAX_LEN + 1];
	size_t n = strlen(b);

	if (strlen(a) > NEAR_MAX_LEN || n > NEAR_MAX_LEN)
		return NEAR_MAX_LEN;
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

void near_consider(struct near *n, const char *candidate)
{
	unsigned d = distance(n->word, candidate);

	if (d > strlen(n->word) / 3 + 1 || (n->nearest && d >= n->distance))
		return;
	n->nearest = candidate;
	n->distance = d;
}
