/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many hosts, each with a stack, that have sessions with each other as the ranks of an MPI program
 * have them: on a virtual clock, over a network that delivers everything after the same time. There
 * are no sessions, only the associations that these need, and messages.
 */
#ifndef TESTS_SCTP_MANY_H
#define TESTS_SCTP_MANY_H

#include <stdbool.h>
#include <stdint.h>

struct many_config {
	unsigned hosts, ranks;
	bool all; /* each pair of ranks has a session; else those at distances of powers of two */
	bool own; /* an association for each session; else one for each pair of hosts */
	bool one; /* only those of the first host, whose figures are those of any host */
	unsigned messages;  /* of 64 bytes, for each session and direction */
	unsigned idle_s;    /* after that */
	uint32_t delay_us;  /* of the network; 0: 50 */
	uint32_t heartbeat; /* ms; 0: 1000, as a daemon has it */
};

/* Of the first host. */
struct many_figures {
	uint64_t sessions, associations;
	uint64_t up_us;                     /* virtual time until all are up */
	uint64_t set_up, traffic, idle;     /* packets sent and received by then, and since then */
	uint64_t idle_bytes, traffic_bytes; /* memory, before the messages and after them */
	uint64_t peak_bytes, end_bytes;     /* the most at any time, and after idle_s */
	uint64_t messages;                  /* that it received */
	uint64_t lost;                      /* associations that ended */
	uint64_t retransmits;               /* of all hosts */
};

/* Runs it. False: an association did not come up, or ended, or a message did not come. */
bool many_run(const struct many_config *c, struct many_figures *ret);

#endif
