/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entries that a source of level 1 has on their way. Results go to the source's notify() when
 * they arrive; names are there after ddpcp_flight_end(). Functions return 0, or a failure that ends
 * the session.
 */
#ifndef TOOLS_DDPCP_FLIGHT_H
#define TOOLS_DDPCP_FLIGHT_H

#include "tools/ddpcp/ddpcp_source.h"

struct ddpcp_flight;

/* Sends one file while it is alone on its way. */
typedef int ddpcp_flight_put(struct ddpcp_source *s, int fd, const struct ddpcp_meta *meta,
			     const char *name);

/* put: for files above DDPCP_MAX_CHUNK. NULL: out of memory. */
struct ddpcp_flight *ddpcp_flight_new(struct ddpcp_source *s, ddpcp_flight_put *put);

/* Offers an entry. Takes fd over, a file to read or -1. Waits while DDPCP_FLIGHT of them are on
 * their way. */
int ddpcp_flight_offer(struct ddpcp_flight *fl, const struct ddpcp_rec *rec, int fd);

/* Waits for all of them, and for their names. */
int ddpcp_flight_end(struct ddpcp_flight *fl);

/* Files that may not have their names, if the session ended now. */
unsigned ddpcp_flight_open(const struct ddpcp_flight *fl);

/* NULL is fine. */
void ddpcp_flight_free(struct ddpcp_flight *fl);

#endif
