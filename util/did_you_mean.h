/* SPDX-License-Identifier: BSD-2-Clause */
/* The known word that is nearest to a misspelled one, by edit distance. */
#ifndef UTIL_DID_YOU_MEAN_H
#define UTIL_DID_YOU_MEAN_H

/* To begin, set word and zero the rest. */
struct did_you_mean {
	const char *word;    /* the misspelled word */
	const char *nearest; /* the nearest candidate so far; NULL: none is near */
	unsigned distance;   /* its edits */
};

/* Compares another candidate. It is near if at most a third of its letters plus one differ. */
void did_you_mean_consider(struct did_you_mean *n, const char *candidate);

#endif
