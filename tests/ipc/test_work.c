/* SPDX-License-Identifier: BSD-2-Clause */
/* Immediate Data, atomics, Reads, rights and windows: their entries in the ring, requests that are
 * refused, and their completions. */
#include "tests/ipc/work.h"

static struct ddp_mw *one; /* of type 1 */
static struct ddp_sge sge = {4000, 8, 7};

/* ---- Immediate Data ---- */

TestSuite(imm, .init = start, .fini = stop, .timeout = 20);

Test(imm, the_value_is_in_the_ring_without_memory)
{
	const struct wqe_send *e = post(qp, (struct ddp_send_wr){
						    .wr_id = 5,
						    .opcode = DDP_WR_IMM_DATA,
						    .send_flags = DDP_SEND_SOLICITED,
						    .imm_data = 0x0102030405060708,
					    });

	cr_assert_eq(e->wr_id, 5);
	cr_assert_eq(e->opcode, 4);
	cr_assert_eq(e->flags, DDP_SEND_SOLICITED);
	cr_assert_eq(e->imm, 0x0102030405060708);
	cr_assert_eq(e->num_sge, 0);
	cr_assert_eq(e->operand[1], 0);
}

Test(imm, a_Send_and_a_Write_have_it_in_their_entry)
{
	static const enum ddp_wr_opcode ops[] = {DDP_WR_SEND, DDP_WR_RDMA_WRITE};

	for (unsigned i = 0; i < 2; i++) {
		struct ddp_send_wr wr = {
			.opcode = ops[i],
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = DDP_SEND_WITH_IMM,
			.imm_data = 0x0102030405060708,
		};
		const struct wqe_send *e = post(qp, wr);

		cr_assert_eq(e->flags, WQE_WITH_IMM);
		cr_assert_eq(e->imm, 0x0102030405060708);
		cr_assert_eq(e->num_sge, 1);
		wr.send_flags = 0;
		cr_assert_eq(post(qp, wr)->imm, 0, "the program did not ask for it");
		wr.send_flags = DDP_SEND_WITH_IMM;
		refused(raw, wr, "without DDP_SEND_SOLICITED, _PLACED, _PACED and _WITH_IMM");
	}
}

Test(imm, other_operations_have_none_with_them)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND_WITH_INV, .send_flags = DDP_SEND_WITH_IMM};

	refused(qp, wr, "Send with Invalidate cannot have DDP_SEND_WITH_IMM");
	wr.opcode = DDP_WR_IMM_DATA;
	refused(qp, wr, "Immediate Data cannot have DDP_SEND_WITH_IMM");
	wr.opcode = DDP_WR_RDMA_READ;
	refused(qp, wr, "RDMA Read cannot have DDP_SEND_WITH_IMM");
}

Test(imm, memory_with_it_is_refused)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_IMM_DATA, .sg_list = &sge, .num_sge = 1};

	refused(qp, wr, "Immediate Data has at most 0");
	wr.num_sge = 0;
	wr.send_flags = DDP_SEND_INLINE;
	refused(qp, wr, "Immediate Data cannot have DDP_SEND_INLINE");
}

Test(imm, a_completion_distinguishes_it_from_a_Send)
{
	struct wqe_cqe e = {.opcode = 9, .flags = 4, .imm = 0x0102030405060708};
	struct ddp_wc wc;

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	cr_assert_eq(wc.opcode, DDP_WC_RECV);
	cr_assert_eq(wc.wc_flags, DDP_WC_WITH_IMM);
	cr_assert_eq(wc.imm_data, 0x0102030405060708);
	cr_assert_eq(wc.byte_len, 0);
}

/* ---- atomics ---- */

TestSuite(atomic, .init = start, .fini = stop, .timeout = 20);

/* All operands are set, so that a test sees if the library uses one that it must ignore. */
static struct ddp_send_wr operation(enum ddp_wr_opcode op)
{
	return (struct ddp_send_wr){
		.wr_id = 6,
		.opcode = op,
		.sg_list = &sge,
		.num_sge = 1,
		.rdma = {0x1234, 0x99},
		.atomic = {1, 2, 3, 4, 5},
	};
}

