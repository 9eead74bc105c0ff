/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/common/host_addrs.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/addr.h"
#include "util/cleanup.h"

enum {
	DATAGRAM = 65536,
	TRIES = 4, /* while the list changes */
};

/* ---- bytes ---- */

/* A part of a datagram, which is read once, front to back. */
struct bytes {
	const uint8_t *p;
	size_t n;
};

/* Copies the next bytes. False: there are fewer. */
static bool copy_next(struct bytes *b, void *ret, size_t n)
{
	if (n > b->n)
		return false;
	memcpy(ret, b->p, n);
	b->p += n;
	b->n -= n;
	return true;
}

static void skip(struct bytes *b, size_t n)
{
	n = n < b->n ? n : b->n;
	b->p += n;
	b->n -= n;
}

/* The next record with a header of `head` bytes that says its length; records begin at multiples of
 * four. False: there is none. */
static bool next_record(struct bytes *b, size_t head, size_t len, struct bytes *ret)
{
	size_t body = len - head;

	if (len < head || body > b->n)
		return false;
	*ret = (struct bytes){b->p, body};
	skip(b, (body + 3) & ~(size_t)3);
	return true;
}

static bool next_message(struct bytes *b, struct nlmsghdr *ret_head, struct bytes *ret)
{
	return copy_next(b, ret_head, sizeof(*ret_head)) &&
	       next_record(b, sizeof(*ret_head), ret_head->nlmsg_len, ret);
}

static bool next_attr(struct bytes *b, struct rtattr *ret_head, struct bytes *ret)
{
	return copy_next(b, ret_head, sizeof(*ret_head)) &&
	       next_record(b, sizeof(*ret_head), ret_head->rta_len, ret);
}

/* ---- records ---- */

/* Room for one more: the sizes are powers of two. */
static int make_room_for(void **array, unsigned n, size_t size)
{
	unsigned room = n < 16 ? 16 : 2 * n;
	void *p;

	if (n & (n - 1) || (n > 0 && n < 16))
		return 0;
	p = realloc(*array, room * size);
	if (!p)
		return -ENOMEM;
	*array = p;
	return 0;
}

static int add_link(struct host_addrs *h, struct bytes b)
{
	struct host_link l = {0};
	struct ifinfomsg info;
	struct rtattr a;
	struct bytes v;
	int r;

	if (!copy_next(&b, &info, sizeof(info)))
		return -EBADMSG;
	l.index = (unsigned)info.ifi_index;
	l.loopback = info.ifi_flags & IFF_LOOPBACK;
	while (next_attr(&b, &a, &v))
		if (a.rta_type == IFLA_IFNAME)
			copy_next(&v, l.name, v.n < IF_NAMESIZE ? v.n : IF_NAMESIZE - 1);
	if (h->nlinks == HOST_ADDRS_MAX)
		return 0;
	r = make_room_for((void **)&h->link, h->nlinks, sizeof(l));
	if (r == 0)
		h->link[h->nlinks++] = l;
	return r;
}

/* False if it is not as long as an address of the family. */
static bool read_addr(struct bytes v, unsigned family, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *in = (struct sockaddr_in *)ret;

	*ret = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
	if (family == AF_INET)
		return v.n == 4 && copy_next(&v, &in->sin_addr, 4);
	return v.n == 16 && copy_next(&v, &in6->sin6_addr, 16);
}

/* IFA_LOCAL is ours; on a link without peer addresses IFA_ADDRESS is the same. */
static bool read_attrs(struct bytes b, unsigned family, struct host_addr *ret, uint32_t *flags)
{
	bool any = false, local = false;
	struct rtattr a;
	struct bytes v;

	while (next_attr(&b, &a, &v)) {
		if (a.rta_type == IFA_LOCAL && read_addr(v, family, &ret->a))
			any = local = true;
		else if (a.rta_type == IFA_ADDRESS && !local)
			any = read_addr(v, family, &ret->a);
		else if (a.rta_type == IFA_FLAGS && v.n == sizeof(*flags))
			copy_next(&v, flags, sizeof(*flags));
	}
	return any;
}

