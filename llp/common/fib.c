/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/common/fib.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#include "util/cleanup.h"

enum {
	ANSWER = 8192,
	ATTRS = 128,  /* bytes of three attributes */
	LOOPBACK = 1, /* index of lo in every network namespace */
};

struct request {
	struct nlmsghdr head;
	struct rtmsg route;
	uint8_t attrs[ATTRS];
};

/* ---- the question ---- */

static void put_attr(struct request *q, unsigned short type, const void *data, size_t len)
{
	struct rtattr *a = (void *)((uint8_t *)q + q->head.nlmsg_len);

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	q->head.nlmsg_len += (uint32_t)RTA_SPACE(len);
}

static const void *host(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
					: &((const struct sockaddr_in *)a)->sin_addr;
}

static struct request request(const struct sockaddr_storage *local,
			      const struct sockaddr_storage *to)
{
	bool v6 = to->ss_family == AF_INET6;
	unsigned len = v6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
	uint32_t scope = v6 ? ((const struct sockaddr_in6 *)to)->sin6_scope_id : 0;
	struct request q = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			 .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST},
		.route = {.rtm_family = (unsigned char)to->ss_family,
			  .rtm_dst_len = (unsigned char)(8 * len),
			  .rtm_flags = RTM_F_FIB_MATCH},
	};

	put_attr(&q, RTA_DST, host(to), len);
	if (local) {
		q.route.rtm_src_len = (unsigned char)(8 * len);
		put_attr(&q, RTA_SRC, host(local), len);
	}
	if (scope)
		put_attr(&q, RTA_OIF, &scope, sizeof(scope));
	return q;
}

/* ---- the answer ---- */

static uint32_t attr_u32(const struct rtattr *a)
{
	uint32_t v = 0;

	if (RTA_PAYLOAD(a) >= sizeof(v))
		memcpy(&v, RTA_DATA(a), sizeof(v));
	return v;
}

static uint32_t route_mtu(const struct rtattr *metrics)
{
	int left = (int)RTA_PAYLOAD(metrics); /* RTA_NEXT() may make it negative */

	for (const struct rtattr *a = RTA_DATA(metrics); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == RTAX_MTU)
			return attr_u32(a);
	return 0;
}

/* Of several next hops, the first. */
static unsigned first_device(const struct rtattr *hops)
{
	const struct rtnexthop *hop = RTA_DATA(hops);

	return RTA_PAYLOAD(hops) >= sizeof(*hop) ? (unsigned)hop->rtnh_ifindex : 0;
}

static void take_attr(const struct rtattr *a, struct fib *ret)
{
	if (a->rta_type == RTA_OIF)
		ret->device = attr_u32(a);
	else if (a->rta_type == RTA_MULTIPATH)
		ret->device = first_device(a);
	else if (a->rta_type == RTA_METRICS)
		ret->mtu = route_mtu(a);
}

/* An acknowledgement is no answer. */
static int read_nlmsgerr(const struct nlmsgerr *e)
{
	return e->error < 0 ? e->error : -EBADMSG;
}

int fib_parse(const void *datagram, size_t len, struct fib *ret)
{
	const struct nlmsghdr *h = datagram;
	const struct rtmsg *route = NLMSG_DATA(h);
	int left; /* RTA_NEXT() may make it negative */

	if (!NLMSG_OK(h, len) || h->nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
		return -EBADMSG;
	if (h->nlmsg_type == NLMSG_ERROR)
		return read_nlmsgerr(NLMSG_DATA(h));
	if (h->nlmsg_type != RTM_NEWROUTE)
		return -EBADMSG;
	left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*route)));
	for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left))
		take_attr(a, ret);
	/* The table has the device of the address, but packets do not leave the host. */
	if (route->rtm_type == RTN_LOCAL)
		ret->device = LOOPBACK;
	return ret->device ? 0 : -ENODATA;
}

static int device_mtu(unsigned device, uint32_t *ret)
{
	struct ifreq r = {.ifr_mtu = 0};
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || !if_indextoname(device, r.ifr_name) || ioctl(fd, SIOCGIFMTU, &r))
		return -errno;
	*ret = (uint32_t)r.ifr_mtu;
	return 0;
}

int fib_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	     struct fib *ret)
{
	struct request q = request(local, to);
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER];
	struct sockaddr_nl from = {.nl_pid = 1};
	socklen_t len = sizeof(from);
	struct fib found = {0};
	ssize_t n;
	int r;
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || send(fd, &q, q.head.nlmsg_len, 0) < 0)
		return -errno;
	n = recvfrom(fd, answer, sizeof(answer), MSG_DONTWAIT, (struct sockaddr *)&from, &len);
	if (n < 0)
		return -errno;
	if (from.nl_pid != 0) /* not the kernel */
		return -EBADMSG;
	r = fib_parse(answer, (size_t)n, &found);
	if (r == 0 && found.mtu == 0)
		r = device_mtu(found.device, &found.mtu);
	if (r == 0)
		*ret = found;
	return r;
}