Test(atomic, an_addition_without_a_mask_has_no_fields)
{
	const struct wqe_send *e = post(qp, operation(DDP_WR_ATOMIC_FETCH_AND_ADD));

	cr_assert_eq(e->opcode, 5);
	cr_assert_eq(e->remote_addr, 0x1234);
	cr_assert_eq(e->rkey, 0x99);
	cr_assert_eq(e->num_sge, 1);
	cr_assert_arr_eq(e->sge, &sge, sizeof(sge));
	cr_assert_eq(e->atomic.data, 1);
	cr_assert_eq(e->atomic.mask, 0);
	cr_assert_eq(e->atomic.compare, 0);
	cr_assert_eq(e->atomic.compare_mask, UINT64_MAX);
}

Test(atomic, a_masked_addition_has_its_mask)
{
	const struct wqe_send *e = post(qp, operation(DDP_WR_MASKED_FETCH_AND_ADD));

	cr_assert_eq(e->opcode, 5);
	cr_assert_eq(e->atomic.data, 1);
	cr_assert_eq(e->atomic.mask, 3);
	cr_assert_eq(e->atomic.compare, 0);
	cr_assert_eq(e->atomic.compare_mask, UINT64_MAX);
}

Test(atomic, a_swap_without_masks_compares_and_replaces_all)
{
	const struct wqe_send *e = post(qp, operation(DDP_WR_ATOMIC_CMP_AND_SWP));

	cr_assert_eq(e->opcode, 6);
	cr_assert_eq(e->atomic.data, 2, "the new value");
	cr_assert_eq(e->atomic.mask, UINT64_MAX);
	cr_assert_eq(e->atomic.compare, 1);
	cr_assert_eq(e->atomic.compare_mask, UINT64_MAX);
}

Test(atomic, a_masked_swap_has_both_masks)
{
	const struct wqe_send *e = post(qp, operation(DDP_WR_MASKED_CMP_AND_SWP));

	cr_assert_eq(e->opcode, 6);
	cr_assert_eq(e->atomic.data, 2);
	cr_assert_eq(e->atomic.mask, 5, "what is replaced");
	cr_assert_eq(e->atomic.compare, 1);
	cr_assert_eq(e->atomic.compare_mask, 4);
}

Test(atomic, the_old_value_needs_no_memory)
{
	struct ddp_send_wr wr = operation(DDP_WR_ATOMIC_FETCH_AND_ADD);

	wr.num_sge = 0;
	cr_assert_eq(post(qp, wr)->num_sge, 0);
}

Test(atomic, memory_of_another_size_than_a_cell_is_refused)
{
	const enum ddp_wr_opcode ops[] = {
		DDP_WR_ATOMIC_FETCH_AND_ADD,
		DDP_WR_ATOMIC_CMP_AND_SWP,
		DDP_WR_MASKED_FETCH_AND_ADD,
		DDP_WR_MASKED_CMP_AND_SWP,
	};
	struct ddp_sge two[2] = {{0, 8, 1}, {8, 8, 1}};

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct ddp_send_wr wr = operation(ops[i]);

		wr.send_flags = DDP_SEND_INLINE;
		refused(qp, wr, "cannot have DDP_SEND_INLINE");
		wr.send_flags = 0;
		wr.sg_list = two;
		wr.num_sge = 2;
		refused(qp, wr, "num_sge 2: ");
		wr.num_sge = 1;
		two[0].length = 4;
		refused(qp, wr, "sge of 4 bytes");
		two[0].length = 16;
		refused(qp, wr, "sge of 16 bytes");
		two[0].length = 8;
	}
}

Test(atomic, the_library_does_not_check_the_address)
{
	struct ddp_send_wr wr = operation(DDP_WR_ATOMIC_FETCH_AND_ADD);

	wr.rdma.remote_addr = 3;
	cr_assert_eq(post(qp, wr)->remote_addr, 3, "a cell may have any offset");
}

Test(atomic, the_completion_has_the_old_value)
{
	struct wqe_cqe e = {.opcode = 6, .imm = 0xffffffffffffffff, .byte_len = 8};
	struct ddp_wc wc;

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	cr_assert_eq(wc.opcode, DDP_WC_CMP_SWAP);
	cr_assert_eq(wc.imm_data, 0xffffffffffffffff);
}

/* ---- Reads ---- */

TestSuite(read, .init = start, .fini = stop, .timeout = 20);

Test(read, it_has_any_number_of_elements)
{
	struct ddp_sge two[2] = {{100, 8, 1}, {200, 9, 2}};
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_READ, .sg_list = two, .rdma = {5, 6}};

	for (wr.num_sge = 0; wr.num_sge <= 2; wr.num_sge++) {
		const struct wqe_send *e = post(qp, wr);

		cr_assert_eq(e->opcode, WQE_READ);
		cr_assert_eq(e->num_sge, wr.num_sge);
		cr_assert_arr_eq(e->sge, two, (size_t)wr.num_sge * sizeof(*two));
	}
}

