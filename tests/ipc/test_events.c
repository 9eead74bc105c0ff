/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions: ids, session requests and events. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>

#include "ipc/conn.h"
#include "tests/ipc/listening.h"

TestSuite(events, .init = start, .fini = stop, .timeout = 30);

Test(events, listening_sends_the_address)
{
	const struct msg_listen *m = &fake_last(&fake, MSG_LISTEN)->listen;
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un {
		sa_family_t family;
	} local = {AF_UNIX};
	struct ddp_id *id;

	cr_assert_eq(m->backlog, 7);
	cr_assert_eq(m->naddrs, 0);
	cr_assert_eq(m->port, 5043);
	cr_assert_eq(ddp_listen(listener, NULL, 5043, 7), -EINVAL, "it listens already");
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_listen(id, NULL, 5043, -1), -EINVAL);
	cr_assert_eq(ddp_listen(id, (struct sockaddr *)&local, 5043, 0), -EAFNOSUPPORT);
	in6.sin6_port = htons(99);
	cr_assert_eq(ddp_listen(id, (struct sockaddr *)&in6, 0, 0), 0);
	m = &fake_last(&fake, MSG_LISTEN)->listen;
	cr_assert_eq(m->port, 99);
	cr_assert_eq(m->naddrs, 1);
	cr_assert_eq(m->addrs[0].family, AF_INET6);
	cr_assert_eq(m->addrs[0].port, 99);
	cr_assert_arr_eq(m->addrs[0].bytes, &in6.sin6_addr, 16);
}

Test(events, a_request_comes_with_a_new_id_and_private_data)
{
	struct msg_event rec = {
		.type = MSG_EV_REQUEST,
		.cookie = cookie(),
		.request = 9,
		.assoc = 3,
		.stream = 4,
		.private_len = 3,
		.private_data = "abc",
	};

	fake_event(&fake, rec);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_CONNECT_REQUEST);
	cr_assert_eq(ev->listener, listener);
	cr_assert_neq(ev->id, listener);
	cr_assert_eq(ev->assoc, 3);
	cr_assert_eq(ev->stream, 4);
	cr_assert_eq(ev->private_len, 3);
	cr_assert_arr_eq(ev->private_data, "abc", 3);
	cr_assert_str_eq(ev->reason, "");
	cr_assert_eq(ddp_id_user(ev->id), &fake, "that of its listener");
	cr_assert_eq(ddp_id_user(ev->listener), &fake);
}

/* All ids are in use. Their peers are refused, and the call waits for the events of others. */
Test(events, requests_without_room_for_their_ids_are_refused_and_no_failure)
{
	static struct ddp_id *id[1 << 16];
	const struct msg_event first = {.type = MSG_EV_REQUEST, .cookie = cookie(), .request = 9};
	const struct msg_event next = {.type = MSG_EV_REQUEST, .cookie = cookie(), .request = 10};
	unsigned n = 0;

	while (ddp_create_id(ctx, NULL, &id[n]) == 0)
		n++;
	cr_assert_gt(n, 60000);
	fake_event(&fake, first);
	cr_expect_eq(ddp_get_cm_event(ctx, &ev, 0), -EAGAIN, "%s", ddp_last_reason());
	cr_expect_eq(fake_last(&fake, MSG_REJECT)->reject.request, 9);
	cr_assert_eq(ddp_destroy_id(id[0]), 0);
	fake_event(&fake, next);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_expect_eq(ev->listener, listener);
	ddp_ack_cm_event(ev);
	cr_expect_eq(ddp_destroy_id(listener), 0, "the request that was refused holds it");
}

Test(events, an_event_holds_its_ids_until_it_is_acknowledged)
{
	struct ddp_id *id;

	fake_event(&fake, (struct msg_event){.type = MSG_EV_REQUEST, .cookie = cookie()});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	id = ev->id;
	cr_assert_eq(ddp_destroy_id(id), -EBUSY);
	cr_assert_eq(ddp_destroy_id(listener), -EBUSY);
	ddp_ack_cm_event(ev);
	cr_assert_eq(ddp_destroy_id(id), 0);
	cr_assert_eq(ddp_destroy_id(listener), 0);
}

