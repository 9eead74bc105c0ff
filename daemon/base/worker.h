/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of one thread: its event loop, its transports, the associations on them, and the work
 * of its next turn. There is one worker today. State that several workers would share is in struct
 * daemon (base/state.h); no other thread touches a worker.
 *
 * The lists hold only objects with work, so the cost of a turn depends on its work and not on the
 * number of objects.
 */
#ifndef DAEMON_BASE_WORKER_H
#define DAEMON_BASE_WORKER_H

#include <stdint.h>

#include "daemon/base/block_pool.h"
#include "daemon/base/journal.h"
#include "daemon/base/log.h"
#include "daemon/base/moderation.h"
#include "llp/common/llp.h"
#include "util/drr.h"
#include "util/idtab.h"
#include "util/list.h"
#include "util/timer.h"

struct association_events;
struct carriers;
struct daemon;
struct event_loop;
struct fd_store;
struct holes;
struct link_state;
struct listening;
struct peers;

enum { WORKER_BUCKETS = 1024 };

/* The addresses that the daemon has now, without ports: those of `listen` in its order, then
 * loopback. */
struct own_addrs {
	struct sockaddr_storage a[LLP_MAX_OWN];
	unsigned n;
};

struct worker {
	struct daemon *daemon;
	struct event_loop *loop;
	struct fd_store *fd_store; /* NULL until the transports are open */
	struct llp *net;           /* associations with other daemons */
	struct llp *self;          /* associations between clients of this daemon */
	struct event_loop_watch *net_watch[LLP_MAX_FDS];
	unsigned max_conns; /* associations of `net`, if each is a descriptor; or 0 */
	struct own_addrs own;
	struct listening *listening; /* NULL until it is open */
	struct moderation moderation;
	const struct association_events *assoc_events;
	struct block_pool pool; /* for messages in flight */
	struct idtab assocs;
	struct list by_peer[WORKER_BUCKETS];   /* associations for sessions, by the peer */
	struct list by_id[WORKER_BUCKETS];     /* associations */
	struct list ports;                     /* that programs listen on */
	struct list datagrams[WORKER_BUCKETS]; /* queue pairs of datagrams, by number */
	struct carriers *carriers;             /* NULL: no queue pair of datagrams yet */
	uint32_t last_datagram;                /* number given out */
	struct peers *peers;                   /* their networks; NULL: none is known or limited */
	struct link_state *links;              /* NULL until it is open */
	struct timers timers;                  /* in milliseconds, like now_ms */
	struct list polled;                    /* clients whose bell page is read in each turn */
	struct drr bells;                      /* whose bells are taken next: uids, clients */
	struct list active;                    /* associations that may have something to send */
	struct list served;                    /* those that sent in this turn */
	struct drr users;                      /* whose turn to send it is: uids, clients, shares */
	struct drr others;                     /* of these users: messages of no client */
	struct drr requests;                   /* whose record is read next: uids, clients */
	int64_t requests_us;        /* how long requests may take yet while there is other work */
	const struct list *user;    /* of `users`, who was served last ... */
	bool alone;                 /* ... and no other was */
	struct list dirty_cqs;      /* completion queues with new entries in this turn */
	struct list notice_clients; /* with notices of Writes to be written */
	struct list low_srqs;     /* shared receive queues that reached their limit in this turn */
	struct list dirty_async;  /* clients with new asynchronous events in this turn */
	struct list agents;       /* of clients, whose bells are to be rung in this turn */
	struct list unmappings;   /* memory of clients that is to be unmapped, and ... */
	uint64_t unmapping_bytes; /* ... how much */
	struct holes *holes;      /* in memfds of clients; NULL: they are not counted */
	void *shadows;            /* of regions that agents copy, a tree of objects/agent.c */
	struct list faulty;       /* clients to be ended after this turn */
	struct journal journal;
	struct log_limit client_log, socket_log; /* lines that clients can cause */
	struct timer trim;  /* memory that many associations had goes back to the system */
	unsigned freed;     /* records since then */
	uint32_t unclaimed; /* session requests that wait for a listener */
	uint64_t now_ms;    /* time of this turn */
	bool port_down;     /* no interface with an address of the daemon is up */
};

/* An empty worker for at most max_assocs associations, without loop and transports. */
void worker_init(struct worker *w, struct daemon *d, uint32_t max_assocs);

/* Frees the table of associations, which must be empty, and the pool. */
void worker_deinit(struct worker *w);

/* An association or a queue pair was freed: after many, memory goes back to the system a second
 * later. */
void worker_freed(struct worker *w);

#endif
