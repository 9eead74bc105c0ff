/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "client-lib/objects/mr.h"
#include "client-lib/objects/registration.h"
#include "client-lib/own_memory/memfd_table.h"
#include "client-lib/own_memory/populate.h"
#include "ipc/local_protocol.h"
#include "ipc/rung.h"
#include "util/checked.h"
#include "util/cleanup.h"

enum {
	WRITES = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_ATOMIC,
	REREGS = DDP_REREG_TRANSLATION | DDP_REREG_PD | DDP_REREG_ACCESS | DDP_REREG_SAME_KEY,
};

_Static_assert((int)DDP_REREG_TRANSLATION == MSG_REREG_TRANSLATION &&
		       (int)DDP_REREG_PD == MSG_REREG_PD &&
		       (int)DDP_REREG_ACCESS == MSG_REREG_ACCESS &&
		       (int)DDP_REREG_SAME_KEY == MSG_REREG_SAME_KEY,
	       "changes keep their bits");

/* Registers a memfd, so that ddp_reg_mr() recognizes memory that maps it. */
static int register_memfd(struct mr *mr, const char *call, int fd, uint64_t offset, unsigned access)
{
	struct registration g = {
		.mr = mr,
		.src = {.fd = fd, .offset = offset},
		.access = access,
	};
	int r = memfd_table_get(fd, &mr->memfd);

	return r ? reason_errno(r, call, "memfd") : registration_run(&g, 1, call);
}

/* Frees the library's mapping, shadow and references of the memory. */
static void free_memory(struct mr *mr)
{
	agent_region_free(&mr->copied);
	own_memory_put(&mr->own, mr->keep);
	memfd_table_put(mr->memfd);
	mr->memfd = NULL;
	if (mr->mapped)
		munmap(mr->pub.addr, mr->mapped);
	mr->mapped = 0;
	cleanup_close(&mr->pub.memfd);
	mr->pub.memfd = -1;
	slab_free(&mr->pub.pd->ctx->slabs, &mr->range);
}

void mr_free(struct mr *mr)
{
	free_memory(mr);
	free(mr);
}

/* Makes zeroed memory of whole pages for the MR; short ones share a memfd. */
static int make_memory(struct mr *mr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t length = mr->pub.length;
	char what[48];
	int r;

	if (length == 0 || length > SIZE_MAX - page)
		return reason_fail(-EINVAL, "ddp_alloc_mr: length %zu is out of range", length);
	length = checked_round_up(length, page);
	if (length <= SLAB_RANGE_MAX) {
		r = slab_alloc(&mr->pub.pd->ctx->slabs, length, &mr->range);
		mr->pub.addr = mr->range.addr;
	} else {
		r = memfd_create_mapped("ddp-mr", length, &mr->pub.memfd, &mr->pub.addr);
		mr->mapped = r ? 0 : length;
	}
	if (r) {
		snprintf(what, sizeof(what), "a memfd of %zu bytes", length);
		return reason_errno(r, "ddp_alloc_mr", what);
	}
	mr->pub.iova = (uintptr_t)mr->pub.addr;
	return 0;
}

int ddp_alloc_mr(struct ddp_pd *pd, size_t length, unsigned access, struct ddp_mr **ret)
{
	struct mr *mr;
	int r = context_here(pd->ctx, "ddp_alloc_mr");

	if (r)
		return r;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return reason_fail(-ENOMEM, "ddp_alloc_mr: out of memory");
	*mr = (struct mr){.pub = {.length = length, .pd = pd, .memfd = -1}};
	r = make_memory(mr);
	if (r == 0)
		r = register_memfd(mr, "ddp_alloc_mr",
				   mr->range.slab ? mr->range.fd : mr->pub.memfd, mr->range.offset,
				   access);
	if (r) {
		mr_free(mr);
		return r;
	}
	*ret = &mr->pub;
	return 0;
}

/* The daemon checks the same; this check can name the caller's descriptor. */
static int check_memfd(const char *call, int fd, off_t offset, size_t length, unsigned access)
{
	int r;

	if (offset < 0)
		return reason_fail(-EINVAL, "%s: offset %lld is negative", call, (long long)offset);
	r = memfd_verify(fd, (uint64_t)offset, length, access & WRITES);
	if (r > 0)
		return reason_fail(-memfd_errno(r), "%s: fd %d, %zu bytes at %lld: %s", call, fd,
				   length, (long long)offset, memfd_reason(r));
	return r ? reason_errno(r, call, "memfd") : 0;
}

