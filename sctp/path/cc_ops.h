/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of an algorithm of cc.h; private to cc.c, cc_cubic.c and cc_bbr.c. */
#ifndef SCTP_CC_OPS_H
#define SCTP_CC_OPS_H

#include "sctp/path/cc.h"

/* An algorithm that has a model of the path in place of the rules of 7.2. The path has one: data
 * was sent. */
struct sctp_cc_model_ops {
	void (*lost)(struct sctp_cc *c);      /* sctp_cc_lost() */
	void (*timed_out)(struct sctp_cc *c); /* sctp_cc_timed_out(), before one_packet is set */
	void (*undo)(struct sctp_cc *c);
};

struct sctp_cc_ops {
	const struct sctp_cc_model_ops *model; /* or NULL. Then only pacing_rate is used besides */
	unsigned limit; /* slow start: packets that a SACK adds at most (L of RFC 3465) */
	bool literal;   /* RFC 9260's rules on a paced path, too, and its fast recovery */
	/* An acknowledgement in congestion avoidance, outside of recovery. full: the window was in
	 * full use. */
	void (*avoid)(struct sctp_cc *c, const struct sctp_cc_ack *a, bool full, uint64_t now_us);
	/* The new ssthresh after a loss or, with timeout, after T3-rtx; cwnd is still the old one.
	 */
	uint32_t (*reduce)(struct sctp_cc *c, bool timeout);
	/* An idle time begins: sets ssthresh. */
	void (*rest)(struct sctp_cc *c);
	/* sctp_cc_pacing_rate(); srtt_us is not 0. */
	uint64_t (*pacing_rate)(const struct sctp_cc *c, uint32_t srtt_us);
};

/* The rate of an algorithm that is a window: twice the window in a round trip while slow start
 * doubles it, and a quarter more than the window else: half-way to ssthresh less than a doubling is
 * left. Ten packets (RFC 6928) are no burst: to spread fewer would only delay their SACK. */
static inline uint64_t sctp_cc_window_rate(const struct sctp_cc *c, uint32_t srtt_us)
{
	uint64_t quarters = c->cwnd < c->ssthresh / 2 ? 8 : 5;
	uint64_t window = c->cwnd > 10 * c->pmdcs ? c->cwnd : 10 * c->pmdcs;

	return quarters * window * 1000000 / 4 / srtt_us;
}

extern const struct sctp_cc_ops sctp_cc_cubic_ops;
extern const struct sctp_cc_ops sctp_cc_bbr_ops;

/* Raises cwnd, up to max_cwnd. */
static inline void sctp_cc_raise(struct sctp_cc *c, uint32_t bytes)
{
	uint32_t room = c->cwnd < c->max_cwnd ? c->max_cwnd - c->cwnd : 0;

	c->cwnd += bytes < room ? bytes : room;
}

#endif
