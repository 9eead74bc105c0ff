/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the library share: the objects behind the opaque pointers, and how a
 * request is made. The public header is included from here with its symbols made visible.
 *
 * Locks, in the order in which they may be taken: events, requests, the CQ's, the context's lock.
 * The locks of a QP's two queues are never held together with another.
 */
#ifndef DDP_IMPL_H
#define DDP_IMPL_H

#pragma GCC visibility push(default)
#include <ddp/ddp.h>
#pragma GCC visibility pop

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ipc/memfd.h"
#include "ipc/msg.h"
#include "ipc/ring.h"
#include "util/idtab.h"
#include "util/list.h"
#include "util/spin.h"

struct ddp_ctx {
	pthread_mutex_t requests; /* one request at a time; guards seq */
	int fd;                   /* requests and replies */
	uint32_t seq;

	pthread_mutex_t events; /* one event at a time, so that they take effect in order */
	int event_fd;           /* never blocks */
	int bell;               /* wakes the daemon */
	struct memfd_map page;
	uint32_t poll_us; /* to spin before sleeping; 0 where there is one CPU */
	bool one_cpu;

	pthread_mutex_t lock; /* guards the rest, and `uses` and `events` of all objects */
	unsigned uses;        /* PDs, CQs and ids */
	struct idtab ids;     /* by cookie */
	struct idtab srqs;    /* by cookie, which is a number of its own */
};

struct ddp_pd {
	struct ddp_ctx *ctx;
	uint32_t handle;
	unsigned uses; /* MRs, windows, QPs and SRQs */
};

/* Behind struct ddp_mr. */
struct mr {
	struct ddp_mr pub;
	uint32_t handle;
	unsigned access;
	size_t mapped; /* bytes at pub.addr that the library mapped, 0 if it did not */
};

/* Behind struct ddp_mw. */
struct mw {
	struct ddp_mw pub;
	uint32_t handle;
};

/* The place of a QP in the list of one of its CQs. */
struct cq_user {
	struct list link;
	uint32_t slot; /* in the bell page */
};

struct ddp_cq {
	struct ddp_ctx *ctx;
	uint32_t handle;
	unsigned uses; /* queues of QPs */
	struct memfd_map map;
	int bell;         /* the daemon wakes us */
	bool spin_always; /* for the whole budget, because the program has set it */

	pthread_mutex_t lock; /* guards the rest */
	struct spin spin;
	pthread_cond_t turn; /* nobody sleeps on the bell any more */
	bool sleeper;        /* a thread sleeps on the bell; it alone empties it */
	bool broken;         /* the daemon's index or an entry made no sense */
	bool hung_up;        /* the daemon is gone: what is in the ring is the last */
	struct ring ring;
	unsigned unread_rings; /* asked for and not yet read from the bell */
	unsigned idle;         /* looks that found nothing */
	struct list users;
};

enum id_kind {
	ID_FRESH, /* nothing asked for yet, or the end of a session */
	ID_LISTENER,
	ID_REQUEST, /* to be accepted or rejected */
	ID_VOID,    /* was rejected, or withdrawn by the peer */
};

struct ddp_id {
	struct ddp_ctx *ctx;
	void *user;
	uint32_t cookie;
	enum id_kind kind;
	uint32_t handle; /* of the listener, or of the request */
	bool enhanced;   /* requests: it came as an enhanced message, with ... */
	uint16_t peer_ird;
	struct ddp_qp *qp;
	unsigned events; /* not acknowledged */
};

/* What work is posted to: one direction of a QP, or an SRQ. */
struct queue {
	pthread_mutex_t lock;
	struct ring ring;
	struct ddp_ctx *ctx;
	uint32_t max_sge;
	uint32_t qns;   /* receives: the queue numbers below this can be named, */
	bool tagged;    /* and DDP_QN_TAGGED */
	char owner[16]; /* "QP 101", for sentences */
};

struct ddp_srq {
	struct ddp_pd *pd;
	void *user;
	uint32_t handle;
	uint32_t cookie;
	unsigned uses; /* QPs */
	struct memfd_map map;
	struct queue rq;
};

struct ddp_qp {
	struct ddp_id *id;
	struct ddp_pd *pd;
	struct ddp_cq *send_cq, *recv_cq;
	struct cq_user send_user, recv_user;
	struct ddp_srq *srq; /* NULL: rq is its own */
	struct memfd_map map;
	uint32_t handle;
	uint32_t num;
	uint32_t slot;
	uint32_t max_inline;
	bool raw;
	struct queue sq, rq;
};

/* ---- requests: context.c ---- */

struct request {
	const char *call;    /* name of the public call, for sentences */
	struct msg_hdr *rec; /* op and fields filled in */
	size_t len;
	int fd; /* to be sent along, if send_fd */
	bool send_fd;
	struct msg_hdr *reply; /* as long as the right reply is */
	size_t reply_len;
	int *ret_fds; /* the reply must bring exactly nfds */
	unsigned nfds;
};

/* Sends and waits for the reply. 0, or the daemon's refusal, -EPIPE, -EPROTO and other errno
 * values, with the sentence set; the reply and ret_fds are then untouched. */
int context_request(struct ddp_ctx *ctx, const struct request *r);

/* The request that names one handle and gets a reply of its own kind. */
int context_query(struct ddp_ctx *ctx, const char *call, uint32_t op, uint32_t handle,
		  struct msg_hdr *reply, size_t reply_len);

/* The same with an empty reply. */
int context_handle(struct ddp_ctx *ctx, const char *call, uint32_t op, uint32_t handle);

/* The same for an object to be destroyed: 0 also when the daemon, and so the object, is gone. */
int context_release(struct ddp_ctx *ctx, const char *call, uint32_t op, uint32_t handle);

/* 0, or -EPIPE with its sentence if the daemon is gone. One system call. */
int context_alive(struct ddp_ctx *ctx, const char *call);

/* -EPIPE with its sentence. */
int context_gone(const char *call);

/* Wakes the daemon. 0, or -EPIPE with its sentence. */
int context_wake(struct ddp_ctx *ctx, const char *call);

/* Counts one use more or less of what *uses belongs to. */
void context_use(struct ddp_ctx *ctx, unsigned *uses, int change);

/* The count as it is now. */
unsigned context_uses(struct ddp_ctx *ctx, const unsigned *uses);

/* ---- others ---- */

/* The next power of two; n is at most 2^31. */
static inline uint32_t ddp_pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* A QP begins or ends to use the CQ; its slot is rung when there is room again. */
void cq_add_user(struct ddp_cq *cq, struct cq_user *user, uint32_t slot);
void cq_del_user(struct ddp_cq *cq, struct cq_user *user);

/* What the daemon says of the QP. */
int qp_query(struct ddp_qp *qp, const char *call, struct msg_qp_state *ret);

/* A fresh id in the table, counted. NULL: no memory, with the sentence set. */
struct ddp_id *id_new(struct ddp_ctx *ctx, const char *call, void *user);

/* Answers a request with no, without private data. What comes of it does not matter. */
void id_refuse(struct ddp_ctx *ctx, uint32_t request);

#endif
