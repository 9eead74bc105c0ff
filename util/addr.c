/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/addr.h"

#include <arpa/inet.h>
#include <errno.h>
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

/* FNV-1a, whose upper bits vary more than the lower ones. */
static uint32_t hash(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint32_t h = UINT32_C(2166136261);

	while (n--)
		h = (h ^ *p++) * UINT32_C(16777619);
	return h ^ h >> 16;
}

uint32_t addr_hash_host(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return hash(&v4(a)->sin_addr, sizeof(struct in_addr));
	if (a->ss_family == AF_INET6)
		return hash(&v6(a)->sin6_addr, sizeof(struct in6_addr));
	return 0;
}

bool addr_any(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return v4(a)->sin_addr.s_addr == htonl(INADDR_ANY);
	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&v6(a)->sin6_addr);
	return true;
}

bool addr_one_host(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET && (IN_MULTICAST(ntohl(v4(a)->sin_addr.s_addr)) ||
					v4(a)->sin_addr.s_addr == htonl(INADDR_BROADCAST)))
		return false;
	if (a->ss_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&v6(a)->sin6_addr))
		return false;
	return !addr_any(a);
}

bool addr_loopback(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return ntohl(v4(a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return a->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6(a)->sin6_addr);
}

uint16_t addr_port(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? v6(a)->sin6_port : v4(a)->sin_port);
}

void addr_set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)a)->sin_port = htons(port);
}

socklen_t addr_len(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int addr_copy(struct sockaddr_storage *ret, const struct sockaddr *a)
{
	if (a->sa_family != AF_INET && a->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	memset(ret, 0, sizeof(*ret));
	ret->ss_family = a->sa_family;
	memcpy(ret, a, addr_len(ret));
	return 0;
}

const char *addr_host_text(const struct sockaddr_storage *a, char ret[ADDR_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "any";
	bool six = a->ss_family == AF_INET6;

	if (six)
		inet_ntop(AF_INET6, &v6(a)->sin6_addr, host, sizeof(host));
	else if (a->ss_family == AF_INET)
		inet_ntop(AF_INET, &v4(a)->sin_addr, host, sizeof(host));
	if (six && v6(a)->sin6_scope_id)
		snprintf(ret, ADDR_TEXT_MAX, "%s%%%u", host, (unsigned)v6(a)->sin6_scope_id);
	else
		snprintf(ret, ADDR_TEXT_MAX, "%s", host);
	return ret;
}

const char *addr_text(const struct sockaddr_storage *a, char ret[ADDR_TEXT_MAX])
{
	char host[ADDR_TEXT_MAX - 8];
	char all[ADDR_TEXT_MAX];
	unsigned port = addr_port(a);

	snprintf(host, sizeof(host), "%s", addr_host_text(a, all));
	if (port == 0)
		snprintf(ret, ADDR_TEXT_MAX, "%s", host);
	else
		snprintf(ret, ADDR_TEXT_MAX, a->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
			 port);
	return ret;
}
