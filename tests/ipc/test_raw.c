/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw queue pairs: their entries in the ring, requests that are refused, and their completions. */
#include "tests/ipc/work.h"

TestSuite(raw, .init = start, .fini = stop, .timeout = 20);

Test(raw, the_daemon_learns_queues_and_notice_bits)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	const struct msg_create_qp *m = &fake.rec[3].create_qp;

	cr_assert_eq(m->hdr.op, MSG_CREATE_QP);
	cr_assert_eq(m->type, MSG_QP_RAW);
	cr_assert_eq(m->raw_queues, 3);
	cr_assert_eq(m->raw_notify, 0x80);
	init.qp_type = DDP_QP_RAW;
	make_qp(&init, 0);
	cr_assert_eq(fake_last(&fake, MSG_CREATE_QP)->create_qp.raw_queues, 1, "at least");
	init.qp_type = DDP_QP_RDMAP;
	init.raw_queues = 1;
	make_qp(&init, -EINVAL);
	init.raw_queues = 0;
	init.raw_notify = 1;
	make_qp(&init, -EINVAL);
	cr_assert(reason_has("are for DDP_QP_RAW"));
	init.qp_type = (enum ddp_qp_type)3;
	make_qp(&init, -EINVAL);
	cr_assert(reason_has("unknown qp_type 3"));
}

Test(raw, a_message_has_its_queue_and_its_bits)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .raw = {77, 0xffffffffff}};
	const struct wqe_send *e = post(raw, wr);

	cr_assert_eq(e->opcode, 0);
	cr_assert_eq(e->raw.qn, 77, "for any number of queues of the peer");
	cr_assert_eq(e->raw.rsvd, 0xffffffffff);
	wr.opcode = DDP_WR_RDMA_WRITE;
	wr.raw.rsvd = 0xff;
	wr.rdma.remote_addr = 5;
	wr.rdma.rkey = 6;
	e = post(raw, wr);
	cr_assert_eq(e->opcode, 2);
	cr_assert_eq(e->raw.qn, 0, "a tagged message has none");
	cr_assert_eq(e->raw.rsvd, 0xff);
	cr_assert_eq(e->remote_addr, 5);
	cr_assert_eq(e->rkey, 6);
}

Test(raw, unsupported_bits_and_requests_are_refused)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .raw = {0, 1ull << 40}};

	refused(raw, wr, "it has 40 bits");
	wr.opcode = DDP_WR_RDMA_WRITE;
	wr.raw.rsvd = 0x100;
	refused(raw, wr, "raw.rsvd 0x100: it has 8 bits");
	wr.raw.rsvd = 0;
	for (int op = 0; op <= DDP_WR_MASKED_CMP_AND_SWP; op++) {
		wr.opcode = (enum ddp_wr_opcode)op;
		if (op != DDP_WR_SEND && op != DDP_WR_RDMA_WRITE)
			refused(raw, wr, "QP 102 is raw");
	}
	wr.opcode = DDP_WR_SEND;
	wr.send_flags = DDP_SEND_SOLICITED;
	refused(raw, wr, "send_flags 0x4: QP 102 is raw");
	wr.send_flags = DDP_SEND_PACED;
	refused(raw, wr, "send_flags 0x20: QP 102 is raw");
}

Test(raw, raw_members_are_ignored_elsewhere)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .raw = {77, UINT64_MAX}};
	const struct wqe_send *e = post(qp, wr);

	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(e->operand[i], 0);
}

Test(raw, a_receive_names_its_queue)
{
	struct ddp_recv_wr wr = {.qn = 2}, *bad = NULL;
	const struct wqe_recv *e;

	cr_assert_eq(ddp_post_recv(raw, &wr, NULL), 0);
	wr.qn = DDP_QN_TAGGED;
	cr_assert_eq(ddp_post_recv(raw, &wr, NULL), 0);
	e = ring_peek(&fake.qp[1].rq);
	cr_assert_eq(e->qn, 2);
	ring_release(&fake.qp[1].rq, 1);
	e = ring_peek(&fake.qp[1].rq);
	cr_assert_eq(e->qn, WQE_QN_TAGGED);
	wr.qn = 3;
	cr_assert_eq(ddp_post_recv(raw, &wr, &bad), -EINVAL);
	cr_assert_eq(bad, &wr);
	cr_assert(reason_has("qn 3: the queues of QP 102 are 0 to 2"));
	wr.qn = 1;
	cr_assert_eq(ddp_post_recv(qp, &wr, NULL), -EINVAL);
	wr.qn = DDP_QN_TAGGED;
	cr_assert_eq(ddp_post_recv(qp, &wr, NULL), -EINVAL);
}

Test(raw, a_receive_reports_queue_and_bits)
{
	struct wqe_cqe e = {.opcode = 9, .qn = 2, .imm = 0xffffffffff, .byte_len = 100};
	struct ddp_wc wc;

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	cr_assert_eq(wc.opcode, DDP_WC_RECV);
	cr_assert_eq(wc.qn, 2);
	cr_assert_eq(wc.imm_data, 0xffffffffff);
	cr_assert_eq(wc.byte_len, 100);
}

Test(raw, a_notice_names_the_stag_of_the_message)
{
	struct wqe_cqe e = {.opcode = 10, .inv_rkey = 0x1a2b3c4d, .imm = 0x81, .byte_len = 100};
	struct ddp_wc wc;

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	cr_assert_eq(wc.opcode, DDP_WC_RECV_TAGGED);
	cr_assert_eq(wc.stag, 0x1a2b3c4d);
	cr_assert_eq(wc.invalidated_rkey, 0);
	cr_assert_eq(wc.imm_data, 0x81);
}
