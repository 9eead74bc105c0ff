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
	RUNG_COUNT
};

enum {
	RUNG_REASON_GIVEN,   /* RUNG_MEMFD */
	RUNG_REASON_KNOWN,   /* RUNG_SHARED: a memfd of another region */
	RUNG_REASON_ADOPTED, /* RUNG_SHARED: adopted for another region */
	RUNG_REASON_PRIVATE, /* RUNG_ADOPT */
	RUNG_REASON_COUNT
};

/* A word: "memfd", "shared", "adopt". "?" for other values. */
const char *rung_str(uint32_t rung);

/* A sentence without its end: "its private pages were adopted". "?" for other values. */
const char *rung_reason(uint32_t reason);

#endif
