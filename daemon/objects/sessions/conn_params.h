/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parameters of an Initiate, an Accept or a Reject: private data, and in an enhanced message
 * (RFC 6581) IRD, ORD and the ready-to-receive message. Converts between records and wire.
 */
#ifndef DAEMON_OBJECTS_CONN_PARAMS_H
#define DAEMON_OBJECTS_CONN_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/reply.h"
#include "proto/ddp/wire.h"

struct daemon;
struct qp;

enum {
	CONN_PARAMS_ANSWER = MSG_CONN_NEGOTIATE, /* flags that an accept or reject may carry */
	CONN_PARAMS_CONNECT = MSG_CONN_NEGOTIATE | MSG_CONN_PEER_TO_PEER | MSG_CONN_RTR_SEND |
			      MSG_CONN_RTR_WRITE | MSG_CONN_RTR_READ | MSG_CONN_RETRY_PLAIN,
};

/* The members that connect, accept and reject records share. */
struct conn_params {
	const char *what; /* for refusals: "connect" */
	uint32_t known;   /* CONN_PARAMS_ */
	uint16_t private_len;
	uint16_t flags; /* MSG_CONN_ */
	uint16_t ird, ord;
};

/* Checks the parameters for this queue pair, or for none (NULL, to reject). 0 or a refusal. */
int conn_params_check(const struct daemon *d, const struct qp *qp, const struct conn_params *o,
		      struct reply *rep);

/* Bytes of private data that fit into a message, next to the parameters of an enhanced message and
 * to the offer of credits that this queue pair makes (NULL: none). */
uint32_t conn_params_room(const struct qp *qp, bool enhanced);

/* Refuses private data that is longer than that. */
int conn_params_too_long(const struct conn_params *o, uint32_t room, struct reply *rep);

/* The parameters of the wire. conn_params_check() has passed. False without NEGOTIATE: *ret is
 * untouched. */
bool conn_params_to_wire(const struct conn_params *o, struct wire_enh *ret);

/* True if the program excludes Reads and atomics of the peer. */
bool conn_params_no_reads(const struct conn_params *o);

/* Copies the peer's parameters into an event. enh NULL: the message was a plain one. */
void conn_params_to_event(const struct wire_enh *enh, struct msg_event *ret);

/* Converts an IRD or ORD from the wire to records. */
uint16_t conn_params_depth(uint16_t wire);

#endif
