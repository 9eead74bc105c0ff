/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transports of a simulated network, for tests: several nodes in one process under a
 * virtual clock, with faults drawn from a seed. It shows the worst behavior that SCTP permits:
 * every message of an association arrives once and complete, in any order, at any time.
 *
 * All upcalls are made from within sim_step(), which stands for llp_input(), llp_tick() and
 * llp_flush(); those three have no effect here. llp_recv() may be called at any time.
 */
#ifndef TESTS_LIB_SIM_H
#define TESTS_LIB_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "llp/common/llp.h"
#include "tests/lib/simclock.h"

/* Chances are in 10 000. All zero: no faults and no delays. */
struct sim_faults {
	uint32_t delay_us;  /* one way, at least */
	uint32_t jitter_us; /* largest random extra delay of each message: this reorders */
	unsigned lose;      /* chance of a message, or an ack, to come rto_us later */
	uint32_t rto_us;
	uint32_t ack_us;      /* acks are held back up to so long */
	uint32_t read_us;     /* largest delay until a received message is readable */
	uint32_t window;      /* messages without ack that llp_send() takes, 0 = no limit */
	unsigned again;       /* chance of a send to be refused in spite of room */
	unsigned resize;      /* chance of a send to find that max_message has changed */
	uint32_t message_min; /* bounds of max_message; 0 = 65476 */
	uint32_t message_max;
	unsigned refuse; /* chance of a connect to fail */
	unsigned breaks; /* chance of an association to break within break_us */
	uint32_t break_us;
};

struct sim_world;

/* NULL when there is no memory. faults is copied. */
struct sim_world *sim_world_new(uint64_t seed, const struct sim_faults *faults);

/* Frees it and every conn ever made in it. Close the transports first. NULL is fine. */
struct sim_world *sim_world_free(struct sim_world *w);

/* Sets the faults from now on. Messages in flight keep theirs. */
void sim_set_faults(struct sim_world *w, const struct sim_faults *faults);

/* The clock and the random numbers, for the test itself. */
struct simclock *sim_clock(struct sim_world *w);

/* Executes the next event: a message, an ack, a change, a call that the test scheduled. False if
 * there is none. */
bool sim_step(struct sim_world *w);

/* A digest of all events, times and bytes included. */
uint64_t sim_hash(const struct sim_world *w);

/*
 * Adds a node. Its addresses are those of cfg (at least one), and connects to them reach
 * its listeners; of the rest of cfg only streams is used. 0 or -ENOMEM.
 */
int llp_sim_open(struct sim_world *w, const struct llp_config *cfg, const struct llp_events *ev,
		 struct llp **ret);

/* Ends an association as the network would: messages in flight are lost, and each end detects it by
 * a timeout. restart: this end knows it at once, as after a restart of its host. */
void simconn_break(struct llp_conn *c, bool restart);

enum sim_what {
	SIM_SENT,    /* llp_send() took the message */
	SIM_ARRIVED, /* it arrived at the other end's transport; conn is that end */
	SIM_ACKED,   /* the upcall acked() is about to be made */
	SIM_UP,
	SIM_DOWN,
	SIM_OFFERED, /* llp_send() is asked to take the message, and may refuse */
};

/* Called for each event; m is NULL for events without a message. */
typedef void sim_observer(void *user, enum sim_what what, const struct llp_conn *conn,
			  const struct llp_msg *m);
void sim_observe(struct sim_world *w, sim_observer *fn, void *user);

/* The conns of a world are numbered from 0 in the order in which they were made. */
unsigned sim_conn_id(const struct llp_conn *c);

/* The other end, NULL if there was never one. */
struct llp_conn *sim_conn_peer(const struct llp_conn *c);

#endif
