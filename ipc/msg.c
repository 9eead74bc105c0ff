/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/msg.h"

#include <stddef.h>

static const char *const names[MSG_OP_COUNT] = {
#define X(name) [MSG_##name] = #name,
	MSG_OPS(X)
#undef X
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
