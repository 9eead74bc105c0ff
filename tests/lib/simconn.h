/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the simulated network (tests/lib/sim.h): a conn's messages, acks and end are
 * in simconn.c, the world with its nodes and listeners is in sim.c.
 */
#ifndef TESTS_LIB_SIMCONN_H
#define TESTS_LIB_SIMCONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tests/lib/sim.h"
#include "util/list.h"

enum {
	SIM_MAX_MESSAGE = 65476,
	SIM_REASON_LEN = 96,
};

struct sim_world {
	struct simclock *clock;
	struct sim_faults faults;
	struct list nodes;
	struct list conns; /* all that were ever made */
	struct list msgs;  /* in flight */
	unsigned nconns;
	uint64_t hash;
	sim_observer *observer;
	void *observer_user;
};

struct simnode {
	struct llp llp;
	struct list link;
	struct sim_world *world;
	struct sockaddr_storage addrs[LLP_MAX_ADDRS];
	unsigned naddrs;
	uint16_t streams;
	struct list listeners;
	struct llp_stats stats;
	struct simmsg *current; /* the one that llp_recv() gave out last */
};

enum { SIMCONN_ACKS = 1 << 16 /* messages in flight, at most */ };

enum simconn_state {
	SIMCONN_CONNECTING,
	SIMCONN_UP,
	SIMCONN_OVER,
	SIMCONN_FREED,
};

/* The arguments of down(). */
struct simconn_end {
	int err;
	char reason[SIM_REASON_LEN];
};

struct simconn {
	struct llp_conn c;
	struct list link;
	bool opener; /* it was made by llp_connect_at() */
	struct simconn *peer;
	unsigned id;
	enum simconn_state state;
	bool cut;          /* the network between the ends is gone */
	bool closing;      /* shut down by this end or the other: takes no more messages */
	bool fin_sent;     /* our end of the data was sent */
	bool fin_received; /* the peer's end of the data arrived */
	bool refused;      /* llp_send() returned LLP_E_AGAIN */
	bool readable;     /* an upcall is scheduled */
	uint32_t max_message;
	uint32_t unacked;
	uint64_t sent;  /* messages */
	uint64_t acked; /* the oldest that is not acknowledged */
	uint8_t *acks;  /* ring of SIMCONN_ACKS: 1 for others that are; NULL: nobody asked */
	struct list inbox;
	struct sockaddr_storage local, remote;
	struct simconn_end end;
};

static inline struct simnode *simnode_of(const struct llp *t)
{
	return list_entry(t, struct simnode, llp);
}

static inline struct sim_world *simconn_world(const struct simconn *c)
{
	return simnode_of(c->c.llp)->world;
}

/* The conn of a handle that was not freed. */
struct simconn *simconn_of(const struct llp_conn *c);

/* Adds to the digest and calls the observer. */
void simconn_note(struct simconn *c, enum sim_what what, const struct llp_msg *m);

/* A random max_message within the bounds. */
uint32_t simconn_draw_limit(struct sim_world *w);

/* The delay of a message that is sent now. */
uint64_t simconn_delay(struct simconn *c);

/* Schedules a call for the conn. */
void simconn_after(struct simconn *c, uint64_t us, simclock_fn *fn, void *arg);

/* Events of a conn (the first pointer). */
void simconn_ev_down(void *c, void *end);    /* bye: struct simconn_bye */
void simconn_ev_cut(void *c, void *restart); /* restart: not NULL means yes */
void simconn_ev_up(void *c, void *unused);

/* The operations of struct llp_ops. */
int simconn_send(struct llp_conn *c, const struct llp_msg *m);
int simconn_recv(struct llp_conn *c, struct llp_msg *ret);
void simconn_report_acks(struct llp_conn *c);
void simconn_shutdown(struct llp_conn *c);
void simconn_abort(struct llp_conn *c, const char *reason);
void simconn_free(struct llp_conn *c);

#endif
