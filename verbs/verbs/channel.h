/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels: one descriptor for the events of several completion queues. */
#ifndef VERBS_CHANNEL_H
#define VERBS_CHANNEL_H

#include <infiniband/verbs.h>

struct cq;

/* Adds a CQ. 0 or a positive errno value. */
int channel_add(struct ibv_comp_channel *channel, struct cq *cq);

/* Before completions that the library itself makes: adds a bell for their events, if the CQ has
 * none. 0 or a positive errno value. */
int channel_add_own_bell(struct ibv_comp_channel *channel, struct cq *cq);

/* One event. The CQ has such a bell. */
void channel_ring_own_bell(struct cq *cq);

/* Removes a CQ that is destroyed: from now on no call returns an event of it. */
void channel_remove(struct ibv_comp_channel *channel, struct cq *cq);

/* Waits until the program has acknowledged the events that calls have returned of a CQ that was
 * removed. The caller holds no lock: the program may need any before it acknowledges. */
void channel_wait_acked(struct cq *cq);

#endif