Test(events, accepting_names_request_and_queue_pair)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct ddp_id *id = request(9);
	const struct msg_accept *m;

	cr_assert_eq(ddp_accept(id, NULL), -EINVAL, "no QP yet");
	make_qp(id);
	param.private_data = "welcome";
	param.private_len = 7;
	cr_assert_eq(ddp_accept(id, &param), 0);
	m = &fake_last(&fake, MSG_ACCEPT)->accept;
	cr_assert_eq(m->request, 9);
	cr_assert_eq(m->qp, 1);
	cr_assert_eq(m->private_len, 7);
	cr_assert_arr_eq(m->private_data, "welcome", 7);
	cr_assert_eq(ddp_accept(id, NULL), -EINVAL, "only once");
	fake_event(&fake, (struct msg_event){.type = MSG_EV_ESTABLISHED, .cookie = m->cookie});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->id, id);
	cr_assert_eq(ev->type, DDP_CM_ESTABLISHED);
}

Test(events, rejecting_leaves_an_id_that_can_only_be_destroyed)
{
	struct ddp_conn_param no = DDP_INIT(ddp_conn_param);
	struct ddp_id *id = request(9);

	no.private_data = "no";
	no.private_len = 2;
	cr_assert_eq(ddp_reject(id, &no), 0);
	cr_assert_eq(fake_last(&fake, MSG_REJECT)->reject.request, 9);
	cr_assert_eq(fake_last(&fake, MSG_REJECT)->reject.private_len, 2);
	cr_assert_arr_eq(fake_last(&fake, MSG_REJECT)->reject.private_data, "no", 2);
	cr_assert_eq(ddp_reject(id, NULL), -EINVAL);
	cr_assert_eq(ddp_accept(id, NULL), -EINVAL);
	cr_assert_eq(ddp_destroy_id(id), 0);
	fake_last(&fake, MSG_REJECT);
}

Test(events, destroying_an_unanswered_request_rejects_it)
{
	cr_assert_eq(ddp_destroy_id(request(9)), 0);
	cr_assert_eq(fake_last(&fake, MSG_REJECT)->reject.request, 9);
}

Test(events, destroying_a_listener_ends_listening)
{
	cr_assert_eq(ddp_destroy_id(listener), 0);
	cr_assert_eq(fake_last(&fake, MSG_UNLISTEN)->unlisten.handle, 5);
}

Test(events, a_withdrawn_request_cannot_be_answered)
{
	struct ddp_id *other = request(8), *id = request(9);

	fake_event(&fake, (struct msg_event){.type = MSG_EV_WITHDRAWN,
					     .cookie = cookie(),
					     .request = 9,
					     .err = ETIMEDOUT,
					     .reason = "the peer gave up"});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_REQUEST_GONE);
	cr_assert_eq(ev->id, id);
	cr_assert_eq(ev->err, -ETIMEDOUT);
	cr_assert_str_eq(ev->reason, "the peer gave up");
	ddp_ack_cm_event(ev);
	cr_assert_eq(ddp_accept(id, NULL), -EINVAL);
	cr_assert_eq(ddp_destroy_id(id), 0);
	cr_assert_eq(ddp_destroy_id(other), 0);
	cr_assert_eq(fake_last(&fake, MSG_REJECT)->reject.request, 8);
}

Test(events, events_of_destroyed_ids_are_skipped)
{
	struct ddp_id *id = make_id();
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(1)};
	uint32_t old;

	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&in, NULL), 0);
	old = fake_last(&fake, MSG_CONNECT)->connect.cookie;
	cr_assert_eq(ddp_destroy_qp(ddp_id_qp(id)), 0);
	cr_assert_eq(ddp_destroy_id(id), 0);
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	fake_event(&fake, (struct msg_event){.type = MSG_EV_ESTABLISHED, .cookie = old});
	fake_event(&fake, (struct msg_event){.type = MSG_EV_WITHDRAWN, .request = 1});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, 0), -EAGAIN);
}

