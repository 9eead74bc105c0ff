/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets and chunks (RFC 9260 section 3): reading them without trust, and writing them.
 */
#ifndef SCTP_CHUNK_H
#define SCTP_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/span.h"

enum sctp_chunk_type {
	SCTP_DATA = 0,
	SCTP_INIT = 1,
	SCTP_INIT_ACK = 2,
	SCTP_SACK = 3,
	SCTP_HEARTBEAT = 4,
	SCTP_HEARTBEAT_ACK = 5,
	SCTP_ABORT = 6,
	SCTP_SHUTDOWN = 7,
	SCTP_SHUTDOWN_ACK = 8,
	SCTP_ERROR = 9,
	SCTP_COOKIE_ECHO = 10,
	SCTP_COOKIE_ACK = 11,
	SCTP_ECNE = 12,
	SCTP_CWR = 13,
	SCTP_SHUTDOWN_COMPLETE = 14,
	SCTP_PAD = 0x84, /* RFC 4820 */
};

enum {
	SCTP_HEAD = 12,    /* common header */
	SCTP_CHECKSUM = 8, /* where it is in the common header */
	SCTP_CHUNK_HEAD = 4,
	SCTP_DATA_HEAD = 16, /* chunk header of DATA */

	SCTP_DATA_E = 1,
	SCTP_DATA_B = 2,
	SCTP_DATA_U = 4,
	SCTP_DATA_I = 8,
	SCTP_FLAG_T = 1, /* ABORT, SHUTDOWN COMPLETE: the tag is reflected */
};

/* Error causes (3.3.10). */
enum sctp_cause {
	SCTP_CAUSE_NONE = 0,
	SCTP_CAUSE_STREAM = 1,  /* invalid stream identifier */
	SCTP_CAUSE_MISSING = 2, /* missing mandatory parameter */
	SCTP_CAUSE_STALE_COOKIE = 3,
	SCTP_CAUSE_RESOURCE = 4,
	SCTP_CAUSE_ADDRESS = 5,          /* unresolvable address */
	SCTP_CAUSE_CHUNK = 6,            /* unrecognized chunk type */
	SCTP_CAUSE_INVALID = 7,          /* invalid mandatory parameter */
	SCTP_CAUSE_PARAM = 8,            /* unrecognized parameters */
	SCTP_CAUSE_NO_DATA = 9,          /* no user data */
	SCTP_CAUSE_COOKIE_SHUTDOWN = 10, /* cookie received while shutting down */
	SCTP_CAUSE_NEW_ADDRESS = 11,     /* restart with new addresses */
	SCTP_CAUSE_USER = 12,
	SCTP_CAUSE_PROTOCOL = 13,
	SCTP_CAUSE_NEW_UDP_PORT = 14, /* restart from another UDP port; no RFC, Linux has it */
};

/* ---- reading ---- */

struct sctp_head {
	uint16_t src, dst; /* ports, host byte order */
	uint32_t tag;
};

static inline struct sctp_head sctp_head_get(const uint8_t *p)
{
	return (struct sctp_head){(uint16_t)(p[0] << 8 | p[1]), (uint16_t)(p[2] << 8 | p[3]),
				  (uint32_t)p[4] << 24 | (uint32_t)p[5] << 16 |
					  (uint32_t)p[6] << 8 | p[7]};
}

/* A chunk; p points to its header, len counts header and value without padding. */
struct sctp_chunk {
	uint8_t type, flags;
	uint32_t len;
	const uint8_t *p;
};

/* Chunks of a packet, or parameters of a chunk. */
struct sctp_cursor {
	const uint8_t *p, *end;
};

enum sctp_next {
	SCTP_NEXT_END,
	SCTP_NEXT_OK,
	SCTP_NEXT_BAD, /* a length below 4 or beyond the end: the rest is unreadable */
};

/* The next chunk. The padding of the last one may be missing (RFC 9260 3.2). */
enum sctp_next sctp_chunk_next(struct sctp_cursor *c, struct sctp_chunk *ret);

/* The cursor over the chunks of a packet of at least SCTP_HEAD bytes. */
static inline struct sctp_cursor sctp_chunks(const uint8_t *pkt, size_t len)
{
	return (struct sctp_cursor){pkt + SCTP_HEAD, pkt + len};
}

