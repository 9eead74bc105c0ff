/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of ddping. */
#ifndef TOOLS_DDPING_H
#define TOOLS_DDPING_H

#include <stdbool.h>
#include <stdint.h>

struct ddping_opts {
	const char *socket; /* of the daemon, NULL for the usual one */
	const char *bind;   /* local addresses, or NULL: see session_target, server_conf */
	const char *host;   /* unless serve is set */
	uint16_t port;
	uint64_t count; /* rounds, 0 = until stopped */
	uint32_t size;
	double interval; /* seconds */
	double wait;     /* seconds for a round */
	bool serve, verify, quiet, json;
};

/* Both return an exit status. */
int ddping_client(const struct ddping_opts *o);
int ddping_server(const struct ddping_opts *o);

#endif
