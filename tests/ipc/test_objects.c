/* SPDX-License-Identifier: BSD-2-Clause */
/* Reregistration of regions, memory windows, shared receive queues, and the queries of all
 * objects. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/ipc/objects.h"

enum { ALL = DDP_REREG_TRANSLATION | DDP_REREG_PD | DDP_REREG_ACCESS };

/* ---- regions ---- */

TestSuite(region, .init = start, .fini = stop, .timeout = 20);

static int memfd(off_t size)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	cr_assert_eq(ftruncate(fd, size), 0);
	return fd;
}

Test(region, memory_is_freed_after_the_daemons_reply)
{
	struct ddp_mr *other;
	void *addr = mr->addr;

	memset(addr, 7, 5000);
	fake.script = refuse;
	cr_assert_eq(ddp_dereg_mr(mr), -EBUSY);
	fake.script = NULL;
	cr_assert_eq(ddp_alloc_mr(pd, 5000, DDP_ACCESS_LOCAL_WRITE, &other), 0);
	cr_expect_neq(other->addr, addr);
	cr_expect_eq(((char *)addr)[4999], 7);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_alloc_mr(pd, 5000, DDP_ACCESS_LOCAL_WRITE, &mr), 0);
	cr_expect_eq(mr->addr, addr);
	cr_expect_eq(((char *)addr)[4999], 0);
	cr_expect_eq(fake_last(&fake, MSG_REG_MR)->reg_mr.offset, 0);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_dereg_mr(other), 0);
}

/* rows: 5041-8.3-01 4296-2.1.2-12 */
Test(region, new_memory_replaces_the_old)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	const struct msg_rereg_mr *m;
	uint32_t before = mr->rkey;
	unsigned fds = open_fds();
	char here;

	attr.fd = memfd(10000);
	attr.offset = 4999;
	attr.length = 5001;
	attr.addr = &here;
	attr.iova = 77;
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_TRANSLATION, &attr), 0);
	m = &fake_last(&fake, MSG_REMAP_MR)->remap_mr;
	cr_assert_eq(m->mr, 7);
	cr_assert_eq(m->what, MSG_REREG_TRANSLATION);
	cr_assert_eq(m->offset, 4999);
	cr_assert_eq(m->len, 5001);
	cr_assert_eq(m->iova, 77);
	cr_assert_eq(m->pd, 0);
	cr_assert_eq(m->access, 0);
	cr_assert_eq(pwrite(attr.fd, "x", 1, 4999), 1);
	cr_assert_eq(fake.mr.addr[0], 'x');
	cr_assert_neq(mr->rkey, before);
	cr_assert_eq(mr->lkey, mr->rkey);
	cr_assert_eq(mr->addr, &here);
	cr_assert_eq(mr->length, 5001);
	cr_assert_eq(mr->iova, 77);
	cr_assert_eq(mr->memfd, -1, "the library's memory is given back");
	close(attr.fd);
	cr_assert_eq(open_fds(), fds - 1,
		     "the old memfd; the new one takes the place that keeps a memfd known");
	cr_assert_eq(ddp_dereg_mr(mr), 0);
}

Test(region, rights_and_domain_change_without_a_descriptor)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	const struct msg_rereg_mr *m;
	void *addr = mr->addr;

	attr.pd = pd2;
	attr.access = DDP_ACCESS_REMOTE_ATOMIC;
	attr.length = 1;
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_PD | DDP_REREG_ACCESS, &attr), 0);
	m = &fake_last(&fake, MSG_REREG_MR)->rereg_mr;
	cr_assert_eq(m->what, MSG_REREG_PD | MSG_REREG_ACCESS);
	cr_assert_eq(m->pd, 2, "handle of the other domain");
	cr_assert_eq(m->access, DDP_ACCESS_REMOTE_ATOMIC);
	cr_assert_eq(m->len, 0);
	cr_assert_eq(mr->pd, pd2);
	cr_assert_eq(mr->addr, addr);
	cr_assert_eq(mr->length, 5000, "only what was asked for");
	memcpy(mr->addr, "still mapped", 12);
	cr_assert_eq(ddp_dealloc_pd(pd2), -EBUSY);
	cr_assert_eq(ddp_dealloc_pd(pd), 0, "it has moved");
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_dealloc_pd(pd2), 0);
}

Test(region, a_refused_change_has_no_effect)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct ddp_mr before = *mr;

	attr.fd = memfd(10000);
	attr.length = 10000;
	attr.pd = pd2;
	fake.script = refuse;
	cr_assert_eq(ddp_rereg_mr(mr, ALL, &attr), -EBUSY);
	cr_assert(reason_has("ddp_rereg_mr: a window is bound to it"));
	cr_assert_eq(memcmp(mr, &before, sizeof(before)), 0);
	memcpy(mr->addr, "still mapped", 12);
	fake.script = NULL;
	cr_assert_eq(ddp_dealloc_pd(pd2), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), -EBUSY);
	close(attr.fd);
}

