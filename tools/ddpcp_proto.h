/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of ddpcp: records in Sends, each of the fixed length of its kind,
 * integers big-endian. One session copies one file from a source to a sink.
 *
 *	put: client is the source          get: client is the sink
 *	  PUT name, size, mode  ->           GET name              ->
 *	                                                           <- META size, mode
 *	                        <- WINDOW    WINDOW                ->
 *	  then, from source to sink: an RDMA Write to slot seq % slots of the window and CHUNK seq,
 * len; back: ACK seq, when the slot is free again; finally DONE, and RESULT back.
 *
 * A RESULT that is not DDPCP_OK can come from either side at any time and ends the copy. At most
 * DDPCP_RECVS records are on their way in one direction.
 */
#ifndef TOOLS_DDPCP_PROTO_H
#define TOOLS_DDPCP_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DDPCP_VERSION = 1,
	DDPCP_PORT = 5045,
	DDPCP_NAME_MAX = 1023,
	DDPCP_TEXT_MAX = 255,
	DDPCP_SHA_LEN = 32,
	DDPCP_MAX_CHUNK = 4 << 20,
	DDPCP_MIN_CHUNK = 4096,
	DDPCP_MAX_SLOTS = 8,
	DDPCP_RECVS = 16,
	DDPCP_REC_MAX = 1088, /* no record is longer */
	DDPCP_HELLO_LEN = 8,
};

enum ddpcp_kind {
	DDPCP_PUT = 1,
	DDPCP_GET,
	DDPCP_META,
	DDPCP_WINDOW,
	DDPCP_CHUNK,
	DDPCP_ACK,
	DDPCP_DONE,
	DDPCP_RESULT,
	DDPCP_KINDS,
};

enum ddpcp_status { DDPCP_OK, DDPCP_FAILED };

/* The sink's memory. */
struct ddpcp_window {
	uint64_t to;
	uint32_t stag;
	uint32_t chunk; /* bytes of a slot */
	uint32_t slots;
};

struct ddpcp_rec {
	enum ddpcp_kind kind;
	uint64_t size;                 /* PUT, META: at most INT64_MAX */
	uint32_t mode;                 /* PUT, META: permission bits */
	char name[DDPCP_NAME_MAX + 1]; /* PUT, GET */
	struct ddpcp_window window;    /* WINDOW */
	uint64_t seq;                  /* CHUNK, ACK */
	uint32_t len;                  /* CHUNK: 1 to DDPCP_MAX_CHUNK */
	uint8_t sha256[DDPCP_SHA_LEN]; /* DONE: of all bytes */
	enum ddpcp_status status;      /* RESULT */
	char text[DDPCP_TEXT_MAX + 1]; /* RESULT: why it failed */
};

/* The private data of a connect. */
void ddpcp_hello_put(uint8_t buf[DDPCP_HELLO_LEN]);

/* Returns 0, -EPROTO for a malformed hello, or -EPROTONOSUPPORT for another version. */
int ddpcp_hello_get(const void *buf, size_t len);

/* Returns the length of the record. */
size_t ddpcp_rec_put(uint8_t buf[DDPCP_REC_MAX], const struct ddpcp_rec *rec);

/* Returns 0, or -EPROTO for a record of unknown kind or version, of another length than its kind's,
 * or with a member out of its range. Members of other kinds are 0. Names are not judged
 * here, only that they end. */
int ddpcp_rec_get(const void *buf, size_t len, struct ddpcp_rec *ret);

/* The window that suits a file: whole chunks, no more slots than chunks. to and stag are 0. */
struct ddpcp_window ddpcp_window_for(uint64_t size);

/* Chunks of a file. */
uint64_t ddpcp_chunks(uint64_t size, uint32_t chunk);

/* Bytes of chunk seq, which exists. */
uint32_t ddpcp_chunk_len(uint64_t size, uint32_t chunk, uint64_t seq);

#endif
