/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a ddperf session that is the target of the messages: a server, or a client in the
 * reverse direction. It takes Sends and returns credits for them. */
#ifndef TOOLS_DDPERF_SINK_H
#define TOOLS_DDPERF_SINK_H

#include "tools/common/session.h"
#include "tools/ddperf/ddperf_proto.h"

struct ddperf_sink {
	struct session *s;
	struct ddp_mr *in;  /* target of the source's operations */
	struct ddp_mr *out; /* source of messages that are sent or written back, of the same size */
	uint32_t size;      /* bytes of a message */
	uint32_t recvs;     /* posted */
	uint32_t taken;     /* Sends so far */
	uint32_t credited;  /* of these */
};

/* Makes the queue pair and the memory of s, whose protection domain is there, and posts the
 * receives. 0, or a failure that was printed. */
int ddperf_sink_set_up(struct ddperf_sink *k, struct session *s, const struct ddperf_hello *h);

/* Posts n receives, all to the same buffer: the data is not read. 0, or a failure that was
 * printed. */
int ddperf_sink_post(struct ddperf_sink *k, uint32_t n);

/* Takes Sends until the source reports its result: *ret. Results: 0; 1 at the end of the session;
 * -EINTR; another negative errno value after a failure that was printed. */
int ddperf_sink_take(struct ddperf_sink *k, struct ddperf_done *ret);

/* 0 for a completion in success, 1 at the end of the session, which is not a failure, or a failure
 * that was printed. */
int ddperf_sink_check(struct session *s, const struct ddp_wc *wc);

#endif
