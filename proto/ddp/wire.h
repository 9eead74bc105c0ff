/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every header that travels in an SCTP user message: RFC 5043 (DDP-SSN, session
 * control), RFC 5041 (DDP), RFC 5040 (RDMAP), RFC 7306 (atomics, immediate data).
 * Encode and decode only; session.h and rdmap_rx.h decide what is legal.
 *
 * A user message is   DDP-SSN:16 | DDP segment                  with PPID 16
 *                or   DDP-SSN:16 | function:16 | private data   with PPID 17
 *                or   a credit, which has no DDP-SSN, with WIRE_PPID_CREDIT
 * Offsets below are relative to the DDP segment, after the DDP-SSN.
 */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_ADAPTATION = 1,    /* adaptation layer code point of DDP, RFC 5043 5.1 */
	WIRE_PPID_SEGMENT = 16, /* RFC 5043 5.2 */
	WIRE_PPID_CONTROL = 17,
	WIRE_PPID_CREDIT = 0x44445063, /* "DDPc", ours: only between ends that have agreed on it */

	WIRE_SSN_LEN = 2,
	WIRE_CONTROL_LEN = 4,     /* DDP-SSN and function code */
	WIRE_PRIVATE_MAX = 512,   /* RFC 5043 5.2.3 */
	WIRE_TAGGED_LEN = 14,     /* RFC 5041 4.2 */
	WIRE_UNTAGGED_LEN = 18,   /* RFC 5041 4.3 */
	WIRE_READ_REQ_LEN = 28,   /* RFC 5040 4.4 */
	WIRE_TERM_MAX = 52,       /* RFC 5040 4.8: control, length, DDP header, read request */
	WIRE_IMM_LEN = 8,         /* RFC 7306 6 */
	WIRE_ATOMIC_REQ_LEN = 52, /* RFC 7306 5.2.1 */
	WIRE_ATOMIC_RESP_LEN = 12,
	WIRE_ENH_LEN = 4, /* RFC 6581 9: in front of an enhanced message's private data */
	WIRE_ENH_UNCHANGED = 0x3fff, /* RFC 6581 9.1: IRD or ORD is not negotiated */
	WIRE_OFFER_LEN = 20, /* at the end of the private data of an Initiate or its Accept */
	WIRE_CREDIT_LEN = 16,
	WIRE_NOT_READY_LEN = 20, /* a credit with wait_ms */

	/* The most header bytes before payload, including the DDP-SSN. */
	WIRE_HEAD_MAX = WIRE_SSN_LEN + WIRE_UNTAGGED_LEN + WIRE_TERM_MAX,

	WIRE_MULPDU_MIN = 516,   /* RFC 5043 9: smallest legal maximum segment */
	WIRE_MULPDU_MAX = 65535, /* the Terminate header counts segments in 16 bits */
};

/* Session control function codes, RFC 5043 5.2.3 and RFC 6581 7. */
enum wire_func {
	WIRE_INITIATE = 1,
	WIRE_ACCEPT = 2,
	WIRE_REJECT = 3,
	WIRE_TERMINATE = 4,
	WIRE_ENH_INITIATE = 5,
	WIRE_ENH_ACCEPT = 6,
	WIRE_ENH_REJECT = 7,
};

/* The codes of RFC 6581. */
static inline bool wire_func_enhanced(unsigned func)
{
	return func >= WIRE_ENH_INITIATE && func <= WIRE_ENH_REJECT;
}

/* RDMAP opcodes, RFC 5040 4.3 and RFC 7306 4.1. */
enum wire_opcode {
	WIRE_OP_WRITE = 0x0,
	WIRE_OP_READ_REQ = 0x1,
	WIRE_OP_READ_RESP = 0x2,
	WIRE_OP_SEND = 0x3,
	WIRE_OP_SEND_INV = 0x4,
	WIRE_OP_SEND_SE = 0x5,
	WIRE_OP_SEND_SE_INV = 0x6,
	WIRE_OP_TERMINATE = 0x7,
	WIRE_OP_IMM = 0x8,
	WIRE_OP_IMM_SE = 0x9,
	WIRE_OP_ATOMIC_REQ = 0xa,
	WIRE_OP_ATOMIC_RESP = 0xb,
};

