/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An association with another daemon, or with this one over the loop transport: the
 * transport's handle and the protocol's state of it, paired. Shared by all queue pairs
 * that talk to the same addresses and port, from the same ones here.
 */
#ifndef DAEMON_PEER_H
#define DAEMON_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "daemon/datapath.h"
#include "daemon/ends.h"
#include "daemon/log.h"
#include "llp/llp.h"
#include "proto/assoc.h"
#include "util/list.h"

struct daemon;
struct listener;
struct qp;

enum peer_state { PEER_CONNECTING, PEER_UP, PEER_ENDING, PEER_DOWN };

struct peer {
	struct daemon *daemon;
	uint32_t id;     /* for people: counts up from 1 */
	uint32_t handle; /* in daemon.peers */
	enum peer_state state;
	bool opener;
	struct llp_conn *conn;
	struct assoc *assoc; /* NULL until the association is up */
	struct datapath dp;
	struct listener *listener;      /* that it came to; NULL if we opened it, or it is closed */
	struct list waiting;            /* queue pairs to be initiated when it is up */
	struct list active;             /* in daemon.active */
	uint64_t idle_since_ms;         /* 0: in use */
	uint64_t measured_ms;           /* when the largest message was looked at */
	struct ends ends;               /* opener: that were asked for */
	struct sockaddr_storage remote; /* with which it came up */
	struct log_limit path_log;
	int lost_err; /* why the association was lost, errno value */
};

/* Upcalls of the transports; the user pointers are struct peer, and struct listener. */
extern const struct llp_events peer_events;

/*
 * The association to use for a session between these ends: one that we opened for the same ones,
 * that is up or on its way and has a stream left, else a new one. 0 or -errno.
 */
int peer_get(struct daemon *d, const struct ends *ends, struct peer **ret);

/* Starts the queue pair's session on it, now or when it is up. */
void peer_initiate(struct peer *p, struct qp *qp);

/* It may have something to send: have it looked at in this turn. */
void peer_activate(struct peer *p);

/* Sends for all active peers, within budgets. True if anything was done. */
bool peer_send_all(struct daemon *d);

/* Runs the protocol's timers, ends associations that are idle, frees those that are gone. */
void peer_tick_all(struct daemon *d);

/* When peer_tick_all() is next needed. */
uint64_t peer_expiry(const struct daemon *d);

/* Aborts and frees. NULL is fine; returns NULL. */
struct peer *peer_free(struct peer *p);

/* As ddpctl shows it. */
/* "connecting", "up", "ending", "down" */
const char *peer_state_str(enum peer_state s);

#endif
