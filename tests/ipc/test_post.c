/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting: the contents of the rings, the bells, and invalid contents from a hostile daemon. */
#include "tests/ipc/queues.h"

TestSuite(post, .init = start, .fini = stop, .timeout = 30);

static struct ddp_sge sges[3] = {{100, 10, 1}, {200, 20, 2}, {300, 30, 3}};

static const struct wqe_send *sent(void)
{
	struct ring *r = &fake.qp[0].sq;
	const struct wqe_send *e;

	cr_assert_gt(ring_avail(r), 0);
	e = ring_peek(r);
	ring_release(r, 1);
	return e;
}

/* rows: 5041-5.2-06 */
Test(post, a_request_is_in_the_ring_with_all_its_fields)
{
	struct ddp_send_wr wr = {
		.wr_id = 77,
		.sg_list = sges,
		.num_sge = 2,
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = DDP_SEND_SIGNALED | DDP_SEND_FENCE,
		.invalidate_rkey = 5,
		.rdma = {1ull << 50, 6},
	};
	const struct wqe_send *e;

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	e = sent();
	cr_assert_eq(e->wr_id, 77);
	cr_assert_eq(e->opcode, DDP_WR_RDMA_WRITE);
	cr_assert_eq(e->flags, DDP_SEND_SIGNALED | DDP_SEND_FENCE);
	cr_assert_eq(e->num_sge, 2);
	cr_assert_eq(e->inv_rkey, 5);
	cr_assert_eq(e->remote_addr, 1ull << 50);
	cr_assert_eq(e->rkey, 6);
	cr_assert_arr_eq(e->sge, sges, 2 * sizeof(sges[0]));
}

Test(post, inline_data_is_copied_at_once)
{
	char a[] = "hello ", b[] = "world";
	struct ddp_sge parts[2] = {{(uintptr_t)a, 6, 0}, {(uintptr_t)b, 6, 0}};
	struct ddp_send_wr wr = {.sg_list = parts, .num_sge = 2, .send_flags = DDP_SEND_INLINE};
	const struct wqe_send *e;

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	memset(a, 'x', 6);
	e = sent();
	cr_assert_eq(e->inline_len, 12);
	cr_assert_eq(e->num_sge, 0);
	cr_assert_str_eq((const char *)e->data, "hello world");
}

Test(post, too_much_is_refused_with_the_limit)
{
	struct ddp_send_wr three = {.sg_list = sges, .num_sge = 3};
	struct ddp_sge big[2] = {{(uintptr_t)sges, 20, 0}, {(uintptr_t)sges, 1, 0}};
	struct ddp_send_wr data = {.sg_list = big, .num_sge = 2, .send_flags = DDP_SEND_INLINE};
	struct ddp_recv_wr recv = {.sg_list = sges, .num_sge = 2}, *bad_recv = NULL;
	struct ddp_send_wr *bad = NULL;

	cr_assert_eq(ddp_post_send(qp, &three, &bad), -EINVAL);
	cr_assert_eq(bad, &three);
	cr_assert(strstr(ddp_last_reason(), "at most 2"));
	three.num_sge = -1;
	cr_assert_eq(ddp_post_send(qp, &three, &bad), -EINVAL);
	cr_assert_eq(ddp_post_send(qp, &data, &bad), -EINVAL);
	big[1].length = UINT32_MAX;
	cr_assert_eq(ddp_post_send(qp, &data, &bad), -EINVAL, "no wrap");
	cr_assert_eq(ddp_post_recv(qp, &recv, &bad_recv), -EINVAL);
	cr_assert_eq(bad_recv, &recv);
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 0);
	cr_assert_eq(ring_avail(&fake.qp[0].rq), 0);
}

Test(post, a_list_is_posted_up_to_where_the_queue_is_full)
{
	struct ddp_send_wr wr[6] = {0}, *bad = NULL;

	for (unsigned i = 0; i < 6; i++)
		wr[i] = (struct ddp_send_wr){.wr_id = i, .next = i < 5 ? &wr[i + 1] : NULL};
	cr_assert_eq(ddp_post_send(qp, wr, &bad), -ENOMEM);
	cr_assert_eq(bad, &wr[4], "3 were asked for, which is 4");
	cr_assert(strstr(ddp_last_reason(), "all 4 entries"));
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 4);
	cr_assert_eq(sent()->wr_id, 0);
	cr_assert_eq(ddp_post_send(qp, bad, &bad), -ENOMEM);
	cr_assert_eq(bad, &wr[5]);
}

