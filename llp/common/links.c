/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/common/links.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "util/addr.h"
#include "util/cleanup.h"

int links_watch(void)
{
	struct sockaddr_nl all = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	autoclose int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (struct sockaddr *)&all, sizeof(all)) < 0)
		return -errno;
	return take_fd(&fd);
}

void links_drain(int fd)
{
	char notice[4096];

	/* Too many notices are one as well. */
	while (recv(fd, notice, sizeof(notice), 0) >= 0 || errno == EINTR || errno == ENOBUFS)
		;
}

/* The address of an interface, with port 0. False if it is of another kind. */
static bool read_addr(const struct ifaddrs *i, struct sockaddr_storage *ret)
{
	*ret = (struct sockaddr_storage){0};
	if (!i->ifa_addr ||
	    (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
		return false;
	ret->ss_family = i->ifa_addr->sa_family;
	memcpy(ret, i->ifa_addr, addr_len(ret));
	return true;
}

/* Loopback addresses are used without an interface that has them. */
static bool is_loopback(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;

	return a->ss_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool matches(const struct ifaddrs *i, const struct sockaddr_storage *ours)
{
	struct sockaddr_storage a;

	if (!read_addr(i, &a))
		return false;
	return addr_any(ours) ? !(i->ifa_flags & IFF_LOOPBACK) : addr_same_host(&a, ours);
}

static bool one_up(const struct ifaddrs *list, const struct sockaddr_storage *ours)
{
	const unsigned wanted = IFF_UP | IFF_RUNNING;
	bool any = false;

	if (is_loopback(ours))
		return true;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!matches(i, ours))
			continue;
		if ((i->ifa_flags & wanted) == wanted)
			return true;
		any = true;
	}
	return !any && addr_any(ours);
}

bool links_up(const struct sockaddr_storage *addrs, unsigned n)
{
	struct ifaddrs *list;
	bool up = false;

	if (getifaddrs(&list))
		return true;
	for (unsigned i = 0; i < n && !up; i++)
		up = one_up(list, &addrs[i]);
	freeifaddrs(list);
	return up;
}
