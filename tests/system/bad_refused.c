/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that are refused without further harm. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/ctl.h"
#include "ipc/rung.h"
#include "ipc/shadow.h"
#include "ipc/wqe.h"
#include "tests/system/bad_rig.h"

static int refused(struct bad *b, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	const struct msg_error *e = (const void *)b->rec;

	put(b, rec, len, fds, nfds);
	if (!get(b) || e->hdr.op != MSG_ERROR || e->fatal)
		return -1;
	printf("      refused: %s\n", e->reason);
	return e->err;
}

static unsigned refuse_basics(struct bad *b)
{
	struct msg_create_cq cq = {.hdr = {MSG_CREATE_CQ, 1}, .entries = 17};
	struct msg_resize_cq resize = {.hdr = {MSG_RESIZE_CQ, 1}, .cq = make_cq(b)};
	struct msg_reg_mr mr = {.hdr = {MSG_REG_MR, 1}, .len = 8192, .access = 7};
	int plain = open("/dev/null", 2), memfd = memfd_create("short", MFD_ALLOW_SEALING);
	unsigned failed = 0;

	if (plain < 0 || memfd < 0 || ftruncate(memfd, 4096) < 0)
		die("preparation");
	mr.pd = make_pd(b);
	failed += !check("a queue of 17 entries", refused(b, &cq, sizeof(cq), NULL, 0) == EINVAL);
	failed += !check("a queue resized to 0",
			 refused(b, &resize, sizeof(resize), NULL, 0) == EINVAL);
	resize.entries = 3U << 30;
	failed += !check("to 3 * 2^30 entries",
			 refused(b, &resize, sizeof(resize), NULL, 0) == EINVAL);
	failed += !check("a device as memory", refused(b, &mr, sizeof(mr), &plain, 1) == EINVAL);
	failed +=
		!check("beyond the memfd's end", refused(b, &mr, sizeof(mr), &memfd, 1) == EINVAL);
	mr.iova = UINT64_MAX - 100;
	failed += !check("iova that wraps", refused(b, &mr, sizeof(mr), &memfd, 1) == EINVAL);
	mr.iova = 0;
	mr.access = 64;
	failed += !check("unknown access flags", refused(b, &mr, sizeof(mr), &memfd, 1) == EINVAL);
	failed += !check("the client still works", client_works(b));
	close(plain);
	close(memfd);
	return failed;
}

/* One check: this request is refused with this error. */
#define REFUSED(name, b, rec, want) check(name, refused(b, &(rec), sizeof(rec), NULL, 0) == (want))

/* A ddpctl that is newer than the daemon, or older. */
static unsigned refuse_ctl(struct bad *b)
{
	struct ctl_show object = {
		.hdr = {MSG_CTL_SHOW, 1}, .object = CTL_OBJECT_COUNT, .version = CTL_VERSION};
	struct ctl_show version = {
		.hdr = {MSG_CTL_SHOW, 1}, .object = CTL_QP, .version = CTL_VERSION + 1};
	unsigned failed = 0;

	failed += !REFUSED("an unknown admin object", b, object, EPROTONOSUPPORT);
	object.object = 0;
	failed += !REFUSED("admin object 0", b, object, EPROTONOSUPPORT);
	failed += !REFUSED("another version of admin records", b, version, EPROTONOSUPPORT);
	return failed;
}

static unsigned refuse_srqs(struct bad *b)
{
	struct msg_create_srq srq = {.hdr = {MSG_CREATE_SRQ, 1}, .entries = 17, .max_sge = 1};
	struct msg_modify_srq mod = {.hdr = {MSG_MODIFY_SRQ, 1}, .limit = 17};
	struct msg_handle pd = {.hdr = {MSG_DEALLOC_PD, 1}};
	struct msg_handle query = {.hdr = {MSG_QUERY_SRQ, 1}};
	const struct msg_srq_state *st;
	unsigned failed = 0;

	srq.pd = pd.handle = make_pd(b);
	failed += !REFUSED("a shared queue of 17 entries", b, srq, EINVAL);
	srq.entries = 0;
	failed += !REFUSED("of 0 entries", b, srq, EINVAL);
	srq.entries = 1U << 31;
	failed += !REFUSED("of 2^31 entries", b, srq, EINVAL);
	srq.entries = 16;
	srq.max_sge = 0;
	failed += !REFUSED("of 0 elements", b, srq, EINVAL);
	srq.max_sge = WQE_MAX_SGE + 1;
	failed += !REFUSED("of 17 elements", b, srq, EINVAL);
	srq.max_sge = 1;
	srq.limit = 17;
	failed += !REFUSED("with a limit beyond its entries", b, srq, EINVAL);
	mod.srq = query.handle = make_srq(b, pd.handle);
	failed += !REFUSED("a domain with a shared queue", b, pd, EBUSY);
	failed += !REFUSED("modify of nothing", b, mod, EINVAL);
	mod.what = MSG_SRQ_LIMIT | 4;
	failed += !REFUSED("modify of something unknown", b, mod, EINVAL);
	mod.what = MSG_SRQ_LIMIT | MSG_SRQ_PER_QP;
	mod.per_qp = 3;
	failed += !REFUSED("a new limit beyond its entries", b, mod, EINVAL);
	st = call(b, &query, sizeof(query), NULL, 0);
	failed += !check("nothing of it has changed", st->entries == 16 && st->max_sge == 2 &&
							      st->limit == 0 && st->per_qp == 0 &&
							      st->posted == 0 && st->held == 0 &&
							      st->qps == 0 && st->pd == pd.handle);
	return failed;
}

