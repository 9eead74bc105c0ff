/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/msg.h"

#include "ipc/ctl.h"

#define NFDS_BARE 0
#define NFDS_HANDLE 0
#define NFDS_RECORD(type) 0
#define NFDS_RECORD_FD(type) 1
#define LEN_EMPTY sizeof(struct msg_hdr)
#define LEN_RECORD(type) sizeof(struct type)
#define LEN_SURE_EMPTY sizeof(struct msg_hdr)
#define LEN_SURE_RECORD(type) sizeof(struct type)
#define LEN_STREAM 0
#define OLDER_SAME 0, 0
#define OLDER_SHORT(type, member, minor) IPC_MINOR_##minor, offsetof(struct type, member)

static const struct msg_shape shapes[MSG_OP_COUNT] = {
#define X(op, name, object, request, reply, fds, minor, older)                                     \
	[MSG_##op] = {#op,                                                                         \
		      sizeof(MSG_REQUEST_##request),                                               \
		      NFDS_##request,                                                              \
		      LEN_##reply,                                                                 \
		      fds,                                                                         \
		      IPC_MINOR_##minor,                                                           \
		      OLDER_##older},
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
