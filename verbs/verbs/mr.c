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

static unsigned add_users(struct pd *pd, int n)
{
	unsigned ret;

	pthread_mutex_lock(&pd->ibv.context->mutex);
	pd->users += (unsigned)n;
	ret = pd->users;
	pthread_mutex_unlock(&pd->ibv.context->mutex);
	return ret;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct pd *pd = (struct pd *)ibv;
	int r;

	if (add_users(pd, 0) > 0)
		return EBUSY;
	r = pd->of ? 0 : ddp_dealloc_pd(pd->ddp);
	if (r)
		return error_of_call("ibv_dealloc_pd", r);
	if (pd->of)
		add_users(pd->of, -1);
	free(pd);
	return 0;
}

/* ---- thread domains and parent domains: names, for no call depends on threads ---- */

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct ibv_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (td)
		td->context = context;
	return td;
}

static int dealloc_td(struct ibv_td *td)
{
	free(td);
	return 0;
}

/* The program's allocators are for memory of the device, which the daemon allocates. */
static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct pd *pd = NULL;

	if (!attr->pd || attr->pd->context != context || attr->comp_mask & ~known)
		errno = EINVAL;
	else
		pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->ibv.context = context;
	pd->ddp = pd_ddp(attr->pd);
	pd->of = (struct pd *)attr->pd;
	add_users(pd->of, 1);
	return &pd->ibv;
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

enum {
	KNOWN = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB |
		IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE,
	REMOTE_CHANGES = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
};

/* 0 or a positive errno value, also as errno. */
static int check_flags(const char *call, unsigned access)
{
	int r = 0;

	if (access & ~(unsigned)KNOWN)
		r = EINVAL;
	if (access & REMOTE_CHANGES && !(access & IBV_ACCESS_LOCAL_WRITE))
		r = EINVAL;
	if (r == 0 && access & IBV_ACCESS_ON_DEMAND)
		r = error_probed(call, "IBV_ACCESS_ON_DEMAND is not supported", EOPNOTSUPP);
	if (r == 0 && access & IBV_ACCESS_ZERO_BASED)
		r = error_unsupported(call,
				      "IBV_ACCESS_ZERO_BASED is not supported: use "
				      "ibv_reg_mr_iova() with iova 0",
				      EOPNOTSUPP);
	if (r)
		errno = r;
	return r;
}

int mr_check_window(const char *call, unsigned access)
{
	if (!(access & IBV_ACCESS_ZERO_BASED))
		return 0;
	return error_unsupported(call, "IBV_ACCESS_ZERO_BASED is not supported for windows",
				 EOPNOTSUPP);
}

/* Hardware pins memory when it is registered, so programs expect that it is there.
 *
 * Most programs have one thread besides that of the library, which can wait: then all private
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
	r = ddp_reg_mr(pd_ddp(mr->ibv.pd), mr->ibv.addr, mr->ibv.length,
		       access | DDP_ACCESS_POPULATE, &attr, &mr->ddp);
	host_resume();
	return r;
}

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			  unsigned access)
{
	struct mr *mr;
	int r;

	if (check_flags("ibv_reg_mr", access))
		return NULL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	mr->ibv = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
	};
	mr->access = access;
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

/* ---- reregistration ---- */

/* Domain and rights change under the same keys, as on hardware; a daemon that is too old to keep
 * them gives new ones. */
static int rereg_ddp(struct mr *mr, unsigned what, const struct ddp_rereg_attr *attr)
{
	int r = ddp_rereg_mr(mr->ddp, what | DDP_REREG_SAME_KEY, attr);

	return r == -EINVAL ? ddp_rereg_mr(mr->ddp, what, attr) : r;
}

static int rereg_same_memory(struct mr *mr, int flags, struct ibv_pd *pd, unsigned access)
{
	const struct ddp_rereg_attr attr = {
		.struct_size = sizeof(attr),
		.fd = -1,
		.pd = flags & IBV_REREG_MR_CHANGE_PD ? pd_ddp(pd) : NULL,
		.access = mr_access(access),
	};
	unsigned what = 0;

	if (flags & IBV_REREG_MR_CHANGE_PD && pd_ddp(pd) != pd_ddp(mr->ibv.pd))
		what |= DDP_REREG_PD;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		what |= DDP_REREG_ACCESS;
	return what ? rereg_ddp(mr, what, &attr) : 0;
}

/* Other memory: a registration of its own, which takes the place of the old one. */
static int rereg_other_memory(struct mr *mr, struct ibv_pd *pd, void *addr, size_t length,
			      unsigned access)
{
	struct mr next = {.ibv = {.pd = pd, .addr = addr, .length = length}};
	int r = reg_ddp(&next, (uintptr_t)addr, mr_access(access));

	if (r)
		return r;
	r = ddp_dereg_mr(mr->ddp);
	if (r) {
		ddp_dereg_mr(next.ddp);
		return r;
	}
	mr->ddp = next.ddp;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	return 0;
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	const int all = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
			IBV_REREG_MR_CHANGE_ACCESS;
	struct mr *mr = (struct mr *)ibv;
	unsigned now = flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : mr->access;
	struct ibv_pd *domain = flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd;
	int r;

	if (flags == 0 || flags & ~all || !domain ||
	    (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || length == 0))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (check_flags("ibv_rereg_mr", now))
		return IBV_REREG_MR_ERR_INPUT;
	r = flags & IBV_REREG_MR_CHANGE_TRANSLATION
		    ? rereg_other_memory(mr, domain, addr, length, now)
		    : rereg_same_memory(mr, flags, domain, now);
	if (r) {
		error_of_call("ibv_rereg_mr", r);
		return IBV_REREG_MR_ERR_CMD;
	}
	mr->access = now;
	ibv->pd = domain;
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
	v->alloc_parent_domain = alloc_parent_domain;
	v->alloc_td = alloc_td;
	v->dealloc_td = dealloc_td;
}
