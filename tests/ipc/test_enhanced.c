/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents of enhanced messages (RFC 6581): flags, depths, private data. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tests/ipc/listening.h"

TestSuite(enhanced, .init = start, .fini = stop, .timeout = 30);

static const struct sockaddr_in somewhere = {.sin_family = AF_INET, .sin_port = 1};

static int try_connect(struct ddp_id *id, const struct ddp_conn_param *param)
{
	return ddp_connect(id, (const struct sockaddr *)&somewhere, param);
}

static bool reason_has(const char *part)
{
	if (strstr(ddp_last_reason(), part))
		return true;
	fprintf(stderr, "reason is: %s\n", ddp_last_reason());
	return false;
}

static struct ddp_conn_param wish(unsigned flags, uint16_t ird, uint16_t ord)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);

	param.flags = flags;
	param.ird = ird;
	param.ord = ord;
	return param;
}

/* A peer requests a session with an enhanced message that has these depths. */
static struct ddp_id *enhanced_request(uint16_t ird)
{
	struct ddp_id *id;

	fake_event(&fake, (struct msg_event){.type = MSG_EV_REQUEST,
					     .cookie = cookie(),
					     .request = 9,
					     .flags = MSG_CONN_NEGOTIATE | MSG_CONN_PEER_TO_PEER,
					     .peer_ird = ird,
					     .peer_ord = 6});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	id = ev->id;
	ddp_ack_cm_event(ev);
	return id;
}

/* rows: 6581-7-08 6581-7-09 6581-9.1-01 6581-9.1-09 */
Test(enhanced, the_event_has_the_parameters_of_the_peer)
{
	struct msg_event rec = {
		.cookie = cookie(),
		.flags = MSG_CONN_NEGOTIATE | MSG_CONN_RTR_READ,
		.peer_ird = 3,
		.peer_ord = MSG_READS_UNCHANGED,
		.private_len = 2,
		.private_data = "hi",
	};

	for (rec.type = MSG_EV_REQUEST; rec.type <= MSG_EV_REJECTED; rec.type++) {
		fake_event(&fake, rec);
		cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
		cr_assert_eq(ev->type, rec.type);
		cr_assert_eq(ev->conn_flags, DDP_CONN_NEGOTIATE | DDP_CONN_RTR_READ);
		cr_assert_eq(ev->peer_ird, 3);
		cr_assert_eq(ev->peer_ord, DDP_READS_UNCHANGED);
		cr_assert_eq(ev->private_len, 2);
		cr_assert_arr_eq(ev->private_data, "hi", 2);
		ddp_ack_cm_event(ev);
	}
}

Test(enhanced, a_plain_message_has_no_depths)
{
	fake_event(&fake, (struct msg_event){.type = MSG_EV_REQUEST, .cookie = cookie()});
	cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), 0);
	cr_assert_eq(ev->conn_flags, 0);
	cr_assert_eq(ev->peer_ird, DDP_READS_UNCHANGED);
	cr_assert_eq(ev->peer_ord, DDP_READS_UNCHANGED);
}

Test(enhanced, a_connect_carries_flags_and_depths)
{
	const unsigned flags = DDP_CONN_NEGOTIATE | DDP_CONN_PEER_TO_PEER | DDP_CONN_RTR_WRITE |
			       DDP_CONN_RETRY_PLAIN;
	struct ddp_conn_param param = wish(flags, 5, DDP_READS_NONE);
	unsigned incoming;
	struct ddp_id *id = make_id();
	const struct msg_connect *m;

	incoming = fake.nrec;
	cr_assert_eq(try_connect(id, &param), 0);
	cr_assert_eq(fake.nrec, incoming + 1, "no request was necessary before");
	m = &fake_last(&fake, MSG_CONNECT)->connect;
	cr_assert_eq(m->flags, flags);
	cr_assert_eq(m->ird, 5);
	cr_assert_eq(m->ord, 0);
	param = wish(DDP_CONN_NEGOTIATE, DDP_READS_UNCHANGED, DDP_READS_UNCHANGED);
	cr_assert_eq(try_connect(id, &param), 0);
	m = &fake_last(&fake, MSG_CONNECT)->connect;
	cr_assert_eq(m->ird, MSG_READS_UNCHANGED);
	cr_assert_eq(m->ord, MSG_READS_UNCHANGED);
}

static void refuse_connects(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_CONNECT)
		fake_refuse(r, ENETUNREACH, "unreachable");
}

Test(enhanced, the_maximum_is_the_depth_of_the_queue_pair)
{
	struct ddp_conn_param param = wish(DDP_CONN_NEGOTIATE, DDP_READS_MAX, DDP_READS_MAX);
	const struct msg_connect *m;

	cr_assert_eq(try_connect(make_id(), &param), 0);
	m = &fake_last(&fake, MSG_CONNECT)->connect;
	cr_assert_eq(m->ird, 34);
	cr_assert_eq(m->ord, 12);
	fake.script = refuse_connects;
	cr_assert_eq(ddp_connect_name(make_id(), "127.0.0.1", 1, &param), -ENETUNREACH);
}