/* Of the 4 entries: one, then 3 and 2 of which all or none are posted. */
Test(post, requests_that_belong_together_are_posted_all_or_none)
{
	struct ddp_send_wr wr[6] = {0}, *bad = NULL;

	for (unsigned i = 0; i < 6; i++)
		wr[i] = (struct ddp_send_wr){.wr_id = i, .next = i < 5 ? &wr[i + 1] : NULL};
	wr[1].send_flags = wr[2].send_flags = wr[4].send_flags = DDP_SEND_WITH_NEXT;
	cr_assert_eq(ddp_post_send(qp, wr, &bad), -ENOMEM);
	cr_assert_eq(bad, &wr[4]);
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 4);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(sent()->wr_id, i);
	wr[4].send_flags |= DDP_SEND_FENCE;
	wr[5].num_sge = 3;
	cr_assert_eq(ddp_post_send(qp, bad, &bad), -EINVAL, "the last one is not valid");
	cr_assert_eq(bad, &wr[4]);
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 1);
	cr_assert_eq(sent()->wr_id, 3);
	cr_assert_eq(bell_take(fake.page), 1ull << (fake.qp[0].slot / 64));
	bell_take_word(fake.page, fake.qp[0].slot / 64);
	cr_assert_eq(ddp_post_send(qp, bad, &bad), -EINVAL);
	cr_assert_eq(bell_take(fake.page), 0, "none was posted");
	wr[5].num_sge = 0;
	wr[5].send_flags = DDP_SEND_WITH_NEXT; /* there is none */
	cr_assert_eq(ddp_post_send(qp, bad, &bad), 0);
	cr_assert_eq(sent()->flags, DDP_SEND_FENCE);
	cr_assert_eq(sent()->wr_id, 5);
}

Test(post, receives_are_in_their_ring_and_ring_no_bell)
{
	struct ddp_recv_wr wr = {.wr_id = 8, .sg_list = sges, .num_sge = 1};
	struct ring *r = &fake.qp[0].rq;
	const struct wqe_recv *e;

	cr_assert(bell_sleep(fake.page));
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(ddp_post_recv(qp, &wr, NULL), 0);
	cr_assert_eq(ddp_post_recv(qp, &wr, NULL), -ENOMEM);
	cr_assert_eq(ring_avail(r), 4);
	e = ring_peek(r);
	cr_assert_eq(e->wr_id, 8);
	cr_assert_eq(e->num_sge, 1);
	cr_assert_eq(e->qn, 0);
	cr_assert_arr_eq(e->sge, sges, sizeof(sges[0]));
	cr_assert_eq(bell_take(fake.page), 0);
	cr_assert_eq(doorbell_drain(fake.bell), 0);
}

Test(post, the_daemon_is_rung_only_when_it_sleeps)
{
	struct ddp_send_wr wr = {.num_sge = 0};

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	cr_assert_eq(doorbell_drain(fake.bell), 0);
	cr_assert_eq(bell_take(fake.page), 1ull << (fake.qp[0].slot / 64));
	bell_take_word(fake.page, fake.qp[0].slot / 64);
	cr_assert(bell_sleep(fake.page));
	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	cr_assert_eq(doorbell_drain(fake.bell), 1);
}

Test(post, values_that_do_not_fit_are_not_truncated_to_valid_ones)
{
	struct ddp_send_wr wr = {.opcode = (enum ddp_wr_opcode)0x100};

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EINVAL);
	wr.opcode = DDP_WR_SEND;
	wr.send_flags = 0x200;
	cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EINVAL);
	cr_assert_eq(ring_avail(&fake.qp[0].sq), 0);
}

/* Requests that no daemon executes, and a part of the sentence. */
static const struct {
	struct ddp_send_wr wr;
	struct ddp_sge sge[2];
	const char *reason;
} refusals[] = {
	{{.num_sge = 1}, {{UINT64_MAX, 2, 0}}, "sg_list[0]: 2 bytes"},
	{{.num_sge = 2}, {{0, 2, 0}, {UINT64_MAX - 1, 2, 0}}, "sg_list[1]: 2 bytes"},
	{{.num_sge = 2},
	 {{0, UINT32_MAX, 0}, {0, 1, 0}},
	 "4294967296 bytes in total: at most 4294967295"},
	{{.num_sge = 1, .opcode = DDP_WR_RDMA_WRITE, .rdma = {UINT64_MAX - 8, 0}},
	 {{0, 9, 0}},
	 "exceed 2^64"},
	{{.num_sge = 1, .opcode = DDP_WR_RDMA_READ, .rdma = {UINT64_MAX - 8, 0}},
	 {{0, 9, 0}},
	 "exceed 2^64"},
	{{.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD, .rdma = {UINT64_MAX - 7, 0}},
	 {{0}},
	 "exceed 2^64"},
	{{.num_sge = 1, .opcode = DDP_WR_ATOMIC_CMP_AND_SWP}, {{0, 7, 0}}, "the old value has 8"},
	{{.num_sge = 1, .opcode = DDP_WR_ATOMIC_FETCH_AND_ADD}, {{0, 9, 0}}, "the old value has 8"},
	{{.num_sge = 2, .opcode = DDP_WR_ATOMIC_FETCH_AND_ADD},
	 {{0, 4, 0}, {0, 4, 0}},
	 "has at most 1"},
	{{.opcode = DDP_WR_RDMA_READ, .send_flags = DDP_SEND_INLINE},
	 {{0}},
	 "cannot have DDP_SEND_INLINE"},
	{{.opcode = DDP_WR_RDMA_READ, .send_flags = DDP_SEND_PLACED},
	 {{0}},
	 "completion means the same"},
	{{.opcode = DDP_WR_LOCAL_INV, .send_flags = DDP_SEND_PACED},
	 {{0}},
	 "completion means the same"},
	{{.opcode = DDP_WR_BIND_MW}, {{0}}, "bind.mw or bind.mr is not set"},
	{{.opcode = DDP_WR_RDMA_READ, .send_flags = DDP_SEND_WITH_IMM},
	 {{0}},
	 "cannot have DDP_SEND_WITH_IMM"},
	{{.send_flags = 0x80}, {{0}}, "unknown flags 0x80"},
};

