/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the client socket (UNIX, SOCK_SEQPACKET): one record is one call, reply or event. It
 * has exactly the size of its type and carries exactly the descriptors that the type needs. A
 * client sends calls and waits for the replies, which have the same order, opcodes and
 * seqs; it has few calls ahead of their replies, as the daemon reads none while replies
 * wait. Events arrive on a socket of their own, which the reply to HELLO carries, so that programs
 * can poll it. The daemon answers an invalid record with MSG_ERROR and ends the connection.
 *
 * Host byte order; tests/abi compares the layout. Strings are NUL-terminated within their array.
 */
#ifndef IPC_MSG_H
#define IPC_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ipc/local_protocol.h"
#include "ipc/msg_hdr.h"
#include "ipc/msg_qp.h"

enum {
	MSG_PRIVATE_MAX = 512,
	MSG_REASON_MAX = 232,
	MSG_MAX = 1024, /* no record is longer */
	MSG_MAX_FDS = 3,
	MSG_DEFAULT_PORT = 5043, /* SCTP port of the tools */
	MSG_TERM_MAX = 46,       /* DDP header and Read Request header that an error is about */
	MSG_READS_UNCHANGED = 0xffff, /* IRD or ORD that is not negotiated */
	MSG_MAX_ADDRS = 8,            /* of one end of an association */
	MSG_MAX_OWN = 32,             /* of a daemon */
	MSG_MAX_PATHS = 16,           /* in one reply */
};

enum msg_op {
	MSG_NO_OP, /* of no record */
#define X(op, ...) MSG_##op,
	MSG_OPS(X)
#undef X
		MSG_OP_COUNT,

	MSG_ERROR = 0x100, /* reply: error */
	MSG_EVENT,         /* on the event socket: event */
	MSG_CTL_RECORD,
	MSG_CTL_END,
};

/* The call failed without a change. */
struct msg_error {
	struct msg_hdr hdr;
	int32_t err;                 /* errno value */
	uint32_t fatal;              /* 1: the connection ends */
	char reason[MSG_REASON_MAX]; /* a sentence: object, limit, value */
};

struct msg_hello {
	struct msg_hdr hdr;
	uint16_t major;
	uint16_t minor;
	uint32_t pad;
	char comm[32]; /* name of the program, for ddpctl */
};

struct msg_hello_reply {
	struct msg_hdr hdr;
	uint16_t major;
	uint16_t minor;
	uint32_t client;  /* number of this client, as ddpctl shows it */
	uint32_t poll_us; /* recommended spin time before sleeping */
	uint32_t pad;
};

struct msg_caps {
	struct msg_hdr hdr;
	uint32_t max_qp, max_cq, max_mr, max_pd; /* of this client */
	uint32_t max_qp_wr, max_cqe, max_sge, max_inline;
	uint32_t max_ird, max_ord, max_private, poll_us;
	uint64_t max_mr_bytes;
	uint64_t retransmits; /* of the daemon's transport since it started */
	char transport[16];
	char version[16];
	uint32_t max_srq, max_mw;
	uint32_t features; /* set of MSG_CAP_ */
	uint32_t max_raw_queues;
	uint64_t cpu_user_us, cpu_system_us; /* of the daemon; since minor 11 */
};

/* Values of enum ddp_features. */
enum {
	MSG_CAP_ATOMIC = 1,        /* RFC 7306: Immediate Data and atomics */
	MSG_CAP_ENHANCED = 2,      /* RFC 6581 */
	MSG_CAP_RAW = 4,           /* DDP without RDMAP */
	MSG_CAP_MULTIHOMED = 8,    /* associations may have several addresses at each end */
	MSG_CAP_RNR = 16,          /* MSG_QP_RNR; since minor 16 */
	MSG_CAP_DATAGRAM = 32,     /* MSG_QP_DATAGRAM; since minor 17 */
	MSG_CAP_STRICT_SENDS = 64, /* MSG_QP_STRICT_SENDS; since minor 21 */
	MSG_CAP_WITH_IMM = 128,    /* WQE_WITH_IMM of Sends and Writes; since minor 22 */
};