/* rows: 6581-9.2-11 */
Test(enhanced, flags_that_do_not_go_together_are_refused)
{
	const unsigned bad[] = {
		DDP_CONN_PEER_TO_PEER,
		DDP_CONN_RETRY_PLAIN,
		DDP_CONN_RTR_SEND | DDP_CONN_PEER_TO_PEER,
		DDP_CONN_NEGOTIATE | DDP_CONN_RTR_SEND,
		DDP_CONN_NEGOTIATE | DDP_CONN_RTR_WRITE,
		DDP_CONN_NEGOTIATE | DDP_CONN_RTR_READ,
		DDP_CONN_NEGOTIATE | 64,
	};
	struct ddp_id *id = make_id();
	unsigned incoming = fake.nrec;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ddp_conn_param param = wish(bad[i], 0, 0);

		cr_assert_eq(try_connect(id, &param), -EINVAL, "flags 0x%x", bad[i]);
	}
	cr_assert_eq(fake.nrec, incoming);
}

/* rows: 6581-7-06 */
Test(enhanced, parameters_reduce_the_room_for_private_data)
{
	struct ddp_conn_param param = wish(DDP_CONN_NEGOTIATE, 1, 1);
	struct ddp_conn_param answer = DDP_INIT(ddp_conn_param);
	struct ddp_id *id = make_id();
	char data[509] = {0};

	param.private_data = answer.private_data = data;
	param.private_len = answer.private_len = 509;
	cr_assert_eq(try_connect(id, &param), -EINVAL);
	cr_assert(reason_has("at most 508 in an enhanced message"));
	param.private_len = 508;
	cr_assert_eq(try_connect(id, &param), 0);
	id = enhanced_request(5);
	make_qp(id);
	cr_assert_eq(ddp_accept(id, &answer), -EINVAL, "the answer is of the same kind");
	cr_assert_eq(ddp_reject(id, &answer), -EINVAL);
	answer.private_len = 508;
	cr_assert_eq(ddp_accept(id, &answer), 0);
	id = request(10);
	answer.private_len = 509;
	cr_assert_eq(ddp_reject(id, &answer), 0, "a plain one has room");
}

Test(enhanced, an_accept_carries_depths_that_the_peer_can_take)
{
	struct ddp_conn_param param = wish(DDP_CONN_NEGOTIATE, DDP_READS_MAX, DDP_READS_MAX);
	struct ddp_id *id = enhanced_request(5);
	const struct msg_accept *m;

	make_qp(id);
	cr_assert_eq(ddp_accept(id, &param), 0);
	m = &fake_last(&fake, MSG_ACCEPT)->accept;
	cr_assert_eq(m->flags, MSG_CONN_NEGOTIATE);
	cr_assert_eq(m->ird, 34);
	cr_assert_eq(m->ord, 5, "no more than the peer takes");
	id = enhanced_request(100);
	make_qp(id);
	cr_assert_eq(ddp_accept(id, &param), 0);
	cr_assert_eq(fake_last(&fake, MSG_ACCEPT)->accept.ord, 12);
}

static void refuse_accepts(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_ACCEPT)
		fake_refuse(r, ERANGE, "6 Reads: the peer takes 5");
}

Test(enhanced, a_depth_that_the_peer_cannot_take_fails_the_accept)
{
	struct ddp_conn_param param = wish(DDP_CONN_NEGOTIATE, 1, 6);
	struct ddp_id *id = enhanced_request(5);

	make_qp(id);
	fake.script = refuse_accepts;
	cr_assert_eq(ddp_accept(id, &param), -ERANGE);
	cr_assert_eq(fake_last(&fake, MSG_ACCEPT)->accept.ord, 6, "a number is sent as it is");
	param = wish(DDP_CONN_NEGOTIATE | DDP_CONN_PEER_TO_PEER, 1, 1);
	cr_assert_eq(ddp_accept(id, &param), -EINVAL, "that is the initiator's");
	fake.script = NULL;
	cr_assert_eq(ddp_accept(id, NULL), 0, "the request can still be answered");
	cr_assert_eq(fake_last(&fake, MSG_ACCEPT)->accept.flags, 0);
}

Test(enhanced, a_reject_has_the_required_depths)
{
	struct ddp_conn_param param = wish(DDP_CONN_NEGOTIATE, DDP_READS_NONE, 7);
	const struct msg_reject *m;

	cr_assert_eq(ddp_reject(enhanced_request(5), &param), 0);
	m = &fake_last(&fake, MSG_REJECT)->reject;
	cr_assert_eq(m->flags, MSG_CONN_NEGOTIATE);
	cr_assert_eq(m->ird, 0);
	cr_assert_eq(m->ord, 7);
	cr_assert_eq(ddp_reject(enhanced_request(5), NULL), 0);
	m = &fake_last(&fake, MSG_REJECT)->reject;
	cr_assert_eq(m->flags, 0);
	cr_assert_eq(m->ird, MSG_READS_UNCHANGED);
	cr_assert_eq(m->ord, MSG_READS_UNCHANGED);
	param = wish(DDP_CONN_NEGOTIATE | DDP_CONN_RETRY_PLAIN, 0, 0);
	cr_assert_eq(ddp_reject(enhanced_request(5), &param), -EINVAL);
}
