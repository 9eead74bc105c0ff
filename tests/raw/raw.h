/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCTP user messages of RFC 5043, 5041, 5040, 7306 and 6581, built byte by byte from the figures of
 * those RFCs, and parsed again. It shares no code with proto/, so that a mistake there is not
 * repeated here. It can build anything: wrong lengths, wrong numbers, reserved bits.
 */
#ifndef TESTS_RAW_RAW_H
#define TESTS_RAW_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RAW_MAX = 2048, /* the daemons under test are configured with an MTU of 1500 */
	RAW_HOP = 2,    /* bytes of the DDP-SSN; DDP offsets count from its end */
	RAW_TAGGED = 14,
	RAW_UNTAGGED = 18,
	RAW_READ = 28,
	RAW_ATOMIC = 52,
};

/* Payload protocol identifiers. */
enum { RAW_SEGMENT = 16, RAW_CONTROL = 17 };

/* Function codes of control messages. */
enum {
	RAW_INITIATE = 1,
	RAW_ACCEPT,
	RAW_REJECT,
	RAW_END, /* Session Terminate */
	RAW_E_INITIATE,
	RAW_E_ACCEPT,
	RAW_E_REJECT,
};

/* DDP control octets with DV 1. */
enum { RAW_U = 0x01, RAW_UL = 0x41, RAW_T = 0x81, RAW_TL = 0xc1 };

/* RDMAP control octets with RV 1. */
enum {
	RAW_WRITE = 0x40,
	RAW_READ_REQ,
	RAW_READ_RSP,
	RAW_SEND,
	RAW_SEND_INV,
	RAW_SEND_SE,
	RAW_SEND_SE_INV,
	RAW_TERM,
	RAW_IMM,
	RAW_IMM_SE,
	RAW_ATOMIC_REQ,
	RAW_ATOMIC_RSP,
};

/* A user message. The first two bytes are the DDP-SSN, which the link fills in. */
struct raw_msg {
	uint32_t ppid;
	uint32_t len;
	uint8_t b[RAW_MAX];
};

/* Appends to a message. */
void raw_put8(struct raw_msg *m, uint8_t v);
void raw_put16(struct raw_msg *m, uint16_t v);
void raw_put32(struct raw_msg *m, uint32_t v);
void raw_put64(struct raw_msg *m, uint64_t v);
void raw_put(struct raw_msg *m, const void *p, size_t n);

/* Bytes of any kind, DDP-SSN not among them. */
struct raw_msg raw_any(uint32_t ppid, const void *p, size_t n);

/* A control message with private data. */
struct raw_msg raw_control(uint16_t code, const void *priv, size_t n);

/* One with the parameters of RFC 6581 9: A, B and IRD in the first, C, D and ORD in the second. */
enum { RAW_A = 0x8000, RAW_B = 0x4000, RAW_C = 0x8000, RAW_D = 0x4000, RAW_KEEP = 0x3fff };
struct raw_msg raw_enhanced(uint16_t code, uint16_t first, uint16_t second, const void *priv,
			    size_t n);

struct raw_msg raw_tagged(uint8_t ddp, uint8_t rdmap, uint32_t stag, uint64_t to, const void *p,
			  size_t n);

/* The numbers of an untagged header. */
struct raw_queue {
	uint32_t inv; /* octets 2 to 5 of RsvdULP */
	uint32_t qn, msn, mo;
};
struct raw_msg raw_untagged(uint8_t ddp, uint8_t rdmap, struct raw_queue q, const void *p,
			    size_t n);

/* The usual messages, in one segment each. */
struct raw_msg raw_write(uint32_t stag, uint64_t to, const void *p, size_t n);
struct raw_msg raw_response(uint32_t stag, uint64_t to, const void *p, size_t n);
struct raw_msg raw_send(uint32_t msn, const void *p, size_t n);
struct raw_msg raw_send_inv(uint32_t msn, uint32_t stag, const void *p, size_t n);
struct raw_msg raw_imm(uint8_t rdmap, uint32_t msn, uint64_t data);

struct raw_read {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t size;
	uint32_t src_stag;
	uint64_t src_to;
};
struct raw_msg raw_read(uint32_t msn, struct raw_read r);

struct raw_atomic {
	uint32_t op; /* the whole first word: reserved bits and AOpCode */
	uint32_t id;
	uint32_t stag;
	uint64_t to, data, mask, compare, compare_mask;
};
struct raw_msg raw_atomic(uint32_t msn, struct raw_atomic a);
struct raw_msg raw_atomic_answer(uint32_t msn, uint32_t id, uint64_t old);

/* A Terminate with the first word of its header and the given bytes. */
struct raw_msg raw_terminate(uint32_t word, const void *rest, size_t n);

/* The M, D and R bits of that word. */
enum { RAW_M = 0x8000, RAW_DH = 0x4000, RAW_RH = 0x2000 };

/* layer << 12 | error type << 8 | code, as the client library has it */
#define RAW_ERR(layer, type, code) ((uint16_t)((layer) << 12 | (type) << 8 | (code)))

/*
 * The Terminate that RFC 5040 4.8 and 7.1 ask for in answer to a message: with its length and DDP
 * header, and the Read Request header if that caused it; without both for a local error.
 */
struct raw_msg raw_terminate_for(uint16_t err, const struct raw_msg *cause);

/* The contents of a message. */
static inline bool raw_is(const struct raw_msg *m, uint32_t ppid)
{
	return m->ppid == ppid;
}
uint16_t raw_code(const struct raw_msg *m);  /* of a control message */
uint8_t raw_opcode(const struct raw_msg *m); /* of a segment */
uint16_t raw_error(const struct raw_msg *m); /* of a Terminate, as RAW_ERR */
const uint8_t *raw_body(const struct raw_msg *m, uint32_t *ret_len); /* after the DDP header */
uint32_t raw_stag(const struct raw_msg *m);
uint64_t raw_to(const struct raw_msg *m);
struct raw_queue raw_queue_of(const struct raw_msg *m);

/* True if they differ at most in the DDP-SSN. */
bool raw_same(const struct raw_msg *a, const struct raw_msg *b);

#endif
