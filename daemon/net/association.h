/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An association with another daemon, or with this one over the loop transport: the
 * transport's handle and the protocol's state of it, paired. Shared by all queue pairs
 * that talk to the same addresses and port, from the same ones here.
 */
#ifndef DAEMON_NET_ASSOCIATION_H
#define DAEMON_NET_ASSOCIATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "daemon/net/datapath.h"
#include "daemon/net/endpoint_addrs.h"
#include "daemon/base/log.h"
#include "llp/llp.h"
#include "proto/assoc.h"
#include "util/list.h"

struct daemon;
struct listener;
struct qp;

enum association_state {
	ASSOCIATION_CONNECTING,
	ASSOCIATION_UP,
	ASSOCIATION_ENDING,
	ASSOCIATION_DOWN
};

struct association {
	struct daemon *daemon;
	uint32_t id;     /* for people: counts up from 1 */
	uint32_t handle; /* in daemon.peers */
	enum association_state state;
	bool opener;
	struct llp_conn *conn;
	struct assoc *ddp; /* NULL until the association is up */
	struct datapath dp;
	struct listener *listener;      /* that it came to; NULL if we opened it, or it is closed */
	struct list waiting;            /* queue pairs to be initiated when it is up */
	struct list active;             /* in daemon.active */
	uint64_t idle_since_ms;         /* 0: in use */
	uint64_t measured_ms;           /* when the largest message was looked at */
	struct endpoint_addrs addrs;    /* opener: that were asked for */
	struct sockaddr_storage remote; /* with which it came up */
	struct log_limit path_log;
	int lost_err; /* why the association was lost, errno value */
};

/* Upcalls of the transports; the user pointers are struct association, and struct listener. */
extern const struct llp_events association_llp_events;

/*
 * The association to use for a session between these ends: one that we opened for the same ones,
 * that is up or on its way and has a stream left, else a new one. 0 or -errno.
 */
int association_get(struct daemon *d, const struct endpoint_addrs *addrs, struct association **ret);

/* Starts the queue pair's session on it, now or when it is up. */
void association_initiate(struct association *assoc, struct qp *qp);

/* It may have something to send: have it looked at in this turn. */
void association_activate(struct association *assoc);

/* Sends for all active peers, within budgets. True if anything was done. */
bool association_send_all(struct daemon *d);

/* Runs the protocol's timers, ends associations that are idle, frees those that are gone. */
void association_tick_all(struct daemon *d);

/* When association_tick_all() is next needed. */
uint64_t association_expiry(const struct daemon *d);

/* Aborts and frees. NULL is fine; returns NULL. */
struct association *association_free(struct association *assoc);

/* As ddpctl shows it. */
/* "connecting", "up", "ending", "down" */
const char *association_state_str(enum association_state s);

#endif