struct msg_handle {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t pad;
};

struct msg_reg_mr {
	struct msg_hdr hdr;
	uint32_t pd;
	uint32_t access; /* DDP_ACCESS_* */
	uint64_t offset; /* into the memfd, any */
	uint64_t len;
	uint64_t iova; /* tagged offset of the first byte */
};

/* The same, for memory that the program had already: rung.h. RUNG_AGENT: the memfd is the shadow
 * (shadow.h) of the bytes from `offset` on, which is less than SHADOW_PAGE. */
struct msg_reg_own_mr {
	struct msg_reg_mr reg;
	uint32_t rung;   /* RUNG_* */
	uint32_t reason; /* RUNG_REASON_* */
};

/* The memory of agent.h. */
struct msg_agent {
	struct msg_hdr hdr;
	uint64_t bytes;
	uint64_t offset; /* in the memfd */
};

/* The memory of packet_ring.h. */
struct msg_capture {
	struct msg_hdr hdr;
	uint64_t size; /* bytes for packets, a power of two */
};

struct msg_bind_mr {
	struct msg_hdr hdr;
	uint32_t mr;
	uint32_t qp; /* 0: the whole protection domain */
};

/* Writes of peers to the region complete in the queue as WQE_WRITE_NOTICE, merged while one of the
 * region waits there. */
struct msg_notify_mr {
	struct msg_hdr hdr;
	uint32_t mr;
	uint32_t cq; /* 0: none any more */
	uint64_t wr_id;
};

struct msg_mr {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t stag; /* lkey and rkey */
};

/* Values of enum ddp_rereg. */
enum {
	MSG_REREG_TRANSLATION = 1,
	MSG_REREG_PD = 2,
	MSG_REREG_ACCESS = 4,
	MSG_REREG_SAME_KEY = 8, /* the STag stays */
};

struct msg_rereg_mr {
	struct msg_hdr hdr;
	uint32_t mr;
	uint32_t what;   /* set of MSG_REREG_; TRANSLATION if and only if it is MSG_REMAP_MR */
	uint32_t pd;     /* with PD */
	uint32_t access; /* with ACCESS */
	uint64_t offset, len, iova; /* with TRANSLATION */
};

struct msg_pd_state {
	struct msg_hdr hdr;
	uint32_t mrs, mws, qps, srqs; /* that belong to it */
};

struct msg_mr_state {
	struct msg_hdr hdr;
	uint32_t stag;
	uint32_t access;
	uint64_t iova, len;
	uint32_t pd;      /* handle */
	uint32_t qp_num;  /* of the queue pair that it is tied to, or 0 */
	uint32_t valid;   /* 0: invalidated */
	uint32_t windows; /* bound to it */
};

/* Values of enum ddp_mw_type. */
enum { MSG_MW_TYPE_1 = 1, MSG_MW_TYPE_2 = 2 };

struct msg_alloc_mw {
	struct msg_hdr hdr;
	uint32_t pd;
	uint32_t type; /* MSG_MW_TYPE_ */
};

struct msg_bind_mw {
	struct msg_hdr hdr;
	uint32_t mw;
	uint32_t mr;     /* 0: unbind */
	uint32_t access; /* DDP_ACCESS_REMOTE_* */
	uint32_t pad;
	uint64_t addr, len; /* in the region, counted from its iova */
};

struct msg_mw_state {
	struct msg_hdr hdr;
	uint32_t type;
	uint32_t stag;
	uint32_t valid; /* 1: bound */
	uint32_t access;
	uint64_t addr, len;
	uint32_t mr_stag; /* of the region */
	uint32_t qp_num;  /* type 2: that bound it */
	uint32_t pd;      /* handle */
	uint32_t pad;
};

struct msg_create_cq {
	struct msg_hdr hdr;
	uint32_t entries; /* a power of two */
	uint32_t pad;
};

struct msg_resize_cq {
	struct msg_hdr hdr;
	uint32_t cq;
	uint32_t entries; /* a power of two */
};

