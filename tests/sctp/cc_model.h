/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small network under virtual time: flows with unlimited data share a link of a rate, a delay and
 * a queue; packets may be lost or delayed at random; each packet that arrives is acknowledged at
 * once. A sender consists of cc, rack and rto alone, or is a textbook CUBIC TCP with SACK: three
 * miss indications, one retransmission per recovery, a timeout for the rest.
 *
 * There is one network per process.
 */
#ifndef TESTS_SCTP_CC_MODEL_H
#define TESTS_SCTP_CC_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/path/cc.h"

enum { MODEL_SECOND = 1000000, MODEL_PACKET = 1460 };

enum model_kind { RFC9260 = SCTP_CC_RFC9260, CUBIC = SCTP_CC_CUBIC, TEXTBOOK };

struct model_link {
	double mbit;
	uint64_t rtt_us;
	unsigned queue;       /* packets */
	double loss, reorder; /* probabilities */
	uint64_t extra_us;    /* longest additional delay of a packet that is overtaken */
};

/* An empty network at time 0. The same seed gives the same run. */
void model_set_up(const struct model_link *link, uint64_t seed);

/* Adds a flow, at most two; returns its number. */
unsigned model_start(enum model_kind kind, uint32_t first_tsn);

/* Runs until that time. */
void model_run_until(uint64_t us);

/* Begins a measurement of all flows. */
void model_measure(void);

/* Mbit/s that arrived in order since model_measure(). */
double model_goodput(unsigned flow);

struct model_counts {
	unsigned reductions, undone, timeouts;
};
struct model_counts model_counts(unsigned flow);

#endif
