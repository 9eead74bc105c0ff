/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transport of the simulator (tests/lib/sim.h) that is the real one: llp/user/user over sctp/
 * over a simulated network. All upcalls are made from within sim_step(), as those of llp_sim_open()
 * are, and the observer of the world sees the same events.
 */
#ifndef TESTS_SIM_STACK_H
#define TESTS_SIM_STACK_H

#include "tests/lib/simconn.h"
#include "tests/sim/network.h"

struct stack;

/* How its stack is configured. What llp/user/user limits is set in the core. */
struct stack_config {
	struct llp_config llp; /* no addresses */
	uint32_t send_buffer, recv_buffer;
	uint64_t max_memory;
	unsigned delay_us; /* longest time until a host has a turn */
};

/* Adds a node, whose host in the network has that number; connects go to the host of number n by
 * the address 0.0.0.n + 1. */
struct stack *stack_open(struct sim_world *w, struct sim_network *net, unsigned host,
			 const struct stack_config *cfg, const struct llp_events *ev,
			 const struct judge *judge, struct llp **ret);

/* Its host begins again, and nobody hears of it: the associations of the node are down at once. */
void stack_restart(struct stack *s);

/* Nothing happens any more but heartbeats: what was sent is acknowledged, and the two ends of each
 * association know the same. */
bool stack_quiet(const struct stack *s);

/* Timers in the clock of the world that need not expire before the run is over. */
unsigned stack_timers(const struct stack *s);

/* Makes the path to the peer's address in that subnet the primary one, if there is one. */
void stack_change_primary(struct llp_conn *c, unsigned subnet);

/* Its counters. */
void stack_stats(const struct stack *s, struct sctp_stats *ret);

#endif
