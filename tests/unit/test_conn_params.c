/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: parameters of a program are refused if the session cannot have them, and mean the same
 * on the wire. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/base/state.h"
#include "daemon/objects/sessions/conn_params.h"
#include "daemon/objects/sessions/qp.h"

enum { IRD = 7, ORD = 9, LONG = WIRE_ENH_UNCHANGED };

static struct daemon d = {.cfg.session.enhanced = CONFIG_ON};
static const struct qp qp = {.num = 5, .attr = {.max_ird = IRD, .max_ord = ORD}};
static const struct qp credits = {.options = MSG_QP_CREDITS};

static struct conn_params params(uint32_t flags, uint16_t ird, uint16_t ord)
{
	return (struct conn_params){"connect", CONN_PARAMS_CONNECT, 0, (uint16_t)flags, ird, ord};
}

static int check(const struct qp *q, struct conn_params o)
{
	struct reply rep = {0};
	int r = conn_params_check(&d, q, &o, &rep);

	cr_assert_eq(!r, !rep.reason[0], "each refusal has a reason: %d", r);
	cr_assert_not(rep.fatal, "the client continues");
	return r;
}

Test(conn_params, room_is_what_the_parameters_and_the_offer_leave_of_512_bytes)
{
	cr_assert_eq(conn_params_room(NULL, false), 512);
	cr_assert_eq(conn_params_room(NULL, true), 508);
	cr_assert_eq(conn_params_room(&qp, false), 512);
	cr_assert_eq(conn_params_room(&qp, true), 508);
	cr_assert_eq(conn_params_room(&credits, false), 492);
	cr_assert_eq(conn_params_room(&credits, true), 488);
}

Test(conn_params, private_data_of_512_bytes_is_accepted_and_a_longer_one_ends_the_client)
{
	struct conn_params o = params(0, 0, 0);
	struct reply rep = {0};

	o.private_len = 512;
	cr_assert_eq(check(&qp, o), 0);
	o.private_len = 513;
	cr_assert_eq(conn_params_check(&d, &qp, &o, &rep), -EINVAL);
	cr_assert(rep.fatal);
}

Test(conn_params, depths_of_the_queue_pair_are_the_greatest)
{
	const uint32_t f = MSG_CONN_NEGOTIATE;

	cr_assert_eq(check(&qp, params(f, IRD, ORD)), 0);
	cr_assert_eq(check(&qp, params(f, IRD + 1, ORD)), -EINVAL);
	cr_assert_eq(check(&qp, params(f, IRD, ORD + 1)), -EINVAL);
	cr_assert_eq(check(&qp, params(f, MSG_READS_UNCHANGED, MSG_READS_UNCHANGED)), 0);
	cr_assert_eq(check(NULL, params(f, LONG - 1, LONG - 1)), 0);
	cr_assert_eq(check(NULL, params(f, LONG, 0)), -EINVAL);
	cr_assert_eq(check(NULL, params(f, 0, LONG)), -EINVAL);
	cr_assert_eq(check(&qp, params(0, IRD + 1, ORD + 1)), 0, "not negotiated");
}

Test(conn_params, flags_require_each_other)
{
	static const struct {
		uint32_t flags;
		int r;
	} rows[] = {
		{0, 0},
		{MSG_CONN_NEGOTIATE, 0},
		{MSG_CONN_PEER_TO_PEER, -EINVAL},
		{MSG_CONN_RTR_READ, -EINVAL},
		{MSG_CONN_RETRY_PLAIN, -EINVAL},
		{MSG_CONN_NEGOTIATE | MSG_CONN_RETRY_PLAIN, 0},
		{MSG_CONN_NEGOTIATE | MSG_CONN_PEER_TO_PEER, 0},
		{MSG_CONN_NEGOTIATE | MSG_CONN_RTR_SEND, -EINVAL},
		{MSG_CONN_NEGOTIATE | MSG_CONN_RTR_WRITE, -EINVAL},
		{MSG_CONN_NEGOTIATE | MSG_CONN_RTR_READ, -EINVAL},
		{MSG_CONN_NEGOTIATE | MSG_CONN_PEER_TO_PEER | MSG_CONN_RTR_READ, 0},
		{CONN_PARAMS_CONNECT, 0},
		{CONN_PARAMS_CONNECT + 1, -EINVAL}, /* one that is unknown */
	};
	struct conn_params answer = params(MSG_CONN_NEGOTIATE, 0, 0);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(check(&qp, params(rows[i].flags, 0, 0)), rows[i].r, "row %u", i);
	answer.known = CONN_PARAMS_ANSWER;
	cr_assert_eq(check(&qp, answer), 0);
	answer.flags |= MSG_CONN_PEER_TO_PEER;
	cr_assert_eq(check(&qp, answer), -EINVAL, "an answer does not choose the model");
}

Test(conn_params, negotiation_is_refused_where_it_is_switched_off_and_for_raw_queue_pairs)
{
	const struct qp raw = {.attr.raw = true};

	cr_assert_eq(check(&raw, params(MSG_CONN_NEGOTIATE, 0, 0)), -EOPNOTSUPP);
	cr_assert_eq(check(&raw, params(0, 0, 0)), 0);
	d.cfg.session.enhanced = CONFIG_OFF;
	cr_assert_eq(check(&qp, params(MSG_CONN_NEGOTIATE, 0, 0)), -EOPNOTSUPP);
	cr_assert_eq(check(&qp, params(0, 0, 0)), 0);
}

Test(conn_params, a_message_without_negotiation_is_a_plain_one)
{
	const struct conn_params o = params(0, 1, 2);
	struct wire_enh enh = {.ird = 99};
	struct msg_event ev;

	cr_assert_not(conn_params_to_wire(&o, &enh));
	cr_assert_eq(enh.ird, 99);
	conn_params_to_event(NULL, &ev);
	cr_assert_eq(ev.flags, 0);
	cr_assert_eq(ev.peer_ird, MSG_READS_UNCHANGED);
	cr_assert_eq(ev.peer_ord, MSG_READS_UNCHANGED);
}

/* The event of the peer's program. */
static struct msg_event heard(uint32_t flags, uint16_t ird, uint16_t ord)
{
	const struct conn_params o = params(flags, ird, ord);
	struct wire_enh enh;
	struct msg_event ev;

	cr_assert(conn_params_to_wire(&o, &enh));
	conn_params_to_event(&enh, &ev);
	return ev;
}

Test(conn_params, the_other_program_hears_what_was_asked)
{
	const uint32_t p2p = MSG_CONN_NEGOTIATE | MSG_CONN_PEER_TO_PEER;
	static const uint32_t rtr[] = {MSG_CONN_RTR_SEND, MSG_CONN_RTR_WRITE, MSG_CONN_RTR_READ};
	struct msg_event ev = heard(MSG_CONN_NEGOTIATE, 3, MSG_READS_UNCHANGED);

	cr_assert_eq(ev.flags, MSG_CONN_NEGOTIATE);
	cr_assert_eq(ev.peer_ird, 3);
	cr_assert_eq(ev.peer_ord, MSG_READS_UNCHANGED);
	ev = heard(MSG_CONN_NEGOTIATE, MSG_READS_UNCHANGED, 4);
	cr_assert_eq(ev.peer_ird, MSG_READS_UNCHANGED);
	cr_assert_eq(ev.peer_ord, 4);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(heard(p2p | rtr[i], 0, 0).flags, p2p | rtr[i]);
	cr_assert_eq(heard(p2p, 0, 0).flags, p2p | rtr[0] | rtr[1] | rtr[2], "any message will do");
}

Test(conn_params, an_ird_of_0_excludes_reads_if_it_is_negotiated)
{
	struct conn_params o = params(MSG_CONN_NEGOTIATE, 0, 1);

	cr_assert(conn_params_no_reads(&o));
	o.ird = 1;
	cr_assert_not(conn_params_no_reads(&o));
	o = params(0, 0, 0);
	cr_assert_not(conn_params_no_reads(&o));
}
