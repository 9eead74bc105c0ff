/* SPDX-License-Identifier: BSD-2-Clause */
/* Records (msg.h) about queue pairs, their options, and where datagrams go. */
#ifndef IPC_MSG_QP_H
#define IPC_MSG_QP_H

#include <stdint.h>
#include <sys/socket.h>

#include "ipc/msg_hdr.h"

/* Values of enum ddp_qp_type. */
enum {
	MSG_QP_RDMAP,
	MSG_QP_RAW,
	MSG_QP_DATAGRAM, /* since minor 17; depths of Reads are 0 */
};

struct msg_create_qp {
	struct msg_hdr hdr;
	uint32_t pd;
	uint32_t send_cq, recv_cq;
	uint32_t sq_entries, rq_entries; /* powers of two */
	uint32_t max_send_sge, max_recv_sge, max_inline;
	uint16_t ord, ird;
	uint32_t sq_sig_all; /* 1: every send request is signaled */
	uint32_t type;       /* MSG_QP_ */
	uint32_t srq;        /* 0: a receive ring of its own; else rq_entries is 0 */
	union {
		struct {
			uint16_t raw_queues; /* RAW */
			uint16_t raw_notify; /* RAW: mask of RsvdULP */
		};
		uint32_t scope_of; /* RDMAP: the queue pair whose scope it has; 0: its own; since
				      minor 19 */
	};
};

/* The memfd holds the send ring at offset, and the receive ring, if there is one, rq_offset bytes
 * after it. */
struct msg_qp {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t qp_num;
	uint32_t slot;     /* bit in the bell page */
	uint32_t sq_entry; /* bytes of an entry */
	uint32_t rq_entry;
	uint32_t pad;
	uint64_t rq_offset;
	uint64_t bytes;  /* of both rings */
	uint64_t offset; /* in the memfd; since minor 1 */
};

struct msg_qp_state {
	struct msg_hdr hdr;
	uint32_t state;      /* enum ddp_qp_state */
	uint32_t max_tagged; /* payload bytes of one segment now, 0 without a session */
	uint32_t max_untagged;
	uint16_t ord, ird; /* in force */
	uint16_t stream;
	uint16_t max_ord; /* as requested at its creation */
	uint32_t assoc;
	struct sockaddr_storage local, remote;
	uint16_t max_ird;
	uint16_t peer_ird, peer_ord; /* as the peer said; MSG_READS_UNCHANGED if it did not */
	uint16_t type;               /* MSG_QP_ */
	uint32_t sq_entries, rq_entries, max_send_sge, max_recv_sge, max_inline;
	uint32_t srq_held; /* receives of its shared queue that it holds */
	uint64_t srq_taken;
	uint32_t qkey; /* DATAGRAM, as the rest; since minor 17 */
	uint32_t pad;
	uint64_t tx_dropped, rx_dropped; /* datagrams that it sent, and those for it */
};

/* The Q_Key of a datagram queue pair, 0 at first. */
struct msg_qp_qkey {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t qkey;
};

/* A datagram queue pair takes the number of another one, which ends. */
struct msg_qp_number {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t from;
};

/* Where datagrams go. Ports are 0. */
struct msg_create_ah {
	struct msg_hdr hdr;
	uint32_t pd;
	uint32_t pad;
	struct msg_addr remote;
	struct msg_addr local; /* all zero: that of the route */
};

/* The properties that change; an empty set only queries. A queue pair has not begun a session yet,
 * except for ACCESS. */
enum {
	MSG_OPTIONS_HOLD = 1,
	MSG_OPTIONS_FLAGS = 2,
	MSG_OPTIONS_ACCESS = 4, /* since minor 14 */
};

/* Values of enum ddp_qp_options. */
enum {
	MSG_QP_PLACE_IN_ORDER = 1,
	MSG_QP_KEEP_RECVS = 2,
	MSG_QP_ACKED = 4,
	MSG_QP_IMM_OF_SEND = 8,
	MSG_QP_CREDITS = 16,       /* since minor 14 */
	MSG_QP_STRICT_RECVS = 32,  /* since minor 14 */
	MSG_QP_RNR = 64,           /* since minor 16 */
	MSG_QP_STRICT_SENDS = 128, /* since minor 21 */
};

struct msg_options {
	struct msg_hdr hdr;
	uint32_t handle;     /* of the qp or srq */
	uint32_t what;       /* set of MSG_OPTIONS_ */
	uint32_t hold_bytes; /* HOLD: room for messages that wait for a receive; 0: none */
	uint32_t hold_ms;    /* HOLD: how long they wait */
	uint32_t flags;      /* FLAGS: set of MSG_QP_; 0 for an srq */
	uint32_t access; /* ACCESS: DDP_ACCESS_REMOTE_* that the peer has; at first it has all */
};

struct msg_options_state {
	struct msg_hdr hdr;
	uint32_t hold_bytes, hold_ms, flags;
	uint32_t held_bytes; /* in use now, by all queue pairs of an srq together */
	uint64_t held_msgs;  /* messages that waited so far */
	uint32_t access;     /* of a qp: DDP_ACCESS_REMOTE_*; since minor 14 */
	uint32_t pad;
};

/* As ddp_set_qp_rnr(). */
struct msg_qp_rnr {
	struct msg_hdr hdr;
	uint32_t handle;
	uint32_t retry;    /* at most 7 */
	uint32_t timer_ms; /* 1 or more */
	uint32_t pad;
};

#endif