static void older(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_HELLO)
		r->hello.minor = IPC_MINOR_READ_PARTS - 1;
}

static void start_older(void)
{
	start_as(older);
}

TestSuite(older, .init = start_older, .fini = stop, .timeout = 20);

Test(older, an_older_daemon_takes_one_element)
{
	struct ddp_sge two[2] = {{100, 8, 1}, {200, 9, 2}};
	struct ddp_send_wr wr = {.opcode = DDP_WR_RDMA_READ, .sg_list = two};

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EOPNOTSUPP);
	cr_assert(reason_has("num_sge 0: the daemon is too old"));
	wr.num_sge = 2;
	cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EOPNOTSUPP);
	wr.num_sge = 1;
	post(qp, wr);
}

Test(older, an_older_daemon_takes_immediate_data_alone)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .send_flags = DDP_SEND_WITH_IMM};

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EOPNOTSUPP);
	cr_assert(reason_has("too old for DDP_SEND_WITH_IMM"));
	post(qp, (struct ddp_send_wr){.opcode = DDP_WR_IMM_DATA});
}

/* How much of a Write was placed before its Immediate Data. */
static uint32_t written(uint32_t said)
{
	const struct wqe_cqe e = {.opcode = WQE_RECV,
				  .qp_num = ddp_qp_num(qp),
				  .flags = CQE_WITH_IMM,
				  .inv_rkey = said};
	struct ddp_wc wc;

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	return wc.written;
}

Test(older, an_older_daemon_does_not_say_how_much_was_written)
{
	cr_expect_eq(written(0), UINT32_MAX);
}

Test(imm, the_daemon_says_how_much_was_written)
{
	cr_expect_eq(written(0), 0);
	cr_expect_eq(written(5), 5);
}

/* ---- what every request is checked for ---- */

TestSuite(any, .init = start, .fini = stop, .timeout = 20);

Test(any, flags_that_do_not_fit_the_operation_are_refused)
{
	static const struct {
		enum ddp_wr_opcode op;
		unsigned flags;
		const char *why;
	} row[] = {
		{DDP_WR_SEND, 0x80, "send_flags 0x80: unknown flags 0x80"},
		{DDP_WR_SEND, 0x200, "send_flags 0x200"},
		{DDP_WR_RDMA_READ, DDP_SEND_INLINE, "RDMA Read cannot have DDP_SEND_INLINE"},
		{DDP_WR_RDMA_READ, DDP_SEND_PLACED, "RDMA Read cannot have DDP_SEND_PLACED"},
		{DDP_WR_ATOMIC_CMP_AND_SWP, DDP_SEND_PACED, "CmpSwap cannot have DDP_SEND_PLACED"},
		{DDP_WR_LOCAL_INV, DDP_SEND_PLACED, "invalidation cannot have DDP_SEND_PLACED"},
		{(enum ddp_wr_opcode)0x100, 0, "unknown opcode 256"},
		{(enum ddp_wr_opcode)11, 0, "unknown opcode 11"},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		refused(qp, (struct ddp_send_wr){.opcode = row[i].op, .send_flags = row[i].flags},
			row[i].why);
}

Test(any, ranges_beyond_the_last_address_or_length_are_refused)
{
	struct ddp_sge two[2] = {{0, UINT32_MAX, 1}, {UINT64_MAX - 8, 8, 1}};
	struct ddp_send_wr wr = {.opcode = DDP_WR_SEND, .sg_list = two, .num_sge = 2};
	struct ddp_recv_wr recv = {.sg_list = two, .num_sge = 2};

	refused(qp, wr, "4294967303 bytes in total");
	cr_assert_eq(ddp_post_recv(qp, &recv, NULL), -EINVAL);
	two[0].length = 8;
	post(qp, wr);
	two[1].length = 9;
	refused(qp, wr, "sg_list[1]: 9 bytes at 0xfffffffffffffff7 exceed 2^64");
	cr_assert_eq(ddp_post_recv(qp, &recv, NULL), -EINVAL);
	wr.send_flags = DDP_SEND_INLINE;
	wr.num_sge = 1;
	two[0].addr = (uintptr_t) "inline!";
	wr.opcode = DDP_WR_RDMA_WRITE;
	wr.rdma.remote_addr = UINT64_MAX - 8;
	post(qp, wr);
	wr.rdma.remote_addr++;
	refused(qp, wr, "8 bytes at remote_addr 0xfffffffffffffff8 exceed 2^64");
}

/* ---- what the peer may do ---- */

TestSuite(access, .init = start, .fini = stop, .timeout = 20);

static unsigned option_calls(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < fake.nrec; i++)
		n += fake.rec[i].hdr.op == MSG_QP_OPTIONS;
	return n;
}

