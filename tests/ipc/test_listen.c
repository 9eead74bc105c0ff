/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports, service keys, and the addresses of ids. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "tests/ipc/listening.h"

TestSuite(listen, .init = start, .fini = stop, .timeout = 30);

static struct ddp_id *new_id(void)
{
	struct ddp_id *id;

	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	return id;
}

Test(listen, port_0_is_the_choice_of_the_daemon)
{
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	struct ddp_id *id = new_id();

	cr_assert_eq(ddp_listen(id, NULL, 0, 0), 0);
	cr_assert_eq(fake_last(&fake, MSG_LISTEN)->listen.port, 0);
	cr_assert_eq(ddp_query_id(id, &attr), 0);
	cr_assert_eq(attr.port, 5043);
	cr_assert_eq(attr.local.ss_family, AF_UNSPEC);
	cr_assert_eq(attr.service_key, 0);
}

Test(listen, a_key_goes_with_addresses_and_port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(5050)};
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);
	struct ddp_id_attr got = DDP_INIT(ddp_id_attr);
	struct sockaddr_storage at = {0};
	const struct msg_listen_key *m;
	struct ddp_id *id = new_id();

	memcpy(&at, &in, sizeof(in));
	attr.addrs = &at;
	attr.num_addrs = 1;
	attr.backlog = -1;
	attr.service_key = 0x1234567890;
	cr_assert_eq(ddp_listen_service(id, &attr), -EINVAL);
	attr.backlog = 3;
	cr_assert_eq(ddp_listen_service(id, &attr), 0);
	m = &fake_last(&fake, MSG_LISTEN_KEY)->listen_key;
	cr_assert_eq(m->key, attr.service_key);
	cr_assert_eq(m->listen.port, 5050);
	cr_assert_eq(m->listen.backlog, 3);
	cr_assert_eq(m->listen.naddrs, 1);
	cr_assert_eq(ddp_query_id(id, &got), 0);
	cr_assert_eq(got.service_key, attr.service_key);
	cr_assert_eq(got.local.ss_family, AF_INET);
	cr_assert_eq(got.port, 5043, "what the daemon says");
}

Test(listen, without_a_key_an_older_daemon_understands)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);

	attr.port = 7;
	cr_assert_eq(ddp_listen_service(new_id(), &attr), 0);
	cr_assert_eq(fake_last(&fake, MSG_LISTEN)->listen.port, 7);
}

Test(listen, encryption_is_demanded_of_a_daemon_that_knows_it)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);

	attr.port = 7;
	attr.flags = DDP_LISTEN_ENCRYPTED;
	cr_assert_eq(ddp_listen_service(new_id(), &attr), 0);
	cr_assert_eq(fake_last(&fake, MSG_LISTEN)->listen.flags, MSG_LISTEN_ENCRYPTED);
	attr.service_key = 5;
	cr_assert_eq(ddp_listen_service(new_id(), &attr), 0);
	cr_assert_eq(fake_last(&fake, MSG_LISTEN_KEY)->listen_key.listen.flags,
		     MSG_LISTEN_ENCRYPTED);
	attr.flags = 4;
	cr_assert_eq(ddp_listen_service(new_id(), &attr), -EINVAL);
}

static void be_older(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_HELLO)
		r->hello.minor = IPC_MINOR_PEER - 1;
}

static void begin_older(void)
{
	fake_start(&fake);
	fake.script = be_older;
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
}

/* It would take the flag for a pad, and accept everybody. */
Test(listen, encryption_is_not_left_to_an_older_daemon, .init = begin_older)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);

	attr.port = 7;
	attr.flags = DDP_LISTEN_ENCRYPTED;
	cr_assert_eq(ddp_listen_service(new_id(), &attr), -EOPNOTSUPP);
	cr_assert(strstr(ddp_last_reason(), "too old to demand encryption"));
	attr.flags = 0;
	cr_assert_eq(ddp_listen_service(new_id(), &attr), 0);
}

