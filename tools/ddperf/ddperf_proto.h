/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of ddperf: a hello and its answer in the private data of each session. A session has
 * a source, which posts the messages that are measured, and a sink: client and server, or with
 * DDPERF_REVERSE server and client. During the test the sink Sends credits: the number of Sends
 * that it has taken so far. It credits a solicited Send at once; so the source learns that all
 * messages before it have arrived. A server that is a source runs a phase for each "go" that the
 * client Sends, and ends it with a solicited Send that has the result. All integers are big-endian.
 */
#ifndef TOOLS_DDPERF_PROTO_H
#define TOOLS_DDPERF_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DDPERF_VERSION = 2,
	DDPERF_PORT = 5044,
	DDPERF_MAX_SIZE = 256 << 20,
	DDPERF_MAX_DEPTH = 4096,
	DDPERF_MAX_QPS = 16,
	DDPERF_HELLO_LEN = 48,
	DDPERF_ANSWER_LEN = 24,
	DDPERF_CREDIT_LEN = 8,
	DDPERF_GO_LEN = 16,
	DDPERF_DONE_LEN = 24,
	DDPERF_CELL = 8, /* bytes of an atomic */
};

enum ddperf_op { DDPERF_WRITE, DDPERF_READ, DDPERF_SEND, DDPERF_FETCH_ADD, DDPERF_OPS };
enum ddperf_metric { DDPERF_BW, DDPERF_LAT, DDPERF_RATE, DDPERF_METRICS };

enum ddperf_flags {
	DDPERF_REVERSE = 1, /* the server is the source; not for latency */
	DDPERF_INLINE = 2,  /* with REVERSE: data is in the work requests */
	DDPERF_FLAGS = DDPERF_REVERSE | DDPERF_INLINE,
};

struct ddperf_hello {
	enum ddperf_op op;
	enum ddperf_metric metric;
	uint32_t size;  /* bytes of a message */
	uint32_t depth; /* messages in flight */
	uint32_t stag;  /* where the server writes back, or as a source writes, reads and adds */
	uint64_t to;
	uint32_t flags;   /* set of DDPERF_ */
	uint32_t credits; /* with REVERSE: Sends that the client takes before the first credit */
	uint64_t client;  /* a random number, the same in all sessions of a program */
};

struct ddperf_answer {
	uint32_t stag;    /* where the client writes, reads and adds */
	uint32_t credits; /* Sends that the server takes before the first credit */
	uint64_t to;
};

/* A phase of a server that is a source: it ends after ns nanoseconds, or count messages if that is
 * not 0. */
struct ddperf_go {
	uint64_t ns, count;
};

struct ddperf_done {
	uint64_t messages, ns;
};

/* The private data of a connect. */
void ddperf_hello_put(uint8_t buf[DDPERF_HELLO_LEN], const struct ddperf_hello *h);

/* Returns 0, -EPROTO for a malformed hello, -EPROTONOSUPPORT for another version, or -ERANGE for a
 * test, a size, a depth or flags that do not exist. */
int ddperf_hello_get(const void *buf, size_t len, struct ddperf_hello *ret);

/* The private data of the acceptance. */
void ddperf_answer_put(uint8_t buf[DDPERF_ANSWER_LEN], const struct ddperf_answer *a);

/* Returns 0, or -EPROTO for a malformed answer. */
int ddperf_answer_get(const void *buf, size_t len, struct ddperf_answer *ret);

/* The Sends that begin and end a phase. The second of each pair returns 0 or -EPROTO. */
void ddperf_go_put(uint8_t buf[DDPERF_GO_LEN], const struct ddperf_go *go);
int ddperf_go_get(const void *buf, size_t len, struct ddperf_go *ret);
void ddperf_done_put(uint8_t buf[DDPERF_DONE_LEN], const struct ddperf_done *done);
int ddperf_done_get(const void *buf, size_t len, struct ddperf_done *ret);

#endif