struct msg_cq {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t entries;
	uint64_t bytes;  /* of the ring */
	uint64_t offset; /* of the ring in the memfd; since minor 1 */
};

struct msg_cq_state {
	struct msg_hdr hdr;
	uint32_t entries;
	uint32_t waiting;  /* completions not polled */
	uint32_t reserved; /* room kept for work in flight */
	uint32_t qps;      /* that use it */
	uint64_t completions, bells;
};

struct msg_create_srq {
	struct msg_hdr hdr;
	uint32_t pd;
	uint32_t entries; /* a power of two */
	uint32_t max_sge;
	uint32_t limit;  /* EV_SRQ_LIMIT when fewer receives than this are left; 0: none */
	uint32_t per_qp; /* receives that one queue pair may hold at a time; 0: all */
	uint32_t cookie; /* returned in events */
};

struct msg_srq {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t entry;  /* bytes of an entry */
	uint64_t bytes;  /* of the ring */
	uint64_t offset; /* of the ring in the memfd; since minor 1 */
};

enum { MSG_SRQ_LIMIT = 1, MSG_SRQ_PER_QP = 2 };

struct msg_modify_srq {
	struct msg_hdr hdr;
	uint32_t srq;
	uint32_t what; /* set of MSG_SRQ_ */
	uint32_t limit;
	uint32_t per_qp;
};

struct msg_srq_state {
	struct msg_hdr hdr;
	uint32_t entries, max_sge;
	uint32_t limit; /* 0: not armed */
	uint32_t per_qp;
	uint32_t posted; /* receives in the ring */
	uint32_t held;   /* taken by queue pairs and not completed */
	uint32_t qps;    /* that use it */
	uint32_t pd;     /* handle */
	uint64_t taken;  /* since it was made */
};

/* Session requests in clear text are refused, or also those of peers that have not proven who they
 * are; those of programs of this daemon are not. */
enum { MSG_LISTEN_ENCRYPTED = 1, MSG_LISTEN_PROVEN = 2 };

struct msg_listen {
	struct msg_hdr hdr;
	uint32_t backlog; /* session requests that may be pending, 0 = the daemon's default */
	uint32_t cookie;  /* returned in events */
	uint16_t port;    /* SCTP; 0: a free one, since minor 2 */
	uint16_t naddrs;  /* 0: every address of the daemon; several: all of them together */
	uint32_t flags;   /* set of MSG_LISTEN_; 0 before minor 20 */
	struct msg_addr addrs[MSG_MAX_ADDRS]; /* all with this port */
};

/* Several listeners share a port, each with a key of its own. */
struct msg_listen_key {
	struct msg_listen listen; /* hdr included */
	uint64_t key;             /* not 0 */
};

struct msg_listener {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t port;
};

/* Values of enum ddp_security. */
enum { MSG_SECURITY_NONE, MSG_SECURITY_LOCAL, MSG_SECURITY_DTLS };

enum { MSG_PEER_NAME = 64, MSG_FINGERPRINT = 32 };

/* How an association is protected, and who its peer is. */
struct msg_peer_facts {
	uint32_t security; /* MSG_SECURITY_ */
	uint16_t proven;   /* the rule demands an identity, which the peer has proven */
	uint16_t has_fingerprint;
	uint8_t fingerprint[MSG_FINGERPRINT]; /* SHA-256 of its certificate */
	char name[MSG_PEER_NAME];             /* of its rule in peers.rules; "": none */
};

/* Of a queue pair; all zero without a session. */
struct msg_peer {
	struct msg_hdr hdr;
	struct msg_peer_facts peer;
};

/* A session request that is not answered yet. */
struct msg_request_state {
	struct msg_hdr hdr;
	struct sockaddr_storage local, remote; /* with the SCTP ports */
	uint32_t assoc;
	uint16_t stream;
	uint16_t pad;
	struct msg_peer_facts peer; /* since minor 20 */
};