Test(region, invalid_arguments_are_not_sent)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	unsigned incoming = fake.nrec;

	attr.fd = memfd(100);
	attr.length = 101;
	cr_assert_eq(ddp_rereg_mr(mr, 0, &attr), -EINVAL);
	cr_assert_eq(ddp_rereg_mr(mr, 16, &attr), -EINVAL);
	cr_assert(reason_has("what 0x10"));
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_PD, &attr), -EINVAL);
	cr_assert(reason_has("the new PD is not set"));
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_TRANSLATION, &attr), -EINVAL);
	cr_assert(reason_has("101 bytes at 0"));
	attr.struct_size = 0;
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_ACCESS, &attr), -EINVAL);
	cr_assert_eq(fake.nrec, incoming);
	close(attr.fd);
}

Test(region, kept_rights_decide_which_memory_is_accepted)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	int fd = memfd(100);
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	attr.fd = open(path, O_RDONLY);
	attr.length = 100;
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_TRANSLATION, &attr), -EPERM);
	attr.access = DDP_ACCESS_REMOTE_ATOMIC;
	cr_assert_eq(ddp_rereg_mr(mr, DDP_REREG_TRANSLATION | DDP_REREG_ACCESS, &attr), -EPERM,
		     "atomics write");
	close(attr.fd);
	close(fd);
}

/* rows: 5041-8.3-03 4296-2.1.2-11 */
Test(region, a_tie_names_the_queue_pair_and_the_daemon_the_key)
{
	struct ddp_qp_init init = {.struct_size = sizeof(init), .send_cq = cq, .recv_cq = cq};
	struct ddp_id *id;
	struct ddp_qp *qp;

	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0);
	cr_assert_eq(ddp_bind_mr(mr, qp), 0);
	cr_assert_eq(fake_last(&fake, MSG_BIND_MR)->bind_mr.qp, 1);
	cr_assert_eq(mr->rkey, 0x1a2b3c00 + fake.nrec, "as the daemon chose");
}

/* ---- queries ---- */

Test(region, notices_name_a_queue_of_the_same_context)
{
	struct fake other;
	struct ddp_ctx *ctx2;
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};
	struct ddp_cq *cq2;
	const struct msg_notify_mr *m;

	cr_assert_eq(ddp_notify_mr(mr, cq, 99), 0);
	m = &fake_last(&fake, MSG_NOTIFY_MR)->notify_mr;
	cr_expect_eq(m->mr, 7);
	cr_expect_eq(m->cq, 1);
	cr_expect_eq(m->wr_id, 99);
	cr_expect_eq(ddp_destroy_cq(cq), -EBUSY);
	cr_expect(reason_has("MRs"));
	fake.script = refuse;
	cr_expect_eq(ddp_notify_mr(mr, NULL, 0), -EBUSY);
	fake.script = NULL;
	cr_expect_eq(ddp_destroy_cq(cq), -EBUSY);
	fake_start(&other);
	cr_assert_eq(ddp_open(NULL, &ctx2), 0);
	cr_assert_eq(ddp_create_cq(ctx2, &attr, &cq2), 0);
	cr_expect_eq(ddp_notify_mr(mr, cq2, 0), -EINVAL);
	fake_stop(&other);
	cr_assert_eq(ddp_notify_mr(mr, NULL, 0), 0);
	cr_expect_eq(fake_last(&fake, MSG_NOTIFY_MR)->notify_mr.cq, 0);
	cr_assert_eq(ddp_notify_mr(mr, cq, 0), 0);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_expect_eq(ddp_destroy_cq(cq), 0);
}

TestSuite(query, .init = start, .fini = stop, .timeout = 20);

/* rows: 7306-1.1-02 */
Test(query, the_capabilities_report_the_supported_features)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	cr_assert_eq(ddp_query(ctx, &caps), 0);
	cr_assert_eq(caps.max_srq, 13);
	cr_assert_eq(caps.max_mw, 14);
	cr_assert_eq(caps.features, DDP_CAP_ATOMIC | DDP_CAP_RAW);
	cr_assert_eq(caps.max_raw_queues, 15);
}

Test(query, a_domain_query_counts_its_objects)
{
	struct ddp_pd_attr a = DDP_INIT(ddp_pd_attr);

	cr_assert_eq(ddp_query_pd(pd2, &a), 0);
	cr_assert_eq(fake_last(&fake, MSG_QUERY_PD)->query_pd.handle, 2);
	cr_assert_eq(a.mrs, 1);
	cr_assert_eq(a.mws, 2);
	cr_assert_eq(a.qps, 3);
	cr_assert_eq(a.srqs, 4);
}

