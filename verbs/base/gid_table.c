/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/gid_table.h"

#include <ifaddrs.h>
#include <string.h>

#include "verbs/base/addr.h"

/* The interface that has the address, or whose network has it, as that of 127.0.0.0/8. */
static void name_netdev(const struct ifaddrs *list, const struct sockaddr_storage *a, char *ret)
{
	struct sockaddr_storage own;

	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!i->ifa_addr || !addr_is_ip(i->ifa_addr))
			continue;
		addr_copy(&own, i->ifa_addr);
		if (addr_same(&own, a) || (addr_is_loopback(&own) && addr_is_loopback(a) &&
					   own.ss_family == a->ss_family)) {
			strncpy(ret, i->ifa_name, IF_NAMESIZE - 1);
			return;
		}
	}
}

static uint32_t scope_of(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_scope_id : 0;
}

/* The daemon's word first: the program may not see its interfaces. */
static uint32_t link_of(const struct sockaddr_storage *a, const char *netdev)
{
	const uint32_t scope = scope_of(a);

	return scope || !*netdev ? scope : if_nametoindex(netdev);
}

void gid_table_fill(struct gid_table *t, const struct sockaddr_storage *addrs, unsigned n)
{
	struct ifaddrs *list = NULL;

	memset(t, 0, sizeof(*t));
	if (getifaddrs(&list))
		list = NULL;
	t->n = n;
	for (unsigned i = 0; i < n; i++) {
		addr_gid(&addrs[i], &t->gid[i]);
		name_netdev(list, &addrs[i], t->netdev[i]);
		t->link[i] = link_of(&addrs[i], t->netdev[i]);
	}
	if (list)
		freeifaddrs(list);
}

static bool has_loopback_gid(const union ibv_gid *gid)
{
	struct sockaddr_storage a;

	addr_of_gid(gid, 0, &a);
	return addr_is_loopback(&a);
}

bool gid_table_is_v2(const struct gid_table *t, unsigned i)
{
	return !has_loopback_gid(&t->gid[i]) || has_loopback_gid(&t->gid[0]);
}

unsigned gid_table_find(const struct gid_table *t, const struct sockaddr_storage *a)
{
	const uint32_t scope = scope_of(a);
	union ibv_gid gid;
	unsigned i = 0;

	addr_gid(a, &gid);
	while (i < t->n && (memcmp(&t->gid[i], &gid, sizeof(gid)) != 0 ||
			    (scope && t->link[i] && scope != t->link[i])))
		i++;
	return i;
}

void gid_table_reach(const struct gid_table *t, unsigned index, const union ibv_gid *gid,
		     uint16_t port, struct sockaddr_storage *ret)
{
	addr_of_gid(gid, port, ret);
	if (addr_needs_scope(ret))
		((struct sockaddr_in6 *)ret)->sin6_scope_id = t->link[index];
}

union ibv_gid gid_table_of_lid(const struct gid_table *t, uint16_t lid)
{
	union ibv_gid ret = t->gid[0];

	ret.raw[14] = (uint8_t)(lid >> 8);
	ret.raw[15] = (uint8_t)lid;
	return ret;
}
