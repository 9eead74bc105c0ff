/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of ddpcp. */
#ifndef TOOLS_DDPCP_H
#define TOOLS_DDPCP_H

#include <stdbool.h>
#include <stdint.h>

struct ddpcp_opts {
	const char *socket; /* of the daemon, NULL for the usual one */
	const char *bind;   /* local addresses, or NULL: see session_target, server_conf */
	const char *root;   /* serve */
	uint16_t port;
	uint32_t retry;    /* seconds to try to get a lost session back */
	bool read_only;    /* serve: no put */
	bool proven;       /* serve: only peers that have proven who they are */
	bool tree;         /* directories, too */
	bool preserve;     /* exact modes, and times */
	bool archive;      /* both, and links */
	bool ignore_times; /* copy files that seem to be there */
	bool no_sync;
	bool verbose;
	bool quiet;
};

/* All return an exit status. n is at least 1. */
int ddpcp_put(const struct ddpcp_opts *o, unsigned n, char **files, const char *remote);

/* Into `file`, or as `file` if there is one source and no directory of that name; "-" is standard
 * output. */
int ddpcp_get(const struct ddpcp_opts *o, unsigned n, char **remotes, const char *file);
int ddpcp_serve(const struct ddpcp_opts *o);

#endif
