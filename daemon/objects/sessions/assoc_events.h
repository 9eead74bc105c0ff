/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the events of an association on to the queue pairs, listeners and session requests on it.
 */
#ifndef DAEMON_OBJECTS_ASSOC_EVENTS_H
#define DAEMON_OBJECTS_ASSOC_EVENTS_H

#include "daemon/net/association.h"

/* For worker.assoc_events. */
extern const struct association_events assoc_events;

#endif
