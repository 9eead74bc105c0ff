/* SPDX-License-Identifier: BSD-2-Clause */
/* The GIDs of a device: one for each address of its daemon, in their order. */
#ifndef VERBS_GID_TABLE_H
#define VERBS_GID_TABLE_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { GID_TABLE_MAX = 32 };

struct gid_table {
	unsigned n;
	union ibv_gid gid[GID_TABLE_MAX];
	char netdev[GID_TABLE_MAX][IF_NAMESIZE]; /* that has the address; "": none */
	uint32_t link[GID_TABLE_MAX];            /* index of that interface; 0: unknown */
};

/* n: at most GID_TABLE_MAX. */
void gid_table_fill(struct gid_table *t, const struct sockaddr_storage *addrs, unsigned n);

/* A program that chooses by type takes one of RoCE v2, of IPv4 before IPv6: addresses of the
 * loopback, which lead to no other host, are of v1, unless the first one is. */
bool gid_table_is_v2(const struct gid_table *t, unsigned i);

/* The GID of this address; t->n: none is. */
unsigned gid_table_find(const struct gid_table *t, const struct sockaddr_storage *a);

/* The address of a GID, own or a peer's, as the GID of that index reaches it: one that is valid on
 * a link alone is of its interface. */
void gid_table_reach(const struct gid_table *t, unsigned index, const union ibv_gid *gid,
		     uint16_t port, struct sockaddr_storage *ret);

/* RoCE has no LIDs; programs that use them get the low 16 bits of the first address. The
 * GID of a peer whose address is the same but for these. */
union ibv_gid gid_table_of_lid(const struct gid_table *t, uint16_t lid);

#endif