/* DDP queue numbers that RDMAP uses, RFC 5040 4.1 and RFC 7306 5.2. */
enum wire_qn {
	WIRE_QN_SEND = 0,
	WIRE_QN_READ_REQ = 1,
	WIRE_QN_TERMINATE = 2,
	WIRE_QN_ATOMIC_RESP = 3,
};

/* A DDP header, with the RDMAP control byte in it. */
struct wire_ddp {
	bool tagged;    /* T */
	bool last;      /* L */
	uint8_t dv;     /* DDP version; only 1 is legal */
	uint8_t rv;     /* RDMAP version: 1; 0 is the dialect of the RDMA Consortium */
	uint8_t rsv;    /* the two reserved bits: 0 from RDMAP, chosen by the ULP in raw DDP mode */
	uint8_t opcode; /* enum wire_opcode, or an unassigned value up to 15 */
	uint32_t inv_stag; /* untagged: RsvdULP[8:39], the Invalidate STag */
	uint32_t stag;     /* tagged */
	uint64_t to;       /* tagged: offset of the first payload byte */
	uint32_t qn;       /* untagged */
	uint32_t msn;
	uint32_t mo;
};

/* Writes the header, without DDP-SSN. Returns its length, 14 or 18. */
size_t wire_ddp_put(uint8_t *p, const struct wire_ddp *h);

/* The same for the segment that begins `off` bytes later in the message of h. */
size_t wire_ddp_put_at(uint8_t *p, const struct wire_ddp *h, uint32_t off, bool last);

/* Reads a header. Returns its length, or 0 if len is less than the T bit requires. */
size_t wire_ddp_get(const uint8_t *p, size_t len, struct wire_ddp *ret);

/* Read Request header, RFC 5040 4.4. */
struct wire_read_req {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t size;
	uint32_t src_stag;
	uint64_t src_to;
};

/* Writes all WIRE_READ_REQ_LEN bytes. */
void wire_read_req_put(uint8_t p[WIRE_READ_REQ_LEN], const struct wire_read_req *r);

/* Reads all WIRE_READ_REQ_LEN bytes; every byte sequence is valid. */
void wire_read_req_get(const uint8_t p[WIRE_READ_REQ_LEN], struct wire_read_req *ret);

/* Atomic operation codes, RFC 7306 5.2.1. */
enum wire_aop { WIRE_FETCH_ADD = 0, WIRE_CMP_SWAP = 2 };

/* Atomic Request header, RFC 7306 5.2.1. */
struct wire_atomic_req {
	uint8_t aop; /* enum wire_aop, or an unassigned value up to 15 */
	uint32_t id; /* chosen by the requester, returned in the response */
	uint32_t stag;
	uint64_t to;
	uint64_t data;         /* addend, or new value */
	uint64_t mask;         /* FetchAdd: carries out of these bits are dropped; CmpSwap: bits
				  replaced */
	uint64_t compare;      /* CmpSwap */
	uint64_t compare_mask; /* CmpSwap: bits compared */
};

/* Writes all WIRE_ATOMIC_REQ_LEN bytes. FetchAdd: compare 0, compare_mask all ones. */
void wire_atomic_req_put(uint8_t p[WIRE_ATOMIC_REQ_LEN], const struct wire_atomic_req *r);

/* Reads all WIRE_ATOMIC_REQ_LEN bytes; reserved bits are ignored. */
void wire_atomic_req_get(const uint8_t p[WIRE_ATOMIC_REQ_LEN], struct wire_atomic_req *ret);

/* Atomic Response header, RFC 7306 5.2.2: 12 bytes; section 4 of it is wrong. */
struct wire_atomic_resp {
	uint32_t id;
	uint64_t value; /* before the operation */
};

/* Writes and reads all WIRE_ATOMIC_RESP_LEN bytes. */
void wire_atomic_resp_put(uint8_t p[WIRE_ATOMIC_RESP_LEN], const struct wire_atomic_resp *r);
void wire_atomic_resp_get(const uint8_t p[WIRE_ATOMIC_RESP_LEN], struct wire_atomic_resp *ret);

