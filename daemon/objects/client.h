/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One client program: its sockets, its credentials, its bell page, and the tables of all
 * that it has. What it names by handle is looked up here and nowhere else, so that no client can
 * name what is another's.
 */
#ifndef DAEMON_OBJECTS_CLIENT_H
#define DAEMON_OBJECTS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/acct.h"
#include "daemon/daemon.h"
#include "daemon/base/outq.h"
#include "daemon/base/reply.h"
#include "ipc/msg.h"
#include "ipc/ring.h"
#include "util/idtab.h"
#include "util/list.h"

struct qp;

struct client {
	struct daemon *daemon;
	uint32_t id;     /* for people: counts up from 1 */
	uint32_t handle; /* in daemon.clients */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	char comm[32];
	bool hello;   /* said hello: everything else needs it */
	int fd;       /* requests and replies */
	int event_fd; /* events */
	struct event_loop_watch *watch;
	struct outq replies, events;
	int bell; /* our end: the client rings the other while we sleep */
	struct event_loop_watch *bell_watch;
	struct bell_page *page;
	struct idtab pds, mrs, mws, cqs, qps, srqs, listeners, requests;
	struct acct_charge charge;
	uint64_t mr_bytes; /* in its regions */
	uint64_t since_ms;
	struct list faulty; /* in daemon.faulty: to be ended */
	char fault[MSG_REASON_MAX];
	uint32_t fault_seq; /* of the request at fault, 0 if it was none */
	int fault_err;      /* errno value */
};

/* A client on a connected socket, which it takes over even on failure. 0 or -errno. */
int client_new(struct daemon *d, int fd);

/* Gives its tables room for what the limits allow by now. They do not shrink: acct refuses. */
void client_allow(struct client *c);

/* Ends the client and all it has: sessions with Terminate, registrations, queues. */
void client_free(struct client *c);

/* Marks the client to be told the reason and ended after this turn. The first fault counts. */
void client_fault(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Ends all marked clients. True if there was any. */
bool client_end_faulty(struct daemon *d);

/* Charges the client's uid, or refuses with the limit's name, value and use. */
int client_charge(struct client *c, enum acct_kind kind, uint64_t amount, struct acct_charge *ret,
		  struct reply *rep);

/* Charges another amount in place of the one that was; if it refuses, nothing has changed. */
int client_change(struct client *c, struct acct_charge *charge, uint64_t amount, struct reply *rep);

/* Answers HELLO: makes bell page and event socket. 0 or a refusal. */
int client_hello(struct client *c, const struct msg_hello *req, struct reply *rep);

/*
 * Whether it may be told of what does not end with its own sessions: peers can ask and withdraw,
 * and paths come and go, as often as they like. While a client is slow to hear of that it is
 * told no more; the rest of its queue is for what its own sessions have to say.
 */
bool client_event_quota_ok(const struct client *c);

/* Queues an event; hdr is filled in here. */
void client_event(struct client *c, struct msg_event *ev);

/* Rings the bell of a queue pair in the client's place: it is looked at in the next turn. */
void client_ring(struct client *c, const struct qp *qp);

/* Takes the client's bells: each queue pair with news is woken. True if there was any. */
bool client_take_bells(struct client *c);

/* Says that the daemon is about to sleep; false if the client has rung meanwhile. */
bool client_sleep(struct client *c);
void client_awake(struct client *c);

#endif