static bool needs_scope(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int add_addr(struct host_addrs *h, struct bytes b)
{
	struct host_addr n = {.index = 0};
	struct ifaddrmsg info;
	uint32_t flags;
	int r;

	if (!copy_next(&b, &info, sizeof(info)))
		return -EBADMSG;
	if (info.ifa_family != AF_INET && info.ifa_family != AF_INET6)
		return 0;
	flags = info.ifa_flags;
	if (!read_attrs(b, info.ifa_family, &n, &flags) || !addr_one_host(&n.a) ||
	    h->naddrs == HOST_ADDRS_MAX)
		return 0;
	n.index = info.ifa_index;
	n.tentative =
		flags & IFA_F_DADFAILED || (flags & IFA_F_TENTATIVE && !(flags & IFA_F_OPTIMISTIC));
	if (needs_scope(&n.a))
		((struct sockaddr_in6 *)&n.a)->sin6_scope_id = n.index;
	r = make_room_for((void **)&h->addr, h->naddrs, sizeof(n));
	if (r == 0)
		h->addr[h->naddrs++] = n;
	return r;
}

static int kernel_error(struct bytes b)
{
	int error;

	return copy_next(&b, &error, sizeof(error)) && error < 0 && error > -4096 ? error
										  : -EBADMSG;
}

int host_addrs_parse(struct host_addrs *h, const void *datagram, size_t len)
{
	struct bytes b = {datagram, len}, body;
	struct nlmsghdr head;
	int r = 0;

	while (r == 0 && next_message(&b, &head, &body)) {
		if (head.nlmsg_flags & NLM_F_DUMP_INTR)
			return -EAGAIN;
		if (head.nlmsg_type == NLMSG_DONE)
			return 1;
		if (head.nlmsg_type == NLMSG_ERROR)
			r = kernel_error(body);
		else if (head.nlmsg_type == RTM_NEWLINK)
			r = add_link(h, body);
		else if (head.nlmsg_type == RTM_NEWADDR)
			r = add_addr(h, body);
	}
	return r;
}

/* ---- asking ---- */

static int ask(int fd, unsigned short type)
{
	const struct {
		struct nlmsghdr head;
		struct rtgenmsg gen;
	} q = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(q.gen)),
			 .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.gen = {.rtgen_family = AF_UNSPEC},
	};

	return send(fd, &q, q.head.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* A dump does not block: each datagram is made while the one before it is read. */
static int read_dump(int fd, unsigned short type, struct host_addrs *h, uint8_t *datagram)
{
	int r = ask(fd, type);

	while (r == 0) {
		struct sockaddr_nl from = {.nl_pid = 1};
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, datagram, DATAGRAM, MSG_DONTWAIT, (struct sockaddr *)&from,
				     &len);

		if (n < 0 && errno != EINTR)
			return errno == EAGAIN ? -EBADMSG : -errno;
		if (n >= 0 && from.nl_pid == 0) /* the kernel */
			r = host_addrs_parse(h, datagram, (size_t)n);
	}
	return r < 0 ? r : 0;
}

static int read_once(struct host_addrs *h, uint8_t *datagram)
{
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int r;

	if (fd < 0)
		return -errno;
	r = read_dump(fd, RTM_GETLINK, h, datagram);
	return r ? r : read_dump(fd, RTM_GETADDR, h, datagram);
}

int host_addrs_read(struct host_addrs *ret)
{
	uint8_t *datagram = malloc(DATAGRAM);
	int r = datagram ? -EAGAIN : -ENOMEM;

	*ret = (struct host_addrs){0};
	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		host_addrs_free(ret);
		r = read_once(ret, datagram);
	}
	free(datagram);
	if (r)
		host_addrs_free(ret);
	return r;
}

void host_addrs_free(struct host_addrs *h)
{
	free(h->link);
	free(h->addr);
	*h = (struct host_addrs){0};
}

/* ---- looking up ---- */

const struct host_link *host_addrs_named(const struct host_addrs *h, const char *name)
{
	for (unsigned i = 0; i < h->nlinks; i++)
		if (strcmp(h->link[i].name, name) == 0)
			return &h->link[i];
	return NULL;
}

const struct host_link *host_addrs_link(const struct host_addrs *h, unsigned index)
{
	for (unsigned i = 0; i < h->nlinks; i++)
		if (h->link[i].index == index)
			return &h->link[i];
	return NULL;
}

bool host_has_addr(const struct sockaddr_storage *a)
{
	struct sockaddr_storage at = *a;
	autoclose int fd = socket(a->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	addr_set_port(&at, 0);
	return fd >= 0 && bind(fd, (struct sockaddr *)&at, addr_len(&at)) == 0;
}
