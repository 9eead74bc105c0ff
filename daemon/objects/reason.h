/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a session ended, or what went wrong on its stream, in words and as an errno value. */
#ifndef DAEMON_OBJECTS_REASON_H
#define DAEMON_OBJECTS_REASON_H

#include <stddef.h>

struct assoc_event;

/* Writes the sentence for a CLOSED event, "" for an end in order by this side. lost_err: the errno
 * value with which the association was lost, if it was. Returns the errno value, 0 for an end in
 * order. */
int reason_closed(const struct assoc_event *ev, int lost_err, char *ret, size_t len);

/* The same for an ERROR event of a raw queue pair. */
int reason_error(const struct assoc_event *ev, char *ret, size_t len);

#endif
