/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libddpclient: RDMA through ddpsctpd. Shaped like libibverbs and librdmacm; ddpclient(7) is an
 * overview in the order of calls.
 *
 * Results: calls return 0 or a negative errno value. They return objects through out-pointers,
 * which are untouched on failure. ddp_last_reason() returns a sentence about the last failure of
 * the calling thread.
 *
 * Attribute structs begin with struct_size: set it to sizeof the struct, as DDP_INIT does. Members
 * that an older program does not know count as 0. An older library refuses with -E2BIG if a newer
 * program sets members that it does not know. Work requests, completions and events have no
 * struct_size: if they change, the soname changes.
 *
 * Threads: any thread may call; the library serializes calls on one object. One exception: a bind
 * and ddp_rereg_mr() change the public members of an MR or a window, so no other thread may use
 * the object at that time.
 *
 * When the daemon ends, calls return -EPIPE, calls that wait as well. A CQ first returns the last
 * completions, and DDP_WC_FLUSH_ERR for each request of its QPs that the daemon has left undone.
 * Destroying an object only frees its memory. ddp_reopen() goes on with the next daemon.
 *
 * Lifetimes: destroy an object before the objects that it was made from, else these calls return
 * -EBUSY: QPs before their CQs, SRQ and PD; MRs, windows and SRQs before their PD; windows before
 * the MR that they are bound to. The memory of an MR must stay mapped until the work that uses it
 * is complete.
 *
 * fork(): parent and child share the memory of ddp_alloc_mr() and ddp_reg_memfd(), so Writes of
 * the peer appear in both. Of memory of ddp_reg_mr() the child gets a private copy. The child can
 * neither use nor destroy the context and its objects: calls return -ECHILD. It may open a context
 * of its own.
 */
#ifndef DDP_DDP_H
#define DDP_DDP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute struct of the given type with struct_size set and all else 0. */
#ifdef __cplusplus
#define DDP_INIT(type)                                                                             \
	([] {                                                                                      \
		struct type ddp_init = {};                                                         \
		ddp_init.struct_size = sizeof(struct type);                                        \
		return ddp_init;                                                                   \
	}())
#else
#define DDP_INIT(type)                                                                             \
	{                                                                                          \
		.struct_size = sizeof(struct type)                                                 \
	}
#endif

struct ddp_ctx; /* a connection to the daemon */
struct ddp_pd;  /* protection domain */
struct ddp_cq;  /* completion queue */
struct ddp_id;  /* a listener, or one end of a session */
struct ddp_qp;  /* queue pair */
struct ddp_srq; /* shared receive queue */
struct ddp_ah;  /* where datagrams go */

/* ---- context ---- */

struct ddp_open_attr {
	size_t struct_size;
	const char *socket; /* NULL: $DDP_SOCKET, else /run/ddpsctpd/ddp.sock */
	int timeout_ms;     /* to wait for the daemon; 0: 30 s; -1: no limit */
};

/* Connects to the daemon. attr may be NULL. -ENOENT, -ECONNREFUSED: no daemon listens there;
 * -EACCES: this user is not a member of the socket's group; -EPROTO: the daemon speaks another
 * version of the local protocol; -ETIMEDOUT: it does not answer. */
int ddp_open(const struct ddp_open_attr *attr, struct ddp_ctx **ret);

/* Closes the context. -EBUSY while it has objects. NULL is allowed. */
int ddp_close(struct ddp_ctx *ctx);

/*
 * After the end of the daemon: attaches the context to the one that serves the same socket now, and
 * makes its protection domains, regions, windows and listeners there. They keep their pointers and
 * memory; lkey and rkey change. A region is valid, and tied to no QP; a type 1 window is bound as
 * before, a type 2 window is not; ddp_notify_mr() has ended; a listener has the same port. Other
 * objects can only be destroyed: QPs, CQs, SRQs and unanswered session requests. Their calls return
 * -EPIPE; posting does when the queue is full. Connection events that were not taken are lost.
 * ddp_fd() and ddp_async_fd() return the same numbers, but programs add them to epoll again.
 *
 * timeout_ms: how long to wait for a daemon; 0: not; < 0: no limit. Calls of other threads with the
 * context may meanwhile fail with -EPIPE. -EISCONN: the daemon has not ended; errors of ddp_open();
 * those of the calls that made the objects, such as -EADDRINUSE. A failure changes
 * no object, and the call may be repeated.
 */
int ddp_reopen(struct ddp_ctx *ctx, int timeout_ms);

enum ddp_features {
	DDP_CAP_ATOMIC = 1,        /* atomics and Immediate Data (RFC 7306): all of them or none */
	DDP_CAP_ENHANCED = 2,      /* DDP_CONN_NEGOTIATE and DDP_CONN_PEER_TO_PEER (RFC 6581) */
	DDP_CAP_RAW = 4,           /* DDP_QP_RAW */
	DDP_CAP_MULTIHOMED = 8,    /* several addresses at each end: see ddp_multihoming(7) */
	DDP_CAP_RNR = 16,          /* DDP_QP_RNR */
	DDP_CAP_DATAGRAM = 32,     /* DDP_QP_DATAGRAM */
	DDP_CAP_STRICT_SENDS = 64, /* DDP_QP_STRICT_SENDS */
	DDP_CAP_WITH_IMM = 128     /* DDP_SEND_WITH_IMM in sessions */
};

struct ddp_caps {
	size_t struct_size;
	uint32_t max_qp, max_cq, max_mr, max_pd; /* objects of this client */
	uint32_t max_qp_wr;                      /* entries of a send or receive queue */
	uint32_t max_cqe;
	uint32_t max_sge;    /* of a Send, Write, Read or receive */
	uint32_t max_inline; /* bytes */
	uint32_t max_ird, max_ord;
	uint32_t max_private; /* bytes of private data */
	uint32_t poll_us;     /* recommended spin time before sleeping */
	uint64_t max_mr_bytes;
	uint64_t retransmits; /* of the daemon's transport since its start */
	char transport[16];   /* "user" or "kernel" */
	char version[16];     /* of the daemon */
	uint32_t max_srq, max_mw;
	uint32_t features; /* set of DDP_CAP_; the peer's may differ: see ddp_post_send(3) */
	uint32_t max_raw_queues;
	uint64_t cpu_user_us, cpu_system_us; /* of the daemon since its start; 0: unknown */
};

/* Queries limits of this client and properties of the daemon. Set caps->struct_size. */
int ddp_query(struct ddp_ctx *ctx, struct ddp_caps *caps);

/* Returns a descriptor that is readable while a connection event is queued. Use it with poll or
 * epoll; do not read it. */
int ddp_fd(struct ddp_ctx *ctx);

/* Returns a sentence about the last failure in this thread, "" if there was none, never NULL. */
const char *ddp_last_reason(void);

/* Version of the library: major << 16 | minor << 8 | patch. Between two releases the patch level is
 * DDP_VERSION_DEVELOPMENT: 0.2.99 is newer than each 0.2.x and older than 0.3.0. */
enum { DDP_VERSION_DEVELOPMENT = 99 };
uint32_t ddp_version(void);

/* ---- protection domains and memory ---- */

/* A protection domain: work requests of its QPs can use its MRs only, and so can the peers of these
 * QPs. ddp_dealloc_pd(): -EBUSY while it has objects. */
