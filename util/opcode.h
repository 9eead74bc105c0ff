/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of work requests, in one table for all layers. Their numbers are those of
 * <ddp/ddp.h> (DDP_WR_*, DDP_WC_*), of the entries in the rings (WQE_* of ipc/wqe.h) and of the
 * protocol (RDMAP_* of proto/rdmap/rdmap.h). How an operation becomes messages is a table of
 * proto/rdmap/rdmap_work.c.
 */
#ifndef UTIL_OPCODE_H
#define UTIL_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPCODE_MAX_SGE = 16 };

/* Operands besides remote address and key. */
enum opcode_form {
	OPCODE_FORM_PLAIN,  /* none */
	OPCODE_FORM_IMM,    /* 8 bytes of Immediate Data */
	OPCODE_FORM_ATOMIC, /* data, mask, compare value and its mask; an element has 8 bytes */
	OPCODE_FORM_BIND,   /* region, rights, length */
};

enum {
	OPCODE_PAYLOAD = 1,     /* sends the bytes of its elements, which may be inline */
	OPCODE_RESPONSE = 2,    /* the peer sends a response: counts against ORD */
	OPCODE_LOCAL = 4,       /* not sent to the peer */
	OPCODE_RFC7306 = 8,     /* not on a session of plain RFC 5040 */
	OPCODE_RAW = 16,        /* raw queue pairs have it */
	OPCODE_COMPLETION = 32, /* completions only: it cannot be posted to a send queue */
	OPCODE_RECEIVE = 64,    /* consumes a receive of the peer */
	OPCODE_MAY_IMM = 128,   /* Immediate Data may go with it, which then consume one */
};

/* X(name, form, min_sge, max_sge, traits, text) */
#define OPCODE_TABLE(X)                                                                            \
	X(SEND, PLAIN, 0, OPCODE_MAX_SGE,                                                          \
	  OPCODE_PAYLOAD | OPCODE_RECEIVE | OPCODE_RAW | OPCODE_MAY_IMM, "Send")                   \
	X(SEND_INV, PLAIN, 0, OPCODE_MAX_SGE, OPCODE_PAYLOAD | OPCODE_RECEIVE,                     \
	  "Send with Invalidate")                                                                  \
	X(WRITE, PLAIN, 0, OPCODE_MAX_SGE, OPCODE_PAYLOAD | OPCODE_RAW | OPCODE_MAY_IMM,           \
	  "RDMA Write")                                                                            \
	X(READ, PLAIN, 0, OPCODE_MAX_SGE, OPCODE_RESPONSE, "RDMA Read")                            \
	X(IMM, IMM, 0, 0, OPCODE_RECEIVE | OPCODE_RFC7306, "Immediate Data")                       \
	X(FETCH_ADD, ATOMIC, 0, 1, OPCODE_RESPONSE | OPCODE_RFC7306, "FetchAdd")                   \
	X(CMP_SWAP, ATOMIC, 0, 1, OPCODE_RESPONSE | OPCODE_RFC7306, "CmpSwap")                     \
	X(BIND, BIND, 0, 0, OPCODE_LOCAL, "bind")                                                  \
	X(LOCAL_INV, PLAIN, 0, 0, OPCODE_LOCAL, "invalidation")                                    \
	X(RECV, PLAIN, 0, OPCODE_MAX_SGE, OPCODE_COMPLETION, "receive")                            \
	X(RECV_TAGGED, PLAIN, 0, OPCODE_MAX_SGE, OPCODE_COMPLETION, "tagged notice")               \
	X(WRITE_NOTICE, PLAIN, 0, 0, OPCODE_COMPLETION, "notice of Writes")

enum {
#define X(name, form, min_sge, max_sge, traits, text) OPCODE_NUMBER_##name,
	OPCODE_TABLE(X)
#undef X
		OPCODE_COUNT
};

struct opcode {
	const char *text; /* for messages */
	uint8_t form;     /* enum opcode_form */
	uint8_t min_sge, max_sge;
	uint8_t traits; /* set of OPCODE_PAYLOAD ... */
};

extern const struct opcode opcode_table[OPCODE_COUNT];

/* The row of an operation, or NULL for an unknown number. */
static inline const struct opcode *opcode_get(unsigned number)
{
	return number < OPCODE_COUNT ? &opcode_table[number] : NULL;
}

/* Whether the operation is known and has one of these traits. */
static inline bool opcode_has(unsigned number, unsigned traits)
{
	return number < OPCODE_COUNT && (opcode_table[number].traits & traits) != 0;
}

/* Whether the operation can be posted to a send queue. */
static inline bool opcode_is_send(unsigned number)
{
	return number < OPCODE_COUNT && !opcode_has(number, OPCODE_COMPLETION);
}

#endif
