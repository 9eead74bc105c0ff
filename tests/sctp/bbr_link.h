/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sender that is BBR and a pacer alone, and a link with a rate, a queue, a delay and random loss,
 * under virtual time in steps of 100 us. What arrives in a step is acknowledged at once. A packet
 * is lost when one that was sent three later arrived; lost packets are not sent again.
 */
#ifndef TESTS_SCTP_BBR_LINK_H
#define TESTS_SCTP_BBR_LINK_H

#include "sctp/path/cc_bbr.h"

enum { BBR_RING = 1 << 14, BBR_RECORDS = 341, BBR_PACKET = 1460 };

struct bbr_link {
	uint64_t rate; /* bytes per second */
	uint32_t rtt_us, queue_us;
	double loss;
};

struct bbr_packet {
	uint64_t sent_us, acked_us; /* acked_us 0: lost on the way */
	bool out;
};

struct bbr_run {
	struct bbr_link link;
	uint64_t user_rate; /* of the data to be sent; 0: as much as the path takes */
	struct sctp_cc cc;
	struct sctp_bbr model;
	struct sctp_sending record[BBR_RECORDS];
	struct bbr_packet packet[BBR_RING];
	uint32_t first, next; /* packets that may be outstanding */
	uint32_t flight, srtt_us;
	uint32_t recovery_end;
	bool recovery, starved;
	double credit;  /* bytes that the pacer admits */
	double written; /* bytes of the user that were not sent */
	uint64_t now, free_us;
	uint64_t arrived;
	uint64_t queue_us_sum, queue_samples;
	uint32_t random;
};

/* One run per process; the same seed gives the same run. */
struct bbr_run *bbr_run_begin(const struct bbr_link *link, uint32_t seed);
void bbr_run_until(struct bbr_run *r, uint64_t us);
/* Until BBR is in that state; false: it is not within that time. */
bool bbr_run_until_state(struct bbr_run *r, enum sctp_bbr_state state, uint64_t within_us);
/* Until the state changes. */
enum sctp_bbr_state bbr_run_next_state(struct bbr_run *r);
/* The n oldest packets in flight count as lost. */
void bbr_run_lose(struct bbr_run *r, unsigned n);

#endif