int ddp_alloc_pd(struct ddp_ctx *ctx, struct ddp_pd **ret);
int ddp_dealloc_pd(struct ddp_pd *pd);

struct ddp_pd_attr {
	size_t struct_size;
	uint32_t mrs, mws, qps, srqs; /* numbers of its objects */
};

/* Set attr->struct_size. */
int ddp_query_pd(struct ddp_pd *pd, struct ddp_pd_attr *attr);

enum ddp_access {
	DDP_ACCESS_LOCAL_WRITE = 1, /* receives and Read sinks; implied by REMOTE_WRITE */
	DDP_ACCESS_REMOTE_WRITE = 2,
	DDP_ACCESS_REMOTE_READ = 4,
	DDP_ACCESS_REMOTE_ATOMIC = 8, /* also implies LOCAL_WRITE */
	DDP_ACCESS_MW_BIND = 16,      /* memory windows may be bound to it */
	DDP_ACCESS_POPULATE = 32 /* no right: touches the pages during the registration. Of those
				    that the program has not touched, the daemon fills no more than
				    limits.sparse_bytes for a user; then sessions end */
};

/* Registered memory. The members are read-only. */
struct ddp_mr {
	void *addr;    /* its mapping in this process; NULL if the caller gave none */
	size_t length; /* bytes */
	uint64_t iova; /* address of its first byte in work requests of both sides */
	uint32_t lkey; /* for sg_list */
	uint32_t rkey; /* for the peer: the STag */
	struct ddp_pd *pd;
	int memfd; /* of this region alone; -1: it is the caller's, or shared with other regions */
};

/* Allocates zeroed pages in a memfd that library and daemon share, and registers them; iova is the
 * address. Regions of up to 64 KiB share memfds; longer ones have one of their own. -ENOMEM;
 * -EDQUOT: this user's limit is reached, which ddp_last_reason() names. */
int ddp_alloc_mr(struct ddp_pd *pd, size_t length, unsigned access, struct ddp_mr **ret);

/*
 * Registers length bytes of the caller's memfd, from any offset. The memfd must be sealed against
 * shrinking (F_SEAL_SHRINK); the library adds the seal if it can. addr: the caller's mapping of
 * `offset`, or NULL. iova: the address of the first byte in work requests, often (uintptr_t)addr.
 * The fd stays the caller's, who may close it after the return. -EINVAL: the fd is not a memfd, or
 * the range passes its end; -EPERM: it cannot be sealed, or is read-only and `access` includes
 * writing.
 */
int ddp_reg_memfd(struct ddp_pd *pd, int fd, off_t offset, size_t length, void *addr, uint64_t iova,
		  unsigned access, struct ddp_mr **ret);

enum ddp_reg_flags {
	DDP_REG_IOVA = 1,  /* iova is set; without the flag it is addr */
	DDP_REG_KEEP = 2,  /* adopted pages stay adopted after ddp_dereg_mr() */
	DDP_REG_QUIET = 4, /* no other thread accesses the pages during the call */
	DDP_REG_GAPS = 8   /* up to 16 pages between adopted ones may be adopted with them */
};

struct ddp_reg_attr {
	size_t struct_size;
	unsigned flags; /* a set of DDP_REG_ */
	uint64_t iova;  /* IOVA: the address of the first byte in work requests */
};

/*
 * Registers memory that the program already has, in the first of three ways that is possible;
 * ddp_query_mr() returns which one, enum ddp_mr_rung.
 *
 * 1. Memory in the memfd of another region is shared as it is.
 * 2. Private pages (malloc(), mmap(), static variables, the stack) are adopted: they move to a
 *    memfd, which is mapped at the same address, with the same bytes and the same protection.
 *    Stores of other threads during the call are not lost.
 * 3. A thread of the library copies all other memory: pages that are shared with other processes,
 *    pages of a file, huge pages, and private pages if other threads run, DDP_REG_QUIET is not set
 *    and the system has no userfaultfd(2).
 *
 * Regions may overlap. attr: NULL for the defaults. Deregister the memory before you free, unmap or
 * grow it. When the last region of a page ends, the page becomes private memory again. A child of
 * fork() gets a private copy of adopted memory. ddp_reg_mr(3) has more rules.
 *
 * -EFAULT: the memory is not mapped or not readable; -EACCES: it is not writable, and `access`
 * includes writing; -EOPNOTSUPP: it belongs to a device or to a ring of the kernel, or must be
 * copied and the daemon is too old for that; -EINVAL: the length is 0, or a flag is unknown.
 */
int ddp_reg_mr(struct ddp_pd *pd, void *addr, size_t length, unsigned access,
	       const struct ddp_reg_attr *attr, struct ddp_mr **ret);

/*
 * The same for n ranges: ret[i] is the region of range[i]. It takes a fraction of the time of n
 * calls, because library and daemon wake each other once for many of them. All are registered, or
 * none: then ret is unchanged. -EINVAL: DDP_REG_IOVA is set.
 */
int ddp_reg_mrs(struct ddp_pd *pd, const struct iovec *range, size_t n, unsigned access,
		const struct ddp_reg_attr *attr, struct ddp_mr **ret);

/*
 * Ties the region to the session of one QP; qp NULL unties it. No other session can then use its
 * STag, and the peer's Send with Invalidate can invalidate it (RFC 5040 5.3 permits that for such
 * STags alone). The region gets a new lkey and rkey. The call also makes an invalidated region
 * usable again. -EBUSY while a window is bound to it.
 */
int ddp_bind_mr(struct ddp_mr *mr, struct ddp_qp *qp);

/*
 * Reports Writes of peers to the region, and through its windows, as completions in cq: opcode
 * DDP_WC_WRITE_NOTICE, wr_id as given, no receive is used. cq NULL ends it; the last notice may
 * then still be in the CQ. A notice follows the bytes. At most one of each region waits in the CQ;
 * the next one counts the Writes that were delivered meanwhile. So the CQ cannot fill up, and no
 * Write is missed: imm_data is their number, stag the region's rkey, qp_num the QP of the last
 * Write. Writes of raw QPs are not reported. -EBUSY: the CQ cannot reserve an entry for the region.
 */
int ddp_notify_mr(struct ddp_mr *mr, struct ddp_cq *cq, uint64_t wr_id);

/* Ends the registration: after the return no peer can access the memory through it. -EBUSY while a
 * window is bound to it. mr may be NULL. */
int ddp_dereg_mr(struct ddp_mr *mr);

/* The same for n regions, in a fraction of the time. Those that end become NULL; the return value
 * is the failure of the first other one. */
int ddp_dereg_mrs(struct ddp_mr **mr, size_t n);

/* The properties that ddp_rereg_mr() changes. */
enum ddp_rereg {
	DDP_REREG_TRANSLATION = 1,
	DDP_REREG_PD = 2,
	DDP_REREG_ACCESS = 4,
	DDP_REREG_SAME_KEY = 8, /* the keys stay; -EINVAL with a daemon before it */
};

struct ddp_rereg_attr {
	size_t struct_size;
	int fd; /* TRANSLATION: as for ddp_reg_memfd() */
	off_t offset;
	size_t length;
	void *addr;
	uint64_t iova;
	struct ddp_pd *pd; /* PD */
	unsigned access;   /* ACCESS */
};

