/* SPDX-License-Identifier: BSD-2-Clause */
/* The copy of one file: through windows of registered memory on both sides. */
#ifndef TOOLS_DDPCP_XFER_H
#define TOOLS_DDPCP_XFER_H

#include <stdint.h>

#include "tools/ddpcp/ddpcp_link.h"
#include "tools/ddpcp/ddpcp_progress.h"

struct ddpcp_xfer {
	struct ddpcp_link *link;
	uint64_t size;                   /* DDPCP_STREAM until its end is known */
	uint64_t from;                   /* what an earlier copy has left */
	struct ddpcp_progress *progress; /* may be NULL */
	uint8_t sha256[DDPCP_SHA_LEN];   /* at the end: of what was read, or of what was written */
};

/* Sends a file into the peer's window, and then its sum. The peer's RESULT is still to come. */
int ddpcp_xfer_source(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w);

/*
 * Offers a window and the first `have` bytes of the file, writes what comes, reads that back, and
 * compares the sums. Without back the file cannot be read, as a pipe: what is written is summed up.
 */
int ddpcp_xfer_sink(struct ddpcp_xfer *x, int fd, uint64_t have, bool back);

#endif