Test(access, a_program_that_sets_nothing_asks_for_nothing)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.remote_access =
		DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC;
	make_qp(&init, 0);
	cr_assert_eq(option_calls(), 0);
	memset(&init, 0xff, sizeof(init)); /* what follows the members of an older header */
	init = (struct ddp_qp_init){.struct_size = offsetof(struct ddp_qp_init, remote_access),
				    .remote_access = UINT64_MAX};
	make_qp(&init, 0);
	cr_assert_eq(option_calls(), 0);
}

Test(access, the_daemon_gets_the_rights)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	const struct msg_options *m;

	init.remote_access = DDP_QP_ACCESS_NONE;
	make_qp(&init, 0);
	m = &fake_last(&fake, MSG_QP_OPTIONS)->qp_options;
	cr_assert_eq(m->what, MSG_OPTIONS_ACCESS);
	cr_assert_eq(m->access, 0);
	cr_assert_eq(ddp_set_qp_access(qp, DDP_ACCESS_REMOTE_READ), 0);
	m = &fake_last(&fake, MSG_QP_OPTIONS)->qp_options;
	cr_assert_eq(m->what, MSG_OPTIONS_ACCESS);
	cr_assert_eq(m->access, 4);
	cr_assert_eq(ddp_set_qp_access(qp, 0), 0);
	cr_assert_eq(fake_last(&fake, MSG_QP_OPTIONS)->qp_options.access, 2 | 4 | 8);
}

Test(access, other_values_are_refused)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.remote_access = DDP_ACCESS_LOCAL_WRITE;
	make_qp(&init, -EINVAL);
	cr_assert(reason_has("remote_access 0x1: not a set of DDP_ACCESS_REMOTE_"));
	init.remote_access = UINT64_C(1) << 32;
	make_qp(&init, -EINVAL);
	cr_assert_eq(ddp_set_qp_access(qp, DDP_QP_ACCESS_NONE | DDP_ACCESS_REMOTE_WRITE), -EINVAL);
	cr_assert_eq(option_calls(), 0);
}

/* A restriction is never silently left out. */
Test(older, an_older_daemon_can_withhold_nothing)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	init.remote_access = DDP_ACCESS_REMOTE_WRITE;
	make_qp(&init, -EOPNOTSUPP);
	cr_assert(reason_has("the daemon is too old to withhold rights"));
	cr_assert_eq(ddp_set_qp_access(qp, DDP_QP_ACCESS_NONE), -EOPNOTSUPP);
	cr_assert_eq(ddp_set_qp_access(qp, 0), 0);
	cr_assert_eq(option_calls(), 0);
}

Test(older, an_older_daemon_has_no_retries)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);

	make_qp(&init, 0);
	cr_assert_eq(ddp_set_qp_rnr(qp, 1, 1), -EOPNOTSUPP);
	cr_assert(reason_has("the daemon is too old to let senders wait"));
}

/* ---- windows ---- */

TestSuite(bind, .init = start, .fini = stop, .timeout = 20);

static struct ddp_send_wr binding(void)
{
	struct ddp_send_wr wr = {.wr_id = 7, .opcode = DDP_WR_BIND_MW, .rdma = {1, 2}};

	wr.bind.mw = mw;
	wr.bind.rkey = ddp_inc_rkey(mw->rkey);
	wr.bind.mr = mr;
	wr.bind.addr = mr->iova + 16;
	wr.bind.length = 4080;
	wr.bind.access = DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC;
	return wr;
}

Test(bind, a_window_has_its_new_key_when_the_bind_is_posted)
{
	struct ddp_send_wr wr = binding();
	const struct wqe_send *e = post(qp, wr);

	cr_assert_eq(e->opcode, 7);
	cr_assert_eq(e->rkey, wr.bind.rkey);
	cr_assert_eq(e->remote_addr, mr->iova + 16);
	cr_assert_eq(e->bind.region, mr->rkey);
	cr_assert_eq(e->bind.access, DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC);
	cr_assert_eq(e->bind.length, 4080);
	cr_assert_eq(e->num_sge, 0);
	cr_assert_eq(mw->rkey, wr.bind.rkey);
}