/* The addresses of the daemon. */
struct msg_addrs {
	struct msg_hdr hdr;
	uint32_t n;
	uint32_t pad;
	struct msg_addr addrs[MSG_MAX_ADDRS]; /* without a port; a wildcard as it is configured */
	/* Since IPC_MINOR_ALL_ADDRS: the addresses after these. */
	uint32_t num_more;
	struct msg_addr more[MSG_MAX_OWN - MSG_MAX_ADDRS];
};

_Static_assert(sizeof(struct msg_addrs) <= MSG_MAX, "a record");

/* Values of enum ddp_conn_flags. */
enum {
	MSG_CONN_NEGOTIATE = 1,
	MSG_CONN_PEER_TO_PEER = 2,
	MSG_CONN_RTR_SEND = 4,
	MSG_CONN_RTR_WRITE = 8,
	MSG_CONN_RTR_READ = 16,
	MSG_CONN_RETRY_PLAIN = 32,
};

struct msg_connect {
	struct msg_hdr hdr;
	uint32_t qp;
	uint32_t cookie;
	uint32_t timeout_ms; /* 0 = the daemon's default */
	uint16_t private_len;
	uint16_t flags;    /* set of MSG_CONN_ */
	uint16_t ird, ord; /* with NEGOTIATE: MSG_READS_UNCHANGED, or at most those of the qp */
	uint16_t npeers;   /* 1 .. MSG_MAX_ADDRS */
	uint16_t nlocals;  /* 0: the address that the route takes */
	struct msg_addr peers[MSG_MAX_ADDRS];  /* all with the SCTP port; the first one is tried
						  first, and is the primary path */
	struct msg_addr locals[MSG_MAX_ADDRS]; /* without a port */
	uint8_t private_data[MSG_PRIVATE_MAX];
};

struct msg_accept {
	struct msg_hdr hdr;
	uint32_t request; /* from EV_REQUEST */
	uint32_t qp;
	uint32_t cookie;
	uint16_t private_len;
	uint16_t flags;    /* MSG_CONN_NEGOTIATE: ird and ord are wishes */
	uint16_t ird, ord; /* as in msg_connect */
	uint8_t private_data[MSG_PRIVATE_MAX];
};

struct msg_reject {
	struct msg_hdr hdr;
	uint32_t request;
	uint16_t private_len;
	uint16_t flags;    /* MSG_CONN_NEGOTIATE: ird and ord would be acceptable */
	uint16_t ird, ord; /* MSG_READS_UNCHANGED, or any depth */
	uint8_t private_data[MSG_PRIVATE_MAX];
};

/* Values of enum ddp_path_state. */
enum { MSG_PATH_UNCONFIRMED, MSG_PATH_ACTIVE, MSG_PATH_FAILING, MSG_PATH_INACTIVE };

struct msg_path {
	struct msg_addr remote; /* with the SCTP port */
	uint16_t state;         /* MSG_PATH_ */
	uint16_t primary;       /* 1: messages take this path while it is active */
	uint32_t srtt_us, rto_ms, cwnd, mtu;
};

struct msg_paths {
	struct msg_hdr hdr;
	uint32_t n;     /* in path */
	uint32_t total; /* that there are */
	struct msg_path path[MSG_MAX_PATHS];
};

struct msg_set_primary {
	struct msg_hdr hdr;
	uint32_t qp;            /* that has a session on the association; 0: */
	uint32_t assoc;         /* its number, for an administrator */
	struct msg_addr remote; /* without a port, or with the SCTP port */
};

/* Values are those of enum ddp_cm_event_type. */
enum msg_event_type {
	MSG_EV_REQUEST = 1,  /* cookie of the listener, request */
	MSG_EV_ESTABLISHED,  /* cookie of the connect or accept */
	MSG_EV_REJECTED,     /* by the peer's program */
	MSG_EV_FAILED,       /* connect: err and reason */
	MSG_EV_DISCONNECTED, /* err 0: in order; else err and reason */
	MSG_EV_WITHDRAWN,    /* request is gone: err and reason */
	MSG_EV_ERROR,        /* raw: receiving has stopped: err, reason, header */
	MSG_EV_HALF_CLOSED,  /* raw: the peer has ended its half */
	MSG_EV_SRQ_LIMIT,    /* cookie of the shared receive queue */
	MSG_EV_PATH,         /* cookie of the connect or accept: path and reason */
};

