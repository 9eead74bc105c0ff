/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/mr.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/base/error.h"
#include "verbs/base/host.h"
#include "verbs/verbs/context.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* ---- protection domains ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct pd *pd = calloc(1, sizeof(*pd));
	int r = pd ? ddp_alloc_pd(host_ddp(context_of(context)->host), &pd->ddp) : -ENOMEM;

	if (r) {
		free(pd);
		error_of_call("ibv_alloc_pd", r);
		return NULL;
	}
	pd->ibv.context = context;
	return &pd->ibv;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int r = ddp_dealloc_pd(pd_ddp(pd));

	if (r)
		return error_of_call("ibv_dealloc_pd", r);
	free(pd);
	return 0;
}

/* ---- memory regions ---- */

unsigned mr_access(unsigned access)
{
	static const struct {
		unsigned ibv, ddp;
	} bits[] = {
		{IBV_ACCESS_LOCAL_WRITE, DDP_ACCESS_LOCAL_WRITE},
		{IBV_ACCESS_REMOTE_WRITE, DDP_ACCESS_REMOTE_WRITE},
		{IBV_ACCESS_REMOTE_READ, DDP_ACCESS_REMOTE_READ},
		{IBV_ACCESS_REMOTE_ATOMIC, DDP_ACCESS_REMOTE_ATOMIC},
		{IBV_ACCESS_MW_BIND, DDP_ACCESS_MW_BIND},
	};
	unsigned ret = 0;

	for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (access & bits[i].ibv)
			ret |= bits[i].ddp;
	return ret;
}

/* Most programs have one thread besides that of the library, which can wait: then all private
 * memory can be registered, also without userfaultfd(2). */
static int reg_ddp(struct mr *mr, uint64_t iova, unsigned access)
{
	struct ddp_reg_attr attr = {
		.struct_size = sizeof(attr),
		.flags = DDP_REG_IOVA,
		.iova = iova,
	};
	int r;

	if (host_pause())
		attr.flags |= DDP_REG_QUIET;
	r = ddp_reg_mr(pd_ddp(mr->ibv.pd), mr->ibv.addr, mr->ibv.length, access, &attr, &mr->ddp);
	host_resume();
	return r;
}

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			  unsigned access)
{
	struct mr *mr;
	int r;

	if (access & IBV_ACCESS_ZERO_BASED) {
		error_unsupported("ibv_reg_mr",
				  "IBV_ACCESS_ZERO_BASED is not supported: use ibv_reg_mr_iova() "
				  "with iova 0",
				  EOPNOTSUPP);
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	mr->ibv = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
	};
	r = reg_ddp(mr, iova, mr_access(access));
	if (r) {
		free(mr);
		error_of_call("ibv_reg_mr", r);
		return NULL;
	}
	mr->ibv.lkey = mr->ddp->lkey;
	mr->ibv.rkey = mr->ddp->rkey;
	return &mr->ibv;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return reg(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned access)
{
	return reg(pd, addr, length, iova, access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
	error_unsupported("ibv_reg_dmabuf_mr", "memory of other devices cannot be registered",
			  EOPNOTSUPP);
	return NULL;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int r = ddp_dereg_mr(((struct mr *)mr)->ddp);

	if (r)
		return error_of_call("ibv_dereg_mr", r);
	free(mr);
	return 0;
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct mr *mr = (struct mr *)ibv;
	struct ddp_rereg_attr attr = {.struct_size = sizeof(attr), .fd = -1};
	unsigned what = 0;
	int r;

	(void)addr, (void)length;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		error_unsupported("ibv_rereg_mr",
				  "the memory of a region cannot change: register the other memory",
				  EOPNOTSUPP);
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		what |= DDP_REREG_PD;
		attr.pd = pd_ddp(pd);
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS) {
		what |= DDP_REREG_ACCESS;
		attr.access = mr_access((unsigned)access);
	}
	r = ddp_rereg_mr(mr->ddp, what, &attr);
	if (r) {
		error_of_call("ibv_rereg_mr", r);
		return IBV_REREG_MR_ERR_CMD;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		ibv->pd = pd;
	ibv->lkey = mr->ddp->lkey;
	ibv->rkey = mr->ddp->rkey;
	return 0;
}

/* A hint: every page can be touched at any time. */
static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sg_list, uint32_t num_sges)
{
	(void)pd, (void)advice, (void)flags, (void)sg_list, (void)num_sges;
	return 0;
}

void mr_set_ops(struct verbs_context *v)
{
	v->advise_mr = advise_mr;
}
