/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of ddperf. */
#ifndef TOOLS_DDPERF_H
#define TOOLS_DDPERF_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/samples.h"
#include "tools/common/session.h"
#include "tools/ddperf/ddperf_proto.h"
#include "tools/ddperf/ddperf_test.h"

struct ddperf_opts {
	const char *socket; /* of the daemon, NULL for the usual one */
	const char *bind;   /* local addresses, or NULL: see session_target, server_conf */
	const char *host;   /* unless serve is set */
	uint16_t port;
	enum ddperf_op ops[DDPERF_OPS]; /* measured one after the other */
	unsigned nops;
	enum ddperf_op op; /* of a single test */
	enum ddperf_metric metric;
	uint32_t size, depth; /* 0: the metric's default */
	uint32_t qps, runs;
	double seconds;       /* how long to measure, if count is 0 */
	uint64_t count;       /* messages to measure */
	double warm_up;       /* seconds */
	uint32_t interval_ms; /* of bandwidth and rate samples */
	uint32_t pause_ms;    /* latency: before each round */
	const char *plot;     /* file, NULL: none */
	const char *compare;  /* file with the JSON of an earlier run, NULL: none */
	bool serve, inline_data, own_memory, json, csv, once;
	bool log;  /* of the vertical axis of the plot */
	bool all;  /* sizes */
	bool both; /* directions */
};

/* One direction. */
struct ddperf_way {
	uint64_t messages;
	double elapsed; /* seconds, until the last message had arrived */
};

/* The measurements of all runs. */
struct ddperf_result {
	struct ddperf_way there, back;
	struct samples samples; /* us, MB/s or messages/s; of one direction only */
	struct samples runs;    /* the mean of each */
	double user, system;    /* CPU seconds of this process */
	double daemon_user, daemon_system;
	uint64_t retransmits; /* of the local daemon, during the measurement */
	bool interrupted;     /* messages in flight are not counted */
};

/* The source of a session in the middle of a test. */
struct ddperf_run {
	const struct ddperf_opts *o;
	struct session *s;
	struct ddp_caps caps;
	struct ddperf_answer peer;
	struct ddp_mr *out; /* source of Writes and Sends, and sink of Reads */
	struct ddp_mr *in;  /* sink of the server's Writes and Sends */
	uint32_t batch;     /* requests posted with one completion */
	uint32_t credits;   /* Sends that the server can still take */
	uint32_t credited;  /* the last credit received */
	uint64_t posted, completed;
	uint32_t turn; /* latency: rounds so far */
	bool vain;     /* of yield_is_vain() */
	/* the phase that is running */
	uint64_t deadline;         /* ns, or */
	uint64_t limit;            /* messages to post */
	struct ddperf_result *res; /* NULL while warming up */
};

/* Exit statuses. */
int ddperf_client(const struct ddperf_opts *o);
int ddperf_server(const struct ddperf_opts *o);

/* One phase: bandwidth and rate, or latency. 0, -EINTR, or a failure that was printed. After 0 no
 * message is in flight. */
int ddperf_stream(struct ddperf_run *run);
int ddperf_pingpong(struct ddperf_run *run);

/* Receives for credits, before connecting. */
int ddperf_post_credit_recvs(struct ddperf_run *run);
/* The receive whose wr_id this is, again. */
int ddperf_post_credit_recv(struct ddperf_run *run, uint64_t slot);
/* The received message. */
const void *ddperf_credit_slot(const struct ddperf_run *run, const struct ddp_wc *wc);

/* The figure of the metric: MB/s or messages/s of both directions, or the mean of the samples. */
double ddperf_result_mean(const struct ddperf_opts *o, const struct ddperf_result *res);

/* Adds a run to the result. 0 or -ENOMEM. */
int ddperf_result_add(struct ddperf_result *res, const struct ddperf_opts *o,
		      const struct ddperf_result *run);
void ddperf_result_free(struct ddperf_result *res);

/* Memory as the other side writes it. */
static inline uint8_t ddperf_load(const uint8_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* The mark of a round; never 0, the content of fresh memory. */
static inline uint8_t ddperf_mark(uint32_t turn)
{
	return (uint8_t)(turn % 255 + 1);
}

#endif
