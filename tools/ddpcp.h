/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of ddpcp. */
#ifndef TOOLS_DDPCP_H
#define TOOLS_DDPCP_H

#include <stdbool.h>
#include <stdint.h>

struct ddpcp_opts {
	const char *socket; /* of the daemon, NULL for the usual one */
	const char *bind;   /* addresses here, NULL: see session_target, server_conf */
	const char *root;   /* serve */
	uint16_t port;
	bool read_only; /* serve: no put */
	bool quiet;
};

/* All return an exit status. file may be NULL: the last part of the remote name. */
int ddpcp_put(const struct ddpcp_opts *o, const char *file, const char *remote);
int ddpcp_get(const struct ddpcp_opts *o, const char *remote, const char *file);
int ddpcp_serve(const struct ddpcp_opts *o);

#endif
