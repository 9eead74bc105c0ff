/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the packets of a path leave: spread over a round trip instead of all at once when a SACK
 * arrives, because a queue on the way holds little. Packets leave in batches of at most 1 ms of the
 * rate, or one by one if that is less than a packet: a batch costs one turn of the caller. The next
 * batch leaves when the rate has caught up with this one. A caller who waited and is late may
 * send the packets that were due meanwhile as well, of at most another batch. Knows numbers only.
 *
 * So the bytes that leave in any time t are at most rate * (t + 2 ms) plus a packet.
 */
#ifndef SCTP_PACER_H
#define SCTP_PACER_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SCTP_PACER_BATCH_US = 1000,     /* at most */
	SCTP_PACER_LEAST_RTT_US = 1000, /* of a path that is paced: below, a window is a batch */
};

/* All zero: there is no rate, and every packet may leave. */
struct sctp_pacer {
	uint64_t rate;    /* bytes per second; 0: not paced */
	uint64_t next_ns; /* the rate is used up until then */
	uint64_t open_us; /* the present batch began */
	uint32_t batch_us;
	bool waiting; /* packets wait for the next batch */
};

/* The rate from now on, of bytes that are reported to sctp_pacer_sent(); 0: not paced. batch_us: of
 * a batch, at most SCTP_PACER_BATCH_US. */
static inline void sctp_pacer_set_rate(struct sctp_pacer *p, uint64_t rate, uint32_t batch_us)
{
	p->rate = rate;
	p->batch_us = batch_us;
}

/* True if a packet may leave now. */
static inline bool sctp_pacer_ready(const struct sctp_pacer *p, uint64_t now_us)
{
	uint64_t end_us = p->open_us == now_us ? now_us + p->batch_us : now_us;

	return !p->rate || p->next_ns < end_us * 1000 + (p->open_us != now_us);
}

/* A packet waits that may not leave now. Returns when it may. */
static inline uint64_t sctp_pacer_wait(struct sctp_pacer *p)
{
	p->waiting = true;
	return (p->next_ns + 999) / 1000;
}

/* A packet left, which has these bytes. */
void sctp_pacer_sent(struct sctp_pacer *p, uint32_t bytes, uint64_t now_us);

#endif
