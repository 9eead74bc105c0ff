/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_sync.h"

#include <errno.h>

/* Forgets the event of the call before. */
static void ack_last_event(struct rdma_cm_id *id)
{
	if (id->event)
		rdma_ack_cm_event(id->event);
	id->event = NULL;
}

int cm_sync_next(struct rdma_cm_id *id)
{
	ack_last_event(id);
	return rdma_get_cm_event(id->channel, &id->event);
}

int cm_sync(struct cm_id *id)
{
	struct rdma_cm_id *ibv = &id->ibv;

	if (!id->sync)
		return 0;
	if (cm_sync_next(ibv))
		return -1;
	if (ibv->event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		errno = ENODEV;
		return -1;
	}
	if (ibv->event->status == 0)
		return 0;
	errno = ibv->event->status < 0 ? -ibv->event->status : ECONNREFUSED;
	return -1;
}