static unsigned refuse_qps(struct bad *b)
{
	struct msg_create_qp m = {
		.hdr = {MSG_CREATE_QP, 1}, .sq_entries = 16, .rq_entries = 16, .max_send_sge = 1};
	struct msg_handle srq = {.hdr = {MSG_DESTROY_SRQ, 1}}, qp = {.hdr = {MSG_DESTROY_QP, 1}};
	unsigned failed = 0;

	m.pd = make_pd(b);
	m.send_cq = m.recv_cq = make_cq(b);
	m.srq = srq.handle = make_srq(b, make_pd(b));
	failed += !REFUSED("a shared queue of another domain", b, m, EINVAL);
	call(b, &srq, sizeof(srq), NULL, 0);
	m.srq = srq.handle = make_srq(b, m.pd);
	failed += !REFUSED("two receive queues", b, m, EINVAL);
	m.rq_entries = 0;
	m.type = MSG_QP_DATAGRAM + 1;
	failed += !REFUSED("a queue pair of type 3", b, m, EINVAL);
	m.type = MSG_QP_DATAGRAM;
	m.ord = 1;
	failed += !REFUSED("datagrams with Reads", b, m, EINVAL);
	m.ord = 0;
	m.type = MSG_QP_RAW;
	failed += !REFUSED("a raw one without queues", b, m, EINVAL);
	m.raw_queues = 9;
	failed += !REFUSED("a raw one of 9 queues", b, m, EINVAL);
	m.raw_queues = 8;
	m.raw_notify = 256;
	failed += !REFUSED("a mask of 9 bits", b, m, EINVAL);
	m.raw_notify = 255;
	qp.handle = ((const struct msg_qp *)call(b, &m, sizeof(m), NULL, 0))->handle;
	failed += !REFUSED("a shared queue in use", b, srq, EBUSY);
	call(b, &qp, sizeof(qp), NULL, 0);
	call(b, &srq, sizeof(srq), NULL, 0);
	return failed;
}

static unsigned refuse_windows(struct bad *b)
{
	struct msg_alloc_mw alloc = {.hdr = {MSG_ALLOC_MW, 1}, .type = 3};
	struct msg_bind_mw bind = {.hdr = {MSG_BIND_MW, 1}, .addr = 0x10000, .len = 4096};
	struct msg_handle dereg = {.hdr = {MSG_DEREG_MR, 1}}, mw = {.hdr = {MSG_DEALLOC_MW, 1}};
	struct msg_bind_mr tie = {.hdr = {MSG_BIND_MR, 1}};
	struct msg_rereg_mr rereg = {
		.hdr = {MSG_REREG_MR, 1}, .what = MSG_REREG_ACCESS, .access = 0};
	uint32_t type_1;
	unsigned failed = 0;

	alloc.pd = make_pd(b);
	failed += !REFUSED("a window of type 3", b, alloc, EINVAL);
	bind.mw = make_mw(b, alloc.pd, MSG_MW_TYPE_2);
	bind.mr = make_mr(b, alloc.pd, 4 | 16);
	failed += !REFUSED("a bind of type 2", b, bind, EINVAL);
	bind.mw = mw.handle = type_1 = make_mw(b, alloc.pd, MSG_MW_TYPE_1);
	bind.access = 1;
	failed += !REFUSED("a local right", b, bind, EINVAL);
	bind.access = 2;
	failed += !REFUSED("a right that the region lacks", b, bind, EACCES);
	bind.access = 4;
	bind.len = 4097;
	failed += !REFUSED("a byte too many", b, bind, EINVAL);
	bind.len = UINT64_MAX;
	failed += !REFUSED("a length that wraps", b, bind, EINVAL);
	bind.addr = 0xffff;
	bind.len = 1;
	failed += !REFUSED("a byte before the region", b, bind, EINVAL);
	bind.addr = 0x10000;
	bind.mr = make_mr(b, alloc.pd, 4);
	failed += !REFUSED("a region not for windows", b, bind, EACCES);
	bind.mr = make_mr(b, make_pd(b), 4 | 16);
	failed += !REFUSED("a region of another domain", b, bind, EINVAL);
	bind.mr = tie.mr = rereg.mr = dereg.handle = make_mr(b, alloc.pd, 4 | 16);
	call(b, &bind, sizeof(bind), NULL, 0);
	failed += !REFUSED("dereg of a region with a window", b, dereg, EBUSY);
	failed += !REFUSED("a tie of it", b, tie, EBUSY);
	failed += !REFUSED("rereg of it", b, rereg, EBUSY);
	call(b, &mw, sizeof(mw), NULL, 0);
	call(b, &dereg, sizeof(dereg), NULL, 0);
	return failed;
}

