/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of the rings, as they lie in shared memory. Host byte order; the layout is
 * part of the local protocol (version.h) and held by tests/abi.
 */
#ifndef IPC_WQE_H
#define IPC_WQE_H

#include <stdint.h>

#include "util/opcode.h"
#include "util/wc_status.h"

enum {
	WQE_MAX_SGE = 16,
	WQE_MAX_INLINE = 256,
	WQE_ALIGN = 64, /* entry sizes are multiples of it */
};

enum {
	WQE_DATAGRAM_MAX = 4096, /* bytes of payload of a datagram */
	WQE_GRH = 40, /* bytes before them in a receive: an IPv6 header with both addresses */
	WQE_NUMBERS = 1 << 24, /* numbers of datagram queue pairs are below it, and not 0 */
};

#define WQE_QKEY_OWN UINT32_C(0x80000000) /* a Q_Key with it stands for that of the sender */

#define WQE_QN_TAGGED UINT32_MAX /* a receive for notices of tagged messages */

struct wqe_sge {
	uint64_t addr; /* tagged offset inside the region lkey */
	uint32_t len;
	uint32_t lkey;
};

/* Opcodes of send requests, WQE_SEND ..., and of completions, which also have WQE_RECV and
 * WQE_RECV_TAGGED. They are the numbers of util/opcode.h. Atomics always have masks here. */
enum wqe_opcode {
#define X(name, form, min_sge, max_sge, traits, text) WQE_##name,
	OPCODE_TABLE(X)
#undef X
		WQE_OPCODE_COUNT
};

/* Flags of send requests. */
enum {
	WQE_SIGNALED = 1,  /* report success too; failure is always reported */
	WQE_FENCE = 2,     /* begin only after all earlier Reads and atomics have completed */
	WQE_SOLICITED = 4, /* Sends and Immediate Data: Solicited Event */
	WQE_INLINE = 8,    /* the payload is in data */
	WQE_PLACED =
		16,     /* Sends, Writes, Immediate Data: complete when the peer has delivered it */
	WQE_PACED = 32, /* the same, or at the peer's orderly end */
	WQE_WITH_IMM = 64, /* imm goes with it: datagrams; since minor 22 Sends and Writes of
			      sessions */
};

/* Statuses of completions, CQE_SUCCESS ...: those of util/wc_status.h. */
enum cqe_status {
#define X(name, kind, text, subject, predicate) CQE_##name,
	WC_STATUS_TABLE(X)
#undef X
		CQE_STATUS_COUNT
};

/* Flags of completions of receives. */
enum {
	CQE_WITH_INV = 1,  /* inv_rkey was invalidated by the Send */
	CQE_SOLICITED = 2, /* the message has the Solicited Event bit */
	CQE_WITH_IMM = 4,  /* Immediate Data, in imm */
};

struct wqe_send {
	uint64_t wr_id;
	uint8_t opcode; /* enum wqe_opcode */
	uint8_t flags;  /* set of WQE_SIGNALED ... */
	uint8_t num_sge;
	uint8_t fetch; /* 1: an agent copies memory of the elements when the request is sent */
	uint32_t inline_len;  /* with the inline flag: bytes in data */
	uint64_t remote_addr; /* datagrams: the Q_Key */
	uint32_t rkey;        /* Bind: the window's new value; datagrams: number of the receiver */
	uint32_t inv_rkey;    /* Send with Invalidate, local invalidation; datagrams: handle of the
				 address */
	union {
		uint64_t imm; /* Immediate Data */
		struct {
			uint64_t data, mask, compare, compare_mask; /* RFC 7306 5.1 */
		} atomic;
		struct {
			uint32_t region; /* STag */
			uint32_t access; /* DDP_ACCESS_REMOTE_* */
			uint64_t length; /* from remote_addr on */
		} bind;
		struct {
			uint64_t rsvd; /* RsvdULP: 40 bits of a Send, 8 bits of a Write */
			uint32_t qn;
		} raw;
		uint64_t operand[4];
	};
	union {
		struct wqe_sge sge[WQE_MAX_SGE];
		uint8_t data[WQE_MAX_INLINE];
	};
};

struct wqe_recv {
	uint64_t wr_id;
	uint8_t num_sge;
	uint8_t pad[3];
	uint32_t qn; /* raw queue pairs: the queue, or WQE_QN_TAGGED; else 0 */
	struct wqe_sge sge[WQE_MAX_SGE];
};

enum { WQE_SEND_HEAD = 64, WQE_RECV_HEAD = 16 };

/* Bytes of one entry with room for so much; a multiple of WQE_ALIGN. */
static inline uint32_t wqe_send_size(uint32_t max_sge, uint32_t max_inline)
{
	uint32_t sge = max_sge * (uint32_t)sizeof(struct wqe_sge);
	uint32_t tail = sge > max_inline ? sge : max_inline;

	return (WQE_SEND_HEAD + tail + WQE_ALIGN - 1) & ~(uint32_t)(WQE_ALIGN - 1);
}

static inline uint32_t wqe_recv_size(uint32_t max_sge)
{
	uint32_t n = WQE_RECV_HEAD + max_sge * (uint32_t)sizeof(struct wqe_sge);

	return (n + WQE_ALIGN - 1) & ~(uint32_t)(WQE_ALIGN - 1);
}

/* A completion: 64 bytes. The members err_ say where a failed request went wrong. */
struct wqe_cqe {
	uint64_t wr_id;
	uint32_t qp_num;
	uint8_t status; /* enum cqe_status */
	uint8_t opcode; /* enum wqe_opcode */
	uint8_t flags;  /* set of CQE_WITH_INV ... */
	uint8_t pad;
	uint64_t imm; /* Immediate Data; atomics: the old value; raw: RsvdULP */
	uint32_t byte_len;
	uint32_t inv_rkey; /* raw, notice of a tagged message: its STag; receive of a datagram:
			      number of the sender; Immediate Data: bytes of the Write before */
	uint16_t err_perr; /* row of the error table, 0 if none */
	uint16_t err_term; /* layer, error type, code */
	uint32_t err_stag;
	uint64_t err_to;
	uint32_t err_len;
	uint32_t qn;    /* raw */
	uint32_t index; /* of the entry after it in its queue; not of shared queues and raw receives
			 */
	uint32_t pad2;
};

_Static_assert((int)WQE_MAX_SGE == OPCODE_MAX_SGE, "the table knows the limit");
_Static_assert(sizeof(struct wqe_sge) == 16, "shared layout");
_Static_assert(sizeof(struct wqe_send) == WQE_SEND_HEAD + WQE_MAX_INLINE, "shared layout");
_Static_assert(sizeof(struct wqe_recv) == WQE_RECV_HEAD + WQE_MAX_SGE * 16, "shared layout");
_Static_assert(sizeof(struct wqe_cqe) == 64, "shared layout");

#endif
