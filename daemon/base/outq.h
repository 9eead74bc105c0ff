/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that wait because their client reads slowly. The queue is bounded: a client that never
 * reads loses its own connection and does not delay others.
 */
#ifndef DAEMON_BASE_OUTQ_H
#define DAEMON_BASE_OUTQ_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/acct.h"
#include "daemon/base/event_loop.h"
#include "util/list.h"

struct outq {
	int fd; /* the owner's */
	struct event_loop *loop;
	struct event_loop_watch *watch; /* for room, while records wait */
	struct list waiting;
	unsigned count, max;
	void (*failed)(void *user, const char *reason); /* the connection cannot be used any more */
	void (*drained)(void *user);                    /* no record waits any more; or NULL */
	void *user;

	uint64_t bytes, free; /* of the waiting records; those that are not charged */
	struct acct *acct;    /* NULL: nothing is charged */
	uid_t uid;
	struct acct_charge charge;
};

/* A queue for at most max records that wait for room in fd. fd stays the caller's. */
void outq_init(struct outq *q, struct event_loop *loop, int fd, unsigned max,
	       void (*failed)(void *user, const char *reason), void *user);
/* Calls fn(user) whenever the last waiting record has been sent. fn may send more. */
void outq_on_drained(struct outq *q, void (*fn)(void *user));
/*
 * Charges the uid for the memory of waiting records beyond the first `free` bytes. A record that
 * the uid has no memory for is a failure.
 */
void outq_charge(struct outq *q, struct acct *acct, uid_t uid, uint64_t free);
/* Frees the waiting records, and releases their charge. Further records are dropped. A queue that
 * is all zero is fine. */
void outq_deinit(struct outq *q);

/*
 * Sends the record, or keeps a copy until there is room. A record with descriptors cannot wait: it
 * is sent at once or not at all. On failure, failed() is called once; the caller continues.
 */
void outq_send(struct outq *q, const void *rec, size_t len, const int *fds, unsigned nfds);

#endif
