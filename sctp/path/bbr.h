/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BBR version 3 (draft-ietf-ccwg-bbr) in integers: the model of a path and its state; only cc_bbr.c
 * and the files bbr_*.c change it. Rates are bytes per second, volumes bytes of
 * chunks, times microseconds; a gain is in percent. Names are those of the draft, whose sections
 * the comments quote; SMSS is PMDCS here.
 *
 * The model is a record of its own, because most paths need none: it is made when data is first
 * sent, and stays.
 */
#ifndef SCTP_BBR_H
#define SCTP_BBR_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/path/cc.h"
#include "sctp/path/delivery.h"

#define SCTP_BBR_ANY_RATE UINT64_MAX   /* no bound */
#define SCTP_BBR_ANY_VOLUME UINT32_MAX /* no bound */

enum {
	SCTP_BBR_BETA = 70, /* percent: least part of a bound that a round with losses leaves */
	SCTP_BBR_LOSS_THRESH = 2, /* percent */
	SCTP_BBR_MIN_PIPE = 4,    /* MinPipeCwnd in packets */
};

enum sctp_bbr_state {
	SCTP_BBR_STARTUP,
	SCTP_BBR_DRAIN,
	SCTP_BBR_DOWN, /* these four are ProbeBW */
	SCTP_BBR_CRUISE,
	SCTP_BBR_REFILL,
	SCTP_BBR_UP,
	SCTP_BBR_PROBE_RTT,
	SCTP_BBR_NO_STATE, /* of undo only */
};

/* The phase that acknowledgements report about: "ProbeBW State". */
enum sctp_bbr_acks {
	SCTP_BBR_ACKS_INIT,
	SCTP_BBR_ACKS_REFILLING,
	SCTP_BBR_ACKS_STARTING,
	SCTP_BBR_ACKS_FEEDBACK,
	SCTP_BBR_ACKS_STOPPING,
};

struct sctp_bbr {
	struct sctp_delivery delivery;

	/* "Data Rate Network Path Model Parameters" */
	uint64_t max_bw[2];    /* the largest samples of this cycle and of the one before */
	uint64_t bw_shortterm; /* or SCTP_BBR_ANY_RATE */
	uint64_t bw_latest;    /* the largest sample of the round */
	uint64_t bw;           /* the smaller one of max_bw and bw_shortterm */
	uint64_t full_bw;
	uint64_t pacing_rate; /* 0: no sample yet */

	/* "Data Volume Network Path Model Parameters" */
	uint32_t inflight_latest, inflight_longterm, inflight_shortterm;
	uint32_t extra_acked[2]; /* the largest of these rounds and of those before */
	uint32_t extra_delivered;
	uint64_t extra_since_us;
	uint32_t prior_cwnd;
	uint32_t initial_cwnd;

	/* Rounds, by the bytes that were delivered when they began. */
	uint64_t round_end, loss_round_begin, loss_round_end;
	uint64_t loss_round_lost; /* bytes since it began */
	uint32_t rounds;
	uint32_t drain_round; /* in which Drain began */

	/* "ProbeBW State" */
	uint64_t cycle_us;
	uint32_t probe_wait_us;
	uint32_t rounds_since_probe;
	uint32_t up_acked, up_acked_per_inc;

	/* "ProbeRTT and min_rtt Parameters and State" */
	uint64_t min_rtt_at_us, probe_rtt_at_us, probe_rtt_done_us;
	uint32_t min_rtt_us, probe_rtt_us; /* UINT32_MAX: none */

	/* "Undo State" */
	struct {
		uint64_t bw_shortterm;
		uint32_t inflight_shortterm, inflight_longterm;
		uint8_t state; /* enum sctp_bbr_state */
		bool kept;
	} undo;

	uint32_t lost_tsn; /* the last one that was lost */
	uint32_t random;
	uint8_t state; /* enum sctp_bbr_state */
	uint8_t acks;  /* enum sctp_bbr_acks */
	uint8_t full_bw_count, extra_rounds, up_rounds;
	uint8_t lost_ranges; /* in this round */
	bool full_bw_reached, full_bw_now;
	bool round_start, loss_round_start, loss_in_round;
	bool limited, was_limited; /* the window was in full use in this round, in the last one */
	bool probe_sample;         /* samples are of a bandwidth probe */
	bool probe_too_high, probe_precautionary;
	bool probe_rtt_expired, probe_rtt_round_done;
	bool idle_restart, in_recovery;
};

/* One SACK. */
struct sctp_bbr_ack {
	struct sctp_sample s;
	uint32_t flight; /* after it, and after the losses that it showed */
	bool limited;    /* the window was in full use before it */
	uint32_t rtt_us; /* 0: none */
	uint64_t now_us;
};

static inline bool sctp_bbr_probes_bw(const struct sctp_bbr *b)
{
	return b->state >= SCTP_BBR_DOWN && b->state <= SCTP_BBR_UP;
}

#endif
