/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries to the daemon. Failures are printed here; results are exit statuses. */
#ifndef CTL_QUERY_H
#define CTL_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/field/exit.h"
#include "ipc/ctl.h"

struct query_reply {
	struct ctl_record *recs; /* free() it */
	size_t n;
	uint32_t hidden; /* objects of other users, which the daemon left out */
	bool older;      /* the daemon is: it does not know such objects */
};

/* Reports a failure: "ddpctl: text" and a newline on stderr, unless query_errors_to() was called.
 */
void query_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Has failures go to fn instead, for the whole program: printable ASCII without a newline, valid
 * until fn returns. */
typedef void query_error_fn(const char *text);
void query_errors_to(query_error_fn *fn);

/* Has the daemon execute a verb of ipc/ctl.h with its id and argument. what: its name, for
 * messages. */
enum ctl_exit query_do(const char *socket, int timeout_ms, const struct ctl_do *verb,
		       const char *what);

/* Changes a key of the configuration until the daemon restarts. */
enum ctl_exit query_set(const char *socket, int timeout_ms, const char *key, const char *value);

/* Calls fn for each event from now on, until it returns false or the daemon ends: a record that
 * lacks members has zeros there. */
enum ctl_exit query_watch(const char *socket, int timeout_ms,
			  bool (*fn)(void *arg, const struct ctl_record *rec), void *arg);

/* Has the daemon copy packets into a ring (ipc/packet_ring.h) of *ret_size bytes, until *ret_conn
 * is closed. The caller owns both descriptors. */
enum ctl_exit query_capture(const char *socket, int timeout_ms, const struct ctl_capture *what,
			    int *ret_conn, int *ret_ring, uint64_t *ret_size);

/* Makes the path to that address the primary path of the association. */
enum ctl_exit query_set_primary(const char *socket, int timeout_ms, uint32_t assoc,
				const struct msg_addr *remote);

/* All objects of one kind. timeout_ms: for each record of the daemon. On failure ret is untouched.
 */
enum ctl_exit query_show(const char *socket, int timeout_ms, enum ctl_object object,
			 struct query_reply *ret);

#endif
