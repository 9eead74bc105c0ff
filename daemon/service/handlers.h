/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the client socket's requests: what each carries, and who handles it. */
#ifndef DAEMON_SERVICE_HANDLERS_H
#define DAEMON_SERVICE_HANDLERS_H

#include <stddef.h>
#include <stdint.h>

struct client;
struct reply;

struct handlers_row {
	size_t len;    /* of the request, exactly */
	unsigned nfds; /* with it, exactly */
	/* Gets a record of that size, with so many descriptors. 0, or the refusal that is in *rep.
	 */
	int (*fn)(struct client *c, const void *rec, const int *fds, struct reply *rep);
	size_t reply_len; /* 0: the handler has answered itself */
};

/* The row of an opcode, or NULL if there is no such request. */
const struct handlers_row *handlers_row(uint32_t op);

#endif