Test(query, a_region_query_returns_rights_and_scope)
{
	struct ddp_mr_attr a = DDP_INIT(ddp_mr_attr);

	cr_assert_eq(ddp_query_mr(mr, &a), 0);
	cr_assert_eq(fake_last(&fake, MSG_QUERY_MR)->query_mr.handle, 7);
	cr_assert_eq(a.rkey, 1);
	cr_assert_eq(a.access, 2);
	cr_assert_eq(a.iova, 3);
	cr_assert_eq(a.length, 4);
	cr_assert_eq(a.qp_num, 6);
	cr_assert_eq(a.valid, 1, "independent of the daemon's number");
	cr_assert_eq(a.windows, 8);
}

Test(query, a_window_query_returns_the_bound_range)
{
	struct ddp_mw_attr a = DDP_INIT(ddp_mw_attr);

	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_2, &mw), 0);
	cr_assert_eq(ddp_query_mw(mw, &a), 0);
	cr_assert_eq(fake_last(&fake, MSG_QUERY_MW)->query_mw.handle, 8);
	cr_assert_eq(a.rkey, 3);
	cr_assert_eq(a.bound, 1);
	cr_assert_eq(a.access, 5);
	cr_assert_eq(a.addr, 6);
	cr_assert_eq(a.length, 7);
	cr_assert_eq(a.mr_rkey, 8);
	cr_assert_eq(a.qp_num, 9);
}

Test(query, a_completion_queue_query_returns_the_fill_level)
{
	struct ddp_cq_state s = DDP_INIT(ddp_cq_state);

	cr_assert_eq(ddp_query_cq(cq, &s), 0);
	cr_assert_eq(fake_last(&fake, MSG_QUERY_CQ)->query_cq.handle, 1);
	cr_assert_eq(s.entries, 1);
	cr_assert_eq(s.waiting, 2);
	cr_assert_eq(s.reserved, 3);
	cr_assert_eq(s.qps, 4);
	cr_assert_eq(s.completions, 5);
}

static void make_srq(struct ddp_srq **ret)
{
	struct ddp_srq_attr attr = DDP_INIT(ddp_srq_attr);

	attr.max_wr = 3;
	attr.max_sge = 2;
	attr.limit = 2;
	attr.max_per_qp = 1;
	attr.user = &fake;
	cr_assert_eq(ddp_create_srq(pd, &attr, ret), 0, "%s", ddp_last_reason());
}

Test(query, a_shared_queue_query_returns_what_is_left)
{
	struct ddp_srq_state s = DDP_INIT(ddp_srq_state);

	make_srq(&srq);
	cr_assert_eq(ddp_query_srq(srq, &s), 0);
	cr_assert_eq(fake_last(&fake, MSG_SRQ_OPTIONS)->srq_options.handle, 9);
	cr_assert_eq(fake_last(&fake, MSG_SRQ_OPTIONS)->srq_options.what, 0);
	cr_assert_eq(s.hold_bytes, 11);
	cr_assert_eq(s.hold_ms, 12);
	cr_assert_eq(s.held_bytes, 14);
	cr_assert_eq(s.held_msgs, 15);
	cr_assert_eq(s.max_wr, 1);
	cr_assert_eq(s.max_sge, 2);
	cr_assert_eq(s.limit, 3);
	cr_assert_eq(s.max_per_qp, 4);
	cr_assert_eq(s.posted, 5);
	cr_assert_eq(s.held, 6);
	cr_assert_eq(s.qps, 7);
	cr_assert_eq(s.taken, 9);
}

/* The calls of this suite, by number. If a call fails, it must not change the result. */
static int call(unsigned what, void *attr)
{
	switch (what) {
	case 0:
		return ddp_query_pd(pd, attr);
	case 1:
		return ddp_query_mr(mr, attr);
	case 2:
		return ddp_query_mw(mw, attr);
	case 3:
		return ddp_query_cq(cq, attr);
	default:
		return ddp_query_srq(srq, attr);
	}
}

Test(query, a_failed_query_leaves_the_result_unchanged)
{
	size_t attr[16], before[16];

	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &mw), 0);
	make_srq(&srq);
	memset(attr, 0xaa, sizeof(attr));
	fake.script = refuse;
	for (unsigned i = 0; i < 5; i++) {
		attr[0] = 0;
		cr_assert_eq(call(i, attr), -EINVAL, "call %u", i);
		attr[0] = sizeof(attr);
		memcpy(before, attr, sizeof(attr));
		cr_assert_eq(call(i, attr), -EBUSY, "call %u", i);
		cr_assert_arr_eq(attr, before, sizeof(attr));
	}
	fake_die(&fake);
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(call(i, attr), -EPIPE, "call %u", i);
}

/* ---- windows ---- */

TestSuite(window, .init = start, .fini = stop, .timeout = 20);