static bool same_mr(struct bad *b, uint32_t handle, const struct msg_mr_state *was)
{
	struct msg_handle m = {.hdr = {MSG_QUERY_MR, 1}, .handle = handle};

	return memcmp(call(b, &m, sizeof(m), NULL, 0), was, sizeof(*was)) == 0;
}

static unsigned refuse_own_memory(struct bad *b)
{
	struct msg_reg_own_mr m = {
		.reg = {.hdr = {MSG_REG_OWN_MR, 1}, .pd = make_pd(b), .len = 4096},
		.rung = 99,
	};
	int fd = make_memfd(4096);
	unsigned failed = 0;

	failed += !check("an unknown rung", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	m.rung = 1;
	m.reason = 99;
	failed += !check("an unknown reason", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	close(fd);
	return failed;
}

/* Shadows of other sizes than the region needs, and two regions with one shadow. */
static unsigned refuse_shadows(struct bad *b)
{
	const struct msg_hdr open = {MSG_OPEN_AGENT, 1};
	struct msg_reg_own_mr m = {
		.reg = {.hdr = {MSG_REG_OWN_MR, 1}, .pd = make_pd(b), .len = 4096},
		.rung = RUNG_AGENT,
		.reason = RUNG_REASON_SYSV,
	};
	const struct shadow_layout layout = shadow_layout(4096);
	int fd = make_memfd((off_t)layout.total), small = make_memfd((off_t)layout.total - 1);
	unsigned failed = 0;

	failed += !check("a shadow without an agent", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	call(b, &open, sizeof(open), NULL, 0);
	drop_fds(b);
	failed += !check("a second agent", refused(b, &open, sizeof(open), NULL, 0) == EEXIST);
	failed += !check("a short shadow", refused(b, &m, sizeof(m), &small, 1) == EINVAL);
	m.reg.offset = 4096;
	failed += !check("a shadow's offset", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	m.reg.offset = 1;
	failed += !check("an offset that needs another page",
			 refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	m.reg.offset = 0;
	m.reg.len = SHADOW_MAX;
	failed += !check("a shadow of 2^43 bytes", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	m.reg.len = 4096;
	call(b, &m, sizeof(m), &fd, 1);
	failed +=
		!check("the shadow of another region", refused(b, &m, sizeof(m), &fd, 1) == EEXIST);
	close(small);
	close(fd);
	return failed;
}

static unsigned refuse_rereg(struct bad *b)
{
	struct msg_rereg_mr m = {.hdr = {MSG_REREG_MR, 1}, .access = 64};
	struct msg_handle query = {.hdr = {MSG_QUERY_MR, 1}};
	struct msg_reg_mr reg = {.hdr = {MSG_REG_MR, 1}, .len = 4096, .access = 4};
	int fd = make_memfd(4096), readonly;
	struct msg_mr_state was;
	char path[64];
	unsigned failed = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readonly = open(path, O_RDONLY | O_CLOEXEC);
	if (readonly < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
		die(path);
	reg.pd = make_pd(b);
	m.mr = query.handle =
		((const struct msg_mr *)call(b, &reg, sizeof(reg), &readonly, 1))->handle;
	was = *(const struct msg_mr_state *)call(b, &query, sizeof(query), NULL, 0);
	failed += !REFUSED("rereg of nothing", b, m, EINVAL);
	m.what = 16;
	failed += !REFUSED("rereg of something unknown", b, m, EINVAL);
	m.what = MSG_REREG_ACCESS;
	failed += !REFUSED("rereg to unknown rights", b, m, EINVAL);
	m.access = 2;
	failed += !REFUSED("rereg of a read-only memfd for writing", b, m, EACCES);
	m.hdr.op = MSG_REMAP_MR;
	m.what = MSG_REREG_TRANSLATION;
	failed += !check("remap to nothing", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	m.len = 4097;
	failed += !check("remap beyond the end", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	m.iova = UINT64_MAX - 4000;
	failed += !check("remap that wraps", refused(b, &m, sizeof(m), &fd, 1) == EINVAL);
	m.iova = 0;
	m.len = UINT64_MAX;
	failed +=
		!check("more than the limit of a uid", refused(b, &m, sizeof(m), &fd, 1) == EDQUOT);
	failed += !check("the region is unchanged", same_mr(b, query.handle, &was));
	close(readonly);
	close(fd);
	return failed;
}

static unsigned refuse_offers(struct bad *b)
{
	struct msg_connect m = {.hdr = {MSG_CONNECT, 1}, .flags = 64};
	struct msg_accept acc = {.hdr = {MSG_ACCEPT, 1}, .flags = MSG_CONN_PEER_TO_PEER};
	struct msg_reject rej = {.hdr = {MSG_REJECT, 1}, .flags = MSG_CONN_NEGOTIATE};
	struct msg_create_qp raw = {.hdr = {MSG_CREATE_QP, 1},
				    .sq_entries = 1,
				    .rq_entries = 1,
				    .max_send_sge = 1,
				    .max_recv_sge = 1,
				    .type = MSG_QP_RAW,
				    .raw_queues = 1};
	struct ring sq;
	unsigned failed = 0;

	m.qp = acc.qp = make_qp(b, &sq).handle;
	m.npeers = 1;
	m.peers[0] = (struct msg_addr){.family = AF_INET, .port = 1, .bytes = {127, 0, 0, 1}};
	failed += !REFUSED("an unknown flag", b, m, EINVAL);
	m.flags = MSG_CONN_PEER_TO_PEER;
	failed += !REFUSED("peer to peer alone", b, m, EINVAL);
	m.flags = MSG_CONN_RETRY_PLAIN;
	failed += !REFUSED("a second try without a first", b, m, EINVAL);
	m.flags = MSG_CONN_NEGOTIATE | MSG_CONN_RTR_READ;
	failed += !REFUSED("a first message without peer to peer", b, m, EINVAL);
	m.flags = MSG_CONN_NEGOTIATE;
	m.ird = 17;
	failed += !REFUSED("an ird beyond that of the queue pair", b, m, EINVAL);
	m.ird = MSG_READS_UNCHANGED;
	m.ord = MSG_READS_UNCHANGED - 1;
	failed += !REFUSED("an ord beyond that of the queue pair", b, m, EINVAL);
	m.ord = 16;
	m.private_len = 509;
	failed += !REFUSED("509 bytes in an enhanced message", b, m, EMSGSIZE);
	failed += !REFUSED("an accept with flags of a connect", b, acc, EINVAL);
	acc.flags = MSG_CONN_NEGOTIATE;
	acc.ord = 17;
	failed += !REFUSED("an accept with such an ord", b, acc, EINVAL);
	rej.ird = 0x3fff;
	failed += !REFUSED("a reject with an ird of 15 bits", b, rej, EINVAL);
	rej.ird = 0x3ffe;
	failed += !REFUSED("a reject of no request", b, rej, ECONNABORTED);
	raw.pd = make_pd(b);
	raw.send_cq = raw.recv_cq = make_cq(b);
	m.qp = ((const struct msg_qp *)call(b, &raw, sizeof(raw), NULL, 0))->handle;
	m.private_len = 0;
	failed += !REFUSED("to negotiate for a raw queue pair", b, m, EOPNOTSUPP);
	return failed;
}

unsigned run_refusals(struct bad *b)
{
	return refuse_basics(b) + refuse_ctl(b) + refuse_srqs(b) + refuse_qps(b) +
	       refuse_windows(b) + refuse_own_memory(b) + refuse_shadows(b) + refuse_rereg(b) +
	       refuse_offers(b);
}