/*
 * Changes properties of the region in one step; it gets a new lkey and rkey, unless
 * `what`, a set of DDP_REREG_, has SAME_KEY. A tie to a QP ends. With TRANSLATION, memory of
 * ddp_alloc_mr() is freed. On failure the region is unchanged. -EBUSY while a window is bound to
 * it.
 */
int ddp_rereg_mr(struct ddp_mr *mr, unsigned what, const struct ddp_rereg_attr *attr);

/* How the daemon accesses the memory of a region. */
enum ddp_mr_rung {
	DDP_MR_MEMFD = 0,   /* ddp_alloc_mr(), ddp_reg_memfd() */
	DDP_MR_SHARED = 1,  /* ddp_reg_mr(): it is in the memfd of another region, or was adopted */
	DDP_MR_ADOPTED = 2, /* ddp_reg_mr(): its private pages were adopted */
	DDP_MR_AGENT = 3    /* ddp_reg_mr(): a thread of the library copies it */
};

struct ddp_mr_attr {
	size_t struct_size;
	uint32_t rkey;
	unsigned access;
	uint64_t iova, length;
	uint32_t qp_num;  /* QP that it is tied to; 0: none */
	uint32_t windows; /* windows that are bound to it */
	int valid;        /* 0: the peer has invalidated it */
	enum ddp_mr_rung rung;
	const char *reason; /* why this rung; a constant string */
};

/* Set attr->struct_size. */
int ddp_query_mr(struct ddp_mr *mr, struct ddp_mr_attr *attr);

/* ---- memory windows ---- */

enum ddp_mw_type {
	DDP_MW_TYPE_1 = 1, /* bound by ddp_bind_mw(), for every session of its domain */
	DDP_MW_TYPE_2 = 2  /* bound by DDP_WR_BIND_MW, for the session of that QP; unbound by
			      DDP_WR_LOCAL_INV, by the peer's Send with Invalidate, or when the
			      session ends */
};

/* Access to a part of a region, granted and revoked without another registration. */
struct ddp_mw {
	uint32_t rkey; /* the STag. Type 2: that of the last bind that was posted */
	enum ddp_mw_type type;
	struct ddp_pd *pd;
};

/* A new window is not bound. ddp_dealloc_mw() unbinds it. */
int ddp_alloc_mw(struct ddp_pd *pd, enum ddp_mw_type type, struct ddp_mw **ret);
int ddp_dealloc_mw(struct ddp_mw *mw);

/*
 * Binds a type 1 window to length bytes of a region that has DDP_ACCESS_MW_BIND; mr NULL unbinds
 * it. addr: address inside the region, counted from its iova. access: a set of DDP_ACCESS_REMOTE_.
 * On return the old rkey is invalid, and mw->rkey is the new one.
 */
int ddp_bind_mw(struct ddp_mw *mw, struct ddp_mr *mr, uint64_t addr, size_t length,
		unsigned access);

/* Returns the next rkey for a bind of a type 2 window: increments the low 8 bits. */
uint32_t ddp_inc_rkey(uint32_t rkey);

struct ddp_mw_attr {
	size_t struct_size;
	uint32_t rkey;
	int bound;
	unsigned access;
	uint64_t addr, length;
	uint32_t mr_rkey;
	uint32_t qp_num; /* type 2 */
};

/* Set attr->struct_size. */
int ddp_query_mw(struct ddp_mw *mw, struct ddp_mw_attr *attr);

/* ---- completion queues ---- */

struct ddp_cq_attr {
	size_t struct_size;
	/* Rounded up to a power of two. While the queue is full, send requests wait in their
	 * queues. A message whose receive has its completion in a full queue is treated like a
	 * message without a receive, and ends the session. */
	uint32_t entries;
	int32_t spin_us; /* spin time of ddp_wait_cq(); -1: as the daemon recommends; 0: none */
	/* Not 0: events of ddp_req_notify_cq() stay until ddp_get_cq_event() takes them, one per
	 * call. ddp_poll_cq() does not take them, and ddp_wait_cq() fails. */
	int keep_events;
};

enum ddp_wc_status {
	DDP_WC_SUCCESS,
	DDP_WC_LOC_LEN_ERR,      /* length or inline length out of range */
	DDP_WC_LOC_OP_ERR,       /* unknown opcode or flags */
	DDP_WC_LOC_SGE_ERR,      /* num_sge out of range */
	DDP_WC_LOC_KEY_ERR,      /* lkey names no region */
	DDP_WC_LOC_PD_ERR,       /* lkey of another protection domain */
	DDP_WC_LOC_ACCESS_ERR,   /* lkey lacks DDP_ACCESS_LOCAL_WRITE */
	DDP_WC_LOC_BOUNDS_ERR,   /* sge outside its region */
	DDP_WC_REM_ACCESS_ERR,   /* the peer refused: key, bounds or right */
	DDP_WC_REM_OP_ERR,       /* the peer refused for another reason */
	DDP_WC_FLUSH_ERR,        /* the session ended first; the DISCONNECTED event has the reason.
				    Or the daemon ended: then ddp_explain() says so */
	DDP_WC_MW_BIND_ERR,      /* window, region, rights or bounds of a bind are invalid */
	DDP_WC_RNR_RETRY_EXC_ERR /* the peer had no receive for too long: ddp_set_qp_rnr() */
};

enum ddp_wc_opcode {
	DDP_WC_SEND,
	DDP_WC_SEND_INV,
	DDP_WC_RDMA_WRITE,
	DDP_WC_RDMA_READ,
	DDP_WC_IMM_DATA,
	DDP_WC_FETCH_ADD,
	DDP_WC_CMP_SWAP,
	DDP_WC_BIND_MW,
	DDP_WC_LOCAL_INV,
	DDP_WC_RECV,        /* with DDP_WC_WITH_IMM: Immediate Data */
	DDP_WC_RECV_TAGGED, /* raw: notice of a tagged message */
	DDP_WC_WRITE_NOTICE /* see ddp_notify_mr() */
};

enum ddp_wc_flags {
	DDP_WC_WITH_INV = 1,  /* the Send invalidated invalidated_rkey */
	DDP_WC_SOLICITED = 2, /* the message has the Solicited Event bit */
	DDP_WC_WITH_IMM = 4 /* the message is Immediate Data: imm_data, and no bytes in memory; or a
			       datagram, which has both */
};

struct ddp_wc {
	uint64_t wr_id;
	enum ddp_wc_status status;
	enum ddp_wc_opcode opcode;
	uint32_t byte_len; /* receives and Reads */
	uint32_t qp_num;
	unsigned wc_flags;
	union {
		uint32_t invalidated_rkey;
		uint32_t src_qp; /* RECV of a datagram: number of the QP that sent it */
		/* RECV of Immediate Data of a session: bytes of the Write that the peer sent last,
		 * unless other Immediate Data was sent since; they are placed. 0: none; UINT32_MAX:
		 * the daemon is older and does not say it. */
		uint32_t written;
	};
	uint16_t term; /* RFC 5040 layer << 12 | error type << 8 | code, if a Terminate was involved
			*/
	/* Where it failed, for ddp_explain(): */
	uint16_t err_kind;
	uint32_t err_stag;
	uint64_t err_to;
	uint32_t err_len;
	/* Immediate Data; the old value of an atomic; raw: RsvdULP, 40 or 8 bits; WRITE_NOTICE: the
	 * number of Writes. */
	uint64_t imm_data;
	uint32_t qn;   /* raw RECV: the queue number */
	uint32_t stag; /* raw RECV_TAGGED: where the message went; WRITE_NOTICE: the region's rkey
			*/
};

