/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/limits.h"

#include <string.h>

#include "ipc/ring.h"
#include "util/minmax.h"

enum { HANDLES_MAX = 65535 };

#define VALUE(name)                                                                                \
	.key = "limits." #name, .member = offsetof(struct config_limits, name),                    \
	.size = sizeof(((struct config_limits *)0)->name)

/* clang-format off */
static const struct limits_row rows[ACCT_KINDS] = {
	[ACCT_CLIENTS] = {VALUE(clients), .what = "clients"},
	[ACCT_PDS] = {VALUE(pds), .table = HANDLES_MAX, .what = "protection domains"},
	[ACCT_MRS] = {VALUE(mrs), .table = HANDLES_MAX, .what = "memory regions"},
	[ACCT_MR_BYTES] = {VALUE(mr_bytes), .what = "bytes of registered memory"},
	[ACCT_MWS] = {VALUE(mws), .table = HANDLES_MAX, .what = "memory windows"},
	[ACCT_CQS] = {VALUE(cqs), .table = HANDLES_MAX, .what = "completion queues"},
	[ACCT_QPS] = {VALUE(qps), .table = BELL_QUEUES, .what = "queue pairs"},
	[ACCT_SRQS] = {VALUE(srqs), .table = HANDLES_MAX, .what = "shared receive queues"},
	[ACCT_LISTENERS] = {VALUE(listeners), .table = HANDLES_MAX, .what = "listeners"},
	[ACCT_ASSOCS] = {VALUE(associations), .what = "associations that it opened"},
	[ACCT_MEMORY] = {VALUE(memory), .what = "bytes of the daemon's memory"},
	[ACCT_HELD] = {VALUE(held), .what = "bytes of messages that wait"},
	[ACCT_SPARSE] = {VALUE(sparse_bytes), .what = "bytes of untouched memory that the daemon filled"},
	[ACCT_MAPS] = {.key = "vm.max_map_count", .what = "memory maps"},
	[ACCT_DESCRIPTORS] = {.key = "RLIMIT_NOFILE", .what = "descriptors of the daemon"},
	[ACCT_RESERVE] = {.key = "limits.clients", .what = "connections in reserve"},
	[ACCT_HANDSHAKES] = {.key = "security", .what = "handshakes of DTLS"},
	[ACCT_LINKS] = {.key = "security", .what = "links of DTLS"},
	[ACCT_ADMINS] = {.key = "RLIMIT_NOFILE", .what = "connections in reserve"},
};
/* clang-format on */

const struct limits_row *limits_row(enum acct_kind kind)
{
	return &rows[kind];
}

uint64_t limits_value(const struct config_limits *l, enum acct_kind kind)
{
	const char *at = (const char *)l + rows[kind].member;
	uint64_t wide = 0;
	uint32_t narrow = 0;

	if (rows[kind].size == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

uint64_t limits_of_client(const struct config_limits *l, enum acct_kind kind)
{
	uint64_t value = limits_value(l, kind);

	return rows[kind].table ? min_u64(value, rows[kind].table) : value;
}
