/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of ddperf: a hello and its answer in the private data, and during
 * the test credits, which the server Sends: how many Sends it has taken so far. A Send that is
 * solicited is credited at once, so that a client knows by it that all before it has arrived. All
 * integers are big-endian.
 */
#ifndef TOOLS_DDPERF_PROTO_H
#define TOOLS_DDPERF_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DDPERF_VERSION = 1,
	DDPERF_PORT = 5044,
	DDPERF_MAX_SIZE = 256 << 20,
	DDPERF_MAX_DEPTH = 4096,
	DDPERF_HELLO_LEN = 40,
	DDPERF_ANSWER_LEN = 24,
	DDPERF_CREDIT_LEN = 8,
	DDPERF_CELL = 8, /* bytes of an atomic */
};

enum ddperf_op { DDPERF_WRITE, DDPERF_READ, DDPERF_SEND, DDPERF_FETCH_ADD, DDPERF_OPS };
enum ddperf_metric { DDPERF_BW, DDPERF_LAT, DDPERF_RATE, DDPERF_METRICS };

struct ddperf_hello {
	enum ddperf_op op;
	enum ddperf_metric metric;
	uint32_t size;  /* bytes of a message */
	uint32_t depth; /* messages in flight */
	uint32_t stag;  /* write lat: where the server writes back */
	uint64_t to;
};

struct ddperf_answer {
	uint32_t stag;    /* where the client writes, reads and adds */
	uint32_t credits; /* Sends that the server takes before the first credit */
	uint64_t to;
};

/* The private data of a connect. */
void ddperf_hello_put(uint8_t buf[DDPERF_HELLO_LEN], const struct ddperf_hello *h);

/* Returns 0, -EPROTO for a malformed hello, -EPROTONOSUPPORT for another version, or -ERANGE for a
 * test, a size or a depth that does not exist. */
int ddperf_hello_get(const void *buf, size_t len, struct ddperf_hello *ret);

/* The private data of the acceptance. */
void ddperf_answer_put(uint8_t buf[DDPERF_ANSWER_LEN], const struct ddperf_answer *a);

/* Returns 0, or -EPROTO for a malformed answer. */
int ddperf_answer_get(const void *buf, size_t len, struct ddperf_answer *ret);

#endif
