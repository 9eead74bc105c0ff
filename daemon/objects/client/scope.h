/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scope of a queue pair: regions and windows that are bound to it can be used by its peer only.
 * Memory knows queue pairs by their scopes alone.
 */
#ifndef DAEMON_OBJECTS_SCOPE_H
#define DAEMON_OBJECTS_SCOPE_H

#include <stdint.h>

#include "util/list.h"

struct client;
struct pd;

struct scope {
	struct list link; /* in handles.scopes */
	uint64_t number;  /* used by the STag table; never 0 */
	struct pd *pd;    /* of the queue pair */
	uint32_t qp_num;
};

/* Opens the scope of a new queue pair; `same` is that of another one of the same domain, whose
 * windows and regions it shares, or NULL. */
void scope_open(struct scope *s, struct client *c, struct pd *pd, uint32_t qp_num,
		const struct scope *same);

/* The queue pair ends. */
void scope_close(struct scope *s);

/* Number of the client's oldest queue pair with this scope, or 0. */
uint32_t scope_qp_num(const struct client *c, uint64_t number);

#endif
