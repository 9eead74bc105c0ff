/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues. */
#ifndef VERBS_CQ_H
#define VERBS_CQ_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

#include "verbs/base/host.h"

enum { CQ_BATCH = 16 };

/* A completion that the library itself makes, for ibv_bind_mw(). */
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
	unsigned given;                 /* events: see channel.c */
	struct cq_own *own, **own_last; /* guarded by ibv.mutex */
	bool own_armed;                 /* the next one makes an event; guarded by ibv.mutex */
	int own_bell;                   /* its events: see channel.c; -1: there was none yet */
	struct ibv_wc now;              /* ex: the completion that the program reads */
	unsigned empty;                 /* empty polls */
};

/* Takes up to n completions, at most CQ_BATCH. Returns their number, or -1. */
int cq_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);

/* Gets memory for cq_push(), so that it cannot fail. The caller frees the result if it does not
 * pass it on. Returns 0 or a positive errno value. */
int cq_prepare(struct ibv_cq *cq, struct cq_own **ret);

/* Adds a completion, with an event if the queue is armed for it. One of the daemon may
 * make another event for the same request. */
void cq_push(struct ibv_cq *cq, struct cq_own *o, const struct ibv_wc *wc);

/* Creates a queue, with all members that ibv_create_cq() sets. NULL with errno. */
struct cq *cq_create(struct ibv_context *context, uint32_t entries, void *cq_context,
		     struct ibv_comp_channel *channel);

#endif
