/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a worker finds its associations: by number, and by the addresses that programs name. */
#ifndef DAEMON_NET_ASSOCIATION_INDEX_H
#define DAEMON_NET_ASSOCIATION_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct association;
struct endpoint_addrs;
struct worker;

/* Enters the association under its number. */
void association_index_id(struct association *assoc);

/* The association with this number, or NULL. */
struct association *association_index_by_id(struct worker *w, uint32_t id);

/* Keeps the addresses with which a program opened the association, and enters it under them. False:
 * no memory. */
bool association_index_addrs(struct association *assoc, const struct endpoint_addrs *addrs);

/* Enters an association that the peer opened, under the addresses with which a program here would
 * have opened it. */
void association_index_incoming(struct association *assoc);

/* An association between these endpoints that is up or on its way and has a stream left, or NULL.
 */
struct association *association_index_find(struct worker *w, const struct endpoint_addrs *addrs);

#endif
