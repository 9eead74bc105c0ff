/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids without an event channel: each call waits for its event, which stays in id->event until the
 * next call. */
#ifndef VERBS_CM_SYNC_H
#define VERBS_CM_SYNC_H

#include "verbs/cm/cm_id.h"

/* Waits for the event of the call that has just succeeded, if the id is synchronous. Returns 0, or
 * -1 with errno if the event reports a failure. */
int cm_sync(struct cm_id *id);

/* Waits for the next event of an id and keeps it in id->event. 0, or -1 with errno. */
int cm_sync_next(struct rdma_cm_id *id);

#endif
