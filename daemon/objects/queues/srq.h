/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared receive queue: one ring of receives for several queue pairs of a domain. A queue pair
 * that needs a receive takes the oldest one, which completes into its own completion queue.
 */
#ifndef DAEMON_OBJECTS_SRQ_H
#define DAEMON_OBJECTS_SRQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/outq.h"
#include "daemon/base/reply.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/client/rings.h"
#include "ipc/ring.h"
#include "util/list.h"

struct client;
struct worker;
struct pd;

enum { SRQ_MAX_IN_FLIGHT = 1024 }; /* receives that one queue pair holds at most */

struct srq {
	struct client *client;
	uint32_t handle;
	struct pd *pd;
	uint32_t cookie; /* of its events */
	uint32_t max_sge;
	uint32_t limit;  /* an event is due when fewer receives than this are left; 0: not armed */
	uint32_t per_qp; /* receives that one queue pair may hold; 0: no cap */
	uint32_t hold_bytes, hold_ms; /* of each queue pair that will use it: qp_options.h */
	unsigned users;               /* queue pairs */
	unsigned waiting; /* those whose messages wait for a receive: posting one rings all */
	uint32_t held;    /* taken by them and not completed */
	uint64_t taken;
	struct rings rings;
	struct ring ring;
	struct list low; /* in worker.low_srqs: the limit was reached in this turn */
	struct async async;
	struct outq_place event; /* MSG_EV_SRQ_LIMIT */
	unsigned places;         /* reserved for it */
	struct acct_charge charge;
};

/* Creates the queue, whose memfd goes with the reply. 0 or a refusal that names limit and value. */
int srq_create(struct client *c, const struct msg_create_srq *req, struct msg_srq *ret,
	       struct reply *rep);

/* Changes limit, cap or both. 0 or a refusal. */
int srq_modify(struct srq *srq, const struct msg_modify_srq *req, struct reply *rep);

/* Fills in all members except hdr. */
void srq_query(const struct srq *srq, struct msg_srq_state *ret);

/* Frees the queue, or refuses with -EBUSY while queue pairs use it. */
int srq_destroy(struct srq *srq, struct reply *rep);

/* Frees it. NULL is fine; returns NULL. */
struct srq *srq_free(struct srq *srq);

/* True if there may be a receive for a queue pair that holds this many. */
bool srq_offers(struct srq *srq, uint32_t held);

/* A queue pair has taken a receive out of the ring. */
void srq_taken(struct srq *srq);

/* Queue pairs no longer hold n receives: they completed, or their endpoint was freed. */
void srq_done(struct srq *srq, uint32_t n);

/* Messages of a queue pair wait for a receive, until srq_wait_end(). *waits is its own flag. */
void srq_wait(struct srq *srq, bool *waits);
void srq_wait_end(struct srq *srq, bool *waits);

/* Queues an event for each queue whose limit was reached. True if there was any. */
bool srq_queue_low_events(struct worker *w);

#endif
