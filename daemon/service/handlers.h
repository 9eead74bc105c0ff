/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the client socket's records: size, descriptors and handler of each. */
#ifndef DAEMON_SERVICE_HANDLERS_H
#define DAEMON_SERVICE_HANDLERS_H

#include <stddef.h>
#include <stdint.h>

struct client;
struct reply;

struct handlers_row {
	size_t len;    /* exact size of the record */
	unsigned nfds; /* exact number of descriptors */
	/* Handles a record of that size with that many descriptors. 0, or the refusal in *rep. */
	int (*fn)(struct client *c, const void *rec, const int *fds, struct reply *rep);
	size_t reply_len;     /* 0: the handler sends the reply */
	size_t old_reply_len; /* to clients with a lesser minor number than reply_minor */
	uint16_t reply_minor; /* 0: all clients get reply_len */
};

/* The row of an opcode, or NULL for an unknown one. */
const struct handlers_row *handlers_row(uint32_t op);

#endif