Test(post, requests_that_no_daemon_executes_are_refused_with_a_reason)
{
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct ddp_sge sge[2] = {refusals[i].sge[0], refusals[i].sge[1]};
		struct ddp_send_wr wr = refusals[i].wr;

		wr.sg_list = sge;
		cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EINVAL, "row %u", i);
		cr_assert(strstr(ddp_last_reason(), refusals[i].reason), "row %u: %s", i,
			  ddp_last_reason());
		cr_assert_eq(ring_avail(&fake.qp[0].sq), 0, "row %u", i);
	}
}

Test(post, the_last_bytes_of_the_addresses_can_be_used)
{
	struct ddp_sge sge = {UINT64_MAX - 8, 8, 0};
	struct ddp_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = DDP_WR_RDMA_WRITE,
				 .rdma = {UINT64_MAX - 8, 0}};

	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
	wr.opcode = DDP_WR_ATOMIC_FETCH_AND_ADD;
	cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
}

Test(post, an_index_out_of_range_is_a_protocol_error)
{
	struct ddp_send_wr wr = {.num_sge = 0};
	struct ddp_recv_wr recv = {.num_sge = 0};

	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(ddp_post_send(qp, &wr, NULL), 0);
		cr_assert_eq(ddp_post_recv(qp, &recv, NULL), 0);
	}
	ring_release(&fake.qp[0].sq, 5);
	ring_release(&fake.qp[0].rq, 0x70000000);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(ddp_post_send(qp, &wr, NULL), -EPROTO);
		cr_assert_eq(ddp_post_recv(qp, &recv, NULL), -EPROTO);
	}
}

Test(post, a_full_queue_of_a_dead_daemon_is_a_broken_pipe)
{
	struct ddp_send_wr wr = {.num_sge = 0};
	int r = 0;

	fake_die(&fake);
	for (unsigned i = 0; i < 10 && r == 0; i++)
		r = ddp_post_send(qp, &wr, NULL);
	cr_assert_eq(r, -EPIPE);
}

static void slot_out_of_range(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_qp.slot = BELL_QUEUES;
}

static void entry_too_small(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_qp.sq_entry = 64;
}

static void entry_misaligned(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_qp.rq_entry += 8;
}

static void rings_overlap(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_qp.rq_offset -= 64;
}

static void offset_wraps(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_qp.rq_offset = UINT64_MAX - 63;
}

static void beyond_memfd(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->create_qp.rq_offset += 1 << 20;
	r->create_qp.bytes += 1 << 20;
}

Test(post, rings_that_do_not_fit_are_a_protocol_error)
{
	void (*const scripts[])(struct fake *, struct fake_reply *) = {
		slot_out_of_range, entry_too_small, entry_misaligned,
		rings_overlap,     offset_wraps,    beyond_memfd,
	};
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	struct ddp_qp *other;

	init.max_send_sge = 4;
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		fake.script = scripts[i];
		cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EPROTO, "script %u", i);
		cr_assert_null(ddp_id_qp(id));
	}
}

Test(post, sizes_beyond_the_largest_ring_are_refused)
{
	struct ddp_qp_init good = {.struct_size = sizeof(good), .send_cq = cq, .recv_cq = cq};
	struct ddp_qp_init init = good;
	struct ddp_qp *other;

	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL, "it has one");
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	init.max_send_wr = RING_MAX_ENTRIES + 1;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	init = good;
	init.max_recv_sge = WQE_MAX_SGE + 1;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	init = good;
	init.max_inline = WQE_MAX_INLINE + 1;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	init = good;
	init.recv_cq = NULL;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &other), -EINVAL);
	cr_assert_eq(ddp_create_qp(id, pd, &good, &other), 0);
}

static void state_out_of_range(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->query_qp.state = DDP_QP_ERROR + 1;
}

Test(post, a_query_returns_the_state)
{
	struct ddp_qp_attr attr = DDP_INIT(ddp_qp_attr);

	cr_assert_eq(ddp_query_qp(qp, &attr), 0);
	cr_assert_eq(attr.state, DDP_QP_RTS);
	cr_assert_eq(attr.max_tagged, 1400);
	cr_assert_eq(attr.qp_num, ddp_qp_num(qp));
	cr_assert_eq(attr.max_ord, 12);
	cr_assert_eq(attr.max_ird, 34);
	fake.script = state_out_of_range;
	cr_assert_eq(ddp_query_qp(qp, &attr), -EPROTO);
}
