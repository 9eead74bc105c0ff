/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one place where rings, protocol and transport meet: one association's way down and way up, as
 * numbered steps. It does not allocate, log, or make system calls other than the transport's. The
 * rings are reached through the endpoints' struct rdmap_ops (daemon/objects/sessions/wr.c).
 */
#ifndef DAEMON_NET_DATAPATH_H
#define DAEMON_NET_DATAPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "llp/common/llp.h"
#include "proto/association/assoc.h"

struct datapath {
	struct assoc *ddp;
	struct llp_conn *conn;
	uint32_t mulpdu; /* largest DDP segment now */
	bool broken; /* the transport refused a segment that it must take: the association is given
			up */
	uint64_t sent; /* segments sent so far */
	/* Session events, in order. May call assoc_ functions, must not free the association. */
	void (*on_event)(void *user, const struct assoc_event *ev);
	/* Bytes were placed, and are not delivered yet. May be NULL. */
	void (*on_placed)(void *user, const struct span *dst, unsigned n);
	void *user;
};

/* Reads the transport's largest message again: when the association is up, when a message was
 * too long, and from time to time. True if it has changed. */
bool dp_update_mulpdu(struct datapath *dp);

/* How a turn ended. */
enum dp_sent {
	DP_SENT,  /* the budget is used up */
	DP_OVER,  /* the turn is over */
	DP_EMPTY, /* the share has no more segments */
	DP_FULL,  /* the transport takes no more, or the association is broken */
};

enum { DP_EACH = 2048 /* a budget counts so many bytes for each segment besides its own */ };

/* Sends segments of the share while it has its turn, and takes their bytes from the budget. */
enum dp_sent dp_tx_turn(struct datapath *dp, struct assoc_share *share, int64_t *budget);

/* Without a tree of owners: sends at most budget segments. True if there may be more that the
 * transport would take. */
bool dp_tx(struct datapath *dp, unsigned budget);

/* Receives at most budget messages, and those that waited for them count as well. True if there may
 * be more: in the transport, or for dp_resume(), which the next turn has to call. */
bool dp_rx(struct datapath *dp, unsigned budget);

/* Processes messages that waited: for the Accept of their session, for a receive, or for their
 * turn. At most budget of them; true if there may be more. Call it after assoc_accept(),
 * assoc_rx_wake() and assoc_tick(). */
bool dp_resume(struct datapath *dp, unsigned budget);

/* Passes waiting session events to on_event. */
void dp_events(struct datapath *dp);

/* At most so many. True if there may be more. */
bool dp_some_events(struct datapath *dp, unsigned most);

#endif
