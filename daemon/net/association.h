/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An association with another daemon, or with this one over the loop transport: the
 * transport's handle and the protocol's state of it, paired. All sessions between the same
 * addresses and ports share it.
 *
 * Users of associations get their events through one table, as this file gets those of its
 * transport through struct llp_events.
 */
#ifndef DAEMON_NET_ASSOCIATION_H
#define DAEMON_NET_ASSOCIATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "daemon/base/acct.h"
#include "daemon/base/worker.h"
#include "daemon/net/asking.h"
#include "daemon/net/datapath.h"
#include "daemon/net/endpoint_addrs.h"
#include "llp/common/llp.h"
#include "proto/association/assoc.h"
#include "util/list.h"
#include "util/timer.h"

enum association_state {
	ASSOCIATION_CONNECTING,
	ASSOCIATION_UP,
	ASSOCIATION_ENDING,
	ASSOCIATION_DOWN,
};

/* The user pointer of llp_listen_at(). Its owner embeds it. */
struct association_listener {
	struct worker *worker;
	const struct addr_set *at; /* empty: all addresses */
};

/* Of the uid that opens an association: the association, and its descriptor, where it is one. */
struct association_charges {
	struct acct_charge opened, socket;
};

struct association {
	struct worker *worker;
	uint32_t id;     /* for messages and ddpctl: counts from 1 */
	uint32_t handle; /* in worker.assocs */
	enum association_state state;
	bool opener;
	bool full; /* the transport took no more in this turn */
	struct llp_conn *conn;
	struct assoc *ddp; /* the protocol's state; NULL until the association is up */
	size_t ddp_bytes;  /* mapped for it */
	struct datapath dp;
	struct association_listener *listener; /* for sessions of the peer; NULL: not known */
	struct list waiting;            /* links of those who begin a session when it is up */
	struct asking asking;           /* those who began one, and wait for the answer */
	struct list requests;           /* links of session requests that wait for an answer */
	struct list unclaimed;          /* links of those that wait for a listener */
	struct list active;             /* in worker.active */
	struct list served;             /* in worker.served */
	struct list by_peer;            /* in a bucket of worker.by_peer */
	struct list same_id;            /* in a bucket of worker.by_id */
	struct timer timer;             /* the protocol's deadlines, and the end of idling */
	uint64_t idle_since_ms;         /* 0: in use */
	uint64_t last_user;             /* uid + 1 of its last session's program; 0: none had one */
	uint64_t measured_ms;           /* when the largest message was read */
	struct packed_addrs *addrs;     /* as a program here asked for them, or would; or NULL */
	struct sockaddr_storage remote; /* the primary peer address when it was established */
	struct network *network;        /* of that; NULL: over the loop, or not known */
	struct {
		uint64_t assocs, sessions, requests; /* that the peer began: the network has them */
	} charged;
	struct association_charges paid;
	struct {
		uint64_t since_ms;
		uint32_t said, left_out;
	} refusals;      /* session requests without a session: entries of the journal */
	uint32_t blocks; /* that ddp may hold */
	int lost_err;    /* errno value of the association's end; 0: shut down in order */
	char *lost;      /* why, as a sentence; NULL: it has not ended, or no memory */
};

/* Events of associations, for the layer above. No call may free the association. */
struct association_events {
	/* The association is up and the peer has room: the owner of this link of `waiting` may
	 * begin its session. */
	void (*initiate)(struct association *assoc, struct list *waiter);
	/* The association was not established, or ended before that. err: errno value. reason: a
	 * sentence. */
	void (*failed)(struct association *assoc, struct list *waiter, int err, const char *reason);
	/* The refusal of the peer is final for the owner of this link. */
	void (*refused)(struct association *assoc, struct list *waiter);
	/* The rules of `peers` do not allow sessions any more that the peer began (theirs), or that
	 * programs here began: they end, and so do requests for them. reason: a sentence, valid
	 * during the call. */
	void (*disallowed)(struct association *assoc, bool theirs, const char *reason);
	/* Something happened to a session or a request for one. */
	void (*event)(struct association *assoc, const struct assoc_event *ev);
	/* Bytes were placed, perhaps in memory of a client. May be NULL. */
	void (*placed)(struct association *assoc, const struct span *dst, unsigned n);
	/* A path changed; change completes the sentence "path to X ...". */
	void (*path)(struct association *assoc, const struct llp_path *path, const char *change);
	/* The association is about to be freed; `requests` and `unclaimed` must be empty afterward.
	 */
	void (*gone)(struct association *assoc);
};

/* Upcalls of the transports. The user pointers are struct association and struct
 * association_listener. */
extern const struct llp_events association_llp_events;

/*
 * The association to use for a session between these endpoints: one that was opened here for the
 * same addresses, or by the peer from them and from the port that is asked for, is up or on its way
 * and has a stream left; else a new one, which has the charges then. 0 or -errno; after
 * an error the charges are released. They must be empty when one is found.
 */
int association_get(struct worker *w, const struct endpoint_addrs *addrs,
		    struct association_charges *charges, struct association **ret);

/* From now on the sessions of the association get the acknowledgements of the peer
 * (assoc_tx_progress). */
void association_report_acks(struct association *assoc);

/* Calls initiate() for the waiter when the association is up and few requests are unanswered: at
 * once, or later unless the waiter unlinks itself and calls association_activate(). */
void association_wait(struct association *assoc, struct list *waiter);

/* A request of this side is sent, was answered by the peer's program, or needs no answer any more.
 */
void association_asks(struct association *assoc);
void association_answered(struct association *assoc);
void association_asked(struct association *assoc);

/* The peer refused a request. True: the waiter is tried again, or gets refused(). False: it is
 * final. */
bool association_refused(struct association *assoc, struct list *waiter);

/* The protocol's state, at the time of this turn. Required before each call that begins, answers or
 * ends a session. NULL until the association is up. */
struct assoc *association_ddp(struct association *assoc);

/* Something may have changed: the association is checked in this turn. */
void association_activate(struct association *assoc);

/* Before segments of the association are sent: its deadlines and reports. False if it cannot send.
 * And after them. */
bool association_begin_turn(struct association *assoc);
void association_end_turn(struct association *assoc);

/* Shuts down each association when its last session has ended, without waiting for another. */
void association_stop_all(struct worker *w);

/* Ends the sessions, and the requests for them, that the peer began (theirs), or that programs here
 * began, for a rule that the sentence names. The association goes on. */
void association_disallow(struct association *assoc, bool theirs, const char *reason);

/* Aborts it with an errno value and a sentence, which peer and users get. It is freed later. */
void association_abort(struct association *assoc, int err, const char *reason);

/* Aborts and frees. NULL is fine; returns NULL. */
struct association *association_free(struct association *assoc);

/* "connecting", "up", "ending", "down" */
const char *association_state_str(enum association_state s);

#endif
