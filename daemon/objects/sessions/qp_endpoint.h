/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a queue pair's protocol endpoint (proto/rdmap/rdmap). */
#ifndef DAEMON_OBJECTS_QP_ENDPOINT_H
#define DAEMON_OBJECTS_QP_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"

struct qp;
struct rdmap_ops;

struct qp_endpoint {
	size_t bytes;
	uint32_t blocks; /* reserved for its requests in flight */
	struct acct_charge memory, maps;
};

/* Charges and makes the endpoint of a new queue pair, the user of these functions. 0 or a refusal.
 */
int qp_endpoint_make(struct qp *qp, const struct msg_create_qp *req, const struct rdmap_ops *ops,
		     struct reply *rep);

/* Frees it and releases its charges; it is bound to no stream. A queue pair without one is fine. */
void qp_endpoint_free(struct qp *qp);

#endif