Test(bind, a_list_can_bind_again_what_it_invalidates)
{
	struct ddp_send_wr first = binding(), inv = {.opcode = DDP_WR_LOCAL_INV};
	struct ddp_send_wr second = binding();

	first.next = &inv;
	inv.invalidate_rkey = first.bind.rkey;
	inv.next = &second;
	second.bind.rkey = ddp_inc_rkey(first.bind.rkey);
	cr_assert_eq(ddp_post_send(qp, &first, NULL), 0);
	cr_assert_eq(mw->rkey, second.bind.rkey);
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 3);
	ring_release(&fake.qp[0].sq, 1);
	cr_assert_eq(((const struct wqe_send *)ring_peek(&fake.qp[0].sq))->opcode, 8);
	cr_assert_eq(((const struct wqe_send *)ring_peek(&fake.qp[0].sq))->inv_rkey,
		     first.bind.rkey);
}

Test(bind, a_bind_that_is_not_posted_keeps_the_key)
{
	struct ddp_send_wr good = binding(), wr = good;
	uint32_t before = mw->rkey;

	wr.bind.mw = NULL;
	refused(qp, wr, "bind.mw or bind.mr is not set");
	wr = good;
	wr.bind.mr = NULL;
	refused(qp, wr, "bind.mw or bind.mr is not set");
	wr = good;
	wr.bind.rkey = before + 0x100;
	refused(qp, wr, "only the last 8 bits may differ");
	wr = good;
	wr.bind.access = DDP_ACCESS_LOCAL_WRITE;
	refused(qp, wr, "not a set of DDP_ACCESS_REMOTE_");
	wr.bind.access = DDP_ACCESS_REMOTE_WRITE;
	mr->length = 4080;
	wr.bind.addr = mr->iova + 1;
	refused(qp, wr, "the region has 4080 bytes");
	mr->length = 4096;
	wr = good;
	wr.bind.length = 0;
	refused(qp, wr, "bind of 0 bytes");
	wr = good;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	refused(qp, wr, "bind has at most 0");
	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &one), 0);
	wr = good;
	wr.bind.mw = one;
	wr.bind.rkey = one->rkey;
	refused(qp, wr, "bound by ddp_bind_mw()");
	cr_assert_eq(mw->rkey, before);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(ddp_post_send(qp, &(struct ddp_send_wr){.wr_id = i}, NULL), 0);
	cr_assert_eq(ddp_post_send(qp, &good, NULL), -ENOMEM);
	cr_assert_eq(mw->rkey, before);
	ring_release(send_ring(qp), 4);
	good.send_flags = DDP_SEND_WITH_NEXT;
	good.next = &wr;
	cr_assert_eq(ddp_post_send(qp, &good, NULL), -EINVAL);
	cr_assert_eq(mw->rkey, before);
}

Test(bind, an_invalidation_takes_no_memory)
{
	struct ddp_send_wr wr = {.opcode = DDP_WR_LOCAL_INV, .sg_list = &sge, .num_sge = 1};

	refused(qp, wr, "invalidation has at most 0");
}

Test(bind, a_failed_bind_is_a_completion)
{
	struct wqe_cqe e = {.opcode = 7, .status = 11, .err_stag = 0x4d5e6f01};
	struct ddp_wc wc;

	fake_complete(&fake.cq[0], &e, false);
	cr_assert_eq(ddp_poll_cq(cq, 1, &wc), 1);
	cr_assert_eq(wc.opcode, DDP_WC_BIND_MW);
	cr_assert_eq(wc.status, DDP_WC_MW_BIND_ERR);
	cr_assert_eq(wc.err_stag, 0x4d5e6f01);
}

Test(bind, a_queue_pair_may_have_the_windows_of_another_one)
{
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_pd *other, *of = pd;

	init.scope_of = qp;
	make_qp(&init, 0);
	cr_expect_neq(fake_last(&fake, MSG_CREATE_QP)->create_qp.scope_of, 0);
	cr_assert_eq(ddp_alloc_pd(ctx, &other), 0);
	pd = other;
	make_qp(&init, -EINVAL);
	cr_expect(reason_has("scope_of has another PD"));
	pd = of;
	init.qp_type = DDP_QP_RAW;
	make_qp(&init, -EINVAL);
	cr_expect(reason_has("scope_of is for DDP_QP_RDMAP"));
}
