/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of a client's objects. An object has one bit for each type of event, and the
 * client takes one event at a time. An event that recurs before the client has taken it sets the
 * same bit, so events never queue up. An object that is destroyed drops its events.
 */
#ifndef DAEMON_OBJECTS_ASYNC_H
#define DAEMON_OBJECTS_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "ipc/msg.h"
#include "util/list.h"

struct client;
struct worker;

/* The events of an object. */
struct async {
	struct list link; /* in async_channel.pending while events is not 0 */
	uint32_t handle;  /* of the object; 0: the port */
	int32_t err;      /* QP_FATAL */
	uint16_t term;    /* QP_FATAL */
	uint16_t events;  /* set of 1 << MSG_ASYNC_ */
};

/* The events of a client. */
struct async_channel {
	struct list pending; /* objects with events, oldest first */
	struct list dirty;   /* in worker.dirty_async while the bell is to be rung */
	int bell;            /* the daemon's end; -1: the client has not asked for events */
	struct acct_charge bell_fd;
	struct async port; /* PORT_DOWN, PORT_UP */
};

/* Initializes: without events. */
void async_init(struct async *a);

/* Its object is destroyed: drops the events. */
void async_drop(struct async *a);

/* Initializes: without events and bell. */
void async_channel_init(struct async_channel *ch);

/* Closes the bell. All objects of the client are gone. */
void async_channel_deinit(struct async_channel *ch);

/* Makes the bell, whose waiting end goes with the reply. 0 or a refusal. */
int async_open(struct client *c, struct reply *rep);

/* True if the client has asked for its events. */
bool async_is_open(const struct client *c);

/* Posts an event of the client's object with this handle. The bell rings at the end of the turn. */
void async_post(struct client *c, struct async *a, enum msg_async_type type, uint32_t handle);

/* Takes the oldest event: fills in all members except hdr; type MSG_ASYNC_NONE if there is none. */
void async_take(struct client *c, struct msg_async *ret);

/* The daemon's addresses became unusable, or usable again: posts the event to all clients. */
void async_port(struct worker *w, bool up);

/* Rings the bell of each client with new events. True if there was any. */
bool async_ring_bells(struct worker *w);

#endif
