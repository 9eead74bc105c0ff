/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notices: completions for Writes of peers to a region, without a receive. At most one of a region
 * waits in the ring of its completion queue. Writes that are delivered meanwhile are counted in the
 * next one, which is written after the client has taken the first. The queue keeps an entry for
 * each of its regions, so a notice never needs the room of other work, and none is lost.
 */
#ifndef DAEMON_OBJECTS_NOTICE_H
#define DAEMON_OBJECTS_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"

struct client;
struct cq;
struct worker;

/* The notices of a region, in struct mr. */
struct notice {
	struct cq *cq; /* NULL: the region has none */
	uint64_t wr_id;
	uint32_t stag;    /* of the region */
	uint32_t qp_num;  /* that received the last Write */
	uint64_t writes;  /* delivered, and in no completion yet */
	uint64_t last;    /* completions of the queue up to its last one; 0: it has had none */
	struct list link; /* in cq.notices while `writes` is not 0 */
};

/* Initializes: without a queue. */
void notice_init(struct notice *n);

/* Notices go to this queue from now on; NULL: to none. Writes that no completion has counted yet go
 * with it. Returns 0, or -EBUSY without a change if the queue has no entry to keep. */
int notice_set(struct notice *n, struct cq *cq, uint64_t wr_id);

/* Stops notices. The last completion may still be in its queue. */
void notice_clear(struct notice *n);

/* A Write was delivered. */
void notice_written(struct notice *n, uint32_t qp_num);

/* Writes the completions that are due, within a budget; clients take turns. True if it wrote some
 * or more are due. */
bool notice_write(struct worker *w);

/* The client has rung: it may have taken completions that notices waited for. */
void notice_look_again(struct client *c);

#endif
