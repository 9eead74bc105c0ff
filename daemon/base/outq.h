/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that wait because their client reads slowly. A client that never reads delays no other.
 *
 * A record waits in one of two ways. Replies answer requests of the client: a limited number may
 * wait, and a client that exceeds it loses its connection. Events that others cause wait in places
 * of the client's objects: an object has one place for each kind of event, where a later event
 * replaces or takes back the one that has not been sent yet. So the number of objects, which are
 * limited and charged, bounds the waiting events, and others cannot make the client lose its
 * connection.
 */
#ifndef DAEMON_BASE_OUTQ_H
#define DAEMON_BASE_OUTQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/acct.h"
#include "daemon/base/event_loop.h"
#include "util/list.h"

enum { OUTQ_PLACE_BYTES = 1152 /* that are charged for a place */ };

struct outq_waiting;

/* Where the record of an object waits; all zero: none does. */
struct outq_place {
	struct outq_waiting *waiting;
};

struct outq {
	int fd; /* the owner's */
	struct event_loop *loop;
	struct event_loop_watch *watch; /* for room, while records wait */
	struct list waiting;
	unsigned count, max;
	void (*failed)(void *user, const char *reason); /* the connection cannot be used any more */
	void (*drained)(void *user);                    /* no record waits any more; or NULL */
	void *user;

	unsigned places;      /* that objects have reserved */
	uint64_t bytes, free; /* of places and other waiting records; those that are not charged */
	struct acct *acct;    /* NULL: without charges */
	uid_t uid;
	struct acct_charge charge;
};

/* A queue for at most max records that wait for room in fd, those in places not counted. fd stays
 * the caller's. */
void outq_init(struct outq *q, struct event_loop *loop, int fd, unsigned max,
	       void (*failed)(void *user, const char *reason), void *user);
/* Calls fn(user) whenever the last waiting record has been sent. fn may send more. */
void outq_on_drained(struct outq *q, void (*fn)(void *user));
/* Charges the uid for the memory of places and waiting records beyond the first `free` bytes. */
void outq_charge(struct outq *q, struct acct *acct, uid_t uid, uint64_t free);
/* Frees the waiting records, and releases their charge. Further records are dropped. A queue that
 * is all zero is fine. */
void outq_deinit(struct outq *q);

/*
 * Sends the record, or keeps a copy until there is room, with descriptors of its own. A record that
 * the uid has no memory for is a failure. On failure, failed() is called once; the caller
 * continues.
 */
void outq_send(struct outq *q, const void *rec, size_t len, const int *fds, unsigned nfds);

/* Memory for n places more. 0, ACCT_E_LIMIT with a sentence, or -ENOMEM. */
int outq_reserve(struct outq *q, unsigned n, char *ret_reason, size_t len);
/* Gives n places back. */
void outq_release(struct outq *q, unsigned n);

/* Sends the record, or has it wait in the place. A record that waits there is replaced at its
 * position in the queue; both have the same length. */
void outq_put(struct outq *q, struct outq_place *place, const void *rec, size_t len);
/* Drops the record in the place. False if none waits there: it was sent. */
bool outq_take_back(struct outq *q, struct outq_place *place);
/* The object ends: a record that waits stays in the queue, and keeps the reserved place until it is
 * sent, so the object gives one less back. False: none waits. */
bool outq_leave(struct outq *q, struct outq_place *place);

#endif
