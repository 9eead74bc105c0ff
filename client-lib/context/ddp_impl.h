/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of this room: the objects behind the opaque pointers.
 *
 * Locks are taken in this order: events or async, a CQ's lock, agent_lock, calls, the context's
 * lock. The lock of the agent follows a CQ's lock or that of a queue of a QP, and none follows it.
 * A queue's lock follows a CQ's and precedes the context's. Otherwise the locks of queues and those
 * of slabs and maps are never held together with another one.
 */
#ifndef DDP_IMPL_H
#define DDP_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client-lib/base/exported.h"
#include "client-lib/base/reason.h"
#include "client-lib/base/ring_map.h"
#include "client-lib/context/agent.h"
#include "client-lib/context/qp_table.h"
#include "client-lib/own_memory/own_memory.h"
#include "ipc/msg.h"
#include "ipc/ring.h"
#include "ipc/slab.h"
#include "util/idtab.h"
#include "util/list.h"
#include "util/spin.h"

struct ddp_ctx {
	char *path;            /* of the daemon's socket */
	pthread_mutex_t calls; /* one call at a time; guards seq */
	int fd;                /* calls and replies */
	uint32_t seq;

	pthread_mutex_t events; /* one event at a time: they take effect in order */
	int event_fd;           /* never blocks */
	int bell;               /* wakes the daemon */

	pthread_mutex_t async; /* one asynchronous event at a time; guards gone_reported */
	int async_fd;          /* rings when there are some; -1: not asked for yet */
	bool gone_reported;    /* DDP_ASYNC_DEVICE_GONE was returned */

	struct memfd_map page;
	uint32_t poll_us; /* to spin before sleeping; 0 where there is one CPU */
	bool one_cpu;
	uint16_t minor;        /* of the daemon's version of the local protocol */
	struct slabs slabs;    /* memory of small regions */
	struct ring_maps maps; /* of the daemon's rings */

	pthread_mutex_t agent_lock; /* one thread makes the agent, which then stays */
	struct agent_memory {
		struct msg_agent at;
		int area, bell;
		bool kept; /* the daemon has made it, and no agent uses it yet */
	} agent_memory;
	struct agent *agent; /* NULL: none; read atomically */

	const volatile uint32_t *here; /* 0 in a process forked from the one that opened it */

	pthread_mutex_t lock; /* guards the rest, and `uses` and `events` of all objects */
	unsigned uses;        /* PDs, CQs and ids */
	unsigned reopened;    /* so many times */
	struct list pds, mrs, mws, cqs, ahs;
	struct idtab ids;  /* by cookie */
	struct idtab srqs; /* by cookie, which is a number of its own */
	struct qp_table qps;
};

/* The handle of an object at the next daemon, until ddp_reopen() is complete. */
struct renewed {
	uint32_t handle, stag;
};

struct ddp_pd {
	struct ddp_ctx *ctx;
	struct list link; /* in ddp_ctx.pds */
	uint32_t handle;
	struct renewed renewed;
	unsigned uses; /* MRs, windows, QPs, SRQs and address handles */
};

/* Behind struct ddp_mr. */
struct mr {
	struct ddp_mr pub;
	struct list link; /* in ddp_ctx.mrs */
	uint32_t handle;
	struct renewed renewed;
	unsigned windows; /* of type 1 that are bound to it */
	unsigned access;
	bool populate;              /* DDP_ACCESS_POPULATE: memory that it gets is touched */
	struct slab_range range;    /* memory shared with other regions, or ... */
	size_t mapped;              /* bytes at pub.addr mapped for this one; 0: none of either */
	struct own_memory own;      /* of ddp_reg_mr() */
	struct agent_region copied; /* RUNG_AGENT */
	struct ddp_cq *notice_cq;   /* ddp_notify_mr() */
	bool keep;                  /* DDP_REG_KEEP */
	struct memfd_entry *memfd;  /* the memfd, for regions of ddp_reg_mr() that lie in it, ... */
	uint64_t offset;            /* ... and where this one begins */
};

/* Behind struct ddp_mw. */
struct mw {
	struct ddp_mw pub;
	struct list link; /* in ddp_ctx.mws */
	uint32_t handle;
	struct renewed renewed;
	/* Type 1, as bound; mr NULL: it is not. */
	struct mr *mr;
	uint64_t addr, length;
	unsigned access;
};

struct ddp_ah {
	struct ddp_pd *pd;
	struct list link; /* in ddp_ctx.ahs */
	uint32_t handle;  /* 0: as that of a CQ */
};