/* A full CQ loses no completion: the daemon delays work until there is room. ddp_destroy_cq():
 * -EBUSY while QPs use it, or MRs (ddp_notify_mr()); no thread may wait for it. */
int ddp_create_cq(struct ddp_ctx *ctx, const struct ddp_cq_attr *attr, struct ddp_cq **ret);
int ddp_destroy_cq(struct ddp_cq *cq);

/* Changes the number of entries, rounded up to a power of two, also while QPs use the CQ. Waiting
 * completions and events stay. -EBUSY: they and the work in flight do not fit; -EDQUOT: this user's
 * limit is reached. */
int ddp_resize_cq(struct ddp_cq *cq, uint32_t entries);

/* Takes up to n completions. Returns their number, 0 if there are none, or a negative errno value
 * (-EPIPE: the daemon is gone). Never blocks. */
int ddp_poll_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc);

/* Makes ddp_cq_fd() readable once, at the next completion or, with solicited_only, at the next
 * solicited or failed one. A call without solicited_only stays in force until its event. Returns 0:
 * it is safe to block; 1: completions are waiting, for which the descriptor may not become
 * readable: poll them, then call again. */
int ddp_req_notify_cq(struct ddp_cq *cq, int solicited_only);

/* Returns a descriptor for poll and epoll: readable as ddp_req_notify_cq() says, and hung up when
 * the daemon has ended. ddp_poll_cq() drains it unless the CQ keeps its events. Do not use it
 * together with ddp_wait_cq() on the same CQ, which drains it before it sleeps. */
int ddp_cq_fd(struct ddp_cq *cq);

/* Waits for an event of a CQ with keep_events, and takes it. timeout_ms < 0: no limit; 0: does not
 * wait. Events that are not taken may merge. Several threads may wait; each event wakes one of
 * them. -EAGAIN after the timeout. */
int ddp_get_cq_event(struct ddp_cq *cq, int timeout_ms);

/* Like ddp_poll_cq(), but waits for at least one: spins, then sleeps. timeout_ms < 0: no limit.
 * Returns 0 after the timeout. Several threads may wait; signals do not interrupt it. */
int ddp_wait_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc, int timeout_ms);

struct ddp_cq_state {
	size_t struct_size;
	uint32_t entries;
	uint32_t waiting;     /* completions to be polled */
	uint32_t reserved;    /* entries reserved for work in flight */
	uint32_t qps;         /* QPs that use it */
	uint64_t completions; /* since it was created */
};

/* Set state->struct_size. */
int ddp_query_cq(struct ddp_cq *cq, struct ddp_cq_state *state);

/* ---- shared receive queues ---- */

struct ddp_srq_attr {
	size_t struct_size;
	uint32_t max_wr;  /* rounded up to a power of two */
	uint32_t max_sge; /* 0 = 1 */
	/* One event DDP_CM_SRQ_LIMIT when fewer receives than this are left; ddp_modify_srq()
	 * arms it again. 0: no event. */
	uint32_t limit;
	/* Receives that one session may hold at a time, so that one session cannot take all. A
	 * message beyond that is treated like a message without a receive. 0: no limit. */
	uint32_t max_per_qp;
	void *user; /* srq_user of the event */
	/* The hold of each QP that is created with it, as in struct ddp_qp_init. ddp_modify_srq()
	 * does not change it. */
	uint32_t hold_bytes, hold_ms;
};

/* Its receives serve all QPs that are created with it, in any order among them. Each completes in
 * the receive CQ of the QP that used it. ddp_destroy_srq(): -EBUSY while QPs use it. */
int ddp_create_srq(struct ddp_pd *pd, const struct ddp_srq_attr *attr, struct ddp_srq **ret);
int ddp_destroy_srq(struct ddp_srq *srq);

enum ddp_srq_mask { DDP_SRQ_LIMIT = 1, DDP_SRQ_MAX_PER_QP = 2 };

/* Changes limit, max_per_qp or both. */
int ddp_modify_srq(struct ddp_srq *srq, const struct ddp_srq_attr *attr, unsigned mask);

struct ddp_srq_state {
	size_t struct_size;
	uint32_t max_wr, max_sge;
	uint32_t limit; /* 0: none, or it was reached */
	uint32_t max_per_qp;
	uint32_t posted; /* receives that wait in it */
	uint32_t held;   /* receives taken by QPs and not complete */
	uint32_t qps;    /* QPs that use it */
	uint64_t taken;  /* receives taken since it was created */
	uint32_t hold_bytes, hold_ms;
	uint32_t held_bytes; /* of the holds of all its QPs, in use now */
	uint64_t held_msgs;  /* messages that waited for a receive so far */
};

/* Set state->struct_size. ddp_query_qp() returns the part of one QP. */
int ddp_query_srq(struct ddp_srq *srq, struct ddp_srq_state *state);

/* ---- sessions ---- */

enum ddp_cm_event_type {
	DDP_CM_CONNECT_REQUEST = 1, /* on a listener; id is a new one for ddp_accept() or
				       ddp_reject() */
	DDP_CM_ESTABLISHED,
	DDP_CM_REJECTED,      /* the peer's program rejected, with private data */
	DDP_CM_CONNECT_ERROR, /* unreachable, refused, or not a DDP peer: err and reason */
	DDP_CM_DISCONNECTED,  /* err 0: orderly; else err and reason */
	DDP_CM_REQUEST_GONE,  /* a session request was not answered in time, or was canceled */
	DDP_CM_ERROR,         /* raw: the peer sent an invalid segment: err, reason, header. Nothing
				 more is received, and posted work is flushed. One more message may be
				 sent; ddp_disconnect() ends the stream when it is complete */
	DDP_CM_HALF_CLOSED, /* raw: the peer has ended its half; ddp_disconnect() ends the other */
	DDP_CM_SRQ_LIMIT,   /* fewer receives than the limit are left: srq_user. Not after
			       ddp_async_fd() */
	DDP_CM_PATH         /* a path has changed: path and reason. The session continues without
			       any action. Later versions may add types: ignore unknown ones */
};

enum ddp_path_state {
	DDP_PATH_UNCONFIRMED, /* the peer announced the address; not verified yet (RFC 9260 5.4) */
	DDP_PATH_ACTIVE,
	DDP_PATH_FAILING, /* potentially failed: other paths are preferred (RFC 7829) */
	DDP_PATH_INACTIVE
};

/* A path to the peer: one of its addresses. */
struct ddp_path {
	struct sockaddr_storage remote; /* with the SCTP port */
	enum ddp_path_state state;
	int primary; /* data takes this path while it is active */
	uint32_t srtt_us, rto_ms;
	uint32_t cwnd, mtu; /* bytes */
};