Test(window, a_new_window_has_its_type_and_is_not_bound)
{
	cr_assert_eq(ddp_alloc_mw(pd2, DDP_MW_TYPE_2, &mw), 0);
	cr_assert_eq(fake_last(&fake, MSG_ALLOC_MW)->alloc_mw.pd, 2);
	cr_assert_eq(fake_last(&fake, MSG_ALLOC_MW)->alloc_mw.type, MSG_MW_TYPE_2);
	cr_assert_eq(mw->type, DDP_MW_TYPE_2);
	cr_assert_eq(mw->pd, pd2);
	cr_assert_eq(mw->rkey, 0x4d5e6f00 + fake.nrec, "as the daemon chose");
	cr_assert_eq(ddp_alloc_mw(pd, (enum ddp_mw_type)0, &mw), -EINVAL);
	cr_assert_eq(ddp_alloc_mw(pd, (enum ddp_mw_type)3, &mw), -EINVAL);
	cr_assert(reason_has("unknown type 3"));
}

Test(window, type_1_is_bound_by_a_request)
{
	const struct msg_bind_mw *m;
	uint32_t before;

	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &mw), 0);
	before = mw->rkey;
	cr_assert_eq(ddp_bind_mw(mw, mr, mr->iova + 8, 16, DDP_ACCESS_REMOTE_READ), 0);
	m = &fake_last(&fake, MSG_BIND_MW)->bind_mw;
	cr_assert_eq(m->mw, 8);
	cr_assert_eq(m->mr, 7);
	cr_assert_eq(m->addr, mr->iova + 8);
	cr_assert_eq(m->len, 16);
	cr_assert_eq(m->access, DDP_ACCESS_REMOTE_READ);
	cr_assert_neq(mw->rkey, before);
}

Test(window, type_1_is_unbound_without_a_region)
{
	const struct msg_bind_mw *m;

	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &mw), 0);
	cr_assert_eq(ddp_bind_mw(mw, NULL, 1, 2, 4), 0);
	m = &fake_last(&fake, MSG_BIND_MW)->bind_mw;
	cr_assert_eq(m->mr, 0);
	cr_assert_eq(m->addr, 0);
	cr_assert_eq(m->len, 0);
	cr_assert_eq(m->access, 0);
}

Test(window, invalid_binds_are_not_sent)
{
	struct ddp_mw *two;
	unsigned incoming;

	cr_assert_eq(ddp_alloc_mw(pd2, DDP_MW_TYPE_1, &mw), 0);
	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_2, &two), 0);
	incoming = fake.nrec;
	cr_assert_eq(ddp_bind_mw(two, mr, mr->iova, 8, 4), -EINVAL);
	cr_assert(reason_has("DDP_WR_BIND_MW"));
	cr_assert_eq(ddp_bind_mw(mw, mr, mr->iova, 8, 4), -EINVAL);
	cr_assert(reason_has("have different PDs"));
	cr_assert_eq(fake.nrec, incoming);
	cr_assert_eq(ddp_dealloc_mw(two), 0);
}

Test(window, a_bind_that_is_refused_changes_nothing)
{
	uint32_t before;

	cr_assert_eq(ddp_alloc_mw(pd, DDP_MW_TYPE_1, &mw), 0);
	before = mw->rkey;
	fake.script = refuse;
	cr_assert_eq(ddp_bind_mw(mw, mr, mr->iova, 8, 4), -EBUSY);
	cr_assert_eq(mw->rkey, before);
	cr_assert_eq(ddp_dereg_mr(mr), -EBUSY);
	cr_assert(reason_has("ddp_dereg_mr: a window is bound to it"));
	cr_assert_eq(ddp_dealloc_mw(mw), -EBUSY, "the window still exists");
	fake.script = NULL;
	cr_assert_eq(ddp_dealloc_mw(mw), 0);
	cr_assert_eq(fake_last(&fake, MSG_DEALLOC_MW)->dealloc_mw.handle, 8);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
}

Test(window, a_domain_with_windows_is_busy)
{
	cr_assert_eq(ddp_alloc_mw(pd2, DDP_MW_TYPE_2, &mw), 0);
	cr_assert_eq(ddp_dealloc_pd(pd2), -EBUSY);
	cr_assert_eq(ddp_dealloc_mw(mw), 0);
	cr_assert_eq(ddp_dealloc_pd(pd2), 0);
	cr_assert_eq(ddp_dealloc_mw(NULL), 0);
}

Test(window, the_next_key_increments_the_low_8_bits)
{
	cr_assert_eq(ddp_inc_rkey(0x12345600), 0x12345601);
	cr_assert_eq(ddp_inc_rkey(0x123456ff), 0x12345600);
	cr_assert_eq(ddp_inc_rkey(0xffffffff), 0xffffff00);
}
