/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libddpclient: RDMA through ddpsctpd. Shaped like libibverbs and librdmacm; ddpclient(7) walks
 * through it in call order.
 *
 * Calls return 0 or a negative errno value and give objects through out-pointers, which are
 * untouched on failure. ddp_last_reason() has a sentence for the last failure of the calling
 * thread. Attribute structs begin with struct_size: set it to sizeof the struct (DDP_INIT
 * does); members that an older program does not know are taken as 0, and what a newer
 * program asks of an older library is refused with -E2BIG. Calls on different
 * objects may run at the same time; calls on one object are serialised by the library.
 *
 * A daemon that ends takes all objects with it: calls return -EPIPE, those that wait wake up with
 * it, and what is then destroyed is just freed.
 *
 * Lifetimes: an object must be destroyed before what it was made from, else -EBUSY: QPs before
 * their CQs and PD, MRs before their PD. The memory of an MR must stay until its work is complete.
 *
 * After fork() the memory of MRs is shared with the child, and Writes of the peer appear in both;
 * the child must not use the context or anything made from it, nor destroy it.
 */
#ifndef DDP_DDP_H
#define DDP_DDP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute struct of the given type with struct_size set and all else 0. */
#ifdef __cplusplus
#define DDP_INIT(type)                                                                             \
	{                                                                                          \
		sizeof(struct type)                                                                \
	}
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

/* ---- context ---- */

struct ddp_open_attr {
	size_t struct_size;
	const char *socket; /* NULL: $DDP_SOCKET, else /run/ddpsctpd/ddp.sock */
};

/* attr may be NULL. -ENOENT or -ECONNREFUSED: no daemon there; -EACCES: not a member of the
 * socket's group; -EPROTO: the daemon speaks another version. */
int ddp_open(const struct ddp_open_attr *attr, struct ddp_ctx **ret);

/* Closes the context. -EBUSY while objects are left. NULL is fine. */
int ddp_close(struct ddp_ctx *ctx);

struct ddp_caps {
	size_t struct_size;
	uint32_t max_qp, max_cq, max_mr, max_pd; /* of this client */
	uint32_t max_qp_wr;                      /* entries of a send or receive queue */
	uint32_t max_cqe;
	uint32_t max_sge;    /* of a Send, Write or receive; a Read has one */
	uint32_t max_inline; /* bytes */
	uint32_t max_ird, max_ord;
	uint32_t max_private; /* bytes of private data */
	uint32_t poll_us;     /* how long the daemon advises to spin before sleeping */
	uint64_t max_mr_bytes;
	uint64_t retransmits; /* by the daemon's transport since it started */
	char transport[16];   /* "user" */
	char version[16];     /* of the daemon */
};

/* What this client may have, and what the daemon is. Set caps->struct_size. */
int ddp_query(struct ddp_ctx *ctx, struct ddp_caps *caps);

/* Readable when an event waits. Level-triggered: use it with poll or epoll, never read it. */
int ddp_fd(struct ddp_ctx *ctx);

/* A sentence for the last failure in this thread; "" if there was none. Never NULL. */
const char *ddp_last_reason(void);

/* Version of the library: major << 16 | minor << 8 | patch. */
uint32_t ddp_version(void);

/* ---- protection domains and memory ---- */

/* MRs and QPs work together only within one domain. Dealloc: -EBUSY while it has some. */
int ddp_alloc_pd(struct ddp_ctx *ctx, struct ddp_pd **ret);
int ddp_dealloc_pd(struct ddp_pd *pd);

enum ddp_access {
	DDP_ACCESS_LOCAL_WRITE = 1, /* receives and Read sinks; implied by REMOTE_WRITE */
	DDP_ACCESS_REMOTE_WRITE = 2,
	DDP_ACCESS_REMOTE_READ = 4
};

/* Registered memory. The members are for reading. */
struct ddp_mr {
	void *addr; /* where it is mapped in this process, NULL if the caller did not say */
	size_t length;
	uint64_t iova; /* address of its first byte in work requests of either side */
	uint32_t lkey; /* for sg_list */
	uint32_t rkey; /* for the peer: the STag */
	struct ddp_pd *pd;
	int memfd; /* the library's, -1 if it is the caller's */
};