/* Parameters of enhanced session establishment, RFC 6581 9: 32 bits. */
enum { WIRE_RTR_SEND = 1, WIRE_RTR_WRITE = 2, WIRE_RTR_READ = 4 }; /* flags B, C, D */

struct wire_enh {
	bool p2p;          /* A: the initiator sends a ready-to-receive message first */
	uint8_t rtr;       /* set of WIRE_RTR_ */
	uint16_t ird, ord; /* 0 .. 0x3ffe, or WIRE_ENH_UNCHANGED */
};

/* Writes and reads all WIRE_ENH_LEN bytes. put: ird and ord fit 14 bits. */
void wire_enh_put(uint8_t p[WIRE_ENH_LEN], const struct wire_enh *e);
void wire_enh_get(const uint8_t p[WIRE_ENH_LEN], struct wire_enh *ret);

enum wire_tag_flag { WIRE_TAG_RNR = 0x40000000 };

/* Flow control of our own, proto/rdmap/credit.h: the offer of one end of a session, and the answer
 * of the other. 8B "DDPcrd", then 1 in an Initiate and 2 in an Accept, then these numbers. */
struct wire_offer {
	uint32_t tag;    /* of the credits that it expects in this session; with WIRE_TAG_RNR it
			    takes and makes credits with wait_ms, too */
	uint32_t window; /* bytes that it lets the other be ahead of its receives; 0: any number */
	uint32_t receives; /* that it has */
};

/* Writes all WIRE_OFFER_LEN bytes. answer: of an Accept. */
void wire_offer_put(uint8_t p[WIRE_OFFER_LEN], bool answer, const struct wire_offer *o);

/* Reads an offer from the end of private data of len bytes. False if it has none, or if it is not
 * an answer as `answer` requires. */
bool wire_offer_get(const uint8_t *priv, size_t len, bool answer, struct wire_offer *ret);

/* A credit: from the receiver of Sends to their sender. */
struct wire_credit {
	uint32_t tag;     /* of the sender's offer */
	uint32_t limit;   /* it has receives for the messages of queue 0 up to this one */
	uint64_t pos;     /* that it has delivered */
	uint32_t wait_ms; /* not 0: it has no receive for the message that comes next, and the
			     sender may wait that long for each of its retries */
};

/* Writes it. Returns its length: WIRE_CREDIT_LEN, or WIRE_NOT_READY_LEN with wait_ms. */
uint32_t wire_credit_put(uint8_t p[WIRE_NOT_READY_LEN], const struct wire_credit *c);
/* False if it has neither length. */
bool wire_credit_get(const uint8_t *p, uint32_t len, struct wire_credit *ret);

/* Terminate header, RFC 5040 4.8. */
struct wire_term {
	uint8_t layer;
	uint8_t etype;
	uint8_t code;
	bool has_len;                   /* M: seg_len is valid */
	bool has_ddp;                   /* D: a DDP header is copied */
	bool has_read;                  /* R: a Read Request header is copied */
	uint16_t seg_len;               /* length of the DDP segment at fault, without DDP-SSN */
	uint8_t ddp[WIRE_UNTAGGED_LEN]; /* header as received */
	uint8_t ddp_len;                /* 14 or 18 */
	uint8_t read[WIRE_READ_REQ_LEN];
};

/* layer, etype and code as one number: 0x1101 is layer 1, etype 1, code 1. */
#define WIRE_TERM_WORD(layer, etype, code)                                                         \
	((uint16_t)((unsigned)(layer) << 12 | (unsigned)(etype) << 8 | (unsigned)(code)))

/* Writes the header. Returns its length, 4 to WIRE_TERM_MAX. */
size_t wire_term_put(uint8_t p[WIRE_TERM_MAX], const struct wire_term *t);

/*
 * Parses as the bits M, D and R say and ignores surplus bytes. Incomplete parts at the end are
 * reported as absent. Returns false if len is less than 4.
 */
bool wire_term_get(const uint8_t *p, size_t len, struct wire_term *ret);

#endif
