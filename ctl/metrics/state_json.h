/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the daemon as one JSON object, for the status page. */
#ifndef CTL_STATE_JSON_H
#define CTL_STATE_JSON_H

#include <stdio.h>

#include "ctl/field/exit.h"

enum { STATE_JSON_ROWS = 200 }; /* objects of a kind at most; "more" counts the others */

/* The view that readers have. */
enum state_scope {
	STATE_TOTALS, /* sums of all: no peer, user or program */
	STATE_ALL,    /* also the objects that the daemon shows this process */
};

/* Asks the daemon, and writes {"scope", "status"}; with STATE_ALL also a list for each kind of
 * object, "more" and "hidden". Failures are reported by query_error(). */
enum ctl_exit state_json_print(FILE *out, const char *socket, int timeout_ms,
			       enum state_scope scope);

/* Writes {"error": text}. */
enum ctl_exit state_json_error(FILE *out, const char *text);

#endif