/* The upper two bits of an unknown type: to skip it, and to report it (3.2). */
static inline bool sctp_unknown_skips(unsigned type_high_bits)
{
	return type_high_bits & 2;
}

static inline bool sctp_unknown_reports(unsigned type_high_bits)
{
	return type_high_bits & 1;
}

/* One DATA chunk. */
struct sctp_data {
	uint32_t tsn, ppid;
	uint16_t sid, ssn;
	bool unordered, begin, end; /* U, B, E */
	const uint8_t *p;           /* payload, len >= 1 */
	uint32_t len;
};

/* Reads DATA; false if it is shorter than its header. A len of 0 means "no user data". The I bit is
 * in the flags of the chunk. */
bool sctp_data_get(const struct sctp_chunk *c, struct sctp_data *ret);

struct sctp_sack {
	uint32_t cum, a_rwnd;
	unsigned ngaps, ndups;
	const uint8_t *gaps; /* ngaps times start and end offset, 2 bytes each */
	const uint8_t *dups; /* ndups TSNs */
};
/* False if the chunk is shorter than its numbers say. */
bool sctp_sack_get(const struct sctp_chunk *c, struct sctp_sack *ret);

/* The causes of an ERROR or ABORT, one after the other; malformed ones end it. */
struct sctp_error {
	uint16_t cause;
	uint32_t len; /* of the value */
	const uint8_t *p;
};
bool sctp_error_next(struct sctp_cursor *c, struct sctp_error *ret);
static inline struct sctp_cursor sctp_errors(const struct sctp_chunk *c)
{
	return (struct sctp_cursor){c->p + SCTP_CHUNK_HEAD, c->p + c->len};
}
/* The first of them with this code; false: it has none. */
bool sctp_error_find(const struct sctp_chunk *c, uint16_t cause, struct sctp_error *ret);

/* ---- writing ---- */

/* Appends to memory of `size` bytes; begin with {.p, .size}. An item that does not fit sets full,
 * and later ones are not written. To leave out a chunk that does not fit, copy the writer before it
 * and assign the copy back. */
struct sctp_writer {
	uint8_t *p;
	uint32_t len, size;
	bool full;
	uint8_t pad; /* the last bytes are padding: they belong to no length around them */
};

/* The common header, with a checksum of 0. */
void sctp_put_head(struct sctp_writer *w, const struct sctp_head *h);

/* A chunk header; returns the offset of the chunk for sctp_end_chunk(). */
uint32_t sctp_begin_chunk(struct sctp_writer *w, uint8_t type, uint8_t flags);
/* Sets the length of the chunk (or parameter, or cause) that begins there and pads to 4 bytes. The
 * length counts the padding of inner parameters except for the last one (3.2). */
void sctp_end_chunk(struct sctp_writer *w, uint32_t begin);
/* The same for a parameter or an error cause. */
uint32_t sctp_begin_tlv(struct sctp_writer *w, uint16_t type);

/* Integers in network byte order; bytes without padding. */
void sctp_put8(struct sctp_writer *w, uint8_t v);
void sctp_put16(struct sctp_writer *w, uint16_t v);
void sctp_put32(struct sctp_writer *w, uint32_t v);
void sctp_put64(struct sctp_writer *w, uint64_t v);
void sctp_put_bytes(struct sctp_writer *w, const void *p, uint32_t len);

/* A chunk without a value. */
void sctp_put_plain(struct sctp_writer *w, uint8_t type, uint8_t flags);

/* Writes the 16 bytes of a DATA header: whole message, unordered (U, B and E are set). flags:
 * SCTP_DATA_I or 0. len: of the payload, 1 to 65519. */
void sctp_put_data_head(uint8_t *p, uint8_t flags, uint32_t tsn, uint16_t sid, uint32_t ppid,
			uint32_t len);

/* An error cause with this value. */
void sctp_put_cause(struct sctp_writer *w, uint16_t cause, const void *p, uint32_t len);

/* Computes the checksum of the packet that the spans form (the first holds the whole header) and
 * stores it. */
void sctp_seal(struct span *part, unsigned n);

#endif
