/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/doctor/net_device.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "util/cleanup.h"

struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
};

static int request_link(int fd, unsigned index)
{
	const struct request q = {
		.head = {.nlmsg_len = sizeof(q),
			 .nlmsg_type = RTM_GETLINK,
			 .nlmsg_flags = NLM_F_REQUEST},
		.link = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index},
	};

	return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? 0 : -errno;
}

static uint32_t attribute_u32(const struct rtattr *a)
{
	uint32_t v = 0;

	if (RTA_PAYLOAD(a) == sizeof(v))
		memcpy(&v, RTA_DATA(a), sizeof(v));
	return v;
}

static int read_link(const struct nlmsghdr *h, struct net_device *ret)
{
	const struct ifinfomsg *link = NLMSG_DATA(h);
	size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*link));
	struct net_device d = {0};

	for (const struct rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == IFLA_MTU)
			d.mtu = attribute_u32(a);
		else if (a->rta_type == IFLA_GSO_MAX_SIZE)
			d.gso_max = attribute_u32(a);
	}
	if (!d.mtu || !d.gso_max)
		return -ENODATA;
	*ret = d;
	return 0;
}

int net_device_read(const char *name, struct net_device *ret)
{
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	unsigned index = if_nametoindex(name);
	alignas(struct nlmsghdr) char answer[16384];
	const struct nlmsghdr *h = (const struct nlmsghdr *)answer;
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	if (!index)
		return -ENODEV;
	r = request_link(fd, index);
	if (r)
		return r;
	n = recv(fd, answer, sizeof(answer), 0);
	if (n < 0)
		return -errno;
	if (!NLMSG_OK(h, (size_t)n) || h->nlmsg_type != RTM_NEWLINK ||
	    h->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg)))
		return -ENODATA;
	return read_link(h, ret);
}
