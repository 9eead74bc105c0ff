/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Version of the local protocol: the records of msg.h and the layouts of ring.h and wqe.h. Client
 * and daemon must have the same major number; a larger minor number only adds record
 * types, and members at the end of replies, which the daemon sends only to clients that know them.
 * The records of ctl.h have a version of their own there.
 */
#ifndef IPC_VERSION_H
#define IPC_VERSION_H

enum {
	IPC_VERSION_MAJOR = 3,
	IPC_VERSION_MINOR = 14,

	/* Minor number from which on rings may lie anywhere in their memfd (msg_cq.offset). */
	IPC_MINOR_OFFSETS = 1,
	/* From which on there are MSG_LISTEN_KEY and the two requests after it. */
	IPC_MINOR_KEYS = 2,
	/* From which on there are MSG_QP_OPTIONS and the requests after it. */
	IPC_MINOR_OPTIONS = 3,
	/* From which on there is MSG_REG_OWN_MR. */
	IPC_MINOR_OWN_MEMORY = 4,
	/* From which on there are MSG_ASYNC_OPEN and the requests after it. */
	IPC_MINOR_ASYNC = 5,
	/* From which on there are MSG_OPEN_AGENT and RUNG_AGENT. */
	IPC_MINOR_AGENT = 6,
	/* From which on there is MSG_NOTIFY_MR. */
	IPC_MINOR_NOTIFY = 7,
	/* From which on there is MSG_CTL_DO. */
	IPC_MINOR_CTL_DO = 8,
	/* From which on there is MSG_CTL_SET. */
	IPC_MINOR_CTL_SET = 9,
	/* From which on there is wqe_send.fetch. */
	IPC_MINOR_FETCH = 10,
	/* From which on the reply to MSG_QUERY has the CPU time of the daemon. */
	IPC_MINOR_CPU = 11,
	/* From which on there is MSG_CTL_CAPTURE. */
	IPC_MINOR_CTL_CAPTURE = 12,
	/* From which on there are CTL_USER and CTL_TURN. */
	IPC_MINOR_CTL_USER = 13,
	/* From which on WQE_READ may have no element, or several. */
	IPC_MINOR_READ_PARTS = 14,
	/* From which on there is MSG_OPTIONS_ACCESS. */
	IPC_MINOR_ACCESS = 14,
};

#define IPC_DEFAULT_SOCKET "/run/ddpsctpd/ddp.sock"
#define IPC_SOCKET_ENV "DDP_SOCKET"

#endif
