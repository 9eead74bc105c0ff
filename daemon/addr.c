/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const struct sockaddr_in *v4(const struct sockaddr_storage *a)
{
	return (const struct sockaddr_in *)a;
}

static const struct sockaddr_in6 *v6(const struct sockaddr_storage *a)
{
	return (const struct sockaddr_in6 *)a;
}

bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return v4(a)->sin_addr.s_addr == v4(b)->sin_addr.s_addr;
	if (a->ss_family != AF_INET6)
		return false;
	return memcmp(&v6(a)->sin6_addr, &v6(b)->sin6_addr, sizeof(struct in6_addr)) == 0 &&
	       v6(a)->sin6_scope_id == v6(b)->sin6_scope_id;
}

bool addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return addr_same_host(a, b) && addr_port(a) == addr_port(b);
}

bool addr_any(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return v4(a)->sin_addr.s_addr == htonl(INADDR_ANY);
	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&v6(a)->sin6_addr);
	return true;
}

uint16_t addr_port(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? v6(a)->sin6_port : v4(a)->sin_port);
}

const char *addr_text(const struct sockaddr_storage *a, char ret[ADDR_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "any";
	bool six = a->ss_family == AF_INET6;
	const void *p = six ? (const void *)&v6(a)->sin6_addr : (const void *)&v4(a)->sin_addr;
	unsigned port = addr_port(a);

	if (six || a->ss_family == AF_INET)
		inet_ntop(a->ss_family, p, host, sizeof(host));
	if (port == 0)
		snprintf(ret, ADDR_TEXT_MAX, "%s", host);
	else
		snprintf(ret, ADDR_TEXT_MAX, six ? "[%s]:%u" : "%s:%u", host, port);
	return ret;
}