struct msg_event {
	struct msg_hdr hdr;
	uint32_t type;
	uint32_t cookie;
	uint32_t request;
	uint32_t qp;   /* handle, 0 for session requests */
	int32_t err;   /* errno value */
	uint16_t term; /* layer, error type, code of RFC 5040, if one was sent or received */
	uint16_t private_len;
	uint32_t assoc;
	uint16_t stream;
	uint16_t flags; /* REQUEST, ESTABLISHED, REJECTED: MSG_CONN_NEGOTIATE and the other flags
			   of the peer's enhanced message */
	uint16_t peer_ird, peer_ord; /* with NEGOTIATE; MSG_READS_UNCHANGED for "not negotiated" */
	uint16_t seg_len;            /* DDP segment that an error is about, 0 if none */
	uint16_t header_len;         /* of header */
	struct sockaddr_storage peer;
	char reason[MSG_REASON_MAX];
	uint8_t header[MSG_TERM_MAX]; /* its DDP header, and its Read Request header */
	uint8_t pad[2];
	uint8_t private_data[MSG_PRIVATE_MAX];
	struct msg_path path; /* PATH */
};

/* Values are those of enum ddp_async_type. */
enum msg_async_type {
	MSG_ASYNC_NONE,
	MSG_ASYNC_QP_FATAL,   /* handle of the qp, err, term */
	MSG_ASYNC_CQ_OVERRUN, /* handle of the cq */
	MSG_ASYNC_SRQ_LIMIT,  /* handle of the srq. Replaces EV_SRQ_LIMIT after ASYNC_OPEN */
	MSG_ASYNC_PORT_DOWN,
	MSG_ASYNC_PORT_UP,
};

/* Events of an object merge until they are taken. The bell rings when there are some: read the
 * rings, then take one event; it rings again if there are more. */
struct msg_async {
	struct msg_hdr hdr;
	uint32_t type; /* MSG_ASYNC_ */
	uint32_t handle;
	int32_t err; /* errno value */
	uint16_t term;
	uint16_t pad;
};

_Static_assert(sizeof(struct msg_event) <= MSG_MAX, "records fit");
_Static_assert(sizeof(struct msg_paths) <= MSG_MAX, "records fit");
_Static_assert(sizeof(struct msg_connect) <= MSG_MAX, "records fit");

/* Name of an opcode, "?" for an unknown one. */
const char *msg_op_str(uint32_t op);

/* The types of requests and replies, from the columns of MSG_OPS: MSG_REQUEST_##request. */
#define MSG_REQUEST_BARE struct msg_hdr
#define MSG_REQUEST_HANDLE struct msg_handle
#define MSG_REQUEST_RECORD(type) struct type
#define MSG_REQUEST_RECORD_FD(type) struct type
#define MSG_REPLY_EMPTY struct msg_hdr
#define MSG_REPLY_RECORD(type) struct type
#define MSG_REPLY_SURE_EMPTY struct msg_hdr
#define MSG_REPLY_SURE_RECORD(type) struct type
#define MSG_REPLY_STREAM struct msg_hdr

/* The records and descriptors of an operation, as its row in local_protocol.h says. */
struct msg_shape {
	const char *name;
	size_t len;       /* exact size of the request */
	unsigned nfds;    /* exact number of its descriptors */
	size_t reply_len; /* exact size of the reply; 0: records of other opcodes */
	unsigned reply_nfds;
	uint16_t since;   /* minor number of the first daemon that knows it */
	uint16_t grew;    /* peers with a lesser minor number have the reply with ... */
	size_t short_len; /* ... only so many bytes */
};

/* The shape of an operation, or NULL for an unknown opcode. */
const struct msg_shape *msg_shape(uint32_t op);

/* The size of the reply between a peer of this minor number and one of the same or a later one. */
size_t msg_reply_len(const struct msg_shape *s, uint16_t minor);

#endif