struct ddp_cm_event {
	enum ddp_cm_event_type type;
	struct ddp_id *id;
	struct ddp_id *listener; /* CONNECT_REQUEST */
	int err;                 /* negative errno value, or 0 */
	uint16_t term;           /* as in struct ddp_wc */
	uint16_t stream;
	uint32_t assoc;
	const void *private_data; /* valid until the event is acknowledged */
	size_t private_len;
	struct sockaddr_storage peer;
	const char *reason; /* a sentence, or "" */
	/* CONNECT_REQUEST, ESTABLISHED, REJECTED: contents of the peer's enhanced message
	 * (RFC 6581): a set of DDP_CONN_, and its depths or DDP_READS_UNCHANGED. After a plain
	 * message the flags are 0. */
	unsigned conn_flags;
	uint16_t peer_ird, peer_ord;
	/* ERROR, DISCONNECTED: the DDP header of the segment that caused the error and, after it,
	 * its Read Request header if it has one; as received, or as returned in the peer's
	 * Terminate. segment_len: the length of that segment. */
	const void *header;
	size_t header_len;
	uint16_t segment_len;
	void *srq_user;       /* SRQ_LIMIT; id is NULL */
	struct ddp_path path; /* PATH */
};

/* Creates an id for one listener or one session. ddp_id_user() returns user. */
int ddp_create_id(struct ddp_ctx *ctx, void *user, struct ddp_id **ret);

/* Ends its listener, which rejects pending session requests without an event; or rejects its
 * unanswered session request. -EBUSY while it has a QP or unacknowledged events. */
int ddp_destroy_id(struct ddp_id *id);

/* The caller's pointer; a new id of CONNECT_REQUEST has that of its listener. ddp_id_qp() returns
 * NULL if the id has no QP. */
void *ddp_id_user(const struct ddp_id *id);
void ddp_id_set_user(struct ddp_id *id, void *user);
struct ddp_qp *ddp_id_qp(const struct ddp_id *id);

/* Listens on an SCTP port, at one address of the daemon or, with addr NULL or AF_UNSPEC, at all.
 * port 0: that of addr; if that is 0, too, the daemon chooses a free one, which ddp_query_id()
 * returns. backlog: the most session requests that may be pending; 0: the daemon's default.
 * -EADDRINUSE; -EADDRNOTAVAIL: the daemon does not have the address. */
int ddp_listen(struct ddp_id *id, const struct sockaddr *addr, uint16_t port, int backlog);

/* Listens at n addresses of the daemon, at most 8, all of which each association uses. n 0: at
 * every address separately. -EOPNOTSUPP: n > 1 without DDP_CAP_MULTIHOMED. */
int ddp_listen_addrs(struct ddp_id *id, const struct sockaddr_storage *addrs, unsigned n,
		     uint16_t port, int backlog);

struct ddp_listen_attr {
	size_t struct_size;
	const struct sockaddr_storage *addrs; /* as for ddp_listen_addrs() */
	unsigned num_addrs;
	uint16_t port; /* 0: a free one */
	int backlog;
	/* Listeners of one user share a port and its associations if they have the same addresses
	 * and different keys. This listener gets the session requests with its key. Those without a
	 * key go to the listener without a key or, if there is none, to the first one. 0: no key.
	 */
	uint64_t service_key;
	unsigned flags; /* set of DDP_LISTEN_ */
};

enum ddp_listen_flags {
	/* Session requests in clear text are refused. Those of programs of the same daemon, which
	 * have no packets, are not. -EOPNOTSUPP: the daemon is too old. */
	DDP_LISTEN_ENCRYPTED = 1,
	/* The same, and peers have to have proven the identity that a rule of the daemon demands.
	 */
	DDP_LISTEN_PROVEN = 2
};

/* Listens with a service key. -EADDRINUSE: another user listens on the port, or another listener
 * has the key. */
int ddp_listen_service(struct ddp_id *id, const struct ddp_listen_attr *attr);

/* How the packets of a session are protected, as far as the daemon knows. */
enum ddp_security {
	DDP_SECURITY_NONE,  /* they are in clear text, or IPsec or a tunnel encrypts them */
	DDP_SECURITY_LOCAL, /* there are none: both programs have the same daemon */
	DDP_SECURITY_DTLS
};

struct ddp_id_attr {
	size_t struct_size;
	struct sockaddr_storage local, remote; /* with SCTP ports. AF_UNSPEC: none, or all */
	uint16_t port;                         /* SCTP port of this side */
	uint16_t stream;                       /* of a session or a session request */
	uint32_t assoc;
	uint64_t service_key;       /* of a listener */
	enum ddp_security security; /* of a session or a session request */
	unsigned proven;            /* the peer is who its rule says: fingerprint, ca or psk */
	unsigned has_fingerprint;   /* the peer has proven to have this certificate: */
	uint8_t fingerprint[32];    /* its SHA-256 */
	char peer_name[64];         /* of the rule that says security of the peer; "": none */
};

/* Queries addresses and port of a listener, a session request or a session. Set attr->struct_size.
 * -ENOTCONN: the id is none of these; -ECONNABORTED: the session request is withdrawn, and no event
 * has said so yet: then it is -ENOTCONN. */
int ddp_query_id(struct ddp_id *id, struct ddp_id_attr *attr);

/* Writes up to n addresses of the daemon to ret, without ports; a wildcard if that is configured.
 * Returns the number of its addresses, which may be more than n: at most 32, and at most 8 if n is
 * not more than 8. */
int ddp_query_addrs(struct ddp_ctx *ctx, struct sockaddr_storage *ret, unsigned n);

enum ddp_conn_flags {
	DDP_CONN_NEGOTIATE = 1,    /* agree on Read depths with the peer (RFC 6581) */
	DDP_CONN_PEER_TO_PEER = 2, /* the first message is a ready-to-receive message, which is
				      hidden from programs. Needs NEGOTIATE */
	DDP_CONN_RTR_SEND = 4,     /* permitted kinds of it; none of the three flags: all kinds */
	DDP_CONN_RTR_WRITE = 8,
	DDP_CONN_RTR_READ = 16,
	DDP_CONN_RETRY_PLAIN = 32 /* if the peer refuses, try again with a plain message */
};

enum {
	DDP_READS_MAX = 0,           /* the depth that the QP was created with */
	DDP_READS_NONE = 0xfffe,     /* no Reads and no atomics */
	DDP_READS_UNCHANGED = 0xffff /* not negotiated: both sides know the depth by other means */
};

struct ddp_conn_param {
	size_t struct_size;
	const void *private_data; /* at most 512 bytes; 508 in an enhanced message */
	size_t private_len;
	int timeout_ms;    /* connect: 0 = the daemon's default */
	unsigned flags;    /* connect: a set of DDP_CONN_. accept, reject: DDP_CONN_NEGOTIATE if ird
			      and ord are set; the answer to a plain request is always plain */
	uint16_t ird, ord; /* with NEGOTIATE */
	/* connect: further addresses of the peer, besides the one in the call; and the addresses of
	 * the daemon to use, none: the source address of the route. At most 8 at each end. */
	const struct sockaddr_storage *peer_addrs;
	unsigned num_peer_addrs;
	const struct sockaddr_storage *local_addrs;
	unsigned num_local_addrs;
	/* connect: selects one of the peer's listeners on the port, see struct ddp_listen_attr.
	 * Uses 16 of the bytes for private data. 0: none. */
	uint64_t service_key;
};

