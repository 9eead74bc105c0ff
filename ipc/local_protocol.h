/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The local protocol between client programs and the daemon: its version, and its operations, a
 * row each. From a row come the opcode (msg.h), the sizes that client and daemon check (msg.c), the
 * prototype of the daemon's handler and its place in the dispatch (daemon/service/serve.h), the
 * call of the library (client-lib/context/request.h), and the table in docs/local-protocol.md
 * (scripts/local-protocol).
 */
#ifndef IPC_LOCAL_PROTOCOL_H
#define IPC_LOCAL_PROTOCOL_H

/*
 * The version covers the records of msg.h and the layouts of ring.h and wqe.h. Client and daemon
 * must have the same major number. A larger minor number only adds operations, and members at the
 * end of replies, which the daemon sends only to clients that know them. The records of ctl.h have
 * a version of their own there.
 */
enum {
	IPC_VERSION_MAJOR = 3,
	IPC_VERSION_MINOR = 23,

	/* Each minor number added: */
	IPC_MINOR_FIRST = 0,
	IPC_MINOR_OFFSETS = 1, /* rings anywhere in their memfd (msg_cq.offset) */
	IPC_MINOR_KEYS = 2,    /* service keys; queries of requests and addresses */
	IPC_MINOR_OPTIONS = 3, /* options of queue pairs, resizing of completion queues */
	IPC_MINOR_OWN_MEMORY = 4,
	IPC_MINOR_ASYNC = 5, /* asynchronous events */
	IPC_MINOR_AGENT = 6, /* memory that an agent copies: RUNG_AGENT */
	IPC_MINOR_NOTIFY = 7,
	IPC_MINOR_CTL_DO = 8,
	IPC_MINOR_CTL_SET = 9,
	IPC_MINOR_FETCH = 10, /* wqe_send.fetch */
	IPC_MINOR_CPU = 11,   /* CPU time of the daemon */
	IPC_MINOR_CTL_CAPTURE = 12,
	IPC_MINOR_CTL_USER = 13,   /* CTL_USER and CTL_TURN */
	IPC_MINOR_READ_PARTS = 14, /* WQE_READ without an element, or with several */
	IPC_MINOR_ACCESS = 14,     /* MSG_OPTIONS_ACCESS, MSG_QP_CREDITS, MSG_QP_STRICT_RECVS */
	IPC_MINOR_DONE = 15,       /* ring_shared.done, wqe_cqe.index */
	IPC_MINOR_RNR = 16,        /* MSG_SET_QP_RNR, MSG_QP_RNR */
	IPC_MINOR_DATAGRAM = 17,   /* MSG_QP_DATAGRAM and its operations */
	IPC_MINOR_NUMBER = 18,     /* MSG_TAKE_QP_NUMBER */
	IPC_MINOR_SCOPE = 19,      /* msg_create_qp.scope_of */
	IPC_MINOR_PEER = 20,       /* who a peer is; msg_listen.flags */
	IPC_MINOR_STRICT_SENDS = 21,
	IPC_MINOR_WITH_IMM = 22,  /* WQE_WITH_IMM of sessions */
	IPC_MINOR_ALL_ADDRS = 23, /* msg_addrs.more; wqe_cqe.inv_rkey of Immediate Data */
};

#define IPC_DEFAULT_SOCKET "/run/ddpsctpd/ddp.sock"
#define IPC_SOCKET_ENV "DDP_SOCKET"

/*
 * The operations, in the order of their opcodes, which begin with 1. The columns:
 *
 * op        of MSG_op
 * name      of the handler serve_name() and of the library's request_name()
 * object    that the handle at the beginning of the request names: the daemon finds it among the
 *           client's objects, and ends a client that names an unknown one. `client`: none
 * request   BARE: only the header; HANDLE: the object's handle; RECORD(struct); RECORD_FD(struct)
 *           comes with a descriptor
 * reply     EMPTY: only the header; RECORD(struct); either may be an error instead. SURE_EMPTY and
 *           SURE_RECORD(struct) never are, once the object is found. STREAM: records of their own
 * fds       descriptors of the reply
 * since     IPC_MINOR_since: daemons that know the operation
 * older     SHORT(struct, member, minor): clients before IPC_MINOR_minor get the reply without the
 *           member and those after it. SAME: all clients get the same
 *
 * A comment above a row names its descriptors and its peculiarities.
 */
