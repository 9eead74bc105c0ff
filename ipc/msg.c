/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/msg.h"

#include <stddef.h>

static const char *const names[MSG_OP_COUNT] = {
	[MSG_HELLO] = "HELLO",
	[MSG_QUERY] = "QUERY",
	[MSG_ALLOC_PD] = "ALLOC_PD",
	[MSG_DEALLOC_PD] = "DEALLOC_PD",
	[MSG_REG_MR] = "REG_MR",
	[MSG_BIND_MR] = "BIND_MR",
	[MSG_DEREG_MR] = "DEREG_MR",
	[MSG_CREATE_CQ] = "CREATE_CQ",
	[MSG_DESTROY_CQ] = "DESTROY_CQ",
	[MSG_CREATE_QP] = "CREATE_QP",
	[MSG_DESTROY_QP] = "DESTROY_QP",
	[MSG_QUERY_QP] = "QUERY_QP",
	[MSG_LISTEN] = "LISTEN",
	[MSG_UNLISTEN] = "UNLISTEN",
	[MSG_CONNECT] = "CONNECT",
	[MSG_ACCEPT] = "ACCEPT",
	[MSG_REJECT] = "REJECT",
	[MSG_DISCONNECT] = "DISCONNECT",
	[MSG_CTL_SHOW] = "CTL_SHOW",
	[MSG_QUERY_PD] = "QUERY_PD",
	[MSG_QUERY_MR] = "QUERY_MR",
	[MSG_QUERY_CQ] = "QUERY_CQ",
	[MSG_REREG_MR] = "REREG_MR",
	[MSG_REMAP_MR] = "REMAP_MR",
	[MSG_ALLOC_MW] = "ALLOC_MW",
	[MSG_BIND_MW] = "BIND_MW",
	[MSG_QUERY_MW] = "QUERY_MW",
	[MSG_DEALLOC_MW] = "DEALLOC_MW",
	[MSG_CREATE_SRQ] = "CREATE_SRQ",
	[MSG_MODIFY_SRQ] = "MODIFY_SRQ",
	[MSG_QUERY_SRQ] = "QUERY_SRQ",
	[MSG_DESTROY_SRQ] = "DESTROY_SRQ",
	[MSG_QUERY_PATHS] = "QUERY_PATHS",
	[MSG_SET_PRIMARY] = "SET_PRIMARY",
};

const char *msg_op_str(uint32_t op)
{
	switch (op) {
	case MSG_ERROR:
		return "ERROR";
	case MSG_EVENT:
		return "EVENT";
	case MSG_CTL_RECORD:
		return "CTL_RECORD";
	case MSG_CTL_END:
		return "CTL_END";
	default:
		return op < MSG_OP_COUNT && names[op] ? names[op] : "?";
	}
}