/* Starts a session. The id must have a QP. Does not wait for the peer; an event ESTABLISHED,
 * REJECTED or CONNECT_ERROR follows. */
int ddp_connect(struct ddp_id *id, const struct sockaddr *peer, const struct ddp_conn_param *param);

/* The same with a host name, or an address as text, and a port. Blocks while it resolves the name.
 */
int ddp_connect_name(struct ddp_id *id, const char *node, uint16_t port,
		     const struct ddp_conn_param *param);

/* Answers a session request. param may be NULL. ddp_accept(): the id must have a QP; an event
 * ESTABLISHED follows; -ERANGE: param->ord exceeds the ird of the peer's request. After
 * ddp_reject() the id can only be destroyed. */
int ddp_accept(struct ddp_id *id, const struct ddp_conn_param *param);
int ddp_reject(struct ddp_id *id, const struct ddp_conn_param *param);

/* Writes up to n paths of the session's association to ret, at most 16, the primary one first.
 * Returns the number of all paths, 0 before the association is up. -ENOTCONN: the id has no
 * session. */
int ddp_query_paths(struct ddp_id *id, struct ddp_path *ret, unsigned n);

/* Makes the path to an address of the peer the primary one, for all sessions on the association.
 * -ENOENT: the peer does not have the address; -EHOSTDOWN: the path is not active; -EPERM: other
 * users have sessions on the association, too; -ENOTCONN: the id has no session. */
int ddp_set_primary(struct ddp_id *id, const struct sockaddr *addr);

/* Ends the session: the daemon completes posted work for at most half of session.close_ms, and
 * flushes the rest. Returns at once; an event DISCONNECTED follows. */
int ddp_disconnect(struct ddp_id *id);

/* Waits for a connection event. timeout_ms < 0: no limit; 0: does not wait. -EAGAIN after the
 * timeout. Acknowledge each event, which frees it. */
int ddp_get_cm_event(struct ddp_ctx *ctx, struct ddp_cm_event **ret, int timeout_ms);
void ddp_ack_cm_event(struct ddp_cm_event *ev);

/*
 * Waits for completions and events, so that one thread can serve sessions without descriptors.
 * Takes up to n completions like ddp_wait_cq(), or an event of the CQ's context into *ev, which is
 * NULL without an event. Returns the number of completions; 0 with an event, or after the timeout;
 * or a negative errno value as ddp_wait_cq() does. Completions come first, but a queue that is
 * never empty does not delay events for long: the call then returns both. Several threads may wait;
 * a thread in ddp_wait_cq() on the same CQ may delay events until the next completion.
 */
int ddp_wait(struct ddp_cq *cq, int n, struct ddp_wc *wc, struct ddp_cm_event **ev, int timeout_ms);

/* ---- queue pairs ---- */

enum ddp_qp_type {
	DDP_QP_RDMAP,   /* Sends, Writes, Reads, atomics: RFC 5040 and RFC 7306 */
	DDP_QP_RAW,     /* DDP alone, RFC 5041: untagged and tagged messages, see ddp_raw(7) */
	DDP_QP_DATAGRAM /* Sends to any such QP, without a session: see ddp_create_ah(3) */
};

struct ddp_qp_init {
	size_t struct_size;
	struct ddp_cq *send_cq, *recv_cq;
	uint32_t max_send_wr, max_recv_wr;   /* rounded up to a power of two */
	uint32_t max_send_sge, max_recv_sge; /* 0 = 1 */
	uint32_t max_inline;
	uint16_t max_ord, max_ird; /* Reads and atomics in flight out and in; 0 = default */
	int sq_sig_all;            /* not 0: every send request is DDP_SEND_SIGNALED */
	struct ddp_srq *srq; /* source of receives; max_recv_wr and max_recv_sge are not used */
	enum ddp_qp_type qp_type;
	uint8_t raw_queues; /* RAW: queue numbers 0 .. raw_queues - 1 exist; 0 = 1 */
	uint8_t raw_notify; /* RAW: a tagged message whose RsvdULP has one of these bits set
			       completes a receive of DDP_QN_TAGGED; 0: none does */
	/* The hold; not RAW; see ddp_create_qp(3). A message without a receive waits for one in the
	 * daemon, and so do the messages after it: in hold_bytes, at most 16 MiB, for up to
	 * hold_ms. 0: such a message ends the session; with an SRQ that has a hold, 0 means that of
	 * the SRQ. */
	uint32_t hold_bytes, hold_ms;
	unsigned options; /* a set of enum ddp_qp_options */
	/* Rights of the peer: a set of DDP_ACCESS_REMOTE_, or DDP_QP_ACCESS_NONE; 0: all. The
	 * region or window must permit the access, too. RAW: REMOTE_WRITE for tagged messages. (64
	 * bits, because older programs have padding between it and `options`.) */
	uint64_t remote_access;
	uint32_t qkey; /* DATAGRAM: see ddp_set_qp_qkey() */
	/* RDMAP: windows and regions that are bound to this QP of the same PD are bound to the new
	 * one, too, and the other way round: both are ends of one session, of which the program
	 * sees one. NULL: it has its own alone. -EOPNOTSUPP: the daemon is too old. */
	struct ddp_qp *scope_of;
};

enum { DDP_QP_ACCESS_NONE = 0x8000 }; /* remote_access: no Writes, Reads and atomics */

/* Not for RAW QPs. */
enum ddp_qp_options {
	/* Bytes are placed in the order in which they were sent, so that a program may poll the
	 * last one. Segments that arrive early wait in hold_bytes (0: 4 MiB); if that is full, the
	 * session ends. */
	DDP_QP_PLACE_IN_ORDER = 1,
	/* After the peer's orderly end, receives stay posted until ddp_disconnect() or
	 * ddp_destroy_qp(). Before a session, ddp_disconnect() flushes them, and ends the QP. */
	DDP_QP_KEEP_RECVS = 2,
	/* Sends, Writes and Immediate Data complete when the peer's transport has acknowledged all
	 * of the message, as with a reliable connection of verbs. Their entries in the send queue
	 * stay in use until then. See ddp_create_qp(3). */
	DDP_QP_ACKED = 4,
	/* With DDP_QP_PLACE_IN_ORDER: Immediate Data of the peer whose low 32 bits are DDP_IMM_MARK
	 * uses no receive. The completion of the Send after it has them, with DDP_WC_WITH_IMM. Both
	 * programs must have agreed on that. */
	DDP_QP_IMM_OF_SEND = 8,
	/* Flow control, if the peer's QP has this option and a hold_ms: Sends and Immediate Data,
	 * and all requests after them, wait in the send queue while the peer has neither receives
	 * for them nor room in its hold. The request and its answer have 20 bytes more of private
	 * data, which the programs do not see. A hold with hold_ms has at least 393360 bytes. See
	 * ddp_create_qp(3). */
	DDP_QP_CREDITS = 16,
	/* A receive whose memory is invalid ends the session when a message finds it, as with a
	 * reliable connection of verbs; else it completes with an error, and the message takes the
	 * next one. */
	DDP_QP_STRICT_RECVS = 32,
	/* With DDP_QP_CREDITS, and if the peer's QP has this option, too: its sender decides how
	 * long a message waits for a receive, by ddp_set_qp_rnr(), and hold_ms of the receiver does
	 * not matter. Only with DDP_CAP_RNR. */
	DDP_QP_RNR = 64,
	/* A request that fails at this end (DDP_WC_LOC_, DDP_WC_MW_BIND_ERR) ends the session, as
	 * with a reliable connection of verbs: those before it complete first, those after it are
	 * flushed and not sent. Else it fails alone. Only with DDP_CAP_STRICT_SENDS. */
	DDP_QP_STRICT_SENDS = 128
};

