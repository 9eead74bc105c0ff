/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels: one descriptor for the events of several completion queues. */
#ifndef VERBS_CHANNEL_H
#define VERBS_CHANNEL_H

#include <infiniband/verbs.h>

struct cq;

/* Adds a CQ. 0 or a positive errno value. */
int channel_add(struct ibv_comp_channel *channel, struct cq *cq);

/* Removes a CQ that is destroyed. */
void channel_remove(struct ibv_comp_channel *channel, struct cq *cq);

#endif