Test(listen, a_key_precedes_the_private_data)
{
	static const uint8_t key[16] = {0x8b, 'D', 'D', 'P', 'k', 'e', 'y', 1, [15] = 9};
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
	const struct msg_connect *m;
	struct ddp_id *id = make_id(), *incoming = request(9);

	p.service_key = 9;
	p.private_data = "abc";
	p.private_len = 3;
	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&to, &p), 0);
	m = &fake_last(&fake, MSG_CONNECT)->connect;
	cr_assert_eq(m->private_len, 19);
	cr_assert_arr_eq(m->private_data, key, 16);
	cr_assert_arr_eq(m->private_data + 16, "abc", 3);
	make_qp(incoming);
	cr_assert_eq(ddp_accept(incoming, &p), -EINVAL, "an answer has no key");
	cr_assert_eq(ddp_reject(incoming, &p), -EINVAL);
}

Test(listen, each_kind_of_id_has_addresses)
{
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	struct ddp_id *incoming = request(9), *unused = new_id();

	cr_assert_eq(ddp_query_id(incoming, &attr), 0);
	cr_assert_eq(fake_last(&fake, MSG_QUERY_REQUEST)->query_request.handle, 9);
	cr_assert_eq(attr.local.ss_family, AF_INET);
	cr_assert_eq(attr.remote.ss_family, AF_INET6);
	cr_assert_eq(attr.assoc, 16);
	cr_assert_eq(attr.stream, 17);
	cr_assert_eq(attr.security, DDP_SECURITY_DTLS);
	cr_assert_eq(strlen(attr.peer_name), sizeof(attr.peer_name) - 1, "of any daemon");
	cr_assert_eq(ddp_reject(incoming, NULL), 0);
	cr_assert_eq(ddp_query_id(incoming, &attr), -ENOTCONN);
	cr_assert_eq(ddp_query_id(unused, &attr), -ENOTCONN);
	make_qp(unused);
	cr_assert_eq(ddp_query_id(unused, &attr), 0);
	fake_last(&fake, MSG_QUERY_PEER);
	cr_assert_eq(attr.security, DDP_SECURITY_DTLS);
	cr_assert_eq(attr.proven, 1);
	cr_assert_eq(attr.has_fingerprint, 1);
	cr_assert_eq(attr.fingerprint[31], 9);
	cr_assert_str_eq(attr.peer_name, "lab");
	attr.struct_size = 3;
	cr_assert_eq(ddp_query_id(unused, &attr), -EINVAL);
}

static void too_many(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_QUERY_ADDRS)
		r->query_addrs.n = 9;
}

static void unknown_family(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_QUERY_ADDRS)
		r->query_addrs.addrs[1].family = AF_UNIX;
}

static void more_without_the_first(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_QUERY_ADDRS)
		r->query_addrs.num_more = 1;
}

/* As many as a daemon has: 10.1.0.0 and so on. */
static void number_them(struct fake *f, struct fake_reply *r)
{
	struct msg_addrs *m = &r->query_addrs;

	(void)f;
	if (r->hdr.op != MSG_QUERY_ADDRS)
		return;
	m->n = MSG_MAX_ADDRS;
	m->num_more = MSG_MAX_OWN - MSG_MAX_ADDRS;
	for (uint8_t i = 0; i < MSG_MAX_OWN; i++) {
		struct msg_addr a = {.family = AF_INET, .bytes = {10, 1, 0, i}};

		*(i < MSG_MAX_ADDRS ? &m->addrs[i] : &m->more[i - MSG_MAX_ADDRS]) = a;
	}
}

static void one_too_many(struct fake *f, struct fake_reply *r)
{
	number_them(f, r);
	if (r->hdr.op == MSG_QUERY_ADDRS)
		r->query_addrs.num_more++;
}

static void last_of_unknown_family(struct fake *f, struct fake_reply *r)
{
	number_them(f, r);
	if (r->hdr.op == MSG_QUERY_ADDRS)
		r->query_addrs.more[MSG_MAX_OWN - MSG_MAX_ADDRS - 1].family = AF_UNIX;
}

static void without_more(struct fake *f, struct fake_reply *r)
{
	number_them(f, r);
	if (r->hdr.op == MSG_QUERY_ADDRS)
		r->len = offsetof(struct msg_addrs, num_more);
}

