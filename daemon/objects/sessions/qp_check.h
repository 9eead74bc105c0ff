/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the attributes that a program requests for a new queue pair. */
#ifndef DAEMON_OBJECTS_QP_CHECK_H
#define DAEMON_OBJECTS_QP_CHECK_H

#include "daemon/base/reply.h"

struct client;

/* Type, depths of the rings, elements, inline data, depths of Reads. 0, or a refusal that names
 * limit and value. */
int qp_check(const struct client *c, const struct msg_create_qp *req, struct reply *rep);

#endif
