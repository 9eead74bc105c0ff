/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes with an Initiate, an Accept or a Reject: private data, and in an enhanced message
 * (RFC 6581) depths of Reads and a ready-to-receive message. Here the members of records
 * become the words of the wire, and back.
 */
#ifndef DAEMON_OBJECTS_CONN_PARAMS_H
#define DAEMON_OBJECTS_CONN_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/reply.h"
#include "proto/wire.h"

struct daemon;
struct qp;

enum {
	CONN_PARAMS_ANSWER = MSG_CONN_NEGOTIATE, /* flags that an accept or reject may have */
	CONN_PARAMS_CONNECT = MSG_CONN_NEGOTIATE | MSG_CONN_PEER_TO_PEER | MSG_CONN_RTR_SEND |
			      MSG_CONN_RTR_WRITE | MSG_CONN_RTR_READ | MSG_CONN_RETRY_PLAIN,
};

/* The members that the records of connect, accept and reject share. */
struct conn_params {
	const char *what; /* for refusals: "connect" */
	uint32_t known;   /* OFFER_ */
	uint16_t private_len;
	uint16_t flags; /* MSG_CONN_ */
	uint16_t ird, ord;
};

/* Can it be said by this queue pair, or without one (NULL, to reject)? 0 or a refusal. */
int conn_params_check(const struct daemon *d, const struct qp *qp, const struct conn_params *o,
		      struct reply *rep);

/* Refuses it: there is no room for so much private data in an enhanced message. */
int conn_params_too_long(const struct conn_params *o, struct reply *rep);

/* The words of it, which conn_params_check() has passed. False, and nothing, without NEGOTIATE. */
bool conn_params_to_wire(const struct conn_params *o, struct wire_enh *ret);

/* What the peer said goes into an event: enh NULL for a plain message. */
void conn_params_to_event(const struct wire_enh *enh, struct msg_event *ret);

/* A depth of the wire as the records have it. */
uint16_t conn_params_depth(uint16_t wire);

#endif
