/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client program as its objects see it: credentials, limits, tables of its objects, and sockets.
 * Handles are looked up in these tables alone, so a client cannot name the objects of another one.
 * service/attach makes and frees clients.
 */
#ifndef DAEMON_OBJECTS_CLIENT_H
#define DAEMON_OBJECTS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/acct.h"
#include "daemon/base/outq.h"
#include "daemon/base/reply.h"
#include "daemon/base/state.h"
#include "daemon/objects/client/async.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/client/rings.h"
#include "ipc/msg.h"
#include "ipc/ring.h"
#include "util/drr.h"
#include "util/list.h"

struct agent;
struct show;

enum {
	CLIENT_REPLIES_MAX = 32, /* replies that may wait: then no record is read */
	CLIENT_FDS = 3,          /* its socket, and those that hello makes */
	CLIENT_AHS = 65535,      /* address handles */
};

/* Its sockets, and the records that wait for room in them. */
struct client_io {
	int fd;       /* records and replies */
	int event_fd; /* events */
	struct event_loop_watch *watch;
	struct drr turn; /* of its user, while its socket may have records */
	struct outq replies, events;
	uint32_t events_max;    /* limits.events when it said hello */
	struct acct_charge fds; /* CLIENT_FDS */
};

/* Settled by hello, which every other request needs. */
struct client_hello {
	bool done;
	uint16_t minor;                /* of its library's version of the local protocol */
	char refusal[ACCT_REASON_MAX]; /* why it may only ask for state, as ddpctl does; or "" */
};

/* Its completion queues with notices of Writes: memory/notice. */
struct client_notices {
	struct list link;   /* in worker.notice_clients */
	struct list active; /* to be looked at */
	struct list quiet;  /* not before the client has rung */
};

/* Its bell page: which of its queue pairs have work. */
struct client_bells {
	struct bell_page *page; /* NULL before hello */
	struct list polled;     /* in worker.polled: the page is read in each turn */
	uint64_t rung_ms;       /* when it rang last, or got a completion that it may answer */
	bool answers;           /* it has rung since the last one of these */
	uint64_t rung_words;    /* words of the page that are still to be taken */
	uint64_t before;        /* words that a record waits for */
	uint32_t record;        /* counts the records that were seen */
	bool record_waits;      /* the last one of them */
	struct drr turn;        /* of its user, while there are any */
	int doorbell; /* the daemon's end: the client rings the other when page says "sleeping" */
	struct event_loop_watch *watch; /* of the doorbell */
	struct list posted; /* queue pairs that may have entries in their send rings: posted.c */
	struct client_notices notices;
};

/* The journal that it watches: service/watch. */
struct client_watching {
	struct journal_watcher watcher; /* linked while it watches */
	uint32_t seq;                   /* of its request */
	uint32_t lost;                  /* events left out since the last one */
};

/* The memory that it has registered. */
struct client_regions {
	void *mappings; /* of its memfds, a tree of mapping.c */
	uint64_t bytes;
	char unfilled[MSG_REASON_MAX]; /* why the last holes in it were not filled */
};

/* Why it will be ended. */
struct client_fault {
	struct list link; /* in worker.faulty */
	char reason[MSG_REASON_MAX];
	uint32_t seq; /* of the record at fault; 0: none was */
	int err;      /* errno value */
};

struct client {
	struct daemon *daemon;
	struct worker *worker; /* that serves it and all it owns */
	uint32_t id;           /* for messages and ddpctl: counts from 1 */
	uint32_t handle;       /* in daemon.clients */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	char comm[32];
	bool leaving;   /* client_leave() was called: it gets no more events and faults ... */
	uint32_t freed; /* ... and its objects up to this place of a table are freed */
	struct client_hello hello;
	struct client_io io;
	struct client_bells bells;
	struct handles handles; /* of its objects */
	struct async_channel async;
	struct client_watching watching;
	struct show *show;        /* current answer, or NULL; no record is read meanwhile */
	struct rings_slabs rings; /* memory of its small rings */
	struct agent *agent;      /* NULL: none */
	struct client_regions regions;
	struct acct_charge charge, memory;
	struct drr turn; /* of its user: whose sessions send */
	uint64_t since_ms;
	struct client_fault fault;
};

/* Sizes the tables for the present limits. Tables do not shrink: acct enforces lower limits. */
void client_allow(struct client *c);

/* True for those whom the key `admin` names. */
bool client_is_admin(const struct client *c);

/* 0, or a refusal of `what` that names the key, with -EPERM. */
int client_check_admin(const struct client *c, const char *what, struct reply *rep);

/* The rule of `ports` by which the client may not listen at the port; NULL: it may. */
const struct port_rule *client_port_rule(const struct client *c, uint16_t port);

/*
 * Objects act on their client through the functions below. Once the client leaves they have no
 * effect, because its objects are ending.
 */

/*
 * Begins to end the client: takes it off the worker's lists, stops watching its sockets and empties
 * its queues. The caller then frees its objects, and then the client.
 */
void client_leave(struct client *c);

/* Marks the client to be ended after this turn, with the reason. The first fault counts. */
void client_fault(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For outq_init(), with the client as user: marks it to be ended, with the reason. */
void client_queue_failed(void *user, const char *reason);

/* Charges the client's uid, or refuses with the limit's name, value and use. */
int client_charge(struct client *c, enum acct_kind kind, uint64_t amount, struct acct_charge *ret,
		  struct reply *rep);

/* Sets the amount of the charge, and makes a charge of this kind if there is none; on refusal
 * the charge is unchanged. */
int client_set_charge(struct client *c, enum acct_kind kind, uint64_t amount,
		      struct acct_charge *charge, struct reply *rep);

/* Replaces the charged amount by another one; on refusal the charge is unchanged. */
int client_change(struct client *c, struct acct_charge *charge, uint64_t amount, struct reply *rep);

/*
 * Events wait in places of the objects that they are about (base/outq.h), until the client reads.
 * An object reserves as many places as events of it may wait at the same time.
 */

/* Places for n events. 0, or a refusal with limit, value and use. */
int client_reserve_events(struct client *c, unsigned n, struct reply *rep);

/* Queues an event; hdr is filled in here. It replaces one that waits in this place. */
void client_event(struct client *c, struct outq_place *place, struct msg_event *ev);

/* Takes the event in this place back. False if none waits: the client may have read it. */
bool client_event_take_back(struct client *c, struct outq_place *place);

/*
 * The object with these n places ends, and gives back its reservations. Events that wait stay, for
 * a program may destroy an object before it reads why; from limits.events on they go with it.
 */
void client_release_events(struct client *c, struct outq_place *places, unsigned n,
			   unsigned reserved);

/* True if fewer events wait than limits.events. Otherwise it gets no further session requests. */
bool client_reads_events(const struct client *c);

/* Reads the client's bell page in each turn, from the next one on. */
void client_poll_bells(struct client *c);

/* The same after a completion, for a client that has rung since the one before: it may post an
 * answer soon. One that only receives never does. */
void client_await_answer(struct client *c);

/* Rings the bell of the queue pair with this handle, in the client's place: the next turn checks
 * the queue pair. */
void client_ring(struct client *c, uint32_t qp);

/* The bell of a queue pair with this handle, and its slot of the agent. */
static inline uint32_t client_slot(uint32_t qp)
{
	return (qp & 0xffff) - 1;
}

#endif