/* Memory made by the library, zeroed, in a memfd that it shares with the daemon. iova is addr.
 * -ENOMEM, -EDQUOT: beyond this user's limit, which ddp_last_reason() names. */
int ddp_alloc_mr(struct ddp_pd *pd, size_t length, unsigned access, struct ddp_mr **ret);

/*
 * The caller's memfd, from offset (any) for length bytes. It must be sealed against shrinking; the
 * library adds the seal if it may. addr: where the caller has mapped `offset`, or NULL. iova: the
 * address that work requests use for the first byte, often (uintptr_t)addr. The fd stays
 * the caller's and may be closed at once. -EINVAL: not a memfd, beyond its end; -EPERM: not sealed,
 * or opened read-only while access asks for writing.
 */
int ddp_reg_memfd(struct ddp_pd *pd, int fd, off_t offset, size_t length, void *addr, uint64_t iova,
		  unsigned access, struct ddp_mr **ret);

/*
 * Ties the region to the session of one QP: from now on no other session can use its STag, and the
 * peer's Send with Invalidate can revoke it (RFC 5040 5.3 allows that for such STags alone). NULL
 * unties it. After an invalidation this makes it usable again, with a new lkey and rkey.
 */
int ddp_bind_mr(struct ddp_mr *mr, struct ddp_qp *qp);

/* Ends the registration: when it returns, nobody can reach the memory through it any more. */
int ddp_dereg_mr(struct ddp_mr *mr);

/* ---- completion queues ---- */

struct ddp_cq_attr {
	size_t struct_size;
	/* Rounded up to a power of two. While the queue is full, send requests wait; a message that
	 * arrives for a receive of a full queue counts as one without a buffer, and ends the
	 * session. */
	uint32_t entries;
	int32_t spin_us; /* ddp_wait_cq() spins so long; -1: the daemon's advice; 0: never */
};

enum ddp_wc_status {
	DDP_WC_SUCCESS,
	DDP_WC_LOC_LEN_ERR,    /* length or inline length out of range */
	DDP_WC_LOC_OP_ERR,     /* unknown opcode or flags */
	DDP_WC_LOC_SGE_ERR,    /* num_sge out of range */
	DDP_WC_LOC_KEY_ERR,    /* lkey names no region */
	DDP_WC_LOC_PD_ERR,     /* lkey of another protection domain */
	DDP_WC_LOC_ACCESS_ERR, /* lkey lacks DDP_ACCESS_LOCAL_WRITE */
	DDP_WC_LOC_BOUNDS_ERR, /* sge outside its region */
	DDP_WC_REM_ACCESS_ERR, /* the peer refused: key, bounds or right */
	DDP_WC_REM_OP_ERR,     /* the peer refused for another reason */
	DDP_WC_FLUSH_ERR       /* the session ended first; see the DISCONNECTED event for why */
};

enum ddp_wc_opcode {
	DDP_WC_SEND,
	DDP_WC_SEND_INV,
	DDP_WC_RDMA_WRITE,
	DDP_WC_RDMA_READ,
	DDP_WC_RECV
};

enum ddp_wc_flags {
	DDP_WC_WITH_INV = 1, /* invalidated_rkey was revoked by the Send */
	DDP_WC_SOLICITED = 2 /* the Send asked for an event */
};

struct ddp_wc {
	uint64_t wr_id;
	enum ddp_wc_status status;
	enum ddp_wc_opcode opcode;
	uint32_t byte_len; /* receives and Reads */
	uint32_t qp_num;
	unsigned wc_flags;
	uint32_t invalidated_rkey;
	uint16_t term; /* RFC 5040 layer << 12 | error type << 8 | code, if a Terminate was involved
			*/
	/* Where it failed, for ddp_explain(): */
	uint16_t err_kind;
	uint32_t err_stag;
	uint64_t err_to;
	uint32_t err_len;
};

/* A full CQ loses nothing: the daemon holds work back until there is room. Destroy: -EBUSY while
 * QPs use it; no thread may be waiting in it. */
int ddp_create_cq(struct ddp_ctx *ctx, const struct ddp_cq_attr *attr, struct ddp_cq **ret);
int ddp_destroy_cq(struct ddp_cq *cq);

/* Up to n completions; returns how many, 0 if there are none, or a negative errno value
 * (-EPIPE: the daemon is gone). Never blocks. */
