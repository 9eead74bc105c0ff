/* SPDX-License-Identifier: BSD-2-Clause */
/* The copy itself: from a file through windows of registered memory on both sides to a file. */
#ifndef TOOLS_DDPCP_XFER_H
#define TOOLS_DDPCP_XFER_H

#include <stdint.h>

#include "tools/ddpcp_file.h"
#include "tools/ddpcp_link.h"

/* Called after each chunk with the bytes so far. */
typedef void ddpcp_progress_fn(void *arg, uint64_t done);

struct ddpcp_xfer {
	struct ddpcp_link *link;
	uint64_t size;
	ddpcp_progress_fn *progress; /* may be NULL */
	void *arg;
	uint8_t sha256[DDPCP_SHA_LEN]; /* at the end: of what was read, or of what was written */
};

/* Sends a file into the peer's window, and then its sum. The peer's RESULT is still to come. */
int ddpcp_xfer_source(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w);

/* Offers a window, writes what comes to the file, reads that back, and compares the sums. */
int ddpcp_xfer_sink(struct ddpcp_xfer *x, const struct ddpcp_file *f);

#endif
