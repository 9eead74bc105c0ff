/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of a copy, for its last line. */
#ifndef TOOLS_DDPCP_TALLY_H
#define TOOLS_DDPCP_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct ddpcp_tally {
	uint64_t files, bytes; /* that were copied */
	uint64_t unchanged;    /* files that were there */
	uint64_t links;
	uint64_t skipped, failed;
};

enum { DDPCP_TALLY_MAX = 256 };

/* "10000 files, 41.0 MB in 1.234 s, 33.2 MB/s, 3 unchanged". */
void ddpcp_tally_line(char buf[DDPCP_TALLY_MAX], const struct ddpcp_tally *t, double seconds);

#endif
