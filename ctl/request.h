/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the daemon. Failures are printed here; results are exit statuses. */
#ifndef CTL_REQUEST_H
#define CTL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/exit.h"
#include "ipc/ctl.h"

struct request_answer {
	struct ctl_record *recs; /* free() it */
	size_t n;
	uint32_t hidden; /* left out by the daemon: another user's */
};

/* "ddpctl: text" and a newline on stderr. */
void request_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes the path of the association to that address the primary one. */
enum ctl_exit request_set_primary(const char *socket, int timeout_ms, uint32_t assoc,
				  const struct msg_addr *remote);

/* All objects of one kind. timeout_ms: for each record of the daemon. On failure ret is untouched.
 */
enum ctl_exit request_show(const char *socket, int timeout_ms, enum ctl_object object,
			   struct request_answer *ret);

#endif
