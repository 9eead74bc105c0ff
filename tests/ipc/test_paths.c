/* SPDX-License-Identifier: BSD-2-Clause */
/* Several addresses at each end, and the paths between them. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "tests/ipc/listening.h"

TestSuite(paths, .init = start, .fini = stop, .timeout = 30);

static struct sockaddr_storage at(uint8_t last, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_storage ss = {0};

	in.sin_addr.s_addr = htonl(0x0a010000U | last);
	memcpy(&ss, &in, sizeof(in));
	return ss;
}

static struct msg_addr rec(uint8_t last, uint16_t port)
{
	return (struct msg_addr){.family = AF_INET, .port = port, .bytes = {10, 1, 0, last}};
}

static void same(const struct msg_addr *got, uint8_t last, uint16_t port)
{
	const struct msg_addr want = rec(last, port);

	cr_assert_arr_eq(got, &want, sizeof(want));
}

Test(paths, connecting_names_the_addresses_of_both_ends)
{
	struct sockaddr_storage peer = at(1, 5043);
	const struct sockaddr_storage more[2] = {at(2, 0), at(3, 5043)},
				      here[2] = {at(8, 0), at(9, 0)};
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct ddp_id *id = make_id();
	const struct msg_connect *m;

	p.peer_addrs = more;
	p.num_peer_addrs = 2;
	p.local_addrs = here;
	p.num_local_addrs = 2;
	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&peer, &p), 0);
	m = &fake_last(&fake, MSG_CONNECT)->connect;
	cr_assert_eq(m->npeers, 3);
	same(&m->peers[0], 1, 5043);
	same(&m->peers[1], 2, 5043);
	same(&m->peers[2], 3, 5043);
	cr_assert_eq(m->nlocals, 2);
	same(&m->locals[0], 8, 0);
	same(&m->locals[1], 9, 0);
}

Test(paths, an_older_program_has_one_address_at_each_end)
{
	struct sockaddr_storage peer = at(1, 5043);
	struct ddp_conn_param p = {.struct_size = offsetof(struct ddp_conn_param, peer_addrs),
				   .num_peer_addrs = 99,
				   .num_local_addrs = 99};
	const struct msg_connect *m;

	cr_assert_eq(ddp_connect(make_id(), (struct sockaddr *)&peer, &p), 0);
	m = &fake_last(&fake, MSG_CONNECT)->connect;
	cr_assert_eq(m->npeers, 1);
	cr_assert_eq(m->nlocals, 0);
}

Test(paths, invalid_lists_are_refused_by_the_library)
{
	struct sockaddr_storage peer = at(1, 5043), list[9];
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct ddp_id *id = make_id(), *incoming = request(9);

	for (uint8_t i = 0; i < 9; i++)
		list[i] = at(i + 2, 0);
	p.peer_addrs = list;
	p.num_peer_addrs = 8;
	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&peer, &p), -EINVAL);
	cr_assert(strstr(ddp_last_reason(), "addresses of the peer: at most 8"));
	p.num_peer_addrs = 1;
	list[0] = at(2, 5044);
	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&peer, &p), -EINVAL);
	cr_assert(strstr(ddp_last_reason(), "port 5044"));
	list[0].ss_family = AF_UNIX;
	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&peer, &p), -EAFNOSUPPORT);
	p.num_peer_addrs = 0;
	p.local_addrs = list + 1;
	p.num_local_addrs = 9;
	make_qp(incoming);
	cr_assert_eq(ddp_accept(incoming, &p), -EINVAL, "an answer has no addresses of its own");
	cr_assert(strstr(ddp_last_reason(), "addresses are for ddp_connect()"));
}

Test(paths, listening_names_a_list)
{
	const struct sockaddr_storage here[2] = {at(8, 5050), at(9, 0)};
	const struct msg_listen *m;
	struct ddp_id *id;

	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_listen_addrs(id, here, 2, 5051, 3), -EINVAL, "two ports");
	cr_assert_eq(ddp_listen_addrs(id, here, 2, 0, -1), -EINVAL);
	cr_assert_eq(ddp_listen_addrs(id, here, 2, 0, 3), 0);
	m = &fake_last(&fake, MSG_LISTEN)->listen;
	cr_assert_eq(m->port, 5050);
	cr_assert_eq(m->backlog, 3);
	cr_assert_eq(m->naddrs, 2);
	same(&m->addrs[0], 8, 5050);
	same(&m->addrs[1], 9, 5050);
	cr_assert_eq(ddp_listen_addrs(id, here, 2, 0, 3), -EINVAL, "it listens already");
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_listen_addrs(id, NULL, 0, 5052, 0), 0);
	cr_assert_eq(fake_last(&fake, MSG_LISTEN)->listen.naddrs, 0);
}

/* ---- querying paths and setting the primary one ---- */

static struct msg_paths reply_paths;

