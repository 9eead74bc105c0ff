/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a session ended or failed, as a sentence and as an errno value. */
#ifndef DAEMON_OBJECTS_REASON_H
#define DAEMON_OBJECTS_REASON_H

#include <stddef.h>

struct assoc_event;
struct association;

/* Writes the sentence for a CLOSED event, "" for an orderly end by this side. assoc: that
 * of the session. Returns the errno value, 0 for an orderly end. */
int reason_closed(const struct association *assoc, const struct assoc_event *ev, char *ret,
		  size_t len);

/* The same for an ERROR event of a raw queue pair. */
int reason_error(const struct assoc_event *ev, char *ret, size_t len);

#endif
