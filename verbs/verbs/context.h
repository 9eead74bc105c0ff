/* SPDX-License-Identifier: BSD-2-Clause */
/* An open device: struct ibv_context with the operations that the inline functions of verbs.h use.
 */
#ifndef VERBS_CONTEXT_H
#define VERBS_CONTEXT_H

#include <infiniband/verbs.h>
#include <stddef.h>

#include "verbs/base/host.h"
#include "verbs/verbs/async.h"

#define CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct context {
	struct host *host;
	struct async async;
	struct host_watch watch; /* of the daemon */
	/* Posts a list of at most QP_MAX_BUILT requests, or none of them. 0 or a positive errno
	 * value. post.c sets it, as the operations of verbs. */
	int (*post_whole)(struct ibv_qp *qp, struct ibv_send_wr *wr);
	struct verbs_context verbs; /* ends with struct ibv_context */
};

static inline struct context *context_of(struct ibv_context *c)
{
	return CONTAINER(verbs_get_ctx(c), struct context, verbs);
}

/* Returns the context that the ids of rdma_cm share, which stays open; NULL with errno. It takes
 * event_lock. */
struct ibv_context *context_of_cm(struct host *h);

/* Set the operations of an object; each is in the file of that object. */
void cq_set_ops(struct verbs_context *v);
void cq_ex_set_ops(struct verbs_context *v);
void mr_set_ops(struct verbs_context *v);
void mw_set_ops(struct verbs_context *v);
void port_set_ops(struct verbs_context *v);
void post_set_ops(struct verbs_context *v);
void qp_set_ops(struct verbs_context *v);
void srq_set_ops(struct verbs_context *v);

#endif
