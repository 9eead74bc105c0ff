/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The result of a record's handler: a reply with descriptors, or a refusal in words.
 */
#ifndef DAEMON_BASE_REPLY_H
#define DAEMON_BASE_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/msg.h"

struct reply {
	/* The reply of each operation; its handler gets a pointer to it. */
	union {
		struct msg_hdr hdr;
#define X(op, name, object, request, reply, ...) MSG_REPLY_##reply name;
		MSG_OPS(X)
#undef X
	};
	int fds[MSG_MAX_FDS]; /* closed after the reply was sent or refused */
	unsigned nfds;
	bool fatal; /* the refusal ends the client */
	char reason[MSG_REASON_MAX];
};

/* Refuses the record. Returns -err, for the handler to return. The client continues. */
int reply_refuse(struct reply *rep, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Refuses the record and ends the client: no correct library sends such a record. */
int reply_violation(struct reply *rep, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a descriptor to the reply, which owns it from then on. */
void reply_add_fd(struct reply *rep, int fd);

/* Closes the descriptors. */
void reply_close_fds(struct reply *rep);

#endif
