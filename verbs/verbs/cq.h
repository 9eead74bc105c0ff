/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues. */
#ifndef VERBS_CQ_H
#define VERBS_CQ_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>
#include <pthread.h>

#include "verbs/base/host.h"

enum { CQ_BATCH = 16 };

/* A completion that the library makes itself: of ibv_bind_mw(). */
struct cq_own {
	struct cq_own *next;
	struct ibv_wc wc;
};

struct cq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ex;
	};
	struct ddp_cq *ddp;
	struct host_watch watch;        /* of ddp */
	struct cq_own *own, **own_last; /* guarded by ibv.mutex */
	struct ibv_wc now;              /* ex: what the program reads */
	unsigned empty;                 /* polls that found nothing */
};

/* Takes up to n completions, at most CQ_BATCH at a time. Their number, or -1. */
int cq_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);

/* Adds a completion. It makes no event. 0 or a positive errno value. */
int cq_push(struct ibv_cq *cq, const struct ibv_wc *wc);

/* Fills what ibv_create_cq() fills. NULL with errno. */
struct cq *cq_create(struct ibv_context *context, uint32_t entries, void *cq_context,
		     struct ibv_comp_channel *channel);

#endif