/* clang-format off */
#define MSG_OPS(X) \
	/* reply: event socket, bell page, bell of the daemon */ \
	X(HELLO,         hello,         client,   RECORD(msg_hello),         RECORD(msg_hello_reply),    3, FIRST,       SAME) \
	X(QUERY,         query,         client,   BARE,                      SURE_RECORD(msg_caps),      0, FIRST,       SHORT(msg_caps, cpu_user_us, CPU)) \
	X(ALLOC_PD,      alloc_pd,      client,   BARE,                      RECORD(msg_handle),         0, FIRST,       SAME) \
	X(DEALLOC_PD,    dealloc_pd,    pd,       HANDLE,                    EMPTY,                      0, FIRST,       SAME) \
	/* request: memfd */ \
	X(REG_MR,        reg_mr,        client,   RECORD_FD(msg_reg_mr),     RECORD(msg_mr),             0, FIRST,       SAME) \
	/* new STag */ \
	X(BIND_MR,       bind_mr,       mr,       RECORD(msg_bind_mr),       RECORD(msg_mr),             0, FIRST,       SAME) \
	/* after the reply, no access to the memory is possible */ \
	X(DEREG_MR,      dereg_mr,      mr,       HANDLE,                    EMPTY,                      0, FIRST,       SAME) \
	/* reply: ring, waiting end of its bell (doorbell.h) */ \
	X(CREATE_CQ,     create_cq,     client,   RECORD(msg_create_cq),     RECORD(msg_cq),             2, FIRST,       SHORT(msg_cq, offset, OFFSETS)) \
	X(DESTROY_CQ,    destroy_cq,    cq,       HANDLE,                    EMPTY,                      0, FIRST,       SAME) \
	/* reply: rings */ \
	X(CREATE_QP,     create_qp,     client,   RECORD(msg_create_qp),     RECORD(msg_qp),             1, FIRST,       SHORT(msg_qp, offset, OFFSETS)) \
	X(DESTROY_QP,    destroy_qp,    qp,       HANDLE,                    SURE_EMPTY,                 0, FIRST,       SAME) \
	X(QUERY_QP,      query_qp,      qp,       HANDLE,                    SURE_RECORD(msg_qp_state),  0, FIRST,       SHORT(msg_qp_state, qkey, DATAGRAM)) \
	X(LISTEN,        listen,        client,   RECORD(msg_listen),        RECORD(msg_listener),       0, FIRST,       SAME) \
	X(UNLISTEN,      unlisten,      listener, HANDLE,                    SURE_EMPTY,                 0, FIRST,       SAME) \
	/* EV_ESTABLISHED, EV_FAILED or EV_REJECTED follows */ \
	X(CONNECT,       connect,       qp,       RECORD(msg_connect),       EMPTY,                      0, FIRST,       SAME) \
	/* EV_ESTABLISHED follows */ \
	X(ACCEPT,        accept,        client,   RECORD(msg_accept),        EMPTY,                      0, FIRST,       SAME) \
	X(REJECT,        reject,        client,   RECORD(msg_reject),        EMPTY,                      0, FIRST,       SAME) \
	/* EV_DISCONNECTED follows */ \
	X(DISCONNECT,    disconnect,    qp,       HANDLE,                    SURE_EMPTY,                 0, FIRST,       SAME) \
	/* reply: a ctl_record each, then MSG_CTL_END */ \
	X(CTL_SHOW,      ctl_show,      client,   RECORD(ctl_show),          STREAM,                     0, FIRST,       SAME) \
	X(QUERY_PD,      query_pd,      pd,       HANDLE,                    SURE_RECORD(msg_pd_state),  0, FIRST,       SAME) \
	X(QUERY_MR,      query_mr,      mr,       HANDLE,                    SURE_RECORD(msg_mr_state),  0, FIRST,       SAME) \
	X(QUERY_CQ,      query_cq,      cq,       HANDLE,                    SURE_RECORD(msg_cq_state),  0, FIRST,       SAME) \
	/* without new memory; new STag, unless SAME_KEY */ \
	X(REREG_MR,      rereg_mr,      mr,       RECORD(msg_rereg_mr),      RECORD(msg_mr),             0, FIRST,       SAME) \
	/* request: memfd, the new memory; new STag */ \
	X(REMAP_MR,      remap_mr,      mr,       RECORD_FD(msg_rereg_mr),   RECORD(msg_mr),             0, FIRST,       SAME) \
	/* handle and STag of the window, which is not bound */ \
	X(ALLOC_MW,      alloc_mw,      client,   RECORD(msg_alloc_mw),      RECORD(msg_mr),             0, FIRST,       SAME) \
	/* a type 1 window; new STag */ \
	X(BIND_MW,       bind_mw,       mw,       RECORD(msg_bind_mw),       RECORD(msg_mr),             0, FIRST,       SAME) \
	X(QUERY_MW,      query_mw,      mw,       HANDLE,                    SURE_RECORD(msg_mw_state),  0, FIRST,       SAME) \
	/* after the reply, no access through the window is possible */ \
	X(DEALLOC_MW,    dealloc_mw,    mw,       HANDLE,                    SURE_EMPTY,                 0, FIRST,       SAME) \
	/* reply: ring */ \
	X(CREATE_SRQ,    create_srq,    client,   RECORD(msg_create_srq),    RECORD(msg_srq),            1, FIRST,       SHORT(msg_srq, offset, OFFSETS)) \
	X(MODIFY_SRQ,    modify_srq,    srq,      RECORD(msg_modify_srq),    EMPTY,                      0, FIRST,       SAME) \
	X(QUERY_SRQ,     query_srq,     srq,      HANDLE,                    SURE_RECORD(msg_srq_state), 0, FIRST,       SAME) \
	X(DESTROY_SRQ,   destroy_srq,   srq,      HANDLE,                    EMPTY,                      0, FIRST,       SAME) \
	X(QUERY_PATHS,   query_paths,   qp,       HANDLE,                    RECORD(msg_paths),          0, FIRST,       SAME) \
	X(SET_PRIMARY,   set_primary,   client,   RECORD(msg_set_primary),   EMPTY,                      0, FIRST,       SAME) \
	X(LISTEN_KEY,    listen_key,    client,   RECORD(msg_listen_key),    RECORD(msg_listener),       0, KEYS,        SAME) \
	/* the handle is that of a session request, which may be gone */ \
	X(QUERY_REQUEST, query_request, client,   RECORD(msg_handle),        RECORD(msg_request_state),  0, KEYS,        SHORT(msg_request_state, peer, PEER)) \
	X(QUERY_ADDRS,   query_addrs,   client,   BARE,                      SURE_RECORD(msg_addrs),     0, KEYS,        SHORT(msg_addrs, num_more, ALL_ADDRS)) \
	/* a query if `what` is 0 */ \
	X(QP_OPTIONS,    qp_options,    qp,       RECORD(msg_options),       RECORD(msg_options_state),  0, OPTIONS,     SHORT(msg_options_state, access, ACCESS)) \
	/* those of queue pairs made later */ \
	X(SRQ_OPTIONS,   srq_options,   srq,      RECORD(msg_options),       RECORD(msg_options_state),  0, OPTIONS,     SHORT(msg_options_state, access, ACCESS)) \
	/* reply: the new ring, with the old entries; until then the client reads neither ring */ \
	X(RESIZE_CQ,     resize_cq,     cq,       RECORD(msg_resize_cq),     RECORD(msg_cq),             1, OPTIONS,     SAME) \
	/* request: memfd */ \
	X(REG_OWN_MR,    reg_own_mr,    client,   RECORD_FD(msg_reg_own_mr), RECORD(msg_mr),             0, OWN_MEMORY,  SAME) \
	/* reply: waiting end of the bell; once */ \
	X(ASYNC_OPEN,    async_open,    client,   BARE,                      EMPTY,                      1, ASYNC,       SAME) \
	/* the oldest event */ \
	X(ASYNC_TAKE,    async_take,    client,   BARE,                      SURE_RECORD(msg_async),     0, ASYNC,       SAME) \
	/* reply: area, waiting end of its bell */ \
	X(OPEN_AGENT,    open_agent,    client,   BARE,                      RECORD(msg_agent),          2, AGENT,       SAME) \
	/* no notices if `cq` is 0 */ \
	X(NOTIFY_MR,     notify_mr,     mr,       RECORD(msg_notify_mr),     EMPTY,                      0, NOTIFY,      SAME) \
	/* after CTL_WATCH a ctl_record for each event follows */ \
	X(CTL_DO,        ctl_do,        client,   RECORD(ctl_do),            EMPTY,                      0, CTL_DO,      SAME) \
	/* a key of the configuration and its value */ \
	X(CTL_SET,       ctl_set,       client,   RECORD(ctl_set),           EMPTY,                      0, CTL_SET,     SAME) \
	/* reply: ring of packet_ring.h; until the connection ends */ \
	X(CTL_CAPTURE,   ctl_capture,   client,   RECORD(ctl_capture),       RECORD(msg_capture),        1, CTL_CAPTURE, SAME) \
	X(SET_QP_RNR,    set_qp_rnr,    qp,       RECORD(msg_qp_rnr),        EMPTY,                      0, RNR,         SAME) \
	X(CREATE_AH,     create_ah,     client,   RECORD(msg_create_ah),     RECORD(msg_handle),         0, DATAGRAM,    SAME) \
	X(DESTROY_AH,    destroy_ah,    ah,       HANDLE,                    SURE_EMPTY,                 0, DATAGRAM,    SAME) \
	X(SET_QP_QKEY,   set_qp_qkey,   qp,       RECORD(msg_qp_qkey),       EMPTY,                      0, DATAGRAM,    SAME) \
	X(TAKE_QP_NUMBER, take_qp_number, qp,     RECORD(msg_qp_number),     EMPTY,                      0, NUMBER,      SAME) \
	X(QUERY_PEER,    query_peer,    qp,       HANDLE,                    SURE_RECORD(msg_peer),      0, PEER,        SAME)
/* clang-format on */

#endif
