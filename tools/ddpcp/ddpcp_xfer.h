/* SPDX-License-Identifier: BSD-2-Clause */
/* The copy of one file: through windows of registered memory on both sides. */
#ifndef TOOLS_DDPCP_XFER_H
#define TOOLS_DDPCP_XFER_H

#include <stddef.h>
#include <stdint.h>

#include "tools/ddpcp/ddpcp_link.h"
#include "tools/ddpcp/ddpcp_progress.h"

struct ddpcp_xfer {
	struct ddpcp_link *link;
	uint64_t size;                   /* DDPCP_STREAM until its end is known */
	uint64_t from;                   /* offset at which an earlier copy is continued */
	bool unchanged;                  /* an OFFER: the sink has the file */
	bool sparse;                     /* zeros need no place on the disk */
	struct ddpcp_progress *progress; /* may be NULL */
	uint8_t sha256[DDPCP_SHA_LEN];   /* at the end: of the bytes read or written */
};

/* The SHA-256 of these bytes. 0 or -EIO. */
int ddpcp_xfer_sum(const void *p, size_t len, uint8_t ret[DDPCP_SHA_LEN]);

/* Sends a file into the peer's window, and then its sum. The caller awaits the peer's RESULT. */
int ddpcp_xfer_source(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w);

/*
 * Offers a window and the first `have` bytes of the file, writes the chunks that arrive, reads them
 * back, and compares the sums. back is false for files that cannot be read, like pipes: then the
 * written bytes are summed up.
 */
int ddpcp_xfer_sink(struct ddpcp_xfer *x, int fd, uint64_t have, bool back);

#endif
