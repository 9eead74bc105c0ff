/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol errors: one table of name, sentence and the Terminate that tells the
 * peer (layer, error type, error code of RFC 5040 4.8, RFC 5041 7.2, RFC 7306 8).
 */
#ifndef PROTO_PERR_H
#define PROTO_PERR_H

#include <stdint.h>

/* X(name, layer, etype, code, sentence) */
#define PERR_TABLE(X)                                                                              \
	X(NONE, 0, 0, 0x00, "no error")                                                            \
	X(CATASTROPHIC, 0, 0, 0x00, "local catastrophic error")                                    \
	X(READ_STAG, 0, 1, 0x00, "read source: no such STag")                                      \
	X(READ_BOUNDS, 0, 1, 0x01, "read source: outside the region")                              \
	X(READ_RIGHTS, 0, 1, 0x02, "read source: no remote read right")                            \
	X(READ_SCOPE, 0, 1, 0x03, "read source: STag belongs to another stream or domain")         \
	X(READ_WRAP, 0, 1, 0x04, "read source: offset plus length passes 2^64")                    \
	X(INV_SCOPE, 0, 1, 0x09, "STag of another stream or domain cannot be invalidated")         \
	X(RDMAP_VERSION, 0, 2, 0x05, "RDMAP version is not supported")                             \
	X(OPCODE, 0, 2, 0x06, "unexpected RDMAP opcode")                                           \
	X(STREAM_CATASTROPHIC, 0, 2, 0x07, "catastrophic error of this stream")                    \
	X(INV_STAG, 0, 2, 0x09, "STag cannot be invalidated")                                      \
	X(RDMAP_LENGTH, 0, 2, 0xff, "RDMAP message has the wrong length")                          \
	X(DDP_CATASTROPHIC, 1, 0, 0x00, "DDP local catastrophic error")                            \
	X(TAGGED_STAG, 1, 1, 0x00, "tagged segment: no such STag, or no remote write right")       \
	X(TAGGED_BOUNDS, 1, 1, 0x01, "tagged segment: outside the region")                         \
	X(TAGGED_SCOPE, 1, 1, 0x02, "tagged segment: STag belongs to another stream or domain")    \
	X(TAGGED_WRAP, 1, 1, 0x03, "tagged segment: offset plus length passes 2^64")               \
	X(TAGGED_VERSION, 1, 1, 0x04, "tagged segment: DDP version is not 1")                      \
	X(QN, 1, 2, 0x01, "untagged segment: no such queue")                                       \
	X(NO_BUFFER, 1, 2, 0x02, "untagged segment: no buffer is posted for the message")          \
	X(MSN_RANGE, 1, 2, 0x03, "untagged segment: message number out of range")                  \
	X(MO, 1, 2, 0x04, "untagged segment: message offset is wrong")                             \
	X(TOO_LONG, 1, 2, 0x05, "untagged segment: message is longer than its buffer")             \
	X(UNTAGGED_VERSION, 1, 2, 0x06, "untagged segment: DDP version is not 1")                  \
	X(LLP_LOST, 2, 0, 0x00, "the association was lost")

enum perr {
#define X(name, layer, etype, code, text) PERR_##name,
	PERR_TABLE(X)
#undef X
		PERR_COUNT
};

/* An error and the place it was found at; fields that do not apply are 0. */
struct perr_at {
	uint16_t perr; /* enum perr */
	uint16_t term; /* WIRE_TERM_WORD of it, or the one that the peer sent */
	uint32_t stag;
	uint64_t to;  /* tagged offset, or message offset */
	uint32_t len; /* bytes that were to be accessed */
	uint32_t msn; /* untagged: message number */
};

/* "TAGGED_BOUNDS"; "?" for a value outside the table. */
const char *perr_name(unsigned perr);

/* The sentence of the table. */
const char *perr_text(unsigned perr);

/* Layer, error type and code as WIRE_TERM_WORD. */
uint16_t perr_term(unsigned perr);

/* The row that a Terminate word of a peer names, or PERR_NONE where the table has none. */
enum perr perr_of_term(uint16_t term);

#endif