int ddp_poll_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc);

/* Makes ddp_cq_fd() readable once at the next completion: any, or only solicited and failed
 * ones. Then poll the CQ again before blocking. Returns 1 if completions are there already. */
int ddp_req_notify_cq(struct ddp_cq *cq, int solicited_only);

/* For poll and epoll: readable after ddp_req_notify_cq(), or hung up when the daemon is gone.
 * ddp_poll_cq() empties it. Not together with ddp_wait_cq() on the same CQ, which empties it, too.
 */
int ddp_cq_fd(struct ddp_cq *cq);

/* Like ddp_poll_cq(), but waits for at least one: spins, then sleeps. timeout_ms < 0: for ever.
 * Returns 0 when the time is over. Any number of threads may wait; goes on after signals. */
int ddp_wait_cq(struct ddp_cq *cq, int n, struct ddp_wc *wc, int timeout_ms);

/* ---- sessions ---- */

enum ddp_cm_event_type {
	DDP_CM_CONNECT_REQUEST = 1, /* on a listener; id is new: ddp_accept() or ddp_reject() it */
	DDP_CM_ESTABLISHED,
	DDP_CM_REJECTED,      /* the peer's program rejected, with private data */
	DDP_CM_CONNECT_ERROR, /* unreachable, refused, no DDP there: err and reason */
	DDP_CM_DISCONNECTED,  /* err 0: ended in order; else err and reason */
	DDP_CM_REQUEST_GONE   /* a request that waited for an answer is void */
};

struct ddp_cm_event {
	enum ddp_cm_event_type type;
	struct ddp_id *id;
	struct ddp_id *listener; /* CONNECT_REQUEST */
	int err;                 /* negative errno value, or 0 */
	uint16_t term;           /* as in struct ddp_wc */
	uint16_t stream;
	uint32_t assoc;
	const void *private_data; /* good until the event is acknowledged */
	size_t private_len;
	struct sockaddr_storage peer;
	const char *reason; /* a sentence; "" where there is nothing to say */
};

/* For one listener or one session. user: returned by ddp_id_user(). */
int ddp_create_id(struct ddp_ctx *ctx, void *user, struct ddp_id **ret);

/* Ends what it has: listener, unanswered request, session. -EBUSY while it has a QP or events that
 * are not acknowledged. */
int ddp_destroy_id(struct ddp_id *id);

/* The caller's pointer; an id from CONNECT_REQUEST begins with NULL. The QP: NULL if it has none.
 */
void *ddp_id_user(const struct ddp_id *id);
void ddp_id_set_user(struct ddp_id *id, void *user);
struct ddp_qp *ddp_id_qp(const struct ddp_id *id);

/* Waits for sessions at an SCTP port of all addresses of the daemon (addr AF_UNSPEC or NULL with
 * port), or of one. backlog: unanswered requests; 0: the daemon's default. -EADDRINUSE,
 * -EADDRNOTAVAIL. */
int ddp_listen(struct ddp_id *id, const struct sockaddr *addr, uint16_t port, int backlog);

struct ddp_conn_param {
	size_t struct_size;
	const void *private_data; /* at most 512 bytes */
	size_t private_len;
	int timeout_ms; /* connect: 0 = the daemon's default */
};

/* The id has a QP. Returns when the daemon has begun; ESTABLISHED, REJECTED or CONNECT_ERROR
 * follows. */
int ddp_connect(struct ddp_id *id, const struct sockaddr *peer, const struct ddp_conn_param *param);

/* The same with a name or an address in text, and a port. Blocks while the name is looked up. */
int ddp_connect_name(struct ddp_id *id, const char *node, uint16_t port,
		     const struct ddp_conn_param *param);

/* Accept: the id has a QP; ESTABLISHED follows. Reject: the id can then only be destroyed. */
int ddp_accept(struct ddp_id *id, const struct ddp_conn_param *param);
int ddp_reject(struct ddp_id *id, const void *private_data, size_t private_len);

/* Ends the session: what was completed arrives, the rest is flushed. DISCONNECTED follows. */
int ddp_disconnect(struct ddp_id *id);

/* Waits for an event. timeout_ms < 0: for ever, 0: never. -EAGAIN when the time is over. Each
 * event must be acknowledged, which frees it. */
