/* SPDX-License-Identifier: BSD-2-Clause */
/* How the memory of a region became memory that program and daemon share, and why this way. The
 * numbers are part of the local protocol. */
#ifndef IPC_RUNG_H
#define IPC_RUNG_H

#include <stdint.h>

/* Values of enum ddp_mr_rung. */
enum {
	RUNG_MEMFD,  /* it is a memfd, of the library or of the program */
	RUNG_SHARED, /* it was in a memfd already */
	RUNG_ADOPT,  /* private pages moved to a memfd */
	RUNG_AGENT,  /* it is not shared: an agent copies it (agent.h) */
	RUNG_COUNT
};

enum {
	RUNG_REASON_GIVEN,   /* RUNG_MEMFD */
	RUNG_REASON_KNOWN,   /* RUNG_SHARED: a memfd of another region */
	RUNG_REASON_ADOPTED, /* RUNG_SHARED: adopted for another region */
	RUNG_REASON_PRIVATE, /* RUNG_ADOPT */

	/* RUNG_AGENT: why it cannot be adopted. */
	RUNG_REASON_OTHERS, /* shared with others by a file or without a name */
	RUNG_REASON_SYSV,
	RUNG_REASON_HUGE,
	RUNG_REASON_FILE,    /* a private mapping of a file, while there are threads */
	RUNG_REASON_THREADS, /* no userfaultfd(2) */
	RUNG_REASON_BLOCK,
	RUNG_REASON_PARTS,
	RUNG_REASON_COUNT
};

/* A word: "memfd", "shared", "adopt", "agent". "?" for other values. */
const char *rung_str(uint32_t rung);

/* A sentence without its end: "its private pages were adopted". "?" for other values. */
const char *rung_reason(uint32_t reason);

#endif
