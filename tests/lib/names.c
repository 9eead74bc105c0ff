/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/names.h"

#include "proto/ddp/perr.h"
#include "proto/rdmap/rdmap.h"
#include "proto/ddp/wire.h"
#include "util/opcode.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_of(const char *const *names, unsigned count, unsigned number)
{
	return number < count && names[number] ? names[number] : "?";
}

const char *names_op(unsigned op)
{
	const struct opcode *row = opcode_get(op);

	return row ? row->text : "?";
}

const char *names_status(unsigned status)
{
	static const char *const name[RDMAP_STATUS_COUNT] = {
#define X(name, kind, text, subject, predicate) [RDMAP_##name] = text,
		WC_STATUS_TABLE(X)
#undef X
	};

	return name_of(name, RDMAP_STATUS_COUNT, status);
}

const char *names_perr(unsigned perr)
{
	static const char *const name[PERR_COUNT] = {
#define X(name, layer, etype, code, text) [PERR_##name] = #name,
		PERR_TABLE(X)
#undef X
	};

	return name_of(name, PERR_COUNT, perr);
}

const char *names_func(unsigned func)
{
	static const char *const name[] = {
		[WIRE_INITIATE] = "Initiate",
		[WIRE_ACCEPT] = "Accept",
		[WIRE_REJECT] = "Reject",
		[WIRE_TERMINATE] = "Terminate",
		[WIRE_ENH_INITIATE] = "Enhanced Initiate",
		[WIRE_ENH_ACCEPT] = "Enhanced Accept",
		[WIRE_ENH_REJECT] = "Enhanced Reject",
	};

	return name_of(name, COUNT(name), func);
}

const char *names_opcode(unsigned opcode)
{
	static const char *const name[] = {
		[WIRE_OP_WRITE] = "RDMA Write",
		[WIRE_OP_READ_REQ] = "RDMA Read Request",
		[WIRE_OP_READ_RESP] = "RDMA Read Response",
		[WIRE_OP_SEND] = "Send",
		[WIRE_OP_SEND_INV] = "Send with Invalidate",
		[WIRE_OP_SEND_SE] = "Send with Solicited Event",
		[WIRE_OP_SEND_SE_INV] = "Send with Solicited Event and Invalidate",
		[WIRE_OP_TERMINATE] = "Terminate",
		[WIRE_OP_IMM] = "Immediate Data",
		[WIRE_OP_IMM_SE] = "Immediate Data with Solicited Event",
		[WIRE_OP_ATOMIC_REQ] = "Atomic Request",
		[WIRE_OP_ATOMIC_RESP] = "Atomic Response",
	};

	return name_of(name, COUNT(name), opcode);
}
