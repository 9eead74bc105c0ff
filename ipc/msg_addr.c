/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/msg_addr.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

int msg_addr_put(struct msg_addr *ret, const struct sockaddr_storage *a)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;
	struct msg_addr m = {.family = a->ss_family};

	switch (a->ss_family) {
	case AF_INET:
		m.port = ntohs(in->sin_port);
		memcpy(m.bytes, &in->sin_addr, sizeof(in->sin_addr));
		break;
	case AF_INET6:
		m.port = ntohs(in6->sin6_port);
		m.scope = in6->sin6_scope_id;
		memcpy(m.bytes, &in6->sin6_addr, sizeof(in6->sin6_addr));
		break;
	default:
		return -EAFNOSUPPORT;
	}
	*ret = m;
	return 0;
}

static int get_v4(const struct msg_addr *m, struct sockaddr_storage *ret)
{
	static const uint8_t none[sizeof(m->bytes) - sizeof(struct in_addr)];
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(m->port)};

	if (m->scope || memcmp(m->bytes + sizeof(in.sin_addr), none, sizeof(none)) != 0)
		return -EINVAL;
	memcpy(&in.sin_addr, m->bytes, sizeof(in.sin_addr));
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &in, sizeof(in));
	return 0;
}

static void get_v6(const struct msg_addr *m, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(m->port),
		.sin6_scope_id = m->scope,
	};

	memcpy(&in6.sin6_addr, m->bytes, sizeof(in6.sin6_addr));
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &in6, sizeof(in6));
}

int msg_addr_get(const struct msg_addr *m, struct sockaddr_storage *ret)
{
	switch (m->family) {
	case AF_INET:
		return get_v4(m, ret);
	case AF_INET6:
		get_v6(m, ret);
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}
