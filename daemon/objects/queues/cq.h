/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A completion queue: a ring that the daemon writes and the client reads. Room is reserved before
 * work is taken, so a completion always finds its place and a queue never overflows: a full one
 * holds back sends, and a message that needs a receive finds no buffer.
 */
#ifndef DAEMON_OBJECTS_CQ_H
#define DAEMON_OBJECTS_CQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/client/rings.h"
#include "ipc/ring.h"
#include "ipc/wqe.h"
#include "util/list.h"

struct client;
struct worker;

/* A queue pair whose work waits for room in a completion queue. */
struct cq_waiter {
	struct list link; /* in cq.waiters */
	uint32_t qp;      /* its handle */
};

struct cq {
	struct client *client;
	uint32_t handle;
	uint32_t reserved;   /* entries reserved for work that was taken */
	unsigned users;      /* queue pairs, each once */
	struct list waiters; /* queue pairs whose work waits for room */
	bool solicited;      /* one of the new entries asked for an event, or failed */
	int bell;            /* the daemon's end; the client has the other */
	struct rings rings;
	struct ring ring;
	struct list dirty; /* in worker.dirty_cqs while entries are new */
	struct notice_queue {
		struct list due;    /* notices to be written, and ... */
		struct list unread; /* ... those whose last completion waits in the ring */
		struct list link;   /* in client.bells.notices */
		uint64_t taken;     /* cq_taken() when `unread` was last searched */
		unsigned regions;   /* that complete here, each once */
	} notices;                  /* notice.c */
	struct async async;
	struct acct_charge charge, bell_fd;
	uint64_t completions, bells;
};

/* Creates the queue. 0 or a refusal. */
int cq_create(struct client *c, const struct msg_create_cq *req, struct msg_cq *ret,
	      struct reply *rep);

/* Replaces the ring by one of this size, with the completions that wait. 0 or a refusal: -EBUSY if
 * they and the reserved entries do not fit. */
int cq_resize(struct cq *cq, uint32_t entries, struct msg_cq *ret, struct reply *rep);

/* Fills in all members except hdr. */
void cq_query(const struct cq *cq, struct msg_cq_state *ret);

/* Frees the queue, or refuses with -EBUSY while queue pairs use it. */
int cq_destroy(struct cq *cq, struct reply *rep);

/* Frees it unconditionally. NULL is fine; returns NULL. */
struct cq *cq_free(struct cq *cq);

/* Reserves room for one entry. False if the queue is full: then the waiter's queue pair is woken
 * when cq_unreserve() makes room, and the client rings when it makes room. */
bool cq_reserve(struct cq *cq, struct cq_waiter *waiter);

/* The same without waiting. */
bool cq_reserve_now(struct cq *cq);

/* Completions that the client has taken since the queue was made. */
uint64_t cq_taken(struct cq *cq);

/* Gives n reserved entries back unused; queue pairs that wait for room are woken. */
void cq_unreserve(struct cq *cq, uint32_t n);

/* The next entry, for which room was reserved: in memory that its client may change. cq_push()
 * publishes it. */
struct wqe_cqe *cq_slot(struct cq *cq);
void cq_push(struct cq *cq, bool solicited);

/* Rings each queue that has new entries and a sleeping reader, once. True if there was any. */
bool cq_ring_bells(struct worker *w);

#endif
