/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's first record: versions are compared, its event socket and doorbell are made. */
#ifndef DAEMON_SERVICE_HELLO_H
#define DAEMON_SERVICE_HELLO_H

#include "daemon/base/reply.h"

struct client;

/* Answers HELLO with the event socket, the bell page and the doorbell. 0 or a refusal that ends the
 * client. */
int hello_answer(struct client *c, const struct msg_hello *req, struct msg_hello_reply *ret,
		 struct reply *rep);

#endif
