/* SPDX-License-Identifier: BSD-2-Clause */
/* The side of a copy that has the files: one, or a tree of them. */
#ifndef TOOLS_DDPCP_SOURCE_H
#define TOOLS_DDPCP_SOURCE_H

#include "tools/ddpcp/ddpcp_xfer.h"

enum { DDPCP_SOURCE_DEPTH = 64 }; /* directories in each other; each has a descriptor open */

struct ddpcp_source {
	struct ddpcp_link *link;
	struct ddpcp_progress *progress; /* may be NULL */
	unsigned flags;                  /* DDPCP_TREE, DDPCP_PRESERVE */
	bool follow;                     /* follow the first name if it is a link */

	/*
	 * A file was copied (status DDPCP_OK; x describes it), failed, or was skipped, for that
	 * reason. name is the file's at the sink. Returns 0 or a failure, which ends everything.
	 */
	int (*notify)(void *arg, const char *name, enum ddpcp_status status, const char *reason,
		      const struct ddpcp_xfer *x);
	void *arg;
};

/*
 * Sends the file `local` of dir, which may be AT_FDCWD, as `name`, and with DDPCP_TREE a directory
 * with its contents. Links, devices and the like in a directory are skipped. Returns 0 if the
 * session can continue, even if files failed.
 */
int ddpcp_source_send(struct ddpcp_source *s, int dir, const char *local, const char *name);

/* The same for a file without a size: a pipe. */
int ddpcp_source_stream(struct ddpcp_source *s, int fd, const char *name);

#endif
