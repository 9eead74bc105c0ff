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
	union {
		struct msg_hdr hdr;
		struct msg_hello_reply hello;
		struct msg_caps caps;
		struct msg_handle handle;
		struct msg_mr mr;
		struct msg_cq cq;
		struct msg_qp qp;
		struct msg_qp_state qp_state;
		struct msg_listener listener;
		struct msg_pd_state pd_state;
		struct msg_mr_state mr_state;
		struct msg_mw_state mw_state;
		struct msg_cq_state cq_state;
		struct msg_srq srq;
		struct msg_srq_state srq_state;
		struct msg_paths paths;
		struct msg_request_state request_state;
		struct msg_addrs addrs;
		struct msg_options_state options;
		struct msg_async async;
		struct msg_agent agent;
		struct msg_capture capture;
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