int ddp_reg_memfd(struct ddp_pd *pd, int fd, off_t offset, size_t length, void *addr, uint64_t iova,
		  unsigned access, struct ddp_mr **ret)
{
	int r = context_here(pd->ctx, "ddp_reg_memfd");
	struct mr *mr;

	if (r == 0)
		r = check_memfd("ddp_reg_memfd", fd, offset, length, access);
	if (r)
		return r;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return reason_fail(-ENOMEM, "ddp_reg_memfd: out of memory");
	*mr = (struct mr){
		.pub = {.addr = addr, .length = length, .iova = iova, .pd = pd, .memfd = -1},
	};
	r = register_memfd(mr, "ddp_reg_memfd", fd, (uint64_t)offset, access);
	if (r) {
		mr_free(mr);
		return r;
	}
	*ret = &mr->pub;
	return 0;
}

/* ---- again, at another daemon ---- */

/* The memory as it was registered. */
static struct registration_source source_of(const struct mr *mr)
{
	struct registration_source src = {
		.fd = mr->own.fd,
		.offset = mr->offset,
		.rung = mr->own.rung,
		.reason = mr->own.reason,
	};

	if (src.rung == RUNG_MEMFD)
		src.fd = memfd_table_fd(mr->memfd);
	else if (src.rung == RUNG_AGENT)
		src.fd = mr->copied.file.fd;
	return src;
}

int mr_renew(struct mr *mr, struct ddp_ctx *next, const char *call)
{
	struct registration g = {.mr = mr, .src = source_of(mr), .access = mr->access};
	struct request request = registration_request(&g, next, mr->pub.pd->renewed.handle, call);
	int r = request_send(next, &request);

	if (r == 0)
		mr->renewed = (struct renewed){g.reply.handle, g.reply.stag};
	return r;
}

void mr_take_renewed(struct mr *mr)
{
	mr->handle = mr->renewed.handle;
	mr->pub.lkey = mr->pub.rkey = mr->renewed.stag;
	agent_region_renew(&mr->copied, mr->handle, mr->renewed.stag);
	if (mr->notice_cq)
		mr->notice_cq->uses--;
	mr->notice_cq = NULL;
}

/* ---- changes ---- */

int ddp_bind_mr(struct ddp_mr *pub, struct ddp_qp *qp)
{
	struct mr *mr = (struct mr *)pub;
	struct msg_bind_mr req = {
		.mr = mr->handle,
		.qp = qp ? qp->handle : 0,
	};
	struct msg_mr reply;
	int r = qp ? context_serves(qp->handle, "ddp_bind_mr") : 0;

	if (r)
		return r;
	if (qp && qp->pd != pub->pd)
		return reason_fail(-EINVAL, "ddp_bind_mr: the MR and QP %u have different PDs",
				   qp->num);
	r = request_bind_mr(pub->pd->ctx, "ddp_bind_mr", &req, &reply);
	if (r)
		return r;
	pub->lkey = pub->rkey = reply.stag;
	agent_region_set_stag(&mr->copied, reply.stag);
	return 0;
}

/* Checks the attributes of the new registration. Returns 0, or a failure with the reason set. */
static int check_rereg(const struct mr *mr, unsigned what, const struct ddp_rereg_attr *a)
{
	unsigned access = what & DDP_REREG_ACCESS ? a->access : mr->access;

	if (what == 0 || what & ~(unsigned)REREGS)
		return reason_fail(-EINVAL, "ddp_rereg_mr: what 0x%x: not a set of DDP_REREG_",
				   what);
	if (what & DDP_REREG_PD && !a->pd)
		return reason_fail(-EINVAL, "ddp_rereg_mr: the new PD is not set");
	if (what & DDP_REREG_PD && a->pd->ctx != mr->pub.pd->ctx)
		return reason_fail(-EINVAL, "ddp_rereg_mr: MR and PD belong to different contexts");
	if (mr->copied.agent && access & WRITES && !(mr->access & WRITES) &&
	    !(what & DDP_REREG_TRANSLATION))
		return reason_fail(-EOPNOTSUPP,
				   "ddp_rereg_mr: the memory is copied, and was registered "
				   "without the right to write");
	if (what & DDP_REREG_TRANSLATION)
		return check_memfd("ddp_rereg_mr", a->fd, a->offset, a->length, access);
	return 0;
}

