/* SPDX-License-Identifier: BSD-2-Clause */
/* Event channels of rdma_cm. */
#ifndef VERBS_CM_EVENT_H
#define VERBS_CM_EVENT_H

#include <rdma/rdma_cma.h>
#include <stddef.h>

struct cm_id;

/* Before an id of this process uses a channel of its parent, whose events stay with the parent. 0
 * or a positive errno value. */
int cm_event_renew(struct rdma_event_channel *channel);

/* Queues an event with a copy of the private data at the channel of its id, or of listen_id.
 * Without memory the event is lost. */
void cm_event_push(const struct rdma_cm_event *ev, const void *private_data, size_t len);

/* An event without data. */
void cm_event_simple(struct cm_id *id, enum rdma_cm_event_type type, int status);

/* After DISCONNECTED: its queue pair has ended. An iWARP device has no such event. */
void cm_event_ended(struct cm_id *id);

/* Before an id is destroyed: deletes its queued events, drops the ids of requests that nobody took,
 * and waits until the program has acknowledged the events that it took. */
void cm_event_forget(struct cm_id *id);

/* Moves the id and its queued events to another channel. */
void cm_event_migrate(struct cm_id *id, struct rdma_event_channel *to);

#endif
