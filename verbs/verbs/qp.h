/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: made on an id of rdma_cm, or without one. */
#ifndef VERBS_QP_H
#define VERBS_QP_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "verbs/base/host.h"
#include "verbs/verbs/own_peer.h"
#include "verbs/verbs/qp_transition.h"
#include "verbs/verbs/session_end.h"

/* Entries of the send queue that a request may take: for an older daemon Immediate Data are a
 * request of their own. */
static inline unsigned qp_entries_per_wr(const struct ddp_caps *caps)
{
	return caps->features & DDP_CAP_WITH_IMM ? 1 : 2;
}

/* Reads and atomics in flight in each direction: the usual limit of hardware. */
enum { QP_READS = 16 };

enum { QP_MAX_SGE = 16, QP_MAX_BUILT = 32 };

/* The requests between ibv_wr_start() and ibv_wr_complete(). */
struct qp_built {
	pthread_mutex_t lock; /* from start to complete; event_lock may be taken with it */
	unsigned n;
	int err;
	struct ibv_send_wr wr[QP_MAX_BUILT];
	struct ibv_sge sge[QP_MAX_BUILT][QP_MAX_SGE];
	uint8_t data[]; /* inline data: the QP's limit for each request */
};

struct oob_port;
struct oob_request;

struct qp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
	};
	/* The end that it is on: own, or that of an id of rdma_cm. Guarded by event_lock. */
	struct session_end *end, own;
	bool cm; /* an id of rdma_cm has, or had, it */
	/* Connections without rdma_cm: see oob.c. */
	struct oob_port *port;
	struct oob_request *requests; /* that wait for an answer */
	bool joined;                  /* it has, or had, a session */
	struct ddp_qp *ddp;
	struct own_peer *own_peer; /* it is connected to itself; NULL: it is not */
	uint32_t num;              /* as ibv.qp_num */
	uint32_t past[2]; /* numbers of ddp and own_peer before RESET, which are void; 0: none */
	struct host_watch watch; /* of ddp; without event(): the program does not see it */
	struct ibv_qp_init_attr init;
	struct ddp_qp_init ddp_init; /* values of its creation */
	enum ibv_qp_state state;     /* ibv.state is for the program; guarded by event_lock */
	unsigned takes;              /* in this state: QP_TAKES_ */
	bool peer_left;              /* in RTS: the peer has ended the session */
	struct ibv_qp_attr attr;     /* as the program set it */
	bool own_access;             /* the program has set qp_access_flags itself */
	bool no_resources;           /* incoming Reads and atomics have none: they are refused */
	struct qp_built *built;      /* NULL: no ibv_wr_ functions */
	/* Sent since a request that completed when it was placed. Approximate when threads post at
	 * the same time. */
	uint32_t unplaced;
	/* Threads that post read them without a lock: by qp_knows(). */
	bool send_imm;            /* the peer takes Sends with Immediate Data */
	bool no_reads;            /* the session allows none, which placed requests need */
	struct qp *next_datagram; /* in the list of host */
	bool closing;             /* no more events of it; guarded by event_lock */
};

static inline bool qp_knows(const bool *member)
{
	return __atomic_load_n(member, __ATOMIC_RELAXED);
}

/* The caller holds event_lock. */
static inline void qp_note(bool *member, bool value)
{
	__atomic_store_n(member, value, __ATOMIC_RELAXED);
}

static inline uint32_t qp_unplaced(const struct qp *qp)
{
	return __atomic_load_n(&qp->unplaced, __ATOMIC_RELAXED);
}

static inline void qp_set_unplaced(struct qp *qp, uint32_t n)
{
	__atomic_store_n(&qp->unplaced, n, __ATOMIC_RELAXED);
}

static inline struct qp *qp_of(struct ibv_qp *ibv)
{
	return (struct qp *)ibv;
}

/* Creates a queue pair on an end that has an id and no queue pair; NULL: on its own, which gets an
 * id. Writes its actual capabilities to attr->cap. NULL with errno. */
struct qp *qp_create(struct session_end *e, struct ibv_pd *pd, struct ibv_qp_init_attr *attr);

/* Creates one that the program does not see: it has no asynchronous events, which would name it. */
struct qp *qp_create_unseen(struct session_end *e, struct ibv_pd *pd,
			    struct ibv_qp_init_attr *attr);

/* The qp_access_flags that rdma_cm sets for n responder resources. */
static inline unsigned qp_cm_access(unsigned n)
{
	return IBV_ACCESS_REMOTE_WRITE |
	       (n > 0 ? IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/* The one of libddpclient that takes its Sends. */
static inline struct ddp_qp *qp_sender(const struct qp *qp)
{
	return qp->own_peer ? qp->own_peer->ddp : qp->ddp;
}

static inline bool qp_is_iwarp(const struct qp *qp)
{
	return qp->ibv.context->device->transport_type == IBV_TRANSPORT_IWARP;
}

static inline bool qp_is_datagram(const struct qp *qp)
{
	return qp->init.qp_type == IBV_QPT_UD;
}

/* The daemon carries its datagrams. */
static inline bool qp_is_carried(const struct qp *qp)
{
	return qp->ddp_init.qp_type == DDP_QP_DATAGRAM;
}

/* True if its state takes the work. Threads that post take no lock. */
static inline bool qp_takes(const struct qp *qp, unsigned what)
{
	return __atomic_load_n(&qp->takes, __ATOMIC_RELAXED) & what;
}

static inline void qp_set_takes(struct qp *qp, unsigned what)
{
	__atomic_store_n(&qp->takes, what, __ATOMIC_RELAXED);
}

/* Whose states it has. */
enum qp_states qp_states(const struct qp *qp);

/* Sets the state. The caller holds event_lock. */
void qp_set_state(struct qp *qp, enum ibv_qp_state state);

/*
 * The peer has ended the session, or it has failed. An iWARP device is then in ERR, and flushes.
 * One of InfiniBand does not notice an orderly end: it stays in RTS with its receives, until the
 * program sends or sets ERR. The caller holds event_lock.
 */
void qp_session_ended(struct qp *qp, bool failed);

/* Ends the session, if there is one, and flushes the receives. The caller holds event_lock. */
void qp_disconnect(const struct qp *qp);

/* A queue pair of libddpclient has one session: after RESET another one takes its place, on a new
 * id. The caller holds event_lock. 0 or a positive errno value; on failure the state is the old
 * one. */
int qp_renew(struct qp *qp);

/* Completions of the session before RESET, which are void, may be handed out again: all that a
 * program that polls has not seen are gone by now. The caller holds event_lock. */
void qp_forget_past(struct qp *qp);

/* The rare cases of ibv_post_send(): the state takes no Sends, or the session has ended. 0 or a
 * positive errno value. */
int qp_check_sends(struct qp *qp);

#endif