/* rows: 5043-5.2.3-04 6581-10-03 */
Test(events, connecting_names_peer_and_queue_pair)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(99)};
	struct ddp_id *id = make_id();
	const struct msg_connect *m;
	char data[513] = {0};

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	param.timeout_ms = 1234;
	param.private_data = data;
	param.private_len = 513;
	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&in, &param), -EINVAL);
	cr_assert(strstr(ddp_last_reason(), "513 bytes of private data: at most 512"));
	param.private_len = 512;
	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&in, &param), 0);
	m = &fake_last(&fake, MSG_CONNECT)->connect;
	cr_assert_eq(m->qp, 1);
	cr_assert_eq(m->timeout_ms, 1234);
	cr_assert_eq(m->private_len, 512);
	cr_assert_eq(m->flags, 0, "nothing enhanced unless it is asked for");
	cr_assert_eq(m->npeers, 1);
	cr_assert_eq(m->nlocals, 0, "one address here, unless it is asked for more");
	cr_assert_eq(m->peers[0].family, AF_INET);
	cr_assert_eq(m->peers[0].port, 99);
	cr_assert_arr_eq(m->peers[0].bytes, &in.sin_addr, 4);
	cr_assert_eq(ddp_disconnect(id), 0);
	cr_assert_eq(fake_last(&fake, MSG_DISCONNECT)->disconnect.handle, 1);
}

Test(events, invalid_connects_are_refused)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr *peer = (struct sockaddr *)&in;
	struct ddp_id *bare, *id = make_id();

	cr_assert_eq(ddp_create_id(ctx, NULL, &bare), 0);
	cr_assert_eq(ddp_connect(bare, peer, NULL), -EINVAL);
	cr_assert_eq(ddp_disconnect(bare), -ENOTCONN);
	cr_assert_eq(ddp_connect(listener, peer, NULL), -EINVAL);
	param.timeout_ms = -1;
	cr_assert_eq(ddp_connect(id, peer, &param), -EINVAL);
	in.sin_family = AF_UNIX;
	cr_assert_eq(ddp_connect(id, peer, NULL), -EAFNOSUPPORT);
}

Test(events, a_numeric_address_is_a_name)
{
	struct ddp_id *id = make_id();
	const struct msg_addr want = {.family = AF_INET, .port = 5044, .bytes = {127, 0, 0, 9}};

	cr_assert_eq(ddp_connect_name(id, "127.0.0.9", 5044, NULL), 0);
	cr_assert_arr_eq(fake_last(&fake, MSG_CONNECT)->connect.peers, &want, sizeof(want));
}

static void refuse_connects(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_CONNECT)
		fake_refuse(r, ENETUNREACH, "unreachable");
}

Test(events, each_address_of_a_name_is_tried_when_one_fails_at_once)
{
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list;
	struct ddp_id *id = make_id();
	unsigned before = fake.nrec, n = 0;

	if (getaddrinfo("localhost", NULL, &hints, &list))
		cr_skip_test("localhost has no address here: /etc/hosts");
	for (struct addrinfo *ai = list; ai; ai = ai->ai_next)
		n++;
	freeaddrinfo(list);
	fake.script = refuse_connects;
	cr_assert_eq(ddp_connect_name(id, "localhost", 5043, NULL), -ENETUNREACH);
	cr_assert_eq(fake.nrec - before, n);
}

Test(events, no_event_in_time_is_again)
{
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, 0), -EAGAIN);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, 3), -EAGAIN);
}