Test(listen, the_addresses_of_the_daemon)
{
	struct sockaddr_storage at[3] = {{0}};

	cr_assert_eq(ddp_query_addrs(ctx, NULL, 0), 2);
	cr_assert_eq(ddp_query_addrs(ctx, at, 1), 2);
	cr_assert_eq(at[0].ss_family, AF_INET);
	cr_assert_eq(at[1].ss_family, AF_UNSPEC);
	cr_assert_eq(ddp_query_addrs(ctx, at, 3), 2);
	cr_assert_eq(at[1].ss_family, AF_INET6);
	fake.script = too_many;
	cr_assert_eq(ddp_query_addrs(ctx, at, 3), -EPROTO);
	fake.script = unknown_family;
	cr_assert_eq(ddp_query_addrs(ctx, at, 3), -EPROTO);
	fake.script = more_without_the_first;
	cr_assert_eq(ddp_query_addrs(ctx, at, 3), -EPROTO);
}

Test(listen, a_program_with_room_gets_all_addresses_of_the_daemon)
{
	struct sockaddr_storage at[MSG_MAX_OWN + 1] = {{0}};

	fake.script = number_them;
	cr_assert_eq(ddp_query_addrs(ctx, at, 9), MSG_MAX_OWN);
	cr_assert_eq(((struct sockaddr_in *)&at[8])->sin_addr.s_addr, htonl(0x0a010008));
	cr_assert_eq(at[9].ss_family, AF_UNSPEC);
	cr_assert_eq(ddp_query_addrs(ctx, at, MSG_MAX_OWN), MSG_MAX_OWN);
	cr_assert_eq(((struct sockaddr_in *)&at[31])->sin_addr.s_addr, htonl(0x0a01001f));
	cr_assert_eq(at[MSG_MAX_OWN].ss_family, AF_UNSPEC);
	cr_assert_eq(ddp_query_addrs(ctx, at, 8), 8, "such a program may know of no more");
	cr_assert_eq(ddp_query_addrs(ctx, NULL, 0), 8);
	fake.script = one_too_many;
	cr_assert_eq(ddp_query_addrs(ctx, at, MSG_MAX_OWN), -EPROTO);
	fake.script = last_of_unknown_family;
	cr_assert_eq(ddp_query_addrs(ctx, at, MSG_MAX_OWN), -EPROTO);
}

Test(listen, an_older_daemon_says_eight_of_its_addresses, .init = begin_older)
{
	struct sockaddr_storage at[MSG_MAX_OWN] = {{0}};

	fake.script = without_more;
	cr_assert_eq(ddp_query_addrs(ctx, at, MSG_MAX_OWN), 8);
	cr_assert_eq(((struct sockaddr_in *)&at[7])->sin_addr.s_addr, htonl(0x0a010007));
	cr_assert_eq(at[8].ss_family, AF_UNSPEC);
}

static void connected(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_QUERY_QP)
		r->query_qp.state = DDP_QP_RTS;
}

static void idle(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_QUERY_QP)
		r->query_qp.state = DDP_QP_IDLE;
}

Test(listen, a_queue_pair_moves_to_a_session_request)
{
	struct ddp_id *early = make_id(), *incoming = request(9), *other = make_id();
	struct ddp_qp *qp = ddp_id_qp(early);

	fake.script = connected;
	cr_assert_eq(ddp_move_qp(qp, incoming), -EISCONN);
	fake.script = idle;
	cr_assert_eq(ddp_move_qp(qp, other), -EINVAL, "it has a queue pair");
	cr_assert_eq(ddp_move_qp(qp, listener), -EINVAL);
	cr_assert_eq(ddp_move_qp(qp, early), 0);
	cr_assert_eq(ddp_id_qp(early), qp);
	cr_assert_eq(ddp_move_qp(qp, incoming), 0);
	cr_assert_null(ddp_id_qp(early));
	cr_assert_eq(ddp_id_qp(incoming), qp);
	cr_assert_eq(ddp_destroy_id(early), 0);
	cr_assert_eq(ddp_accept(incoming, NULL), 0);
	cr_assert_eq(fake_last(&fake, MSG_ACCEPT)->accept.qp, 1);
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	cr_assert_null(ddp_id_qp(incoming));
}
