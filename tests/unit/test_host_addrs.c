/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's list of interfaces and addresses, from bytes made by hand and from this host. */
#include <criterion/criterion.h>

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "llp/common/host_addrs.h"
#include "util/addr.h"

static _Alignas(8) uint8_t bytes[4096];
static size_t len;
static struct host_addrs h;

static void begin(void)
{
	len = 0;
	h = (struct host_addrs){0};
}

static void end(void)
{
	host_addrs_free(&h);
}

static struct nlmsghdr *message(uint16_t type, const void *body, size_t n)
{
	struct nlmsghdr *m = (void *)(bytes + len);

	*m = (struct nlmsghdr){.nlmsg_type = type, .nlmsg_len = (uint32_t)NLMSG_LENGTH(n)};
	memcpy(NLMSG_DATA(m), body, n);
	len += NLMSG_ALIGN(m->nlmsg_len);
	return m;
}

static void attr(struct nlmsghdr *m, uint16_t type, const void *value, size_t n)
{
	struct rtattr *a = (void *)(bytes + len);

	*a = (struct rtattr){.rta_type = type, .rta_len = (uint16_t)RTA_LENGTH(n)};
	memcpy(RTA_DATA(a), value, n);
	len += RTA_SPACE(n);
	m->nlmsg_len += (uint32_t)RTA_SPACE(n);
}

static void put_link(int index, unsigned flags, const char *name)
{
	const struct ifinfomsg i = {.ifi_index = index, .ifi_flags = flags};

	attr(message(RTM_NEWLINK, &i, sizeof(i)), IFLA_IFNAME, name, strlen(name) + 1);
}

static struct nlmsghdr *put_addr(unsigned char family, unsigned char flags, unsigned index)
{
	const struct ifaddrmsg i = {.ifa_family = family, .ifa_flags = flags, .ifa_index = index};

	return message(RTM_NEWADDR, &i, sizeof(i));
}

static const char *text(unsigned i)
{
	static char t[ADDR_TEXT_MAX];

	return addr_host_text(&h.addr[i].a, t);
}

static const uint8_t v4[] = {192, 0, 2, 1}, peer[] = {192, 0, 2, 9},
		     link_local[16] = {0xfe, 0x80, [15] = 1},
		     global[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};

Test(host_addrs, interfaces_and_addresses_are_read, .init = begin, .fini = end)
{
	struct nlmsghdr *m;

	put_link(1, IFF_LOOPBACK | IFF_UP, "lo");
	put_link(7, IFF_UP, "eth0");
	m = put_addr(AF_INET, 0, 7);
	attr(m, IFA_ADDRESS, peer, 4);
	attr(m, IFA_LOCAL, v4, 4);
	attr(put_addr(AF_INET6, 0, 7), IFA_ADDRESS, link_local, 16);
	message(NLMSG_DONE, &(int){0}, sizeof(int));
	cr_assert_eq(host_addrs_parse(&h, bytes, len), 1);
	cr_assert_eq(h.nlinks, 2);
	cr_assert(h.link[0].loopback && !h.link[1].loopback);
	cr_assert_eq(host_addrs_named(&h, "eth0"), &h.link[1]);
	cr_assert_eq(host_addrs_link(&h, 1), &h.link[0]);
	cr_assert_null(host_addrs_named(&h, "eth"));
	cr_assert_eq(h.naddrs, 2);
	cr_assert_str_eq(text(0), "192.0.2.1", "not that of the other end");
	cr_assert_str_eq(text(1), "fe80::1%7");
	cr_assert_eq(h.addr[0].index, 7);
}

