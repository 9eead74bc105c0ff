/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of show.h. */
#ifndef DAEMON_SERVICE_SHOW_IMPL_H
#define DAEMON_SERVICE_SHOW_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/ctl.h"

struct client;
struct daemon;
struct kind;

/* The current answer. It continues at its place when the client has read: objects that begin or end
 * meanwhile may be in it or not. */
struct show {
	struct client *to;
	struct daemon *d;
	bool to_admin;
	const struct kind *kind;
	uint32_t outer, inner; /* position in a table, and in one of the object there */
	uint64_t next;         /* position among records with numbers of their own */
	unsigned cost;         /* of this turn */
	struct ctl_record rec;
	struct ctl_end end;
};

/* Copies a string, cut if it is too long. */
void show_string(char *ret, size_t len, const char *s);

/* Sends the record, and makes it empty. */
void show_send(struct show *s);

/* Call it for each object, also for hidden ones. True: that was enough. The rest follows in another
 * turn, or when the client has read. */
bool show_full(struct show *s);

/* A handle as ddpctl shows it: without its generation. */
uint32_t show_number(uint32_t handle);

/* Administrators see all objects, others see their own. */
bool show_may_see(const struct show *s, const struct client *owner);

/* ---- show_*.c: all objects of a kind; false: the queue is full ---- */

bool show_status(struct show *s);
bool show_assocs(struct show *s);
bool show_paths(struct show *s);
bool show_sessions(struct show *s);
bool show_events(struct show *s);
bool show_config(struct show *s);
bool show_limits(struct show *s);
bool show_users(struct show *s);
bool show_turns(struct show *s);
bool show_peers(struct show *s);

#endif
