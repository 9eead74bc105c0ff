/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/msg.h"

#include "ipc/ctl.h"

#define REQUEST_BARE sizeof(struct msg_hdr), 0
#define REQUEST_HANDLE sizeof(struct msg_handle), 0
#define REQUEST_RECORD(type) sizeof(struct type), 0
#define REQUEST_RECORD_FD(type) sizeof(struct type), 1
#define REPLY_EMPTY sizeof(struct msg_hdr)
#define REPLY_SURE_EMPTY sizeof(struct msg_hdr)
#define REPLY_RECORD(type) sizeof(struct type)
#define REPLY_SURE_RECORD(type) sizeof(struct type)
#define REPLY_STREAM 0
#define OLDER_SAME 0, 0
#define OLDER_SHORT(type, member, minor) IPC_MINOR_##minor, offsetof(struct type, member)

static const struct msg_shape shapes[MSG_OP_COUNT] = {
#define X(op, name, object, request, reply, fds, since, older)                                     \
	[MSG_##op] = {#op, REQUEST_##request, REPLY_##reply, fds, IPC_MINOR_##since, OLDER_##older},
	MSG_OPS(X)
#undef X
};

const struct msg_shape *msg_shape(uint32_t op)
{
	return op > MSG_NO_OP && op < MSG_OP_COUNT ? &shapes[op] : NULL;
}

size_t msg_reply_len(const struct msg_shape *s, uint16_t minor)
{
	return minor < s->grew ? s->short_len : s->reply_len;
}

const char *msg_op_str(uint32_t op)
{
	const struct msg_shape *s = msg_shape(op);

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
		return s ? s->name : "?";
	}
}
