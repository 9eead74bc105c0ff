/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of the transport `user` that come and go while it serves. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>

#include "user_rig.h"
#include "util/addr.h"

static struct sockaddr_storage addr, server_addr;
static struct rig_conn rc, rc2, acceptor;
static struct llp *t, *server;
static struct llp_listener *listener;
static uint16_t udp_port;

/* A client at 127.0.0.1, and a server that has no address yet and listens at all of them. */
static void begin(void)
{
	const struct llp_addrs all = {NULL, 0};
	struct llp_config cfg;

	udp_port = rig_free_port();
	cfg = rig_config("127.0.0.1", udp_port, &addr);
	t = rig_open(&cfg);
	cfg.naddrs = 0;
	server = rig_open(&cfg);
	cr_assert_eq(llp_listen_at(server, &all, RIG_SCTP_PORT, &acceptor, &listener), 0);
}

static void end(void)
{
	rig_close(t);
	rig_close(server);
}

static int add(const char *text)
{
	char reason[256];
	int r;

	rig_address(text, 0, &server_addr);
	r = llp_add_addr(server, &server_addr, reason, sizeof(reason));
	cr_expect_eq(r == 0, *reason == '\0', "%d: %s", r, reason);
	return r;
}

static void drop(const char *text)
{
	rig_address(text, 0, &server_addr);
	llp_drop_addr(server, &server_addr);
}

static void carries_messages(struct rig_conn *c, uint8_t seed)
{
	unsigned before = acceptor.msgs;

	rig_send(c, 0, 1000, seed);
	rig_until(&acceptor.msgs, before + 1);
	cr_assert(rig_last_is(&acceptor, 1000, seed));
}

Test(user_addrs, a_listener_at_all_addresses_has_those_that_come, .init = begin, .fini = end,
     .timeout = 60)
{
	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.err, ECONNREFUSED, "%s", rc.reason);
	llp_conn_free(rc.c);
	rc.down = 0;
	cr_assert_eq(add("127.0.0.2"), 0);
	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	carries_messages(&rc, 1);
}

Test(user_addrs, a_dropped_address_keeps_its_associations_and_begins_none, .init = begin,
     .fini = end, .timeout = 60)
{
	cr_assert_eq(add("127.0.0.2"), 0);
	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	drop("127.0.0.2");
	carries_messages(&rc, 1);
	rig_connect(t, "127.0.0.2", &rc2);
	cr_assert_eq(rc2.err, ECONNREFUSED, "%s", rc2.reason);
	llp_conn_free(rc2.c);
	rc2.down = 0;
	cr_assert_eq(add("127.0.0.2"), 0);
	rig_connect(t, "127.0.0.2", &rc2);
	cr_assert_eq(rc2.up, 1, "%s", rc2.reason);
	carries_messages(&rc2, 2);
	cr_assert_eq(rc.down, 0, "%s", rc.reason);
}

Test(user_addrs, the_host_has_to_have_it, .init = begin, .fini = end)
{
	cr_assert_eq(add("192.0.2.1"), -EADDRNOTAVAIL);
	cr_assert_eq(add("0.0.0.0"), -EINVAL);
	cr_assert_eq(add("127.0.0.1"), -EADDRINUSE, "the client has it");
}

/* The place of an address that was dropped is free once no association has the address. */
Test(user_addrs, thirty_two_at_a_time_and_others_after_them, .init = begin, .fini = end,
     .timeout = 60)
{
	char text[32];

	cr_assert_eq(add("127.0.0.2"), 0);
	rig_connect(t, "127.0.0.2", &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	for (unsigned i = 1; i < LLP_MAX_OWN; i++) {
		snprintf(text, sizeof(text), "127.0.1.%u", i);
		cr_assert_eq(add(text), 0);
	}
	cr_assert_eq(add("127.0.2.1"), -ENOBUFS);
	drop("127.0.0.2");
	cr_assert_eq(add("127.0.2.1"), -ENOBUFS, "an association has the place");
	drop("127.0.1.7");
	cr_assert_eq(add("127.0.2.1"), 0);
	rig_connect(t, "127.0.2.1", &rc2);
	cr_assert_eq(rc2.up, 1, "%s", rc2.reason);
	carries_messages(&rc2, 1);
	cr_assert_eq(rc.down, 0, "%s", rc.reason);
}

/* A program that names an address does not listen at another one. */
Test(user_addrs, a_place_that_a_listener_names_is_not_free, .init = begin, .fini = end,
     .timeout = 60)
{
	const struct llp_addrs one = {&server_addr, 1};
	struct llp_listener *named;
	char text[32];

	for (unsigned i = 1; i <= LLP_MAX_OWN; i++) {
		snprintf(text, sizeof(text), "127.0.1.%u", i);
		cr_assert_eq(add(text), 0);
	}
	cr_assert_eq(llp_listen_at(server, &one, RIG_SCTP_PORT + 1, &acceptor, &named), 0);
	drop(text);
	cr_assert_eq(add("127.0.2.1"), -ENOBUFS, "a listener has the place");
	llp_unlisten(named);
	cr_assert_eq(add("127.0.2.1"), 0);
}