/* The daemon has registered the region again: updates the MR. */
static void apply_rereg(struct mr *mr, unsigned what, const struct ddp_rereg_attr *a,
			struct memfd_entry *memfd, uint32_t stag)
{
	struct ddp_mr *pub = &mr->pub;

	pub->lkey = pub->rkey = stag;
	agent_region_set_stag(&mr->copied, stag);
	if (what & DDP_REREG_ACCESS) {
		mr->access = a->access & ~(unsigned)DDP_ACCESS_POPULATE;
		mr->populate = a->access & DDP_ACCESS_POPULATE;
	}
	if (what & DDP_REREG_PD) {
		context_use(pub->pd->ctx, &pub->pd->uses, -1);
		context_use(a->pd->ctx, &a->pd->uses, 1);
		pub->pd = a->pd;
	}
	if (what & DDP_REREG_TRANSLATION) {
		free_memory(mr);
		mr->memfd = memfd;
		mr->offset = (uint64_t)a->offset;
		pub->addr = a->addr;
		pub->length = a->length;
		pub->iova = a->iova;
	}
}

/* The new memory, before the region has it: a failure changes nothing. */
static int prepare_memory(const struct mr *mr, unsigned what, const struct ddp_rereg_attr *a,
			  struct memfd_entry **ret)
{
	bool wanted = what & DDP_REREG_ACCESS ? a->access & DDP_ACCESS_POPULATE : mr->populate;
	int r = wanted ? populate(a->fd, (uint64_t)a->offset, a->length) : 0;

	if (r)
		return reason_errno(r, "ddp_rereg_mr", "DDP_ACCESS_POPULATE");
	r = memfd_table_get(a->fd, ret);
	return r ? reason_errno(r, "ddp_rereg_mr", "memfd") : 0;
}

int ddp_rereg_mr(struct ddp_mr *pub, unsigned what, const struct ddp_rereg_attr *attr)
{
	struct mr *mr = (struct mr *)pub;
	bool remap = what & DDP_REREG_TRANSLATION;
	struct ddp_rereg_attr a;
	struct msg_rereg_mr req = {.mr = mr->handle, .what = what};
	struct memfd_entry *memfd = NULL;
	struct msg_mr reply;
	int r = attr_read("ddp_rereg_mr", &a, sizeof(a), attr);

	if (r == 0)
		r = check_rereg(mr, what, &a);
	if (r)
		return r;
	req.pd = what & DDP_REREG_PD ? a.pd->handle : 0;
	req.access = what & DDP_REREG_ACCESS ? a.access & ~(unsigned)DDP_ACCESS_POPULATE : 0;
	if (remap) {
		req.offset = (uint64_t)a.offset;
		req.len = a.length;
		req.iova = a.iova;
		r = prepare_memory(mr, what, &a, &memfd);
		if (r)
			return r;
	}
	r = remap ? request_remap_mr(pub->pd->ctx, "ddp_rereg_mr", &req, a.fd, &reply)
		  : request_rereg_mr(pub->pd->ctx, "ddp_rereg_mr", &req, &reply);
	if (r == 0)
		apply_rereg(mr, what, &a, memfd, reply.stag);
	else
		memfd_table_put(memfd);
	return r;
}

int ddp_query_mr(struct ddp_mr *mr, struct ddp_mr_attr *attr)
{
	struct msg_mr_state m;
	struct ddp_mr_attr a = {0};
	int r = attr_check("ddp_query_mr", attr);

	if (r == 0)
		r = request_query_mr(mr->pd->ctx, "ddp_query_mr", ((struct mr *)mr)->handle, &m);
	if (r)
		return r;
	a.rkey = m.stag;
	a.access = m.access;
	a.iova = m.iova;
	a.length = m.len;
	a.qp_num = m.qp_num;
	a.windows = m.windows;
	a.valid = m.valid != 0;
	a.rung = (enum ddp_mr_rung)((struct mr *)mr)->own.rung;
	a.reason = rung_reason(((struct mr *)mr)->own.reason);
	attr_write(attr, &a, sizeof(a));
	return 0;
}