#define DDP_IMM_MARK 0xdd5e4d1aU

enum ddp_qp_state { DDP_QP_IDLE, DDP_QP_CONNECTING, DDP_QP_RTS, DDP_QP_CLOSING, DDP_QP_ERROR };

struct ddp_qp_attr {
	size_t struct_size;
	enum ddp_qp_state state;
	uint32_t qp_num;
	uint32_t max_tagged,
		max_untagged; /* payload bytes of one segment now (RFC 4296 ddp_max_msizes) */
	uint16_t ord, ird;    /* as negotiated */
	uint16_t stream;
	uint32_t assoc;
	struct sockaddr_storage local, remote;
	uint16_t max_ord, max_ird;   /* as created */
	uint16_t peer_ird, peer_ord; /* from the peer; DDP_READS_UNCHANGED if it sent none */
	enum ddp_qp_type qp_type;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	uint32_t srq_held;            /* receives of its SRQ that it holds now */
	uint64_t srq_taken;           /* receives of its SRQ that it took so far */
	uint32_t hold_bytes, hold_ms; /* as created */
	unsigned options;             /* as created */
	uint32_t held_bytes;          /* of the hold, in use now */
	uint64_t held_msgs;           /* messages that waited for a receive so far */
	uint64_t remote_access;       /* set of DDP_ACCESS_REMOTE_, or DDP_QP_ACCESS_NONE */
	uint32_t qkey;                /* DATAGRAM, as the rest */
	uint64_t tx_dropped;          /* datagrams that it sent, and that reached no QP */
	uint64_t rx_dropped; /* datagrams that reached it without a receive, or with another
				Q_Key */
};

/* Creates the QP of an id that is not a listener; an id has at most one QP. The program may post
 * receives before the session is established. DATAGRAM: id may be NULL; the QP is ready at once and
 * has no session; ddp_disconnect() of its id flushes its queues for good. */
int ddp_create_qp(struct ddp_id *id, struct ddp_pd *pd, const struct ddp_qp_init *init,
		  struct ddp_qp **ret);

/* Moves a QP that never had a session to another id without a QP, such as that of a session
 * request. Posted receives stay. No other thread may use either id meanwhile. -EISCONN: the QP has
 * or had a session, or is connecting. */
int ddp_move_qp(struct ddp_qp *qp, struct ddp_id *to);

/* Destroys the QP and ends its session. Work in progress is dropped without completions;
 * completions in the CQ stay. -EBUSY: see ddp_get_async_event(). */
int ddp_destroy_qp(struct ddp_qp *qp);

/* Set attr->struct_size. */
int ddp_query_qp(struct ddp_qp *qp, struct ddp_qp_attr *attr);

/* Sets remote_access, also during a session. After the return a request of the peer for which the
 * right is missing ends the session, as if its STag lacked the right. -EOPNOTSUPP: the daemon is
 * too old. */
int ddp_set_qp_access(struct ddp_qp *qp, unsigned remote_access);

enum { DDP_RNR_NO_END = 7 };

/* Sets how long messages of this DDP_QP_RNR QP wait when its peer is not ready to receive: each
 * time of the timer of the peer's QP takes one of `retry` retries, 0 to 6. The time after the last
 * ends the session: retry + 1 in all. The message completes with DDP_WC_RNR_RETRY_EXC_ERR.
 * DDP_RNR_NO_END, the default: they wait as long as the session lasts. timer_ms, 1 to 60000 ms, at
 * first 1: the timer for the peer. Holds for messages that begin to wait later. -EINVAL: retry,
 * timer_ms, or a QP without DDP_QP_RNR. */
int ddp_set_qp_rnr(struct ddp_qp *qp, unsigned retry, unsigned timer_ms);

/* Sets the Q_Key of a DATAGRAM QP, at first 0. Datagrams with another one are dropped. If a Send
 * has failed, those after it are flushed until this call. -EINVAL: the QP is of another type. */
int ddp_set_qp_qkey(struct ddp_qp *qp, uint32_t qkey);

/* Datagrams to the number of `from` reach `qp` from now on, which has that number as a sender, too.
 * `from` ends as by ddp_disconnect(). Completions of `qp` keep the number of ddp_qp_num(). -EINVAL:
 * they are not two DATAGRAM QPs of this context, or `qp` has ended. */
int ddp_take_qp_number(struct ddp_qp *qp, struct ddp_qp *from);

/* Returns the number of the QP, as in struct ddp_wc and in the output of ddpctl. */
uint32_t ddp_qp_num(const struct ddp_qp *qp);

/* Returns the id of the QP with this number, NULL if there is none, in constant time. A program
 * finds its own object for a completion with it: by qp_num, then ddp_id_user(). */
struct ddp_id *ddp_find_id(struct ddp_ctx *ctx, uint32_t qp_num);

/* ---- datagrams ---- */

enum {
	DDP_DATAGRAM_MAX = 4096, /* bytes */
	DDP_GRH_LEN =
		40 /* a receive has so many bytes before the datagram, and byte_len counts
		      them: an IPv6 header with the addresses of both daemons, or ::ffff:a.b.c.d */
};

/* remote_qkey with this bit stands for the Q_Key of the QP that sends. */
#define DDP_QKEY_OWN 0x80000000U

/*
 * Creates an address handle, which names the daemon of the QPs to which datagrams go; struct
 * ddp_send_wr names the QP. Ports do not matter. local: the address of this daemon that they are
 * from, or NULL: that of the route. -EADDRNOTAVAIL: remote is not the address of one host, or local
 * not one of the daemon; -EAFNOSUPPORT; -EHOSTUNREACH: datagrams do not reach that address.
 */
int ddp_create_ah(struct ddp_pd *pd, const struct sockaddr *remote, const struct sockaddr *local,
		  struct ddp_ah **ret);

/* Requests that use it must be complete. NULL is allowed. */
int ddp_destroy_ah(struct ddp_ah *ah);

/* ---- asynchronous events ---- */

enum ddp_async_type {
	DDP_ASYNC_QP_FATAL = 1, /* qp: its session has failed; err and term as in DISCONNECTED */
	DDP_ASYNC_CQ_OVERRUN,   /* cq: a message had a receive, but the CQ no room for its
				   completion; the session has failed */
	DDP_ASYNC_SRQ_LIMIT,    /* srq: fewer receives than the limit are left */
	DDP_ASYNC_PORT_DOWN,    /* no interface with an address of the daemon is up */
	DDP_ASYNC_PORT_UP,      /* such an interface is up again */
	DDP_ASYNC_DEVICE_GONE   /* once: the daemon has ended, or has ended this connection. Later
				   versions may add types: ignore unknown ones */
};

