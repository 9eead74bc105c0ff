/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of ddping. The client connects with a hello in the private data. In each round it
 * sends a PING that names two of its regions; the server reads the first, writes the same bytes to
 * the second, and sends the record back as a PONG. All integers are big-endian.
 */
#ifndef TOOLS_DDPING_PROTO_H
#define TOOLS_DDPING_PROTO_H

#include <stddef.h>
#include <stdint.h>

enum {
	DDPING_VERSION = 1,
	DDPING_PORT = 5043,
	DDPING_MAX_SIZE = 16 << 20,
	DDPING_HELLO_LEN = 12,
	DDPING_REC_LEN = 40,
};

enum ddping_kind {
	DDPING_PING = 1,
	DDPING_PONG = 2,
};

struct ddping_rec {
	uint16_t kind;
	uint32_t seq;
	uint32_t len;       /* bytes to read and to write */
	uint32_t src_stag;  /* the server reads here */
	uint32_t sink_stag; /* and writes here */
	uint64_t src_to, sink_to;
};

/* The hello: bytes per round at most. */
void ddping_hello_put(uint8_t buf[DDPING_HELLO_LEN], uint32_t size);

/* Returns 0, -EPROTO for a malformed hello, -EPROTONOSUPPORT for another version, or -ERANGE for a
 * size of 0 or above DDPING_MAX_SIZE. */
int ddping_hello_get(const void *buf, size_t len, uint32_t *ret_size);

/* A ping or a pong. */
void ddping_rec_put(uint8_t buf[DDPING_REC_LEN], const struct ddping_rec *rec);

/* Returns 0, or -EPROTO for a record of another length, version or kind. */
int ddping_rec_get(const void *buf, size_t len, uint16_t kind, struct ddping_rec *ret);

#endif
