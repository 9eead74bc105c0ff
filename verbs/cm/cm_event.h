/* SPDX-License-Identifier: BSD-2-Clause */
/* Event channels of rdma_cm. */
#ifndef VERBS_CM_EVENT_H
#define VERBS_CM_EVENT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct cm_id;

/* Makes the spare events of a new id, so that a lack of memory loses none: programs wait for them.
 * Returns 0 or ENOMEM. */
int cm_event_reserve(struct cm_id *id);

/* Frees them. */
void cm_event_unreserve(struct cm_id *id);

/* Call it before an id of this process uses a channel, which may be one of the parent: queue and
 * descriptor are then replaced. Returns 0 or a positive errno value. */
int cm_event_renew(struct rdma_event_channel *channel);

/* Queues an event, with a copy of the private data, at the channel of listen_id or, if that is
 * NULL, of its id. Where memory is short it is one of the id's spare events. */
void cm_event_push(const struct rdma_cm_event *ev, const void *private_data, size_t len);

/* Queues an event without private data. */
void cm_event_simple(struct cm_id *id, enum rdma_cm_event_type type, int status);

/* Queues DISCONNECTED and, unless the device is an iWARP device, TIMEWAIT_EXIT a second later: on
 * InfiniBand the packets of a session that has ended may arrive for so long. It does not come if
 * the id is destroyed before. private_data as in cm_event_push(). The caller holds event_lock. */
void cm_event_ended(struct cm_id *id, const void *private_data, size_t len);

/* Sets how many requests of a listener may be in its queue; 0 or less: any number. */
void cm_event_limit(struct cm_id *listener, int backlog);

/* False: one more request of the listener would be too many, in all or from this address: the last
 * quarter of a limit from 16 on is for addresses that have less than a quarter. So the ranks of one
 * host may ask at once, and still leave room for others. */
bool cm_event_has_room(const struct cm_id *listener, const struct sockaddr_storage *peer);

/* Call it before an id is destroyed, when it has no id of libddpclient any more: deletes its queued
 * events, destroys the ids of requests that the program has not taken, and waits until the program
 * has acknowledged the events that it took.
 */
void cm_event_forget(struct cm_id *id);

/* Moves the id and its queued events to another channel. */
void cm_event_migrate(struct cm_id *id, struct rdma_event_channel *to);

#endif