struct ddp_async_event {
	enum ddp_async_type type;
	int err; /* negative errno value, or 0 */
	uint16_t term;
	struct ddp_qp *qp; /* the object, depending on the type; the other two are NULL */
	struct ddp_cq *cq;
	struct ddp_srq *srq;
};

/* Returns a descriptor that is readable while asynchronous events are queued. Use it with poll or
 * epoll; do not read it. -EOPNOTSUPP: the daemon is too old. */
int ddp_async_fd(struct ddp_ctx *ctx);

/*
 * Waits for an asynchronous event, and takes it. timeout_ms < 0: no limit; 0: does not wait. Events
 * of the same type and object merge until they are taken, so none is lost and no queue grows; those
 * of a destroyed object are dropped. Acknowledge each event: until then its object cannot be
 * destroyed. -EAGAIN after the timeout; -EPIPE after DEVICE_GONE.
 */
int ddp_get_async_event(struct ddp_ctx *ctx, struct ddp_async_event *ret, int timeout_ms);
void ddp_ack_async_event(const struct ddp_async_event *ev);

/* ---- work ---- */

struct ddp_sge {
	uint64_t addr; /* address inside the MR, counted from its iova */
	uint32_t length;
	uint32_t lkey;
};

enum ddp_wr_opcode {
	DDP_WR_SEND, /* raw: an untagged message */
	DDP_WR_SEND_WITH_INV,
	DDP_WR_RDMA_WRITE, /* raw: a tagged message */
	DDP_WR_RDMA_READ,
	DDP_WR_IMM_DATA, /* 8 bytes, no memory; consumes a receive of the peer */
	DDP_WR_ATOMIC_FETCH_AND_ADD,
	DDP_WR_ATOMIC_CMP_AND_SWP,
	DDP_WR_BIND_MW,   /* a type 2 window */
	DDP_WR_LOCAL_INV, /* a type 2 window, or an MR tied to this QP */
	DDP_WR_MASKED_FETCH_AND_ADD,
	DDP_WR_MASKED_CMP_AND_SWP
};

enum ddp_send_flags {
	DDP_SEND_SIGNALED = 1,
	DDP_SEND_FENCE = 2,     /* waits for earlier Reads and atomics */
	DDP_SEND_SOLICITED = 4, /* Sends and Immediate Data */
	DDP_SEND_INLINE = 8,    /* the call copies the data: addr are pointers, lkey is not used */
	DDP_SEND_PLACED = 16,   /* Sends, Writes, Immediate Data: completes when the data is in the
				   peer's memory. Counts among the max_ord requests in flight */
	DDP_SEND_PACED = 32, /* the same, to keep the sender close to the receiver; but if the peer
			       ends the session in order first, the request completes as
			       without the flag */
	/* Sends and Writes: imm_data goes with it. In a session as Immediate Data of their own,
	 * before the Send or after the Write: one request, which fails as a whole and has one
	 * completion. There only with DDP_CAP_WITH_IMM; not RAW. */
	DDP_SEND_WITH_IMM = 64,
	DDP_SEND_WITH_NEXT = 256 /* is posted only if the next request of the list is */
};

/* Of raw QPs. */
struct ddp_raw_wr {
	uint32_t qn;   /* DDP_WR_SEND */
	uint64_t rsvd; /* RsvdULP: 40 bits of an untagged, 8 bits of a tagged message */
};

/* Of DATAGRAM QPs. The request completes when the datagram was handed over; whether it arrives is
 * not known. */
struct ddp_datagram_wr {
	struct ddp_ah *ah;    /* of the PD of the QP */
	uint32_t remote_qp;   /* ddp_qp_num() of the receiver, 24 bits */
	uint32_t remote_qkey; /* must be the receiver's; see DDP_QKEY_OWN */
};

struct ddp_send_wr {
	uint64_t wr_id;
	struct ddp_send_wr *next;
	struct ddp_sge *sg_list;
	int num_sge;
	enum ddp_wr_opcode opcode;
	unsigned send_flags;
	uint32_t invalidate_rkey; /* DDP_WR_SEND_WITH_INV, DDP_WR_LOCAL_INV */
	struct {
		uint64_t remote_addr;
		uint32_t rkey;
	} rdma;            /* atomics: 8 bytes of the peer's memory, aligned to 8 */
	uint64_t imm_data; /* DDP_WR_IMM_DATA, DDP_SEND_WITH_IMM: arrives as the same number */
	/* Atomics (RFC 7306 5). The completion has the old value, and sg_list gets it, too, if set:
	 * 8 bytes in host byte order. The masks are for the MASKED_ opcodes alone: a bit in
	 * add_mask ends an adder, swap_mask selects the bits to replace. */
	struct {
		uint64_t compare_add; /* the number to add, or to compare with */
		uint64_t swap;        /* the new value */
		uint64_t add_mask;
		uint64_t compare_mask, swap_mask;
	} atomic;
	/* DDP_WR_BIND_MW binds a type 2 window that is not bound. rkey: the window's new rkey, from
	 * ddp_inc_rkey(mw->rkey). */
	struct {
		struct ddp_mw *mw;
		uint32_t rkey;
		struct ddp_mr *mr;
		uint64_t addr; /* address inside the region, counted from its iova */
		uint64_t length;
		unsigned access; /* set of DDP_ACCESS_REMOTE_ */
	} bind;
	union {
		struct ddp_raw_wr raw;
		struct ddp_datagram_wr ud;
	};
};

/* Raw QPs: qn of a receive for the notice of a tagged message. */
#define DDP_QN_TAGGED UINT32_MAX

struct ddp_recv_wr {
	uint64_t wr_id;
	struct ddp_recv_wr *next;
	struct ddp_sge *sg_list;
	int num_sge;
	uint32_t qn; /* raw QPs: the queue, or DDP_QN_TAGGED; else 0 */
};

/*
 * Posts a list of work requests. On failure *bad is the first one that was not posted; those before
 * it were posted. With DDP_SEND_WITH_NEXT all or none of several are. bad may be NULL. -ENOMEM: the
 * queue is full; -EINVAL: the request is invalid, or exceeds a limit of the QP, see
 * ddp_post_send(3); -EPIPE: the daemon has ended. Errors that depend on keys, on the session or on
 * the peer are reported by the completion. A work request leaves its queue when the daemon takes
 * it, which may be before it completes.
 */
int ddp_post_send(struct ddp_qp *qp, struct ddp_send_wr *wr, struct ddp_send_wr **bad);
int ddp_post_recv(struct ddp_qp *qp, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad);
int ddp_post_srq_recv(struct ddp_srq *srq, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad);

/* ---- strings ---- */

/* Return a short name, "?" for an unknown value, never NULL. */
const char *ddp_wc_status_str(enum ddp_wc_status status);
const char *ddp_wc_opcode_str(enum ddp_wc_opcode opcode);
const char *ddp_event_str(enum ddp_cm_event_type type);
const char *ddp_async_str(enum ddp_async_type type);
const char *ddp_path_state_str(enum ddp_path_state state);

/* Writes a sentence about a completion, with STag, offset and length, to buf of len bytes. Returns
 * its length, like snprintf(). */
int ddp_explain(const struct ddp_wc *wc, char *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif
