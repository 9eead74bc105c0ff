/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: addresses are compared as sets, and lists of programs are refused with a sentence that
 * names the address. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/state.h"
#include "daemon/net/endpoint_addrs.h"

static struct daemon d;
static struct worker w = {.daemon = &d};

/* 192.0.2.n for each n; the last argument is 0. */
static struct addr_set set(unsigned first, unsigned second, unsigned third)
{
	const unsigned last[] = {first, second, third};
	struct addr_set s = {.n = 0};

	for (unsigned i = 0; i < 3 && last[i]; i++) {
		struct sockaddr_in in = {.sin_family = AF_INET};

		in.sin_addr.s_addr = htonl(0xc0000200 + last[i]);
		memcpy(&s.a[s.n++], &in, sizeof(in));
	}
	return s;
}

static struct endpoint_addrs ends(struct addr_set peer, struct addr_set local, uint16_t port)
{
	return (struct endpoint_addrs){.peer = peer, .local = local, .port = port};
}

Test(endpoint_addrs, sets_are_the_same_in_any_order)
{
	static const struct {
		unsigned a[3], b[3];
		bool same;
	} rows[] = {
		{{0}, {0}, true},
		{{1}, {1}, true},
		{{1}, {2}, false},
		{{1}, {0}, false},
		{{0}, {1}, false},
		{{1, 2}, {2, 1}, true},
		{{1, 2, 3}, {3, 1, 2}, true},
		{{1, 2}, {1, 2, 3}, false},
		{{1, 2, 3}, {1, 2}, false},
		{{1, 2}, {1, 3}, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct addr_set a = set(rows[i].a[0], rows[i].a[1], rows[i].a[2]);
		const struct addr_set b = set(rows[i].b[0], rows[i].b[1], rows[i].b[2]);

		cr_assert_eq(addr_set_same(&a, &b), rows[i].same, "row %u", i);
	}
}

Test(endpoint_addrs, an_association_serves_requests_for_its_addresses_alone)
{
	const struct addr_set none = set(0, 0, 0), one = set(9, 0, 0), two = set(9, 8, 0);
	const struct endpoint_addrs have = ends(set(1, 2, 0), one, 5043);
	const struct {
		struct endpoint_addrs want;
		bool same, serves;
	} rows[] = {
		{ends(set(1, 2, 0), one, 5043), true, true},
		{ends(set(1, 2, 0), one, 5044), false, false},
		{ends(set(2, 1, 0), one, 5043), false, false}, /* another first one */
		{ends(set(1, 0, 0), one, 5043), false, false},
		{ends(set(1, 2, 3), one, 5043), false, false},
		{ends(set(1, 2, 0), none, 5043), false, true},
		{ends(set(1, 2, 0), two, 5043), false, false},
		{ends(set(1, 2, 0), set(8, 0, 0), 5043), false, false},
	};
	const struct endpoint_addrs many = ends(set(1, 2, 0), two, 5043);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(endpoint_addrs_same(&have, &rows[i].want), rows[i].same, "row %u", i);
		cr_assert_eq(endpoint_addrs_serve(&have, &rows[i].want), rows[i].serves, "row %u",
			     i);
	}
	cr_assert_not(endpoint_addrs_serve(&many, &rows[5].want), "it has several");
}

Test(endpoint_addrs, packed_ones_are_the_same_again)
{
	const struct endpoint_addrs e = ends(set(1, 2, 3), set(9, 8, 0), 5043);
	struct packed_addrs *p = endpoint_addrs_pack(&e);
	struct endpoint_addrs got = {.own_port = 7};

	cr_assert_not_null(p);
	endpoint_addrs_unpack(p, &got);
	cr_assert(endpoint_addrs_same(&e, &got));
	cr_assert_eq(got.own_port, 0);
	free(p);
}

/* ---- records ---- */

