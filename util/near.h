/* SPDX-License-Identifier: BSD-2-Clause */
/* The word that somebody may have meant: the nearest one by edit distance. */
#ifndef UTIL_NEAR_H
#define UTIL_NEAR_H

/* Begins with all zero but `word`. */
struct near {
	const char *word;    /* what was written */
	const char *nearest; /* the best candidate so far, NULL: none is near */
	unsigned distance;   /* its edits */
};

/* Considers a word. At most a third of the letters may differ, and one more. */
void near_consider(struct near *n, const char *candidate);

#endif