Test(events, the_descriptor_is_readable_while_events_wait)
{
	struct pollfd p = {.fd = ddp_fd(ctx), .events = POLLIN};

	cr_assert_eq(poll(&p, 1, 0), 0);
	request(9);
	cr_assert_eq(poll(&p, 1, 0), 0, "level-triggered, and taken");
	fake_event(&fake, (struct msg_event){.type = MSG_EV_REQUEST, .cookie = cookie()});
	cr_assert_eq(poll(&p, 1, 0), 1);
}

static void *die(void *arg)
{
	(void)arg;
	fake_die(&fake);
	return NULL;
}

Test(events, the_daemons_death_wakes_a_thread_that_waits_for_an_event)
{
	pthread_t t;

	pthread_create(&t, NULL, die, NULL);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), -EPIPE);
	pthread_join(t, NULL);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, 0), -EPIPE);
}

Test(events, events_sent_before_the_death_come_first)
{
	fake_event(&fake, (struct msg_event){.type = MSG_EV_REQUEST, .cookie = cookie()});
	fake_die(&fake);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), -EPIPE);
}

Test(events, invalid_events_are_protocol_errors)
{
	struct msg_event bad[] = {
		{.type = 0},
		{.type = MSG_EV_SRQ_LIMIT + 1},
		{.type = MSG_EV_ERROR, .header_len = MSG_TERM_MAX + 1},
		{.type = MSG_EV_REQUEST, .private_len = MSG_PRIVATE_MAX + 1},
		{.type = MSG_EV_REQUEST, .err = -1},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_event(&fake, bad[i]);
		cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), -EPROTO, "event %u", i);
	}
	cr_assert_eq(conn_send(fake.event_fd, bad, 5, NULL, 0), 0);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), -EPROTO);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, 0), -EAGAIN);
}

/* The program has the descriptor of ddp_fd(), and so has each child of fork(). */
Test(events, a_socket_that_blocks_delays_no_poll, .timeout = 20)
{
	cr_assert_eq(fcntl(ddp_fd(ctx), F_SETFL, 0), 0);
	cr_expect_eq(ddp_get_cm_event(ctx, &ev, 0), -EAGAIN);
	fake_event(&fake, (struct msg_event){.type = MSG_EV_REQUEST, .cookie = cookie()});
	cr_expect_eq(ddp_get_cm_event(ctx, &ev, 0), 0);
}

Test(events, an_unterminated_reason_is_terminated)
{
	struct msg_event rec = {.type = MSG_EV_REQUEST, .cookie = cookie()};

	memset(rec.reason, 'x', sizeof(rec.reason));
	fake_event(&fake, rec);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(strlen(ev->reason), MSG_REASON_MAX - 1);
}

/* ---- raw sessions ---- */

Test(events, an_error_event_has_the_header_of_the_message)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(1)};
	struct ddp_id *id = make_id();
	struct msg_event rec = {
		.type = MSG_EV_ERROR,
		.err = EPROTO,
		.term = 0x1202,
		.seg_len = 100,
		.header_len = MSG_TERM_MAX,
		.reason = "no buffer",
	};

	cr_assert_eq(ddp_connect(id, (struct sockaddr *)&in, NULL), 0);
	rec.cookie = fake_last(&fake, MSG_CONNECT)->connect.cookie;
	memset(rec.header, 0xab, sizeof(rec.header));
	fake_event(&fake, rec);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_ERROR);
	cr_assert_eq(ev->id, id);
	cr_assert_eq(ev->err, -EPROTO);
	cr_assert_eq(ev->term, 0x1202);
	cr_assert_eq(ev->segment_len, 100);
	cr_assert_eq(ev->header_len, MSG_TERM_MAX);
	cr_assert_arr_eq(ev->header, rec.header, MSG_TERM_MAX);
	cr_assert_str_eq(ev->reason, "no buffer");
	ddp_ack_cm_event(ev);
	rec = (struct msg_event){.type = MSG_EV_HALF_CLOSED, .cookie = rec.cookie};
	fake_event(&fake, rec);
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->type, DDP_CM_HALF_CLOSED);
	cr_assert_eq(ev->id, id);
	cr_assert_eq(ev->header_len, 0);
}