static struct msg_addr host(uint8_t last)
{
	return (struct msg_addr){.family = AF_INET, .port = 5043, .bytes = {192, 0, 2, last}};
}

static void refused(const struct msg_connect *req, int err, bool fatal, const char *text)
{
	struct endpoint_addrs e = {.port = 77};
	struct reply rep = {0};

	cr_assert_eq(endpoint_addrs_read(&w, "connect", req, &e, &rep), -err, "%s", text);
	cr_assert_str_eq(rep.reason, text);
	cr_assert_eq(rep.fatal, fatal);
	cr_assert_eq(e.port, 77, "untouched");
}

Test(endpoint_addrs, lists_are_refused_with_the_address)
{
	struct msg_connect req = {.npeers = 2, .peers = {host(1), host(2)}};

	req.peers[1].port = 5044;
	refused(&req, EINVAL, false, "connect: 192.0.2.2:5044: all addresses must have port 5043");
	req.peers[1] = host(1);
	refused(&req, EINVAL, false, "connect: 192.0.2.1 is given twice");
	req.peers[1].family = 99;
	refused(&req, EAFNOSUPPORT, false,
		"connect: address family 99: expected 2 (IPv4) or 10 (IPv6)");
	req.peers[1] = host(2);
	req.peers[1].bytes[15] = 1;
	refused(&req, EINVAL, true, "connect: address 2 is longer than an IPv4 address");
	req.peers[1] = (struct msg_addr){.family = AF_INET, .port = 5043};
	refused(&req, EINVAL, false, "connect: 0.0.0.0: a wildcard must be the only address");
	req.npeers = 1;
	req.peers[0] = req.peers[1];
	refused(&req, EADDRNOTAVAIL, false, "connect: 0.0.0.0 is not the address of one host");
	req.peers[0] = host(1);
	req.peers[0].port = 0;
	refused(&req, EINVAL, false, "connect: port 0");
	req.npeers = 0;
	refused(&req, EINVAL, true, "connect: no address of the peer");
	req.npeers = MSG_MAX_ADDRS + 1;
	refused(&req, EINVAL, true, "connect: 9 addresses: at most 8");
}

Test(endpoint_addrs, addresses_of_this_side_are_those_of_the_daemon)
{
	struct msg_connect req = {
		.npeers = 1, .peers = {host(1)}, .nlocals = 1, .locals = {host(9)}};

	req.locals[0].port = 0;
	refused(&req, EADDRNOTAVAIL, false,
		"connect: 192.0.2.9 is not an address of the daemon (listen)");
	req.locals[0].port = 1;
	refused(&req, EINVAL, false, "connect: 192.0.2.9:1: all addresses must have port 0");
}

/* Clients from before there were more know the first eight alone. */
Test(endpoint_addrs, all_addresses_of_the_daemon_fit_into_the_reply)
{
	struct msg_addrs m = {.n = 0};

	for (w.own.n = 0; w.own.n < LLP_MAX_OWN; w.own.n++) {
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(9)};

		in.sin_addr.s_addr = htonl(0xc0000200 + w.own.n);
		memcpy(&w.own.a[w.own.n], &in, sizeof(in));
	}
	endpoint_addrs_ours(&w, &m);
	cr_assert_eq(m.n, MSG_MAX_ADDRS);
	cr_assert_eq(m.num_more, MSG_MAX_OWN - MSG_MAX_ADDRS);
	cr_assert_eq(m.addrs[7].bytes[3], 7);
	cr_assert_eq(m.addrs[7].port, 0);
	cr_assert_eq(m.more[0].bytes[3], 8);
	cr_assert_eq(m.more[23].bytes[3], 31);
	cr_assert_eq(m.more[23].port, 0);
	w.own.n = 3;
	m = (struct msg_addrs){.n = 0};
	endpoint_addrs_ours(&w, &m);
	cr_assert_eq(m.n, 3);
	cr_assert_eq(m.num_more, 0);
}
