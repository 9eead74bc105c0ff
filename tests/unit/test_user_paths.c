/* SPDX-License-Identifier: BSD-2-Clause */
/* Associations of the transport `user` with several addresses at each end. */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "full_socket.h"
#include "user_rig.h"
#include "util/addr.h"

static struct sockaddr_storage addr[2], server_addr[2];
static struct rig_conn rc, acceptor;
static struct llp *t, *server;

static void end(void)
{
	rig_close(t);
	rig_close(server);
}

/* Both hosts have two addresses. */
static void connect_paths(void)
{
	struct llp_config cfg = rig_config("127.0.0.1", rig_free_port(), addr);
	struct llp_listener *listener;
	struct llp_addrs to, from;

	rig_address("127.0.0.3", 0, &addr[1]);
	cfg.naddrs = 2;
	cfg.rto_min_ms = 20;
	cfg.rto_max_ms = 100;
	cfg.heartbeat_ms = 50;
	cfg.path_max_retrans = 3;
	t = rig_open(&cfg);
	rig_address("127.0.0.2", 0, &server_addr[0]);
	rig_address("127.0.0.4", 0, &server_addr[1]);
	cfg.addrs = server_addr;
	server = rig_open(&cfg);
	from = (struct llp_addrs){addr, 2};
	to = (struct llp_addrs){server_addr, 2};
	cr_assert_eq(llp_listen_at(server, &to, RIG_SCTP_PORT, &acceptor, &listener), 0);
	rig_connect_at(t, &to, &from, &rc);
	cr_assert_eq(rc.up, 1, "%s", rc.reason);
	rig_until(&acceptor.incoming, 1);
}

static bool happened(const struct rig_conn *c, const char *what)
{
	for (unsigned i = 0; i < c->npaths; i++)
		if (strcmp(c->path[i], what) == 0)
			return true;
	return false;
}

static void until_path(const struct rig_conn *c, const char *what)
{
	while (!happened(c, what)) {
		cr_assert_eq(c->down, 0, "%s", c->reason);
		cr_assert_lt(c->npaths, RIG_PATH_EVENTS, "%s did not happen", what);
		rig_turn();
	}
}

/* Both paths carry data. The side that connects was given the addresses, and trusts them at once
 * (RFC 9260 5.4). A probe has confirmed more than the least size. */
static void until_active(const struct rig_conn *c)
{
	struct llp_path path[LLP_MAX_PATHS];

	while (llp_paths(c->c, path) != 2 || path[0].state != LLP_PATH_ACTIVE ||
	       path[1].state != LLP_PATH_ACTIVE || path[1].mtu < 1000) {
		cr_assert_eq(c->down, 0, "%s", c->reason);
		rig_turn();
	}
}

Test(user_paths, an_association_has_the_addresses_of_both_ends, .init = connect_paths, .fini = end,
     .timeout = 60)
{
	struct llp_path path[LLP_MAX_PATHS];
	char text[ADDR_TEXT_MAX];
	struct llp_info info;

	cr_assert(llp_has_paths(t));
	until_active(&rc);
	until_path(&acceptor, "127.0.0.3 was confirmed");
	cr_assert_eq(llp_paths(rc.c, path), 2);
	cr_assert_str_eq(addr_host_text(&path[0].remote, text), "127.0.0.2");
	cr_assert(path[0].primary);
	cr_assert_eq(path[0].state, LLP_PATH_ACTIVE);
	cr_assert_eq(addr_port(&path[0].remote), RIG_SCTP_PORT);
	cr_assert_str_eq(addr_host_text(&path[1].remote, text), "127.0.0.4");
	cr_assert_not(path[1].primary);
	cr_assert_eq(path[1].state, LLP_PATH_ACTIVE);
	cr_assert_gt(path[1].mtu, 1000);
	cr_assert_eq(llp_paths(acceptor.c, path), 2);
	llp_info(rc.c, &info);
	cr_assert_eq(addr_port(&path[1].remote), addr_port(&info.local));
}

Test(user_paths, data_takes_another_path_when_the_primary_one_fails, .init = connect_paths,
     .fini = end, .timeout = 60)
{
	until_active(&rc);
	full_socket_lost = &server_addr[0];
	rig_send(&rc, 0, 1000, 1);
	rig_until(&acceptor.msgs, 1);
	until_path(&rc, "127.0.0.2 may have failed");
	until_path(&rc, "127.0.0.2 does not answer any more");
	rig_send(&rc, 0, 1000, 2);
	rig_until(&acceptor.msgs, 2);
	full_socket_lost = NULL;
	until_path(&rc, "127.0.0.2 answers again");
	rig_send(&rc, 0, 1000, 3);
	rig_until(&acceptor.msgs, 3);
	cr_assert_eq(rc.down + acceptor.down, 0);
}

Test(user_paths, the_owner_chooses_the_primary_path, .init = connect_paths, .fini = end,
     .timeout = 60)
{
	struct sockaddr_storage foreign;
	char text[ADDR_TEXT_MAX];
	struct llp_info info;

	until_active(&rc);
	rig_address("127.0.0.5", 0, &foreign);
	cr_assert_eq(llp_set_primary(rc.c, (struct sockaddr *)&foreign), -ENOENT);
	cr_assert_eq(llp_set_primary(rc.c, (struct sockaddr *)&server_addr[1]), 0);
	until_path(&rc, "127.0.0.4 is the primary path now");
	llp_info(rc.c, &info);
	cr_assert_str_eq(addr_host_text(&info.remote, text), "127.0.0.4");
	/* An inactive path cannot become it. */
	full_socket_lost = &server_addr[0];
	until_path(&rc, "127.0.0.2 does not answer any more");
	cr_assert_eq(llp_set_primary(rc.c, (struct sockaddr *)&server_addr[0]), -EHOSTDOWN);
	llp_abort(rc.c, "");
	cr_assert_eq(llp_set_primary(rc.c, (struct sockaddr *)&server_addr[1]), -ENOTCONN);
}