/* The place of a QP in the list of one of its CQs, or of its SRQ. */
struct cq_user {
	struct list link;
	struct queue *queue; /* whose entries are flushed when the daemon has ended; NULL: none */
	uint32_t num;        /* of the QP */
	bool recv;
	bool flushing;
	uint32_t slot;    /* in the bell page */
	uint32_t entries; /* that it may use at once */
};

struct ddp_cq {
	struct ddp_ctx *ctx;
	uint32_t handle;  /* 0: the daemon that made it has ended, and another one serves */
	unsigned uses;    /* queues of QPs, and regions */
	unsigned events;  /* asynchronous ones that are not acknowledged */
	struct list link; /* in ddp_ctx.cqs */
	struct ring_map *map;
	int bell;         /* the daemon wakes us */
	bool spin_always; /* for the whole budget, because the program has set it */
	bool keep_events; /* only ddp_get_cq_event() reads the bell */

	pthread_mutex_t lock; /* guards the rest */
	struct spin spin;
	pthread_cond_t turn; /* no thread sleeps on the bell any more */
	bool sleeper;        /* a thread sleeps on the bell; only that thread drains it */
	bool broken;         /* the daemon's index or an entry was invalid */
	bool hung_up;        /* the daemon is gone: the ring holds the last completions */
	struct ring ring;
	uint32_t entries;      /* that the program asked for; the ring may have less */
	uint32_t wanted;       /* that its users may need at once */
	unsigned unread_rings; /* asked for and not yet read from the bell */
	unsigned idle;         /* empty polls in a row */
	unsigned busy_waits;   /* of ddp_wait() that found completions */
	struct list users;
};

enum id_kind {
	ID_FRESH, /* not used yet, or one end of a session */
	ID_LISTENER,
	ID_REQUEST, /* a session request, to be accepted or rejected */
	ID_VOID,    /* a session request that was rejected, or withdrawn by the peer */
};

struct ddp_id {
	struct ddp_ctx *ctx;
	void *user;
	uint32_t cookie;
	enum id_kind kind;
	uint32_t handle; /* of the listener, or of the session request */
	bool enhanced;   /* session requests: sent as an enhanced message, with ... */
	uint16_t peer_ird;
	uint16_t port; /* listeners: where, and with which key */
	uint64_t key;
	struct sockaddr_storage at;
	struct msg_listen_key *asked; /* listeners: the request, with their port */
	struct renewed renewed;
	struct ddp_qp *qp;
	unsigned events; /* not acknowledged */
};

/* A work queue: the send or the receive queue of a QP, or an SRQ. */
struct queue {
	pthread_mutex_t lock;
	struct ring ring;
	struct ddp_ctx *ctx;
	uint64_t *ids; /* wr_id of the entries that may not be complete, by index; see flush.h */
	uint32_t ids_size, done;
	bool counted; /* the daemon counts them */
	uint32_t max_sge;
	uint32_t qns;   /* receives: queue numbers 0 .. qns - 1 are valid */
	bool tagged;    /* receives: DDP_QN_TAGGED is valid, too */
	bool gone;      /* the daemon that made it has ended, and another one serves; the context's
			   lock guards it */
	char owner[16]; /* "QP 101", for sentences */
};

struct ddp_srq {
	struct ddp_pd *pd;
	void *user;
	uint32_t handle; /* 0: as that of a CQ */
	uint32_t cookie;
	unsigned uses;   /* QPs */
	unsigned events; /* asynchronous ones that are not acknowledged */
	struct ring_map *map;
	struct queue rq;   /* its lock guards users, too */
	struct list users; /* QPs */
};

struct ddp_qp {
	struct ddp_id *id; /* NULL: datagrams need none */
	struct ddp_pd *pd;
	struct ddp_cq *send_cq, *recv_cq;
	struct cq_user send_user, recv_user, srq_user;
	struct ddp_srq *srq; /* NULL: rq is its own */
	struct ring_map *map;
	uint32_t handle; /* 0: as that of a CQ */
	uint32_t num;
	struct ddp_qp *next_num; /* in ddp_ctx.qps */
	uint32_t slot;
	uint32_t max_inline;
	bool raw, datagram;
	bool fenced;     /* a fence may still wait: */
	uint32_t fence;  /* index of its entry in sq */
	unsigned events; /* asynchronous ones that are not acknowledged */
	struct queue sq, rq;
};

/* ---- the context: open.c and context.c ---- */