int ddp_get_cm_event(struct ddp_ctx *ctx, struct ddp_cm_event **ret, int timeout_ms);
void ddp_ack_cm_event(struct ddp_cm_event *ev);

/* ---- queue pairs ---- */

struct ddp_qp_init {
	size_t struct_size;
	struct ddp_cq *send_cq, *recv_cq;
	uint32_t max_send_wr, max_recv_wr;   /* rounded up to a power of two */
	uint32_t max_send_sge, max_recv_sge; /* 0 = 1 */
	uint32_t max_inline;
	uint16_t max_ord, max_ird; /* Reads in flight out and in; 0 = default */
	int sq_sig_all;
};

enum ddp_qp_state { DDP_QP_IDLE, DDP_QP_CONNECTING, DDP_QP_RTS, DDP_QP_CLOSING, DDP_QP_ERROR };

struct ddp_qp_attr {
	size_t struct_size;
	enum ddp_qp_state state;
	uint32_t qp_num;
	uint32_t max_tagged,
		max_untagged; /* payload bytes of one segment now (RFC 4296 ddp_max_msizes) */
	uint16_t ord, ird, stream;
	uint32_t assoc;
	struct sockaddr_storage local, remote;
};

/* The one QP of an id that is no listener. Receives may be posted from now on, so that they are
 * there before the session is. */
int ddp_create_qp(struct ddp_id *id, struct ddp_pd *pd, const struct ddp_qp_init *init,
		  struct ddp_qp **ret);

/* Ends its session. Work that is not complete is dropped; completions that are there stay. */
int ddp_destroy_qp(struct ddp_qp *qp);

/* Set attr->struct_size. */
int ddp_query_qp(struct ddp_qp *qp, struct ddp_qp_attr *attr);

/* As in struct ddp_wc, and as ddpctl shows it. */
uint32_t ddp_qp_num(const struct ddp_qp *qp);

/* ---- work ---- */

struct ddp_sge {
	uint64_t addr; /* address inside the MR, counted from its iova */
	uint32_t length;
	uint32_t lkey;
};

enum ddp_wr_opcode { DDP_WR_SEND, DDP_WR_SEND_WITH_INV, DDP_WR_RDMA_WRITE, DDP_WR_RDMA_READ };

enum ddp_send_flags {
	DDP_SEND_SIGNALED = 1,
	DDP_SEND_FENCE = 2,     /* wait for earlier Reads */
	DDP_SEND_SOLICITED = 4, /* Sends */
	DDP_SEND_INLINE = 8 /* the data is copied now: addr are plain pointers, lkey is not used */
};

struct ddp_send_wr {
	uint64_t wr_id;
	struct ddp_send_wr *next;
	struct ddp_sge *sg_list;
	int num_sge;
	enum ddp_wr_opcode opcode;
	unsigned send_flags;
	uint32_t invalidate_rkey; /* DDP_WR_SEND_WITH_INV */
	struct {
		uint64_t remote_addr;
		uint32_t rkey;
	} rdma;
};

struct ddp_recv_wr {
	uint64_t wr_id;
	struct ddp_recv_wr *next;
	struct ddp_sge *sg_list;
	int num_sge;
};

/*
 * Posts a list. On failure *bad is the first request that was not posted; those before it were.
 * -ENOMEM: the queue is full; -EINVAL: num_sge or inline length beyond what the QP was made for;
 * -EPIPE: the daemon is gone. All other faults of a request are reported by its completion. A
 * request has left its queue when the daemon took it, which may be before it is complete. bad may
 * be NULL.
 */
int ddp_post_send(struct ddp_qp *qp, struct ddp_send_wr *wr, struct ddp_send_wr **bad);
int ddp_post_recv(struct ddp_qp *qp, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad);

/* ---- words ---- */

/* One or two words, never NULL; "?" for a value that is none. */
const char *ddp_wc_status_str(enum ddp_wc_status status);
const char *ddp_wc_opcode_str(enum ddp_wc_opcode opcode);
const char *ddp_event_str(enum ddp_cm_event_type type);

/* A sentence about a completion, naming STag, offset, length. Returns its length like snprintf. */
int ddp_explain(const struct ddp_wc *wc, char *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif
