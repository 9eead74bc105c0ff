/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of datagrams: requests to the daemon, entries in the ring, requests that are
 * refused, and completions. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "tests/ipc/work.h"

static struct ddp_qp *dgram;
static struct ddp_ah *ah;
static struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = 1};

static struct ddp_qp_init datagrams(void)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.qp_type = DDP_QP_DATAGRAM;
	return init;
}

static void begin(void)
{
	struct ddp_qp_init init = datagrams();

	start();
	init.qkey = 0x77;
	dgram = make_qp(&init, 0);
	peer.sin_addr.s_addr = htonl(0x0a000001);
	cr_assert_eq(ddp_create_ah(pd, (struct sockaddr *)&peer, NULL, &ah), 0, "%s",
		     ddp_last_reason());
}

TestSuite(datagram, .init = begin, .fini = stop, .timeout = 20);

static struct ddp_send_wr to(uint32_t number)
{
	return (struct ddp_send_wr){.opcode = DDP_WR_SEND, .ud = {ah, number, 0x99}};
}

Test(datagram, the_daemon_learns_type_key_and_address)
{
	const union fake_record *r = &fake.rec[fake.nrec - 3];

	cr_assert_eq(r[0].hdr.op, MSG_CREATE_QP);
	cr_expect_eq(r[0].create_qp.type, MSG_QP_DATAGRAM);
	cr_assert_eq(r[1].hdr.op, MSG_SET_QP_QKEY);
	cr_expect_eq(r[1].set_qp_qkey.qkey, 0x77);
	cr_assert_eq(r[2].hdr.op, MSG_CREATE_AH);
	cr_expect_eq(r[2].create_ah.remote.family, AF_INET);
	cr_expect_eq(r[2].create_ah.remote.bytes[0], 10);
	cr_expect_eq(r[2].create_ah.remote.port, 0, "ports do not matter");
	cr_expect_eq(r[2].create_ah.local.family, 0);
	cr_assert_eq(ddp_set_qp_qkey(dgram, 5), 0);
	cr_expect_eq(fake_last(&fake, MSG_SET_QP_QKEY)->set_qp_qkey.qkey, 5);
}

Test(datagram, the_daemon_learns_whose_number_it_takes)
{
	struct ddp_qp_init init = datagrams();
	struct ddp_qp *next = make_qp(&init, 0);
	const struct msg_qp_number *m;

	cr_assert_eq(ddp_take_qp_number(next, dgram), 0, "%s", ddp_last_reason());
	m = &fake_last(&fake, MSG_TAKE_QP_NUMBER)->take_qp_number;
	cr_expect_eq(m->handle, fake.nqp, "the fake counts them");
	cr_expect_eq(m->from, fake.nqp - 1);
}

Test(datagram, a_send_has_where_it_goes)
{
	struct ddp_send_wr wr = to(0xffffff);
	const struct wqe_send *e;

	wr.imm_data = 3;
	e = post(dgram, wr);
	cr_expect_eq(e->rkey, 0xffffff);
	cr_expect_eq(e->remote_addr, 0x99);
	cr_expect_eq(e->imm, 0, "without the flag");
	wr.send_flags = DDP_SEND_WITH_IMM;
	e = post(dgram, wr);
	cr_expect_eq(e->flags, WQE_WITH_IMM);
	cr_expect_eq(e->imm, 3);
}

Test(datagram, what_no_datagram_can_be_is_refused)
{
	struct ddp_sge sge = {0, DDP_DATAGRAM_MAX + 1, 1};
	struct ddp_send_wr wr = to(1);

	for (int op = DDP_WR_SEND + 1; op <= DDP_WR_MASKED_CMP_AND_SWP; op++) {
		wr.opcode = (enum ddp_wr_opcode)op;
		refused(dgram, wr, "only DDP_WR_SEND is allowed");
	}
	wr = to(1);
	for (unsigned flag = 1; flag < 256; flag <<= 1) {
		wr.send_flags = flag;
		if (!(flag & (DDP_SEND_SIGNALED | DDP_SEND_SOLICITED | DDP_SEND_INLINE |
			      DDP_SEND_WITH_IMM)))
			refused(dgram, wr, "a datagram cannot have");
	}
	refused(dgram, to(0), "remote_qp 0x0");
	refused(dgram, to(1 << 24), "remote_qp 0x1000000");
	wr = to(1);
	wr.ud.ah = NULL;
	refused(dgram, wr, "ud.ah is not set");
	wr = to(1);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	refused(dgram, wr, "datagram of 4097 bytes: at most 4096");
}

Test(datagram, a_receive_has_its_sender)
{
	struct wqe_cqe e = {.opcode = WQE_RECV,
			    .qp_num = ddp_qp_num(dgram),
			    .byte_len = 50,
			    .flags = CQE_WITH_IMM,
			    .imm = 8,
			    .inv_rkey = 0x123456};
	struct ddp_wc wc;

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	cr_expect_eq(wc.src_qp, 0x123456);
	cr_expect_eq(wc.byte_len, 50);
	cr_expect_eq(wc.imm_data, 8);
}

Test(datagram, the_next_daemon_does_not_have_the_address)
{
	struct ddp_send_wr wr = to(1);

	fake_restart(&fake, NULL);
	cr_assert_eq(ddp_reopen(ctx, 10000), 0, "%s", ddp_last_reason());
	cr_expect_eq(ddp_post_send(dgram, &wr, NULL), -EPIPE);
	cr_expect_eq(ddp_destroy_ah(ah), 0);
	for (unsigned i = 0; i < fake.nrec; i++)
		cr_expect_neq(fake.rec[i].hdr.op, MSG_DESTROY_AH, "it would end the client");
}

static void give_no_handle(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_CREATE_AH)
		r->create_ah.handle = 0;
}

Test(datagram, a_handle_is_not_0)
{
	fake.script = give_no_handle;
	cr_assert_eq(ddp_create_ah(pd, (struct sockaddr *)&peer, NULL, &ah), -EPROTO);
}

static void be_older(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_HELLO)
		r->hello.minor = IPC_MINOR_DATAGRAM - 1;
}

static void begin_older(void)
{
	start_as(be_older);
}

TestSuite(older, .init = begin_older, .fini = stop, .timeout = 20);

Test(older, an_older_daemon_has_none)
{
	struct ddp_qp_init init = datagrams();

	make_qp(&init, -EOPNOTSUPP);
	cr_assert(reason_has("the daemon is too old for datagrams"));
	cr_assert_eq(ddp_create_ah(pd, (struct sockaddr *)&peer, NULL, &ah), -EOPNOTSUPP);
}