/* Optimistic ones may be used before duplicates were looked for. */
Test(host_addrs, tentative_addresses_are_marked, .init = begin, .fini = end)
{
	const uint32_t failed = IFA_F_DADFAILED, wide = IFA_F_TENTATIVE | IFA_F_NOPREFIXROUTE;
	struct nlmsghdr *m;

	attr(put_addr(AF_INET6, IFA_F_TENTATIVE, 2), IFA_ADDRESS, global, 16);
	attr(put_addr(AF_INET6, IFA_F_TENTATIVE | IFA_F_OPTIMISTIC, 2), IFA_ADDRESS, global, 16);
	m = put_addr(AF_INET6, 0, 2);
	attr(m, IFA_ADDRESS, global, 16);
	attr(m, IFA_FLAGS, &failed, 4);
	m = put_addr(AF_INET6, 0, 2);
	attr(m, IFA_FLAGS, &wide, 4);
	attr(m, IFA_ADDRESS, global, 16);
	cr_assert_eq(host_addrs_parse(&h, bytes, len), 0);
	cr_assert_eq(h.naddrs, 4);
	cr_assert(h.addr[0].tentative && !h.addr[1].tentative);
	cr_assert(h.addr[2].tentative && h.addr[3].tentative);
}

Test(host_addrs, addresses_that_are_no_host_s_are_left_out, .init = begin, .fini = end)
{
	const uint8_t zero[16] = {0}, group[] = {224, 0, 0, 1};

	attr(put_addr(AF_INET, 0, 2), IFA_LOCAL, zero, 4);
	attr(put_addr(AF_INET, 0, 2), IFA_LOCAL, group, 4);
	attr(put_addr(AF_INET, 0, 2), IFA_LOCAL, v4, 3);
	attr(put_addr(AF_INET6, 0, 2), IFA_ADDRESS, v4, 4);
	attr(put_addr(AF_DECnet, 0, 2), IFA_ADDRESS, v4, 4);
	put_addr(AF_INET, 0, 2);
	cr_assert_eq(host_addrs_parse(&h, bytes, len), 0);
	cr_assert_eq(h.naddrs, 0);
}

Test(host_addrs, bad_lengths_end_the_datagram, .init = begin, .fini = end)
{
	struct nlmsghdr *m = put_addr(AF_INET, 0, 2);

	attr(m, IFA_LOCAL, v4, 4);
	for (size_t n = 0; n < len; n++)
		cr_assert_eq(host_addrs_parse(&h, bytes, n), 0);
	cr_assert_eq(h.naddrs, 0);
	m->nlmsg_len = 3;
	cr_assert_eq(host_addrs_parse(&h, bytes, len), 0);
	m->nlmsg_len = UINT32_MAX;
	cr_assert_eq(host_addrs_parse(&h, bytes, len), 0);
	m->nlmsg_len = NLMSG_LENGTH(2);
	cr_assert_eq(host_addrs_parse(&h, bytes, len), -EBADMSG);
}

Test(host_addrs, a_name_is_cut_at_fifteen_bytes, .init = begin, .fini = end)
{
	const struct ifinfomsg i = {.ifi_index = 2};

	attr(message(RTM_NEWLINK, &i, sizeof(i)), IFLA_IFNAME, "abcdefghijklmnopqrstuvwxyz", 26);
	cr_assert_eq(host_addrs_parse(&h, bytes, len), 0);
	cr_assert_str_eq(h.link[0].name, "abcdefghijklmno");
}

Test(host_addrs, errors_and_changes_are_reported, .init = begin, .fini = end)
{
	message(NLMSG_ERROR, &(struct nlmsgerr){.error = -EPERM}, sizeof(struct nlmsgerr));
	cr_assert_eq(host_addrs_parse(&h, bytes, len), -EPERM);
	len = 0;
	put_addr(AF_INET, 0, 2)->nlmsg_flags = NLM_F_DUMP_INTR;
	cr_assert_eq(host_addrs_parse(&h, bytes, len), -EAGAIN);
}

Test(host_addrs, many_are_kept, .init = begin, .fini = end)
{
	for (unsigned i = 0; i < 1000; i++) {
		len = 0;
		put_link((int)i, 0, "veth");
		attr(put_addr(AF_INET, 0, i), IFA_LOCAL, v4, 4);
		cr_assert_eq(host_addrs_parse(&h, bytes, len), 0);
	}
	cr_assert_eq(h.nlinks, 1000);
	cr_assert_eq(h.addr[999].index, 999);
}

Test(host_addrs, this_host_has_its_loopback_interface)
{
	struct host_addrs own;
	const struct host_link *lo;

	cr_assert_eq(host_addrs_read(&own), 0);
	lo = host_addrs_named(&own, "lo");
	cr_assert(lo && lo->loopback);
	host_addrs_free(&own);
}
