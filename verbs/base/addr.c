/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/addr.h"

#include <string.h>

bool addr_is_ip(const struct sockaddr *a)
{
	return a->sa_family == AF_INET || a->sa_family == AF_INET6;
}

socklen_t addr_len(const struct sockaddr *a)
{
	return a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

bool addr_is_any(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr == 0;
	return true;
}

bool addr_is_loopback(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
	return a->ss_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

void addr_set_loopback(struct sockaddr_storage *a, sa_family_t family)
{
	*a = (struct sockaddr_storage){.ss_family = family};
	if (family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

bool addr_is_group(const struct sockaddr_storage *a)
{
	in_addr_t ip;

	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)a)->sin6_addr);
	ip = ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr);
	return IN_MULTICAST(ip) || ip == INADDR_BROADCAST;
}

bool addr_needs_scope(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *a6 = (const void *)a;

	return a->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&a6->sin6_addr) &&
	       a6->sin6_scope_id == 0;
}

uint16_t addr_port(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)a)->sin6_port);
	return ntohs(((const struct sockaddr_in *)a)->sin_port);
}

void addr_set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)a)->sin_port = htons(port);
}

void addr_copy(struct sockaddr_storage *ret, const struct sockaddr *from)
{
	struct sockaddr_storage copy = {.ss_family = AF_UNSPEC};

	memcpy(&copy, from, addr_len(from));
	*ret = copy;
}

bool addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	if (a6->sin6_scope_id && b6->sin6_scope_id && a6->sin6_scope_id != b6->sin6_scope_id)
		return false;
	return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

void addr_gid(const struct sockaddr_storage *a, union ibv_gid *ret)
{
	const struct sockaddr_in6 *a6 = (const void *)a;
	const struct sockaddr_in *a4 = (const void *)a;

	memset(ret, 0, sizeof(*ret));
	if (a->ss_family == AF_INET6) {
		memcpy(ret->raw, &a6->sin6_addr, 16);
		return;
	}
	ret->raw[10] = ret->raw[11] = 0xff;
	memcpy(ret->raw + 12, &a4->sin_addr, 4);
}

bool addr_gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t v4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(gid->raw, v4, sizeof(v4)) == 0;
}

void addr_of_gid(const union ibv_gid *gid, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *a6 = (void *)ret;
	struct sockaddr_in *a4 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (addr_gid_is_ipv4(gid)) {
		a4->sin_family = AF_INET;
		a4->sin_port = htons(port);
		memcpy(&a4->sin_addr, gid->raw + 12, 4);
	} else {
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(port);
		memcpy(&a6->sin6_addr, gid->raw, 16);
	}
}