/* Counts the queue's uses; NULL: none. */
static void set_notice_cq(struct mr *mr, struct ddp_cq *cq)
{
	if (cq)
		context_use(cq->ctx, &cq->uses, 1);
	if (mr->notice_cq)
		context_use(mr->notice_cq->ctx, &mr->notice_cq->uses, -1);
	mr->notice_cq = cq;
}

int ddp_notify_mr(struct ddp_mr *pub, struct ddp_cq *cq, uint64_t wr_id)
{
	struct mr *mr = (struct mr *)pub;
	struct ddp_ctx *ctx = pub->pd->ctx;
	struct msg_notify_mr req = {
		.mr = mr->handle,
		.cq = cq ? cq->handle : 0,
		.wr_id = wr_id,
	};
	int r = context_here(ctx, "ddp_notify_mr");

	if (r == 0 && cq && cq->ctx != ctx)
		r = reason_fail(-EINVAL, "ddp_notify_mr: MR and CQ belong to different contexts");
	if (r == 0 && cq)
		r = context_serves(cq->handle, "ddp_notify_mr");
	if (r == 0)
		r = request_notify_mr(ctx, "ddp_notify_mr", &req);
	if (r == 0)
		set_notice_cq(mr, cq);
	return r;
}

/* Of a region with windows, which the daemon permits only by having ended. */
static void forget_windows(struct mr *mr)
{
	struct ddp_ctx *ctx = mr->pub.pd->ctx;

	pthread_mutex_lock(&ctx->lock);
	if (mr->windows > 0)
		list_foreach (it, &ctx->mws) {
			struct mw *mw = list_entry(it, struct mw, link);

			if (mw->mr == mr)
				mw->mr = NULL;
		}
	pthread_mutex_unlock(&ctx->lock);
}

/* The daemon has no such region any more. */
static void end_mr(struct mr *mr)
{
	set_notice_cq(mr, NULL);
	forget_windows(mr);
	context_del(mr->pub.pd->ctx, &mr->pub.pd->uses, &mr->link);
	mr_free(mr);
}

/* n regions of one context; those that end become NULL. */
static int deregister(struct ddp_mr **mr, unsigned n, const char *call)
{
	struct ddp_ctx *ctx = mr[0]->pd->ctx;
	struct msg_handle req[REQUEST_LIST_MAX];
	struct request list[REQUEST_LIST_MAX] = {0};
	int result[REQUEST_LIST_MAX], first = 0;

	for (unsigned i = 0; i < n; i++) {
		req[i] = (struct msg_handle){.handle = ((struct mr *)mr[i])->handle};
		list[i] = (struct request){.call = call, .op = MSG_DEREG_MR, .req = &req[i]};
	}
	(void)request_send_list(ctx, list, n, result);
	for (unsigned i = 0; i < n; i++) {
		int r = request_released(result[i]);

		first = first ? first : r;
		if (r)
			continue;
		end_mr((struct mr *)mr[i]);
		mr[i] = NULL;
	}
	return first;
}

int ddp_dereg_mr(struct ddp_mr *mr)
{
	return mr ? deregister(&mr, 1, "ddp_dereg_mr") : 0;
}

/* How many regions from the first one on, which is there, one list of requests can end. */
static unsigned together(struct ddp_mr *const *mr, size_t n)
{
	unsigned k = 1;

	while (k < n && k < REQUEST_LIST_MAX && mr[k] && mr[k]->pd->ctx == mr[0]->pd->ctx)
		k++;
	return k;
}

int ddp_dereg_mrs(struct ddp_mr **mr, size_t n)
{
	int first = 0;
	unsigned k;

	for (; n > 0; n -= k, mr += k) {
		int r;

		k = mr[0] ? together(mr, n) : 1;
		r = mr[0] ? deregister(mr, k, "ddp_dereg_mrs") : 0;
		first = first ? first : r;
	}
	return first;
}
