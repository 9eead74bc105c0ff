/* SPDX-License-Identifier: BSD-2-Clause */
/* The side of a copy that has the files: one, or a tree of them. */
#ifndef TOOLS_DDPCP_SOURCE_H
#define TOOLS_DDPCP_SOURCE_H

#include "tools/ddpcp/ddpcp_inodes.h"
#include "tools/ddpcp/ddpcp_xfer.h"

enum { DDPCP_SOURCE_DEPTH = 64 }; /* directories in each other; each has a descriptor open */

struct ddpcp_source {
	struct ddpcp_link *link;
	struct ddpcp_progress *progress; /* may be NULL */
	unsigned flags;                  /* of enum ddpcp_flag */
	bool follow;                     /* follow the first name if it is a link */

	struct ddpcp_flight *flight; /* of level 1, made when it is needed */
	struct ddpcp_inodes inodes;

	/*
	 * A file was copied (status DDPCP_OK; x describes it, NULL: a link), was there
	 * (DDPCP_UNCHANGED), failed, or was skipped, for that reason. name is the file's at the
	 * sink, or NULL for one that got no name there, which the reason has. x is NULL for a
	 * failure of which the sink does not know. Returns 0 or a failure, which ends everything.
	 */
	int (*notify)(void *arg, const char *name, enum ddpcp_status status, const char *reason,
		      const struct ddpcp_xfer *x);
	void *arg;
};

/*
 * Sends the file `local` of dir, which may be AT_FDCWD, as `name`, and with DDPCP_TREE a directory
 * with its contents. Devices and the like in a directory are skipped, and links without
 * DDPCP_LINKS. Returns 0 if the session can continue, even if files failed.
 */
int ddpcp_source_send(struct ddpcp_source *s, int dir, const char *local, const char *name);

/* Waits until all have arrived and have their names. */
int ddpcp_source_end(struct ddpcp_source *s);

/* Frees it, in any state. */
void ddpcp_source_free(struct ddpcp_source *s);

/* Tells the sink that an entry will not be sent. Level 1 only. */
int ddpcp_source_absent(struct ddpcp_source *s, const char *name, enum ddpcp_status status,
			const char *reason);

/* As ddpcp_source_send(), for a file without a size: a pipe. It is alone on its way. */
int ddpcp_source_stream(struct ddpcp_source *s, int fd, const char *name);

#endif
