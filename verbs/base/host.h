/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One daemon, as a device: a connection of the process, which all contexts of the device share, and
 * a thread that hands out its connection events.
 */
#ifndef VERBS_HOST_H
#define VERBS_HOST_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs/base/gid_table.h"
#include "verbs/base/qp_num.h"

/* A receiver of asynchronous events: those of an object of libddpclient or, with ddp NULL, those of
 * the daemon. */
struct host_watch {
	void (*event)(struct host_watch *w, enum ddp_async_type type);
	/* The next connection begins, see host_revive(). May be NULL. The caller holds event_lock.
	 */
	void (*renew)(struct host_watch *w);
	const void *ddp;
	bool stays;          /* it is of the device, and not of one connection */
	bool inherited;      /* a child of fork() has it, too */
	unsigned generation; /* of the process that added it: see fork.h */
	struct host_watch *next;
};

struct host_timer;
struct oob_port;
struct qp;

struct host {
	struct ibv_device device; /* first: programs hold pointers to it */
	const char *socket;       /* NULL: the default of libddpclient */
	struct ddp_ctx *ddp;      /* use host_ddp() */
	struct ddp_ctx *former;   /* of a daemon that has ended */
	unsigned generation;      /* of the process that opened it: see fork.h */
	unsigned connection;      /* how many ended before it; guarded by event_lock */
	struct ddp_caps caps;
	struct sockaddr_storage addr; /* the first address of the daemon */
	struct gid_table gids;
	union ibv_gid gid; /* the first one */
	uint64_t guid;
	/* Held while an event is handed out, and while a receiver of events is destroyed. */
	pthread_mutex_t event_lock;
	bool has_thread;            /* one was started for this connection */
	int async_fd;               /* negative: the daemon is too old */
	bool port_down;             /* as its last event said; guarded by event_lock */
	bool gone;                  /* the end was an event; guarded by event_lock */
	struct host_watch *watches; /* guarded by event_lock */
	int timer_fd;               /* negative: no thread waits for it */
	struct host_timer *timers;  /* the next first; guarded by event_lock: see host_timer.h */
	struct ddp_id *dropped;     /* during a call of event_sink; guarded by event_lock */
	struct oob_port *ports;     /* of this process; guarded by event_lock */
	void (*end_ports)(struct host *h); /* may be NULL; the caller holds event_lock */
	struct qp *datagrams;              /* those for datagrams; guarded by event_lock */
	uint32_t active_ids;               /* that had a port so far; guarded by event_lock */
	struct qp_nums numbers;
};

/* A receiver of connection events: the user pointer of a ddp_id points to one. The event is valid
 * during the call. */
struct event_sink {
	void (*event)(struct event_sink *sink, const struct ddp_cm_event *ev);
};

enum { HOST_MAX = 64 };

/* Returns the number of daemons that answer, at most HOST_MAX; host_at() counts from 0. The first
 * call opens the connections. */
unsigned host_count(void);
struct host *host_at(unsigned i);

/* Returns the connection of this process; a child of fork() opens its own, with a thread for events
 * if its parent has one. If the daemon does not answer the child, calls with the result fail. */
struct ddp_ctx *host_ddp(struct host *h);

/*
 * Connects to the daemon that serves the socket now, if that of the connection has ended. Objects
 * of a connection can only be destroyed after its end, so this happens when each receiver stays.
 * Returns 0 if the daemon of the connection runs, which is not asked; EBUSY while there are
 * objects; or the positive errno value of ddp_open(). host_revive_all() does it with all hosts. The
 * caller holds no lock.
 */
int host_revive(struct host *h);
void host_revive_all(void);

/* Add and remove a receiver. The callers of host_add_watch_locked() and host_remove_watch() hold
 * event_lock. */
void host_add_watch(struct host *h, struct host_watch *w);
void host_add_watch_locked(struct host *h, struct host_watch *w);
void host_remove_watch(struct host *h, const struct host_watch *w);

/*
 * Keeps the threads of this library from accessing memory of the program until host_resume().
 * Returns true if the program has no other thread than the calling one.
 */
bool host_pause(void);
void host_resume(void);

/* Hands out the queued connection events. The caller holds event_lock. False if the daemon has
 * ended. Where memory is short, events wait for the next call. */
bool host_hand_out(struct host *h);

/* Whether the daemon runs and has an address that is up, as its events say: those that are there
 * are handed out first. The thread for events runs. It takes event_lock. */
bool host_port_is_up(struct host *h);

/* Destroys an id without a queue pair, which rejects a session request. A receiver of events may
 * destroy the id of its event. The caller holds event_lock. */
void host_drop_id(struct host *h, struct ddp_id *id);

/* Starts the thread for events, unless it runs. Returns 0 or a positive errno value: EIO if a child
 * of fork() has no connection. */
int host_start_events(struct host *h);

#endif