/* Connects to the daemon at this socket. call: the public function, for the reason. Errors are
 * those of ddp_open(). */
int open_context(const char *call, const char *path, int timeout_ms, struct ddp_ctx **ret);

/* Ends the connection, and frees the context, which has no objects. */
void open_free(struct ddp_ctx *ctx);

/* Counts an object in *uses and in a list of the context, or ends that. */
void context_add(struct ddp_ctx *ctx, unsigned *uses, struct list *all, struct list *link);
void context_del(struct ddp_ctx *ctx, unsigned *uses, struct list *link);

/* Returns 0, or -ECHILD with the reason set in a process that was forked from the one that opened
 * the context. Call it before taking a lock: threads that do not exist in the child may hold it. */
static inline int context_here(const struct ddp_ctx *ctx, const char *call)
{
	return *ctx->here ? 0 : reason_forked(call);
}

/* Returns 0, or -EPIPE with the reason set if the handle is that of an object which ddp_reopen()
 * has found without its daemon. */
static inline int context_serves(uint32_t handle, const char *call)
{
	return handle ? 0 : reason_former(call);
}

/* Returns 0, or -EPIPE with the reason set if the daemon has ended. Makes one system call. */
int context_alive(struct ddp_ctx *ctx, const char *call);

/* Wakes the daemon. Returns 0, or -EPIPE with the reason set. */
int context_wake(struct ddp_ctx *ctx, const char *call);

/* Adds change (1 or -1) to the number of uses of an object. */
void context_use(struct ddp_ctx *ctx, unsigned *uses, int change);

/* The current number of uses. */
unsigned context_uses(struct ddp_ctx *ctx, const unsigned *uses);

/* Prevents further asynchronous events of an object that is about to be destroyed. Returns 0, or
 * -EBUSY with the reason set while some are not acknowledged. */
int async_claim(struct ddp_ctx *ctx, const char *call, unsigned *events);

/* Permits them again: the object was not destroyed. */
void async_unclaim(struct ddp_ctx *ctx, unsigned *events);

/* ---- others ---- */

/* Rounds n, at most 2^31, up to a power of two. */
static inline uint32_t ddp_pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* Room in the CQ for so many completions of a QP that will be added. 0, or a failure with its
 * reason. */
int cq_make_room(struct ddp_cq *cq, const char *call, struct cq_user *user, uint32_t entries);
/* The QP is not added: gives the room back. */
void cq_give_room(struct ddp_cq *cq, struct cq_user *user);

/* Adds or removes a QP that uses the CQ, with its room. When a full CQ has room again, the library
 * rings the bells of its QPs. */
void cq_add_user(struct ddp_cq *cq, struct cq_user *user, uint32_t slot);
void cq_del_user(struct ddp_cq *cq, struct cq_user *user);

/* For ddp_reopen(): makes the object at the daemon of another context, and notes what it is there;
 * then that takes effect. The context's lock is held. call: for the reason. What an object refers
 * to is renewed first. */
int pd_renew(struct ddp_pd *pd, struct ddp_ctx *next, const char *call);
int mr_renew(struct mr *mr, struct ddp_ctx *next, const char *call);
int mw_renew(struct mw *mw, struct ddp_ctx *next, const char *call);
int listen_renew(struct ddp_id *id, struct ddp_ctx *next, const char *call);
void mr_take_renewed(struct mr *mr);
void mw_take_renewed(struct mw *mw);

/* Queries the QP's state from the daemon. */
int qp_query(struct ddp_qp *qp, const char *call, struct msg_qp_state *ret);

/* Creates an id in the table of the context, which counts it. Returns NULL with the reason set if
 * there are too many, or memory is lacking. */
struct ddp_id *id_new(struct ddp_ctx *ctx, const char *call, void *user);

/* Returns its kind, which the thread that receives events changes as well. */
static inline enum id_kind id_kind(struct ddp_id *id)
{
	enum id_kind kind;

	pthread_mutex_lock(&id->ctx->lock);
	kind = id->kind;
	pthread_mutex_unlock(&id->ctx->lock);
	return kind;
}

static inline void id_set_kind(struct ddp_id *id, enum id_kind kind)
{
	pthread_mutex_lock(&id->ctx->lock);
	id->kind = kind;
	pthread_mutex_unlock(&id->ctx->lock);
}

/* Rejects a session request without private data, and ignores failures. */
void id_refuse(struct ddp_ctx *ctx, uint32_t request);

#endif