static void fill_paths(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op != MSG_QUERY_PATHS)
		return;
	reply_paths.hdr = r->hdr;
	r->query_paths = reply_paths;
}

Test(paths, each_path_is_reported)
{
	struct ddp_id *bare, *id = make_id();
	struct ddp_path p[3] = {{.mtu = 77}, {.mtu = 77}, {.mtu = 77}};
	const struct sockaddr_storage want = at(2, 5043);

	fake.script = fill_paths;
	reply_paths = (struct msg_paths){.n = 2, .total = 2};
	reply_paths.path[0] = (struct msg_path){rec(1, 5043), MSG_PATH_INACTIVE, 1, 1, 2, 3, 4};
	reply_paths.path[1] = (struct msg_path){rec(2, 5043), MSG_PATH_ACTIVE, 0, 5, 6, 7, 8};
	cr_assert_eq(ddp_query_paths(id, p, 3), 2);
	cr_assert_eq(fake_last(&fake, MSG_QUERY_PATHS)->query_paths.handle, 1);
	cr_assert_eq(p[0].state, DDP_PATH_INACTIVE);
	cr_assert_eq(p[0].primary, 1);
	cr_assert_arr_eq(&p[1].remote, &want, sizeof(want));
	cr_assert_eq(p[1].state, DDP_PATH_ACTIVE);
	cr_assert_eq(p[1].primary, 0);
	cr_assert(p[1].srtt_us == 5 && p[1].rto_ms == 6 && p[1].cwnd == 7 && p[1].mtu == 8);
	cr_assert_eq(p[2].mtu, 77, "not more than there are");
	p[1].mtu = 77;
	cr_assert_eq(ddp_query_paths(id, p, 1), 2, "how many there are, whatever fits");
	cr_assert_eq(p[1].mtu, 77);
	cr_assert_eq(ddp_query_paths(id, NULL, 0), 2);
	cr_assert_eq(ddp_create_id(ctx, NULL, &bare), 0);
	cr_assert_eq(ddp_query_paths(bare, p, 1), -ENOTCONN);
}

Test(paths, the_daemons_reply_is_checked)
{
	struct ddp_id *id = make_id();
	struct ddp_path p[2];

	fake.script = fill_paths;
	reply_paths = (struct msg_paths){.n = 17, .total = 17};
	cr_assert_eq(ddp_query_paths(id, p, 2), -EPROTO);
	reply_paths = (struct msg_paths){.n = 2, .total = 1};
	cr_assert_eq(ddp_query_paths(id, p, 2), -EPROTO);
	reply_paths = (struct msg_paths){.n = 0, .total = 1};
	cr_assert_eq(ddp_query_paths(id, p, 2), -EPROTO);
	reply_paths = (struct msg_paths){.n = 1, .total = 1};
	cr_assert_eq(ddp_query_paths(id, p, 2), -EPROTO, "no family");
	reply_paths.path[0] = (struct msg_path){.remote = rec(1, 1), .state = 4};
	cr_assert_eq(ddp_query_paths(id, p, 2), -EPROTO, "no state");
}

Test(paths, choosing_names_queue_pair_and_address)
{
	struct sockaddr_storage a = at(2, 0), un = {.ss_family = AF_UNIX};
	struct ddp_id *bare, *id = make_id();
	const struct msg_set_primary *m;

	cr_assert_eq(ddp_set_primary(id, (struct sockaddr *)&a), 0);
	m = &fake_last(&fake, MSG_SET_PRIMARY)->set_primary;
	cr_assert_eq(m->qp, 1);
	cr_assert_eq(m->assoc, 0);
	same(&m->remote, 2, 0);
	cr_assert_eq(ddp_set_primary(id, (struct sockaddr *)&un), -EAFNOSUPPORT);
	cr_assert_eq(ddp_create_id(ctx, NULL, &bare), 0);
	cr_assert_eq(ddp_set_primary(bare, (struct sockaddr *)&a), -ENOTCONN);
}

Test(paths, an_event_reports_the_change)
{
	struct sockaddr_storage peer = at(1, 5043);
	struct ddp_id *id = make_id();
	struct msg_event out = {
		.type = MSG_EV_PATH,
		.reason = "path to 10.1.0.1 does not answer any more; 1 of 2 paths is active",
		.path = {rec(1, 5043), MSG_PATH_INACTIVE, 1, 1, 2, 3, 4},
	};

	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&peer, NULL), 0);
	out.cookie = fake_last(&fake, MSG_CONNECT)->connect.cookie;
	fake_event(&fake, out);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_PATH);
	cr_assert_eq(ev->id, id);
	cr_assert_eq(ev->err, 0);
	cr_assert_str_eq(ev->reason, out.reason);
	cr_assert_eq(ev->path.state, DDP_PATH_INACTIVE);
	cr_assert_arr_eq(&ev->path.remote, &peer, sizeof(peer));
	ddp_ack_cm_event(ev);
	out.path.state = 9;
	fake_event(&fake, out);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), -EPROTO);
}
